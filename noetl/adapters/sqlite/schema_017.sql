-- oldest reader: 10
-- What tells some lines from all others: a batch that is sent again is kept once.
ALTER TABLE task_lines ADD COLUMN batch TEXT;
CREATE UNIQUE INDEX task_lines_batch ON task_lines (execution, batch) WHERE batch IS NOT NULL;
