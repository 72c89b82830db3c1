-- oldest reader: 10
-- Since when the payloads of an execution are given up: no retry may refer to them any more.
ALTER TABLE executions ADD COLUMN expired_at INTEGER;
