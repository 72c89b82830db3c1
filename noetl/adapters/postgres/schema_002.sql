-- What starts executions without a person. The workloads are JSON, as the text they came in.
create table schedules (
  name text collate "C" primary key,
  path text not null,
  version bigint,
  workload text not null,
  cron text,
  timezone text not null,
  every_s bigint,
  enabled boolean not null,
  catch_up text not null,
  next_at bigint,
  last_at bigint,
  last_execution text,
  last_error text,
  created_at bigint not null,
  made_by text not null
);
create index schedules_due on schedules (next_at) where next_at is not null;

-- Of a webhook's secret only what is needed to tell it.
create table triggers (
  name text collate "C" primary key,
  kind text not null,
  path text not null,
  version bigint,
  workload text not null,
  payload_key text not null,
  secret text,
  subject text,
  queue text,
  enabled boolean not null,
  created_at bigint not null,
  made_by text not null
);
