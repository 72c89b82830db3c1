-- Servers that workers connect to, each until it is silent for too long.
create table servers (
  server text collate "C" primary key,
  url text not null,
  until bigint not null
);

-- The pools that a worker with a token may serve. Tokens from before served any.
alter table tokens add column pools text[] not null default '{*}';
