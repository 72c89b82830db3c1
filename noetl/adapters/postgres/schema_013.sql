-- oldest reader: 8
-- What triggers wait for beyond a webhook or a subject (JSON), what they did last, and who decides what they fire.
alter table triggers add column options text not null default '{}';
alter table triggers add column last_at bigint;
alter table triggers add column last_execution text collate "C";
alter table triggers add column last_error text;
alter table triggers add column holder text collate "C";
alter table triggers add column held_until bigint not null default 0;

-- What arrived for triggers: the end of an execution with the commit that ends it. Kept as history.
create table arrivals (
  id bigint generated always as identity primary key,
  trigger_name text collate "C" not null,
  key text collate "C" not null,
  at bigint not null,
  body text not null,
  state text not null default 'pending',
  firing text,
  attempts integer not null default 0,
  next_at bigint default 0,
  execution text collate "C",
  error text,
  settled_at bigint,
  unique (trigger_name, key)
);
create index arrivals_due on arrivals (next_at) where state = 'pending';
create index arrivals_pending on arrivals (trigger_name, id) where state = 'pending';
create index arrivals_of_trigger on arrivals (trigger_name, id);

-- One that goes on as another has not ended.
create function arrive_at_triggers() returns trigger language plpgsql as $$
begin
  insert into noetl.arrivals (trigger_name, key, at, body)
  select t.name, new.execution_id, coalesce(new.ended_at, noetl.now_ms()),
    json_build_object('execution_id', new.execution_id, 'path', new.path, 'status', new.status)::text
  from noetl.triggers t
  where t.kind = 'playbook' and t.enabled and t.options::jsonb -> 'on' ? new.status
    and ((t.options::jsonb -> 'children')::boolean or new.parent is null)
    and exists (
      select 1 from jsonb_array_elements_text(t.options::jsonb -> 'after') as a (pattern)
      where new.path like replace(replace(replace(replace(replace(
        a.pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_')
    )
    and not exists (
      select 1 from noetl.executions s
      where s.chain = coalesce(new.chain, new.execution_id) and s.continued_from = new.execution_id
    )
  on conflict do nothing;
  return null;
end $$;
create trigger arrive_with_change after update of status on executions for each row
when (new.status <> old.status and new.status in ('failed', 'completed'))
execute function arrive_at_triggers();
create trigger arrive_with_beginning after insert on executions for each row
when (new.status in ('failed', 'completed'))
execute function arrive_at_triggers();

create function forget_arrivals() returns trigger language plpgsql as $$
begin
  delete from noetl.arrivals where trigger_name = old.name;
  return null;
end $$;
create trigger forget_arrivals after delete on triggers for each row execute function forget_arrivals();
