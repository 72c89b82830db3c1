-- oldest reader: 8
-- Since when the payloads of an execution are given up: no retry may refer to them any more.
alter table executions add column expired_at bigint;
