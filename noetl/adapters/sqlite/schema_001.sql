-- The event log and its projections.
CREATE TABLE executions (
  id INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL,
  path TEXT NOT NULL,
  version INTEGER,
  hash TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  due_at INTEGER,
  parent TEXT,
  retry_of TEXT,
  idempotency_key TEXT,
  request TEXT,
  result BLOB,
  owner TEXT,
  owned_until INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX executions_by_key ON executions (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX executions_open ON executions (due_at) WHERE ended_at IS NULL;

-- One row per decided message. The primary key is the fence: two writers cannot append after the same event.
CREATE TABLE log (
  execution INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  ts INTEGER NOT NULL,
  cause BLOB NOT NULL,
  body BLOB NOT NULL,
  hash BLOB NOT NULL,
  batch TEXT,
  PRIMARY KEY (execution, first)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX log_by_batch ON log (execution, batch) WHERE batch IS NOT NULL;

CREATE TABLE snapshots (
  execution INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  hash BLOB NOT NULL,
  state BLOB NOT NULL
) STRICT;

CREATE TABLE mailbox (
  id INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL,
  message BLOB NOT NULL
) STRICT;

CREATE TABLE playbooks (
  path TEXT NOT NULL,
  version INTEGER NOT NULL,
  hash TEXT NOT NULL,
  text TEXT NOT NULL,
  file TEXT,
  registered_at INTEGER NOT NULL,
  PRIMARY KEY (path, version)
) STRICT;
CREATE INDEX playbooks_by_hash ON playbooks (hash);

CREATE TABLE credentials (
  name TEXT PRIMARY KEY,
  sealed BLOB NOT NULL,
  set_at INTEGER NOT NULL
) STRICT;
