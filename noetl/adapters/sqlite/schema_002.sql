-- A playbook that is taken off the catalog keeps its text for the executions that ran it.
ALTER TABLE playbooks ADD COLUMN deleted_at INTEGER;
