-- Ticks that were due and started nothing, as JSON.
ALTER TABLE schedules ADD COLUMN skipped TEXT;

-- Who asked for an execution, and who registered a version of a playbook.
ALTER TABLE executions ADD COLUMN requested_by TEXT;
CREATE INDEX executions_by_requester ON executions (requested_by, id) WHERE requested_by IS NOT NULL;
ALTER TABLE playbooks ADD COLUMN made_by TEXT;
