-- oldest reader: 8
-- What tasks print, some lines of one attempt at a task in a row: `total` counts the bytes of the execution up to
-- here, `upto` those of the attempt.
create table task_lines (
  execution bigint not null,
  number bigint not null,
  total bigint not null,
  upto bigint not null,
  lines bigint not null,
  lost bigint not null,
  whose text collate "C" not null,
  body bytea not null,
  primary key (execution, number)
);
do $$
begin
  alter table task_lines alter column body set compression lz4;
exception when feature_not_supported then
  null; -- this server was built without it and compresses in its own, slower way
end $$;
