-- oldest reader: 8
-- Who is told what becomes of executions; `occasions` is a JSON list.
create table notifications (
  name text collate "C" primary key,
  occasions text not null,
  path text not null,
  target text not null,
  auth text,
  children boolean not null,
  enabled boolean not null,
  created_at bigint not null,
  made_by text not null
);

-- What they are told: written by the commit that changes what it tells of, and kept as history.
create table deliveries (
  id bigint generated always as identity primary key,
  notification text collate "C" not null,
  occasion text not null,
  execution_id text collate "C",
  path text not null,
  seq bigint not null,
  at bigint not null,
  detail text,
  state text not null default 'pending',
  attempts integer not null default 0,
  next_at bigint default 0,
  code integer,
  error text,
  settled_at bigint,
  answers text not null default '[]'
);
create index deliveries_due on deliveries (next_at) where next_at is not null;
create index deliveries_of_notification on deliveries (notification, id);
create index deliveries_of_execution on deliveries (execution_id) where execution_id is not null;

-- Which notifications want to know of an execution. What a notification started is not told to playbooks.
create function notifications_for(an_execution executions) returns setof notifications language sql stable as $$
  select n.* from noetl.notifications n
  where n.enabled
    and an_execution.path like replace(replace(replace(replace(replace(
      n.path, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_')
    and not (n.target like 'playbook:%' and coalesce(an_execution.idempotency_key, '') like 'notification/%')
$$;

-- One that goes on as another has not ended.
create function tell_of_status() returns trigger language plpgsql as $$
begin
  insert into noetl.deliveries (notification, occasion, execution_id, path, seq, at)
  select n.name, new.status, new.execution_id, new.path, new.seq,
    coalesce(new.ended_at, (new.stuck::jsonb ->> 'since')::bigint, noetl.now_ms())
  from noetl.notifications_for(new) n
  where n.occasions::jsonb ? new.status and (n.children or new.parent is null) and not exists (
    select 1 from noetl.executions s
    where s.chain = coalesce(new.chain, new.execution_id) and s.continued_from = new.execution_id
  );
  return null;
end $$;
create trigger tell_of_change after update of status on executions for each row
when (new.status <> old.status and new.status in ('failed', 'stuck', 'completed', 'waiting'))
execute function tell_of_status();
create trigger tell_of_beginning after insert on executions for each row
when (new.status in ('failed', 'completed', 'waiting'))
execute function tell_of_status();
