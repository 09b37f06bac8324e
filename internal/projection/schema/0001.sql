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
  state           TEXT NOT NULL CHECK (json_valid(state)),
  created_at      TEXT NOT NULL,
  updated_at      TEXT NOT NULL,
  status          TEXT NOT NULL
) STRICT;

CREATE INDEX workflow_executions_by_bead ON workflow_executions (bead_id);
CREATE INDEX workflow_executions_by_workflow ON workflow_executions (workflow_id);

CREATE TABLE workflow_transitions (
  id           TEXT PRIMARY KEY, -- PROJECT-NUMBER of the event
  execution_id TEXT NOT NULL REFERENCES workflow_executions (id) DEFERRABLE INITIALLY DEFERRED,
  from_node_id TEXT NOT NULL,
  to_node_id   TEXT NOT NULL,
  outcome      TEXT NOT NULL,
  timestamp    TEXT NOT NULL,
  number       INTEGER NOT NULL, -- of the event in its project: the order
  summary      TEXT NOT NULL
) STRICT;

CREATE INDEX workflow_transitions_by_execution ON workflow_transitions (execution_id, number);

CREATE TABLE notices (
  partition INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  idx       INTEGER NOT NULL,
  time      TEXT NOT NULL,
  project   TEXT NOT NULL,
  bead      TEXT NOT NULL,
  execution TEXT NOT NULL,
  kind      TEXT NOT NULL,
  summary   TEXT NOT NULL,
  epoch     INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  PRIMARY KEY (partition, epoch, seq, idx)
) STRICT, WITHOUT ROWID;

CREATE INDEX notices_by_bead ON notices (bead, partition, epoch, seq, idx);
