-- oldest reader: 8
-- What triggers on objects have seen: the listing they looked at last, and when they look again.
alter table triggers add column looked text;
alter table triggers add column next_look bigint not null default 0;
create table seen_objects (
  trigger_name text collate "C" not null,
  key text collate "C" not null,
  tag text not null,
  primary key (trigger_name, key)
);
create function forget_seen_objects() returns trigger language plpgsql as $$
begin
  delete from noetl.seen_objects where trigger_name = old.name;
  return null;
end $$;
create trigger forget_seen_objects after delete on triggers for each row execute function forget_seen_objects();
