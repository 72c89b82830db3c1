-- The statements about what arrives for triggers. A line `-- name: x` begins the statement called x.

-- name: add_arrival
insert into arrivals (trigger_name, key, at, body)
select $1, $2, $3, $4 where exists (select 1 from triggers where name = $1)
on conflict do nothing returning id

-- name: arrivals
select id, trigger_name, key, at, body, state, firing, attempts, next_at, execution, error, settled_at
from arrivals where trigger_name = $1 and ($2::bigint is null or id < $2) order by id desc limit $3

-- name: waiting_triggers
with moment as materialized (select coalesce($1::bigint, now_ms()) as now)
select t.name from moment, arrivals a join triggers t on t.name = a.trigger_name
where a.state = 'pending' and a.next_at <= now and t.enabled and t.held_until <= now
group by t.name order by min(a.id) limit $2

-- name: hold_trigger
update triggers set holder = $2, held_until = coalesce($4::bigint, now_ms()) + $3
where name = $1 and (held_until <= coalesce($4::bigint, now_ms()) or holder = $2) returning 1

-- name: let_go_of_trigger
update triggers set held_until = 0, holder = null where name = $1 and holder = $2

-- name: pending_arrivals
select id, trigger_name, key, at, body, state, firing, attempts, next_at, execution, error, settled_at
from arrivals
where trigger_name = $1 and state = 'pending' and (firing is null or next_at <= coalesce($3::bigint, now_ms()))
order by id limit $2

-- name: change_arrivals
with held as materialized (
  select 1 from triggers where name = $1 and holder = $2 for update -- who takes it over waits for this
)
update arrivals set state = $4, firing = $5, attempts = $6, next_at = $7, execution = $8, error = $9, settled_at = $10
where trigger_name = $1 and state = 'pending' and id = any ($3::bigint[]) and exists (select 1 from held) returning 1

-- name: due_listings
with moment as materialized (select coalesce($1::bigint, now_ms()) as now)
select name from triggers, moment where kind = 'object' and enabled and next_look <= now and held_until <= now
order by next_look, name limit $2

-- name: looked
select looked from triggers where name = $1

-- name: seen_objects
select key, tag from seen_objects where trigger_name = $1

-- name: note_look
update triggers set looked = $3, next_look = $4 where name = $1 and holder = $2 returning 1

-- name: keep_seen
insert into seen_objects (trigger_name, key, tag) values ($1, $2, $3)
on conflict (trigger_name, key) do update set tag = excluded.tag

-- name: forget_seen
delete from seen_objects where trigger_name = $1 and key = $2

-- name: note_firing
with moment as materialized (select coalesce($4::bigint, now_ms()) as now)
update triggers set last_at = now, last_execution = coalesce($2, last_execution), last_error = $3 from moment
where name = $1 and (last_at is null or last_at <= now - 1000 or $3::text is not null or last_error is not null)

-- name: prune_arrivals
delete from arrivals where settled_at < $1 and state <> 'pending' returning 1
