-- The tables that are made of the journals. They are filled from the beginning where
-- this file is another than the one that they were made by: whoever changes what is
-- written, and no table, raises the next number.
--
-- Filling 1.
--
-- Times are RFC 3339 in UTC with nine digits, so that they sort as text.

CREATE TABLE positions (
  partition INTEGER PRIMARY KEY,
  epoch     INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  hash      BLOB NOT NULL
) STRICT;

CREATE TABLE beads (
  id           TEXT PRIMARY KEY,
  project      TEXT NOT NULL,
  type         TEXT NOT NULL,
  status       TEXT NOT NULL,
  goal         TEXT NOT NULL,
  process      TEXT NOT NULL,
  execution_id TEXT NOT NULL,
  bead         TEXT NOT NULL CHECK (json_valid(bead)),
  created_at   TEXT NOT NULL,
  updated_at   TEXT NOT NULL
) STRICT;

CREATE TABLE workflows (
  id         TEXT PRIMARY KEY, -- the definition's hash
  name       TEXT NOT NULL,
  definition TEXT NOT NULL CHECK (json_valid(definition)),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  version    TEXT NOT NULL
) STRICT;

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

CREATE TABLE workflow_transitions (
  id           TEXT PRIMARY KEY, -- PROJECT-NUMBER of the event
  execution_id TEXT NOT NULL REFERENCES workflow_executions (id) DEFERRABLE INITIALLY DEFERRED,
  from_node_id TEXT NOT NULL,
  to_node_id   TEXT NOT NULL,
  outcome      TEXT NOT NULL,
  timestamp    TEXT NOT NULL,
  number       INTEGER NOT NULL, -- of the event in its project: the order
  summary      TEXT NOT NULL,
  actor        TEXT NOT NULL CHECK (json_valid(actor)) -- on whose behalf, as the JSON of an identity
) STRICT;

CREATE INDEX workflow_transitions_by_execution ON workflow_transitions (execution_id, number);

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

-- Grants of the commit lock, and the places in merge trains that come of them.
CREATE TABLE lock_grants (
  project      TEXT NOT NULL,
  token        INTEGER NOT NULL,
  under        INTEGER NOT NULL, -- token of the grant: its own or, of a place, that of the train's driver
  execution_id TEXT NOT NULL,
  at           TEXT NOT NULL,
  taken        INTEGER NOT NULL DEFAULT 0, -- it ended by time or by the CEO's word: its holder may have gone on
  PRIMARY KEY (project, token)
) STRICT, WITHOUT ROWID;

CREATE INDEX lock_grants_by_execution ON lock_grants (execution_id, token);

-- Commits and landings as they were recorded.
CREATE TABLE commits (
  project      TEXT NOT NULL,
  number       INTEGER NOT NULL, -- of the event
  execution_id TEXT NOT NULL,
  commit_id    TEXT NOT NULL,
  token        INTEGER NOT NULL, -- that it was made or landed under
  at_once      INTEGER NOT NULL, -- the lock was taken away and granted to another, or the token was not this one's
  attributed   INTEGER,          -- whether author and committer are who they had to be; not of a landing
  passed       INTEGER,          -- whether each hook ran and passed; not of a landing, nor without hooks
  PRIMARY KEY (project, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX commits_by_execution ON commits (execution_id);
