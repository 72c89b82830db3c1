-- oldest reader: 10
-- Who is told what becomes of executions; `occasions` is a JSON list.
CREATE TABLE notifications (
  name TEXT PRIMARY KEY,
  occasions TEXT NOT NULL,
  path TEXT NOT NULL,
  target TEXT NOT NULL,
  auth TEXT,
  children INTEGER NOT NULL,
  enabled INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  made_by TEXT NOT NULL
) STRICT;

-- What they are told: written by the commit that changes what it tells of, and kept as history.
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  notification TEXT NOT NULL,
  occasion TEXT NOT NULL,
  execution_id TEXT,
  path TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  detail TEXT,
  state TEXT NOT NULL DEFAULT 'pending',
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER DEFAULT 0,
  code INTEGER,
  error TEXT,
  settled_at INTEGER,
  answers TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_of_notification ON deliveries (notification, id);
CREATE INDEX deliveries_of_execution ON deliveries (execution_id) WHERE execution_id IS NOT NULL;

-- One that goes on as another has not ended. What a notification started is not told to playbooks.
CREATE TRIGGER tell_of_change AFTER UPDATE OF status ON executions
WHEN new.status <> old.status AND new.status IN ('failed', 'stuck', 'completed', 'waiting') AND new.continued_as IS NULL
BEGIN
  INSERT INTO deliveries (notification, occasion, execution_id, path, seq, at)
  SELECT n.name, new.status, new.execution_id, new.path, new.seq,
    coalesce(new.ended_at, json_extract(new.stuck, '$.since'), CAST(unixepoch('subsec') * 1000 AS INTEGER))
  FROM notifications n
  WHERE n.enabled AND new.path GLOB replace(n.path, '[', '[[]')
    AND EXISTS (SELECT 1 FROM json_each(n.occasions) WHERE value = new.status)
    AND (n.children OR new.parent IS NULL)
    AND NOT (n.target GLOB 'playbook:*' AND coalesce(new.idempotency_key, '') GLOB 'notification/*');
END;
CREATE TRIGGER tell_of_beginning AFTER INSERT ON executions
WHEN new.status IN ('failed', 'completed', 'waiting') AND new.continued_as IS NULL
BEGIN
  INSERT INTO deliveries (notification, occasion, execution_id, path, seq, at)
  SELECT n.name, new.status, new.execution_id, new.path, new.seq,
    coalesce(new.ended_at, CAST(unixepoch('subsec') * 1000 AS INTEGER))
  FROM notifications n
  WHERE n.enabled AND new.path GLOB replace(n.path, '[', '[[]')
    AND EXISTS (SELECT 1 FROM json_each(n.occasions) WHERE value = new.status)
    AND (n.children OR new.parent IS NULL)
    AND NOT (n.target GLOB 'playbook:*' AND coalesce(new.idempotency_key, '') GLOB 'notification/*');
END;
CREATE TRIGGER forget_deliveries AFTER DELETE ON notifications
BEGIN
  DELETE FROM deliveries WHERE notification = old.name;
END;
