-- The statements about schedules and triggers. A line `-- name: x` begins the statement called x.

-- name: clock
select coalesce($1::bigint, now_ms())

-- name: put_schedule
insert into schedules (name, path, version, workload, cron, timezone, every_s, enabled, catch_up, overlap, next_at, last_at,
  last_execution, last_error, created_at, made_by, skipped)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
on conflict (name) do update set path = excluded.path, version = excluded.version, workload = excluded.workload,
  cron = excluded.cron, timezone = excluded.timezone, every_s = excluded.every_s, enabled = excluded.enabled,
  catch_up = excluded.catch_up, overlap = excluded.overlap, next_at = excluded.next_at

-- name: add_schedule
insert into schedules (name, path, version, workload, cron, timezone, every_s, enabled, catch_up, overlap, next_at, last_at,
  last_execution, last_error, created_at, made_by, skipped)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
on conflict (name) do nothing returning 1

-- name: schedule
select name, path, version, workload, cron, timezone, every_s, enabled, catch_up, overlap, next_at, last_at, last_execution,
  last_error, created_at, made_by, skipped
from schedules where name = $1

-- name: schedules
select name, path, version, workload, cron, timezone, every_s, enabled, catch_up, overlap, next_at, last_at, last_execution,
  last_error, created_at, made_by, skipped
from schedules order by name

-- name: delete_schedule
delete from schedules where name = $1 returning 1

-- name: due_schedules
select name, path, version, workload, cron, timezone, every_s, enabled, catch_up, overlap, next_at, last_at, last_execution,
  last_error, created_at, made_by, skipped
from schedules where next_at <= coalesce($1::bigint, now_ms()) order by next_at, name limit $2

-- name: advance_schedule
update schedules set next_at = $3, last_at = $4, last_execution = coalesce($5, last_execution), last_error = $6,
  skipped = coalesce($7, skipped)
where name = $1 and next_at = $2 returning 1

-- name: put_trigger
insert into triggers (name, kind, path, version, workload, payload_key, secret, subject, queue, enabled, created_at, made_by,
  options)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
on conflict (name) do update set kind = excluded.kind, path = excluded.path, version = excluded.version,
  workload = excluded.workload, payload_key = excluded.payload_key,
  secret = case when excluded.kind = 'webhook' then coalesce(excluded.secret, triggers.secret) end, subject = excluded.subject, queue = excluded.queue, enabled = excluded.enabled, options = excluded.options

-- name: add_trigger
insert into triggers (name, kind, path, version, workload, payload_key, secret, subject, queue, enabled, created_at, made_by,
  options)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
on conflict (name) do nothing returning 1

-- name: trigger
select name, kind, path, version, workload, payload_key, secret, subject, queue, enabled, created_at, made_by, options,
  last_at, last_execution, last_error,
  (select count(*) from arrivals a where a.trigger_name = t.name and a.state = 'pending')
from triggers t where name = $1

-- name: triggers
select name, kind, path, version, workload, payload_key, secret, subject, queue, enabled, created_at, made_by, options,
  last_at, last_execution, last_error,
  (select count(*) from arrivals a where a.trigger_name = t.name and a.state = 'pending')
from triggers t order by name

-- name: delete_trigger
delete from triggers where name = $1 returning 1
