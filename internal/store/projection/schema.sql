-- The tables that are made of the journals. They are filled from the beginning where
-- this file is another than the one that they were made by: whoever changes what is
-- written, and no table, raises the next number.
--
-- Filling 2.
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

-- What there is of an execution is one row, written when it has changed, at most once a
-- transaction: what happened in it is in columns of JSON arrays. The views below show
-- them as rows.
CREATE TABLE executions (
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
  parent          TEXT NOT NULL, -- the execution that it works for; empty for none
  visits          TEXT NOT NULL, -- [node, visit, started_at, ended_at, outcome, attempts, timeouts], as they begin
  figures         TEXT NOT NULL, -- [node, ended, failed, retries, model_calls, input_tokens, output_tokens, cost_micro_usd]
  broken          TEXT NOT NULL, -- [phase, rule, tier, severity, attempts, findings]
  ends            TEXT NOT NULL, -- of attempts, in order: [number, agent, at, outcome]
  transitions     TEXT NOT NULL, -- in order: [number, from_node_id, to_node_id, outcome, timestamp, summary, actor]
  state           TEXT,          -- JSON; NULL while progress has it
  progress        BLOB           -- the state as protobuf, until it is written as JSON: once it has ended, or rested
) STRICT;

CREATE INDEX executions_by_bead ON executions (bead_id);
CREATE INDEX executions_by_start ON executions (created_at);
CREATE INDEX executions_unwritten ON executions (id) WHERE progress IS NOT NULL;

CREATE VIEW workflow_executions AS SELECT id, bead_id, workflow_id, current_node_id, created_at, updated_at, status, project, process,
  filed_at, ended_at, files, model_calls, input_tokens, output_tokens, cost_micro_usd, state FROM executions;

CREATE VIEW workflow_transitions AS SELECT
  x.project || '-' || (t.value ->> 0) AS id, -- of the event
  x.id AS execution_id,
  t.value ->> 1 AS from_node_id,
  t.value ->> 2 AS to_node_id,
  t.value ->> 3 AS outcome,
  t.value ->> 4 AS timestamp,
  t.value ->> 0 AS number, -- of the event in its project: the order
  t.value ->> 5 AS summary,
  t.value ->> 6 AS actor   -- on whose behalf, as the JSON of an identity
FROM executions x, json_each(x.transitions) t;

-- A visit begins when the node is dispatched, or asks the CEO, for the first time.
CREATE VIEW workflow_visits AS SELECT
  x.id AS execution_id,
  v.value ->> 0 AS node_id,
  v.value ->> 1 AS visit,
  v.value ->> 2 AS started_at,
  v.value ->> 3 AS ended_at,
  v.value ->> 4 AS outcome, -- open; succeeded, failed, skipped; sent-back, reset: by rework or a move; dropped: with the execution
  v.value ->> 5 AS attempts,
  v.value ->> 6 AS timeouts
FROM executions x, json_each(x.visits) v;

CREATE VIEW attempt_ends AS SELECT
  x.project,
  a.value ->> 0 AS number,
  x.bead_id,
  x.process,
  a.value ->> 1 AS agent, -- ROLE/N@HOST
  substr(a.value ->> 1, 1, instr(a.value ->> 1, '/') - 1) AS role,
  a.value ->> 2 AS at,
  a.value ->> 3 AS outcome -- success, failure, continue, timeout; released: taken away
FROM executions x, json_each(x.ends) a;

CREATE VIEW node_figures AS SELECT
  x.id AS execution_id,
  f.value ->> 0 AS node_id,
  f.value ->> 1 AS ended,   -- attempts
  f.value ->> 2 AS failed,  -- of these, or timed out
  f.value ->> 3 AS retries, -- attempts after one that did not end well
  f.value ->> 4 AS model_calls,
  f.value ->> 5 AS input_tokens,
  f.value ->> 6 AS output_tokens,
  f.value ->> 7 AS cost_micro_usd
FROM executions x, json_each(x.figures) f;

CREATE VIEW broken_rules AS SELECT
  x.id AS execution_id,
  b.value ->> 0 AS phase,
  b.value ->> 1 AS rule,
  b.value ->> 2 AS tier,     -- 1 the files, 2 a verifier, 3 reviewers
  b.value ->> 3 AS severity, -- warning or error
  b.value ->> 4 AS attempts, -- in which it was found
  b.value ->> 5 AS findings  -- places in all
FROM executions x, json_each(x.broken) b;

CREATE TABLE workflow_nodes (
  workflow_id    TEXT NOT NULL REFERENCES workflows (id) DEFERRABLE INITIALLY DEFERRED,
  node_id        TEXT NOT NULL,
  type           TEXT NOT NULL,
  kind           TEXT NOT NULL, -- unspecified, commit, verify or land
  multi_dispatch INTEGER NOT NULL,
  PRIMARY KEY (workflow_id, node_id)
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
  model          TEXT NOT NULL,    -- PROVIDER:MODEL; '' of a call that gave no answer
  at             TEXT NOT NULL,
  input_tokens   INTEGER NOT NULL,
  output_tokens  INTEGER NOT NULL,
  cached_tokens  INTEGER NOT NULL, -- of the input
  cost_micro_usd INTEGER NOT NULL,
  priced         INTEGER NOT NULL, -- whether that is all of it
  milliseconds   INTEGER NOT NULL, -- 0 is not known
  assumed        INTEGER NOT NULL, -- it was broken off, and has all that was reserved for it
  PRIMARY KEY (project, number)
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
