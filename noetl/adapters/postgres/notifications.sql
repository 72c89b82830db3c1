-- The statements about notifications and their deliveries. A line `-- name: x` begins the statement called x.

-- name: put_notification
insert into notifications (name, occasions, path, target, auth, children, enabled, created_at, made_by)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (name) do update set occasions = excluded.occasions, path = excluded.path, target = excluded.target,
  auth = excluded.auth, children = excluded.children, enabled = excluded.enabled

-- name: add_notification
insert into notifications (name, occasions, path, target, auth, children, enabled, created_at, made_by)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (name) do nothing returning 1

-- name: notification
select name, occasions, path, target, auth, children, enabled, created_at, made_by from notifications where name = $1

-- name: notifications
select name, occasions, path, target, auth, children, enabled, created_at, made_by from notifications order by name

-- name: delete_notification
with gone as (delete from deliveries where notification = $1)
delete from notifications where name = $1 returning 1

-- name: tell
insert into deliveries (notification, occasion, execution_id, path, seq, at, detail, next_at)
select n.name, $2, e.execution_id, e.path, $3, $4, $6, $7
from executions e, notifications_for(e) n
where e.execution_id = $1 and case when $5::text is null
  then n.occasions::jsonb ? $2 and (n.children or e.parent is null)
  else $5::jsonb ? n.name end

-- name: add_delivery
insert into deliveries (notification, occasion, path, seq, at, detail)
select name, $2, coalesce($4::text, path), 0, $3, $5::text from notifications where name = $1
returning id, notification, occasion, execution_id, path, seq, at, detail, state, attempts, next_at, code, error,
  settled_at, answers

-- name: deliveries
select id, notification, occasion, execution_id, path, seq, at, detail, state, attempts, next_at, code, error,
  settled_at, answers
from deliveries
where ($1::text is null or notification = $1) and ($2::text is null or execution_id = $2)
  and ($3::text is null or state = $3) and ($4::bigint is null or id < $4)
  and (next_at is null or occasion <> 'late' or at <= coalesce($6::bigint, now_ms()))
order by id desc limit $5

-- name: delivery
select id, notification, occasion, execution_id, path, seq, at, detail, state, attempts, next_at, code, error,
  settled_at, answers
from deliveries where id = $1

-- name: deliveries_due
select 1 from deliveries where next_at <= coalesce($1::bigint, now_ms()) limit 1

-- name: take_deliveries
with moment as materialized (select coalesce($1::bigint, now_ms()) as now), due as materialized (
  select id from deliveries, moment
  where next_at <= now and notification <> all ($3::text[])
  order by next_at, id limit $4
  for update of deliveries skip locked
)
update deliveries d set next_at = now + $2::bigint, attempts = attempts + 1 from due, moment where d.id = due.id
returning d.id, notification, occasion, execution_id, path, seq, at, detail, state, attempts, next_at, code, error,
  settled_at, answers

-- name: settle_delivery
update deliveries set state = $3, next_at = $4, code = $5, error = $6, answers = $7,
  settled_at = case when $3::text = 'pending' then null else $8::bigint end
where id = $1 and attempts = $2 returning 1

-- name: drop_delivery
delete from deliveries where id = $1

-- name: redeliver
update deliveries set state = 'pending', attempts = 0, next_at = 0, settled_at = null where id = $1 returning 1

-- name: prune_deliveries
delete from deliveries where settled_at < $1 and next_at is null returning 1
