-- The statements about ticks and backfills. A line `-- name: x` begins the statement called x.

-- name: add_tick
insert into ticks (owner, tick, status, execution, why, at) values ($1, $2, $3, $4, $5, $6)
on conflict (owner, tick) do nothing

-- name: forget_ticks
delete from ticks where owner = $1 and status not in ('queued', 'starting', 'running')
  and tick <= (select tick from ticks where owner = $1 order by tick desc offset $2::bigint limit 1)

-- name: ticks
select owner, tick, status, execution, why, at,
  case when t.status = 'running' then (
    select n.status from executions e join executions n on n.id = coalesce(
      (select max(c.id) from executions c where c.chain = coalesce(e.chain, e.execution_id)), e.id)
    where e.execution_id = t.execution) end
from ticks t where owner = $1 and ($2::bigint is null or tick < $2) order by tick desc limit $3

-- name: open_ticks
select owner, tick, status, execution, why, at from ticks
where status in ('queued', 'starting', 'running') and ($1::text is null or owner = $1) order by tick, owner

-- name: ended_ticks
select t.owner, t.tick, coalesce(n.status, 'failed'), t.execution, case when n.id is null then $1 else t.why end, t.at
from ticks t left join executions e on e.execution_id = t.execution
left join executions n on n.id = coalesce(
  (select max(c.id) from executions c where c.chain = coalesce(e.chain, e.execution_id)), e.id)
where t.status = 'running' and (n.id is null or n.ended_at is not null)

-- name: note_ends
-- Of executions that are about to be deleted, what their ticks do not say yet.
update ticks t set status = n.status, at = coalesce($2::bigint, now_ms())
from executions e join executions n on n.id = coalesce(
  (select max(c.id) from executions c where c.chain = coalesce(e.chain, e.execution_id)), e.id)
where t.status = 'running' and e.execution_id = t.execution and e.execution_id = any ($1::text[])
  and n.ended_at is not null

-- name: planned_ticks
select owner, tick, status, execution, why, at from ticks
where owner = $1 and status = 'waiting' order by tick limit $2

-- name: move_tick
update ticks set status = $4, execution = coalesce($5, execution), why = $6, at = $7
where owner = $1 and tick = $2 and status = $3 returning 1

-- name: start_tick
with running as materialized (select id from backfills where id = $8 and status = 'running' for share)
update ticks set status = $4, execution = coalesce($5, execution), why = $6, at = $7
where owner = $1 and tick = $2 and status = $3 and exists (select from running) returning 1

-- name: tick_counts
select status, standing, count(*) from (
  select t.status, case when t.status = 'running' then (
      select n.status from executions e join executions n on n.id = coalesce(
        (select max(c.id) from executions c where c.chain = coalesce(e.chain, e.execution_id)), e.id)
      where e.execution_id = t.execution) end as standing
  from ticks t where owner = $1) as counted
group by status, standing

-- name: put_backfill
insert into backfills (id, status, created_at, body) values ($1, $2, $3, $4) returning 1

-- name: forget_backfills
delete from backfills where id in (
  select id from backfills where status in ('done', 'cancelled') order by created_at desc, id offset $1::bigint)

-- name: forget_backfill_ticks
delete from ticks where owner like 'backfill/%'
  and not exists (select 1 from backfills where 'backfill/' || id = ticks.owner)

-- name: backfill
select id, status, body from backfills where id = $1

-- name: backfills
select id, status, body from backfills order by created_at desc, id

-- name: running_backfills
select id, status, body from backfills where status = 'running' order by created_at, id

-- name: note_tick
update schedules set last_execution = coalesce($3, last_execution), last_error = $4 where name = $1 and last_at = $2

-- name: drop_ticks
delete from ticks where owner = $1

-- name: move_backfill
update backfills set status = $3
where id = $1 and status in (select jsonb_array_elements_text($2::jsonb)) returning 1

-- name: cancel_planned
update ticks set status = 'cancelled', why = 'the backfill was cancelled', at = $2
where owner = $1 and status = 'waiting'
