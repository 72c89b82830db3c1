-- Why an execution was set aside (JSON). Who had it in hand when its owner died: empty for nobody.
alter table executions add column stuck text;
alter table executions add column in_hand text;
create index executions_stuck on executions (id) where stuck is not null;
