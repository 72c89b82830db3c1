-- oldest reader: 8
-- Which release brought the store here, and the oldest schema whose releases can still work with it.
alter table migrations add column if not exists oldest_reader integer;
alter table migrations add column if not exists release text;

-- The newest format among an execution's rows: who does not read it leaves the execution to others.
alter table executions add column format smallint not null default 2;

-- The language that a playbook was accepted in.
alter table playbooks add column language smallint not null default 1;
