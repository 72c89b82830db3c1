-- oldest reader: 10
-- What became of the ticks of schedules and backfills, and backfills themselves.
ALTER TABLE schedules ADD COLUMN overlap TEXT NOT NULL DEFAULT 'allow';
CREATE TABLE ticks (
  owner TEXT NOT NULL,
  tick INTEGER NOT NULL,
  status TEXT NOT NULL,
  execution TEXT,
  why TEXT,
  at INTEGER NOT NULL,
  PRIMARY KEY (owner, tick)
) STRICT, WITHOUT ROWID;
CREATE INDEX ticks_open ON ticks (status) WHERE status IN ('queued', 'starting', 'running');
CREATE TABLE backfills (
  id TEXT PRIMARY KEY,
  status TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
