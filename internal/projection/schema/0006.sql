-- What commit safety is measured by. The tables are filled again.

DELETE FROM node_figures;
DELETE FROM broken_rules;
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
