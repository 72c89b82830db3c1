-- The end of a log as its last commit left it: a log that was cut short shows beside it.
ALTER TABLE executions ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN head BLOB NOT NULL DEFAULT x'';
UPDATE executions SET seq = l.last, head = l.hash
FROM (SELECT execution, max(last) AS last, hash FROM log GROUP BY execution) AS l WHERE l.execution = executions.id;

-- How a row is written, and what its hash covers. What is there already is of the first format.
ALTER TABLE log ADD COLUMN format INTEGER NOT NULL DEFAULT 1;
