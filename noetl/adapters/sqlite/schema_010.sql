-- oldest reader: 10
-- Which release brought the store here, and the oldest schema whose releases can still work with it.
CREATE TABLE migrations (version INTEGER PRIMARY KEY, oldest_reader INTEGER NOT NULL, release TEXT NOT NULL) STRICT;

-- The newest format among an execution's rows: who does not read it leaves the execution to others.
ALTER TABLE executions ADD COLUMN format INTEGER NOT NULL DEFAULT 2;

-- The language that a playbook was accepted in.
ALTER TABLE playbooks ADD COLUMN language INTEGER NOT NULL DEFAULT 1;
