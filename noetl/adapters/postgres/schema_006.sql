-- Ticks that were due and started nothing, as JSON.
alter table schedules add column skipped text;

-- Who asked for an execution, and who registered a version of a playbook.
alter table executions add column requested_by text;
create index executions_by_requester on executions (requested_by, id) where requested_by is not null;
alter table playbooks add column made_by text;
