-- oldest reader: 10
-- Lists of a million executions: by status and by playbook; those that completed are nearly all.
CREATE INDEX executions_by_status ON executions (status, id) WHERE status <> 'completed';
CREATE INDEX executions_by_path ON executions (path, id);
