-- oldest reader: 10
-- What triggers on objects have seen: the listing they looked at last, and when they look again.
ALTER TABLE triggers ADD COLUMN looked TEXT;
ALTER TABLE triggers ADD COLUMN next_look INTEGER NOT NULL DEFAULT 0;
CREATE TABLE seen_objects (
  trigger_name TEXT NOT NULL,
  key TEXT NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (trigger_name, key)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER forget_seen_objects AFTER DELETE ON triggers
BEGIN
  DELETE FROM seen_objects WHERE trigger_name = old.name;
END;
