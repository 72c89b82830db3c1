-- What starts executions without a person. The workloads are JSON.
CREATE TABLE schedules (
  name TEXT PRIMARY KEY,
  path TEXT NOT NULL,
  version INTEGER,
  workload TEXT NOT NULL,
  cron TEXT,
  timezone TEXT NOT NULL,
  every_s INTEGER,
  enabled INTEGER NOT NULL,
  catch_up TEXT NOT NULL,
  next_at INTEGER,
  last_at INTEGER,
  last_execution TEXT,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  made_by TEXT NOT NULL
) STRICT;
CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;

-- Of a webhook's secret only what is needed to tell it.
CREATE TABLE triggers (
  name TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  path TEXT NOT NULL,
  version INTEGER,
  workload TEXT NOT NULL,
  payload_key TEXT NOT NULL,
  secret TEXT,
  subject TEXT,
  queue TEXT,
  enabled INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  made_by TEXT NOT NULL
) STRICT;
