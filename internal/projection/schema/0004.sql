-- What model calls have cost, and how attempts of agents fared. The tables are
-- filled again.

DELETE FROM workflow_transitions;
DELETE FROM workflow_visits;
DELETE FROM workflow_nodes;
DELETE FROM approvals;
DELETE FROM tallies;
DELETE FROM workflow_executions;
DELETE FROM workflows;
DELETE FROM beads;
DELETE FROM positions;

CREATE TABLE model_calls (
  project        TEXT NOT NULL,
  number         INTEGER NOT NULL, -- of the event
  bead_id        TEXT NOT NULL,
  process        TEXT NOT NULL,
  agent          TEXT NOT NULL,    -- ROLE/N@HOST
  role           TEXT NOT NULL,
  model          TEXT NOT NULL,    -- PROVIDER:MODEL
  at             TEXT NOT NULL,
  input_tokens   INTEGER NOT NULL,
  output_tokens  INTEGER NOT NULL,
  cached_tokens  INTEGER NOT NULL, -- of the input
  cost_micro_usd INTEGER NOT NULL,
  priced         INTEGER NOT NULL, -- whether that is all of it
  milliseconds   INTEGER NOT NULL, -- 0 is not known
  PRIMARY KEY (project, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt_ends (
  project   TEXT NOT NULL,
  number    INTEGER NOT NULL,
  bead_id   TEXT NOT NULL,
  process   TEXT NOT NULL,
  agent     TEXT NOT NULL,
  role      TEXT NOT NULL,
  at        TEXT NOT NULL,
  outcome   TEXT NOT NULL, -- success, failure, continue, timeout; released: taken away
  PRIMARY KEY (project, number)
) STRICT, WITHOUT ROWID;
