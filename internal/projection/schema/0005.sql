-- How the nodes of executions fared, and what verification found in what phases
-- delivered. The tables are filled again.

DELETE FROM model_calls;
DELETE FROM attempt_ends;
DELETE FROM workflow_transitions;
DELETE FROM workflow_visits;
DELETE FROM workflow_nodes;
DELETE FROM approvals;
DELETE FROM tallies;
DELETE FROM workflow_executions;
DELETE FROM workflows;
DELETE FROM beads;
DELETE FROM positions;

CREATE TABLE node_figures (
  execution_id   TEXT NOT NULL,
  node_id        TEXT NOT NULL,
  ended          INTEGER NOT NULL, -- attempts
  failed         INTEGER NOT NULL, -- of these, or timed out
  retries        INTEGER NOT NULL, -- attempts after one that did not end well
  model_calls    INTEGER NOT NULL,
  input_tokens   INTEGER NOT NULL,
  output_tokens  INTEGER NOT NULL,
  cost_micro_usd INTEGER NOT NULL,
  PRIMARY KEY (execution_id, node_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE broken_rules (
  execution_id TEXT NOT NULL,
  phase        TEXT NOT NULL,
  rule         TEXT NOT NULL,
  tier         INTEGER NOT NULL, -- 1 the files, 2 a verifier, 3 reviewers
  severity     TEXT NOT NULL,    -- warning or error
  attempts     INTEGER NOT NULL, -- in which it was found
  findings     INTEGER NOT NULL, -- places in all
  PRIMARY KEY (execution_id, phase, rule, tier, severity)
) STRICT, WITHOUT ROWID;
