-- oldest reader: 8
-- Lists of a million executions: by status, by playbook and by time; those that completed are nearly all.
create index executions_by_status on executions (status, id) where status <> 'completed';
create index executions_by_path on executions (path text_pattern_ops, id);
create index executions_by_request on executions (requested_at);
