-- The event log and its projections. Times are milliseconds since the epoch; JSON rests as the bytes it came in.
create function now_ms() returns bigint language sql volatile
  as $$ select (extract(epoch from clock_timestamp()) * 1000)::bigint $$;

-- Most commits change seq alone: room in the page lets that happen without touching an index.
create table executions (
  id bigint generated always as identity primary key,
  seq bigint not null,
  requested_at bigint not null,
  started_at bigint,
  ended_at bigint,
  due_at bigint,
  trimmed_at bigint,
  owned_until bigint not null default 0,
  version bigint,
  owner text,
  status text not null,
  execution_id text collate "C" not null unique,
  path text not null,
  hash text not null,
  parent text collate "C",
  retry_of text collate "C",
  idempotency_key text collate "C",
  request text,
  result bytea
) with (fillfactor = 60);
create unique index executions_by_key on executions (idempotency_key) where idempotency_key is not null;
create index executions_open on executions (owner, due_at) where ended_at is null;
create index executions_by_parent on executions (parent) where parent is not null;
create index executions_by_retry_of on executions (retry_of) where retry_of is not null;

-- One row per owner keeps all its claims fresh: a heartbeat costs the same for one execution and for ten thousand.
create table owners (
  owner text primary key,
  until bigint not null
) with (fillfactor = 50);

-- One row per decided message.
create table log (
  execution bigint not null,
  first bigint not null,
  last bigint not null,
  ts bigint not null,
  cause bytea not null,
  body bytea not null,
  hash bytea not null,
  batch text collate "C",
  seal bytea,
  primary key (execution, first)
);
create unique index log_by_batch on log (execution, batch) where batch is not null;

create table snapshots (
  execution bigint primary key,
  seq bigint not null,
  hash bytea not null,
  state bytea not null
);

create table mailbox (
  execution bigint not null,
  id bigint generated always as identity,
  message bytea not null,
  primary key (execution, id)
);

-- A playbook that is taken off the catalog keeps its text for the executions that ran it.
create table playbooks (
  path text collate "C" not null,
  version bigint not null,
  hash text collate "C" not null,
  text text not null,
  file text,
  registered_at bigint not null,
  deleted_at bigint,
  primary key (path, version)
);
create index playbooks_by_hash on playbooks (hash);

create table credentials (
  name text collate "C" primary key,
  sealed bytea not null,
  set_at bigint not null
);

-- What is needed to tell a good token, never the token itself.
create table tokens (
  id text collate "C" primary key,
  hash text not null,
  name text not null,
  scopes text[] not null,
  prefixes text[] not null,
  created_at bigint not null,
  expires_at bigint,
  made_by text not null
);

-- Payloads in chunks. The row in payloads says that they are all there.
create table payloads (
  key text collate "C" primary key,
  parts integer not null,
  bytes bigint not null,
  written_at bigint not null
);
create table payload_chunks (
  key text collate "C" not null,
  part integer not null,
  written_at bigint not null,
  body bytea not null,
  primary key (key, part)
);
alter table payload_chunks alter column body set storage external;

do $$
begin
  alter table log alter column body set compression lz4;
  alter table snapshots alter column state set compression lz4;
exception when feature_not_supported then
  null; -- this server was built without it and compresses in its own, slower way
end $$;
