-- What WF14 measures. What happened is read from the journals; a copy of every
-- event here was most of the projection's work. The tables are filled again.

DROP TABLE notices;

DELETE FROM workflow_transitions;
DROP TABLE workflow_executions;
DELETE FROM workflows;
DELETE FROM beads;
DELETE FROM positions;

CREATE TABLE workflow_executions (
  id              TEXT PRIMARY KEY,
  bead_id         TEXT NOT NULL REFERENCES beads (id) DEFERRABLE INITIALLY DEFERRED,
  workflow_id     TEXT NOT NULL REFERENCES workflows (id) DEFERRABLE INITIALLY DEFERRED,
  current_node_id TEXT NOT NULL, -- what runs or waits, joined by commas
  created_at      TEXT NOT NULL,
  updated_at      TEXT NOT NULL,
  status          TEXT NOT NULL,
  project         TEXT NOT NULL,
  process         TEXT NOT NULL,
  filed_at        TEXT NOT NULL, -- of its bead; its own start if it is not the bead's first
  ended_at        TEXT,
  files           INTEGER,       -- of the change that stands proposed
  model_calls     INTEGER NOT NULL,
  input_tokens    INTEGER NOT NULL,
  output_tokens   INTEGER NOT NULL,
  cost_micro_usd  INTEGER NOT NULL,
  state           TEXT NOT NULL  -- JSON; last, so that the rest is read without it
) STRICT;

CREATE INDEX workflow_executions_by_bead ON workflow_executions (bead_id);
CREATE INDEX workflow_executions_by_workflow ON workflow_executions (workflow_id);
CREATE INDEX workflow_executions_by_start ON workflow_executions (created_at);

CREATE TABLE workflow_nodes (
  workflow_id    TEXT NOT NULL REFERENCES workflows (id) DEFERRABLE INITIALLY DEFERRED,
  node_id        TEXT NOT NULL,
  type           TEXT NOT NULL,
  kind           TEXT NOT NULL, -- unspecified, commit, verify or land
  multi_dispatch INTEGER NOT NULL,
  PRIMARY KEY (workflow_id, node_id)
) STRICT, WITHOUT ROWID;

-- A visit begins when the node is dispatched, or asks the CEO, for the first time.
CREATE TABLE workflow_visits (
  execution_id TEXT NOT NULL REFERENCES workflow_executions (id) DEFERRABLE INITIALLY DEFERRED,
  node_id      TEXT NOT NULL,
  visit        INTEGER NOT NULL,
  started_at   TEXT NOT NULL,
  ended_at     TEXT,
  outcome      TEXT NOT NULL, -- open; succeeded, failed, skipped; sent-back, reset: by rework or a move; dropped: with the execution
  attempts     INTEGER NOT NULL,
  timeouts     INTEGER NOT NULL,
  PRIMARY KEY (execution_id, node_id, visit)
) STRICT, WITHOUT ROWID;

CREATE TABLE approvals (
  id           TEXT PRIMARY KEY,
  project      TEXT NOT NULL,
  bead_id      TEXT NOT NULL,
  execution_id TEXT NOT NULL, -- empty if it is about none
  node_id      TEXT NOT NULL, -- empty if it is about the whole execution
  visit        INTEGER NOT NULL,
  kind         TEXT NOT NULL, -- approval or escalation
  asked_at     TEXT NOT NULL,
  decided_at   TEXT,
  decision     TEXT NOT NULL  -- lapsed if it was withdrawn; empty while it is open
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_by_execution ON approvals (execution_id);
CREATE INDEX approvals_open ON approvals (kind) WHERE decided_at IS NULL;

-- Running counts, so that nobody has to count rows.
CREATE TABLE tallies (
  name    TEXT NOT NULL,
  process TEXT NOT NULL,
  node    TEXT NOT NULL,
  label   TEXT NOT NULL,
  value   INTEGER NOT NULL,
  PRIMARY KEY (name, process, node, label)
) STRICT, WITHOUT ROWID;
