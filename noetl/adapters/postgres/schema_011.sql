-- oldest reader: 8
-- What became of the ticks of schedules and backfills, and backfills themselves.
alter table schedules add column overlap text not null default 'allow';
create table ticks (
  owner text collate "C" not null,
  tick bigint not null,
  status text not null,
  execution text collate "C",
  why text,
  at bigint not null,
  primary key (owner, tick)
);
create index ticks_open on ticks (status) where status in ('queued', 'starting', 'running');
create table backfills (
  id text collate "C" primary key,
  status text not null,
  created_at bigint not null,
  body text not null
);
