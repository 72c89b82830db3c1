-- What is kept after the end: rows that were trimmed, executions that may hold each other's references.
ALTER TABLE log ADD COLUMN seal BLOB;
ALTER TABLE executions ADD COLUMN trimmed_at INTEGER;
CREATE INDEX executions_by_parent ON executions (parent) WHERE parent IS NOT NULL;
CREATE INDEX executions_by_retry_of ON executions (retry_of) WHERE retry_of IS NOT NULL;
