-- oldest reader: 10
-- What triggers wait for beyond a webhook or a subject (JSON), what they did last, and who decides what they fire.
ALTER TABLE triggers ADD COLUMN options TEXT NOT NULL DEFAULT '{}';
ALTER TABLE triggers ADD COLUMN last_at INTEGER;
ALTER TABLE triggers ADD COLUMN last_execution TEXT;
ALTER TABLE triggers ADD COLUMN last_error TEXT;
ALTER TABLE triggers ADD COLUMN holder TEXT;
ALTER TABLE triggers ADD COLUMN held_until INTEGER NOT NULL DEFAULT 0;

-- What arrived for triggers: the end of an execution with the commit that ends it. Kept as history.
CREATE TABLE arrivals (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  trigger_name TEXT NOT NULL,
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending',
  firing TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER DEFAULT 0,
  execution TEXT,
  error TEXT,
  settled_at INTEGER,
  UNIQUE (trigger_name, key)
) STRICT;
CREATE INDEX arrivals_due ON arrivals (next_at) WHERE state = 'pending';
CREATE INDEX arrivals_pending ON arrivals (trigger_name, id) WHERE state = 'pending';
CREATE INDEX arrivals_of_trigger ON arrivals (trigger_name, id);

-- One that goes on as another has not ended.
CREATE TRIGGER arrive_with_change AFTER UPDATE OF status ON executions
WHEN new.status <> old.status AND new.status IN ('failed', 'completed') AND new.continued_as IS NULL
BEGIN
  INSERT INTO arrivals (trigger_name, key, at, body)
  SELECT t.name, new.execution_id, coalesce(new.ended_at, CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    json_object('execution_id', new.execution_id, 'path', new.path, 'status', new.status)
  FROM triggers t
  WHERE t.kind = 'playbook' AND t.enabled
    AND EXISTS (SELECT 1 FROM json_each(t.options, '$.on') WHERE value = new.status)
    AND EXISTS (SELECT 1 FROM json_each(t.options, '$.after') WHERE new.path GLOB replace(value, '[', '[[]'))
    AND (json_extract(t.options, '$.children') OR new.parent IS NULL)
  ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER arrive_with_beginning AFTER INSERT ON executions
WHEN new.status IN ('failed', 'completed') AND new.continued_as IS NULL
BEGIN
  INSERT INTO arrivals (trigger_name, key, at, body)
  SELECT t.name, new.execution_id, coalesce(new.ended_at, CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    json_object('execution_id', new.execution_id, 'path', new.path, 'status', new.status)
  FROM triggers t
  WHERE t.kind = 'playbook' AND t.enabled
    AND EXISTS (SELECT 1 FROM json_each(t.options, '$.on') WHERE value = new.status)
    AND EXISTS (SELECT 1 FROM json_each(t.options, '$.after') WHERE new.path GLOB replace(value, '[', '[[]'))
    AND (json_extract(t.options, '$.children') OR new.parent IS NULL)
  ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER forget_arrivals AFTER DELETE ON triggers
BEGIN
  DELETE FROM arrivals WHERE trigger_name = old.name;
END;
