-- Every statement of the PostgreSQL store but the append. A line `-- name: x` begins the statement called x.

-- name: begin_one
-- An append alone, of one row: in plain values it takes two thirds of the time that the append of many takes.
with moment as materialized (
  select coalesce($21::bigint, now_ms()) + $20::bigint as owned_until
), begun as (
  insert into executions (
    seq, head, execution_id, status, path, version, hash, requested_at, started_at, ended_at, due_at,
    parent, retry_of, idempotency_key, request, result, requested_by, owner, owned_until, format
  )
  select
    $1::bigint, $2::bytea, $3::text, $4::text, $5::text, $6::bigint, $7::text, $8::bigint, $9::bigint, $10::bigint,
    $11::bigint, $12::text, $13::text, $14::text, $15::text, $16::bytea, $17::text, $18::text,
    coalesce(owned_until, 0), $27::smallint
  from moment
  where not $19::bool
    or $6 = (select max(v.version) from playbooks v where v.path = $5 and v.deleted_at is null)
  on conflict do nothing
  returning id
), alive as (
  insert into owners (owner, until, session)
  select $18, owned_until, split_part(current_setting('application_name'), ' ', 2)
  from begun, moment where owned_until is not null
  on conflict (owner) do update set until = excluded.until, session = excluded.session
  where owners.until < excluded.until - 1000
)
insert into log (execution, first, last, ts, cause, body, hash, batch, format)
select id, $22::bigint, $1, $23::bigint, $24::bytea, $25::bytea, $2, $26::text, $27::smallint from begun
returning 0

-- name: advance_one
-- Most appends: nothing changes of what is shown of the execution.
with moved as (
  update executions e set seq = $3, head = $5, format = greatest(e.format, $11::smallint)
  where e.execution_id = $1 and e.seq = $2::bigint and ($4::text is null or e.owner = $4)
  returning e.id
)
insert into log (execution, first, last, ts, cause, body, hash, batch, format)
select id, $6::bigint, $3, $7::bigint, $8::bytea, $9::bytea, $5, $10::text, $11::smallint from moved
returning 0

-- name: change_one
with moved as (
  update executions e set
    seq = $3,
    head = $5,
    format = greatest(e.format, $17::smallint),
    status = $6,
    path = $7,
    version = $8,
    hash = $9,
    started_at = $10,
    due_at = $11
  where e.execution_id = $1 and e.seq = $2::bigint and ($4::text is null or e.owner = $4)
  returning e.id
)
insert into log (execution, first, last, ts, cause, body, hash, batch, format)
select id, $12::bigint, $3, $13::bigint, $14::bytea, $15::bytea, $5, $16::text, $17::smallint from moved
returning 0

-- name: end_one
with moved as (
  update executions e set
    seq = $3,
    head = $5,
    format = greatest(e.format, $19::smallint),
    status = $6,
    path = $7,
    version = $8,
    hash = $9,
    started_at = $10,
    due_at = $11,
    ended_at = $12,
    result = $13
  where e.execution_id = $1 and e.seq = $2::bigint and ($4::text is null or e.owner = $4)
  returning e.id
), dropped as (
  delete from mailbox m using moved where m.execution = moved.id
)
insert into log (execution, first, last, ts, cause, body, hash, batch, format)
select id, $14::bigint, $3, $15::bigint, $16::bytea, $17::bytea, $5, $18::text, $19::smallint from moved
returning 0

-- name: advance
-- The same for several rows of an execution that goes on.
with moved as (
  update executions e set
    seq = $3,
    head = coalesce($5, e.head),
    format = greatest(e.format, (select max(f) from unnest($20::smallint[]) as f)),
    status = case when $6 then $7 else e.status end,
    path = case when $6 then $8 else e.path end,
    version = case when $6 then $9 else e.version end,
    hash = case when $6 then $10 else e.hash end,
    started_at = case when $6 then $11 else e.started_at end,
    due_at = case when $6 then $12 else e.due_at end
  where e.execution_id = $1 and e.seq = $2::bigint and ($4::text is null or e.owner = $4)
  returning e.id
), logged as (
  insert into log (execution, first, last, ts, cause, body, hash, batch, format)
  select moved.id, r.first, r.last, r.ts, r.cause, r.body, r.hash, r.batch, r.format from moved, unnest(
    $13::bigint[], $14::bigint[], $15::bigint[], $16::bytea[], $17::bytea[], $18::bytea[], $19::text[],
    $20::smallint[]
  ) as r (first, last, ts, cause, body, hash, batch, format)
)
select 0 from moved

-- name: landed
-- Which appends of a commit whose answer was lost are in the log: found by the hash of their first row.
select a.n from unnest($1::int[], $2::text[], $3::bigint[], $4::bytea[]) as a (n, execution_id, first, hash)
join executions e on e.execution_id = a.execution_id
join log l on l.execution = e.id and l.first = a.first and l.hash = a.hash

-- name: link_successor
update executions set continued_from = $2, chain = $3 where execution_id = $1

-- name: move_mail
-- To the execution that goes on. What comes after this, and before the commit, is brought by a heartbeat.
update mailbox set execution = (select id from executions where execution_id = $2)
where execution = (select id from executions where execution_id = $1)

-- name: mark_continued
update executions set continued_as = $2 where execution_id = $1

-- name: standing
select seq, owner from executions where execution_id = $1

-- name: recovery
select s.seq, s.state, s.hash, e.id from executions e left join snapshots s on s.execution = e.id
where e.execution_id = $1

-- name: rows_behind
select first, last, ts, cause, body, hash, batch, seal, format from log where execution = $1 and first > $2 order by first

-- name: recoveries
select e.execution_id, e.id, s.seq, s.state, s.hash from executions e left join snapshots s on s.execution = e.id
where e.execution_id = any ($1::text[])

-- name: rows_behind_each
-- One step through the index for each: not a join, which could be planned as one over the whole log.
select l.* from unnest($1::bigint[], $2::bigint[]) as a (id, seq) cross join lateral (
  select execution, first, last, ts, cause, body, hash, batch, seal, format from log
  where execution = a.id and first > a.seq order by first
) l

-- name: rows_from
with known as materialized (select id from executions where execution_id = $1)
select first, last, ts, cause, body, hash, batch, seal, format from log
where execution = (select id from known) and first >= coalesce(
  (select max(first) from log where execution = (select id from known) and first <= $2), $2) and last >= $2
order by first limit $3

-- name: answered
select exists (select from log l where l.execution = e.id and l.batch = $2) from executions e
where e.execution_id = $1

-- name: execution
select execution_id, status, path, version, hash, requested_at, started_at, ended_at, due_at,
  parent, retry_of, idempotency_key, request, result, requested_by, stuck, format, continued_from, continued_as,
  chain
from executions where execution_id = $1

-- name: projection
select e.seq, e.head, s.seq, s.hash, s.state, execution_id, status, path, version, e.hash, requested_at, started_at,
  ended_at, due_at, parent, retry_of, idempotency_key, request, result, requested_by, stuck, format, continued_from, continued_as,
  chain
from executions e left join snapshots s on s.execution = e.id where e.execution_id = $1

-- name: execution_by_key
select execution_id, status, path, version, hash, requested_at, started_at, ended_at, due_at,
  parent, retry_of, idempotency_key, request, result, requested_by, stuck, format, continued_from, continued_as,
  chain
from executions where idempotency_key = $1

-- name: newest
select execution_id, status, path, version, hash, requested_at, started_at, ended_at, due_at,
  parent, retry_of, idempotency_key, request, result, requested_by, stuck, format, continued_from, continued_as,
  chain
from executions where id = (
  select coalesce((select max(n.id) from executions n where n.chain = coalesce(e.chain, e.execution_id)), e.id)
  from executions e where e.execution_id = $1)

-- name: executions
select id, execution_id, status, path, version, hash, requested_at, started_at, ended_at, due_at,
  parent, retry_of, idempotency_key, request, result, requested_by, stuck, format, continued_from, continued_as,
  chain
from executions

-- name: tally
select status, greatest(0, (coalesce(ended_at, requested_at) - $1::bigint) / $2::bigint) as part, count(*)
from (
  select status, path, requested_at, ended_at
  from (select status, path, requested_at, ended_at from executions order by id desc limit $4::bigint) newest
  where ended_at is not null and requested_at >= $1
  union all
  select status, path, requested_at, ended_at from executions where ended_at is null
) counted
where $3::text is null or path like $3
group by 1, 2

-- name: retried
select distinct retry_of from executions where retry_of = any($1::text[])

-- name: claim
-- The row's own columns are looked at again when another claim came first; what owners say would not be.
with moment as materialized (select coalesce($4::bigint, now_ms()) as now),
claimed as (
  update executions e set owner = $2, owned_until = now + $3::bigint,
    in_hand = case when e.owner is null or e.owner = $2 then e.in_hand else coalesce(e.in_hand, '') end
  from moment
  where e.execution_id = $1 and e.stuck is null and (e.owner is null or e.owner = $2 or not exists (
    select from owners o where o.owner = e.owner and o.until >= now)
    and (e.owned_until < now or exists (select from owners o where o.owner = e.owner and o.until = 0)))
  returning now
), alive as (
  insert into owners (owner, until, session)
  select $2, now + $3::bigint, split_part(current_setting('application_name'), ' ', 2) from claimed
  on conflict (owner) do update set until = greatest(owners.until, excluded.until), session = excluded.session
)
select exists (select from executions where execution_id = $1), exists (select from claimed)

-- name: owned
select e.owner is not null and (coalesce(o.until >= now, false) or (e.owned_until >= now and o.until is distinct from 0))
from (select coalesce($2::bigint, now_ms()) as now) moment, executions e left join owners o on o.owner = e.owner
where e.execution_id = $1

-- name: leave
with gone as (delete from owners where owner = $1)
update executions set owner = null, owned_until = 0, in_hand = nullif(nullif(in_hand, owner), 'reading ' || owner)
where owner = $1 and ended_at is null

-- name: let_go
update executions set owner = null, owned_until = 0, in_hand = nullif(nullif(in_hand, owner), 'reading ' || owner)
where execution_id = $1 and owner = $2 and ended_at is null

-- name: desert
-- An owner that is gone has its claims no longer, however fresh; until it is heard of again. One row says it for all.
update owners set until = 0 where owner = $1

-- name: take_over
-- What nobody alive owns, and of one's own what is wanted again. Whoever asks at the same moment gets others: rows
-- that are being taken are stepped over, and each is looked at again once it is locked. What is paused rests with
-- nobody, unless its parent is over: that it ends with it may have been lost with whoever was to tell it.
with recursive moment as materialized (select coalesce($3::bigint, now_ms()) as now),
named (owner) as (
  (select owner from executions where ended_at is null and owner is not null order by owner limit 1)
  union all
  select (select e.owner from executions e where e.ended_at is null and e.owner > n.owner
    order by e.owner limit 1)
  from named n where n.owner is not null
), silent as materialized (
  select n.owner, coalesce(o.until = 0, false) as gone from moment, named n left join owners o on o.owner = n.owner
  where n.owner <> $1 and coalesce(o.until < now, true)
), wanted as materialized (
  select e.id, e.in_hand from executions e
  where e.execution_id = any ($4::text[]) and e.owner = $1 and e.ended_at is null and e.stuck is null
  limit $5 for update skip locked
), unowned as materialized (
  select e.id, e.in_hand from executions e
  where e.owner is null and e.ended_at is null and (e.status not in ('paused', 'stuck') or (e.status = 'paused'
      and (select p.ended_at is not null from executions p where p.execution_id = e.parent)))
    and e.execution_id <> all ($7::text[])
  order by e.due_at limit $5 for update skip locked
), orphaned as materialized (
  select e.id, coalesce(e.in_hand, '') as in_hand from silent s cross join lateral (
    select e.id, e.in_hand from executions e
    where e.owner = s.owner and e.ended_at is null and (e.status not in ('paused', 'stuck') or (e.status = 'paused'
      and (select p.ended_at is not null from executions p where p.execution_id = e.parent)))
      and (s.gone or e.owned_until < (select now from moment)) and e.execution_id <> all ($7::text[])
    order by e.due_at limit $5 for update skip locked
  ) e
), chosen as materialized (
  select id, in_hand, died from (
    select id, in_hand, false as died from wanted
    union all select id, in_hand, false from unowned
    union all select id, in_hand, true from orphaned
  ) everything limit $5
), taken as (
  update executions e set owner = $1, owned_until = now + $2::bigint,
    in_hand = case when c.died then $6::text else e.in_hand end
  from chosen c, moment where e.id = any (array[c.id])
  returning c.in_hand as before, e.*
), alive as (
  insert into owners (owner, until, session)
  select $1, now + $2::bigint, split_part(current_setting('application_name'), ' ', 2) from moment
  where exists (select from taken)
  on conflict (owner) do update set until = greatest(owners.until, excluded.until), session = excluded.session
)
select t.before, coalesce(octet_length(s.state), 0) + 500 * (t.seq - coalesce(s.seq, 0)), t.execution_id, t.status,
  t.path, t.version, t.hash, t.requested_at, t.started_at, t.ended_at, t.due_at, t.parent, t.retry_of,
  t.idempotency_key, t.request, t.result, t.requested_by, t.stuck, t.format
from taken t left join snapshots s on s.execution = t.id

-- name: take_in_hand
with before as materialized (select id, in_hand from executions where execution_id = $1 for update),
taken as (
  update executions e set in_hand = $2 from before b where e.id = b.id and b.in_hand is not null
)
select in_hand from before

-- name: note_in_hand
-- In the order in which put_down locks them too: whoever comes second waits for the first, and nobody for each other.
with locked as materialized (
  select id from executions where execution_id = any ($1::text[]) order by id for update
)
update executions e set in_hand = $2 from locked l where e.id = l.id

-- name: put_down
with locked as materialized (
  select id from executions where execution_id = any ($1::text[]) and in_hand = $2 order by id for update
)
update executions e set in_hand = null from locked l where e.id = l.id

-- name: set_aside
update executions set stuck = jsonb_set($3::jsonb, '{status}', to_jsonb(status))::text, status = 'stuck', owner = null, owned_until = 0, in_hand = null
where execution_id = $1 and owner = $2 and ended_at is null returning 1

-- name: release
with moment as materialized (select coalesce($6::bigint, now_ms()) as now),
freed as (
  update executions set stuck = null, status = $4, in_hand = $5, owner = $2, owned_until = now + $3::bigint
  from moment where execution_id = $1 and stuck = $7
  returning now
), alive as (
  insert into owners (owner, until, session)
  select $2, now + $3::bigint, split_part(current_setting('application_name'), ' ', 2) from freed
  on conflict (owner) do update set until = greatest(owners.until, excluded.until), session = excluded.session
)
select 1 from freed

-- name: count_stuck
select count(*) from executions where stuck is not null

-- name: heartbeat
-- Owners that were last heard of a day ago and have nothing open any more are forgotten by the way.
with moment as materialized (select coalesce($3::bigint, now_ms()) as now),
forgotten as (
  delete from owners o using moment where o.until < now - 86400000 and o.owner <> $1 and not exists (
    select from executions e where e.owner = o.owner and e.ended_at is null)
)
insert into owners (owner, until, session)
select $1, now + $2::bigint, split_part(current_setting('application_name'), ' ', 2) from moment
on conflict (owner) do update set until = excluded.until, session = excluded.session

-- name: announce
insert into servers (server, url, until) values ($1, $2, coalesce($4::bigint, now_ms()) + $3::bigint)
on conflict (server) do update set url = excluded.url, until = excluded.until

-- name: withdraw
delete from servers where server = $1 or until < coalesce($2::bigint, now_ms())

-- name: servers
select server, url from servers where until >= coalesce($1::bigint, now_ms()) order by server

-- name: drop_late_mail
-- A letter that was on its way when its execution ended; of one that goes on as another it follows.
with late as materialized (
  select m.id, (select s.id from executions s where s.execution_id = e.continued_as) as successor
  from mailbox m join executions e on e.id = m.execution where e.ended_at is not null
), followed as (
  update mailbox m set execution = late.successor from late where m.id = late.id and late.successor is not null
)
delete from mailbox m using late where m.id = late.id and late.successor is null

-- name: absent
-- Owners none of whose connections is left. One whose name may not be read could be anyone's.
select o.owner from owners o where o.session <> '' and o.until > 0 and not exists (
  select from pg_stat_activity a where a.datname = current_database()
    and (a.application_name is null or split_part(a.application_name, ' ', 2) = o.session))

-- name: due
-- By owner, so that one index serves: what is due with anyone, and all that belongs to who is not heard of.
-- The owners are those that executions name, one step through the index each: who names nobody knows is silent.
with recursive moment as materialized (select coalesce($1::bigint, now_ms()) as now),
named (owner) as (
  (select owner from executions where ended_at is null and owner is not null order by owner limit 1)
  union all
  select (select e.owner from executions e where e.ended_at is null and e.owner > n.owner
    order by e.owner limit 1)
  from named n where n.owner is not null
), everyone as materialized (
  select n.owner, coalesce(o.until < now, true) as silent, coalesce(o.until = 0, false) as gone from moment, named n left join owners o on o.owner = n.owner
  where n.owner is not null
), found as (
  select e.id, e.execution_id, e.due_at from everyone o cross join lateral (
    select id, execution_id, due_at from executions e
    where e.owner = o.owner and e.ended_at is null and e.status not in ('paused', 'stuck')
      and e.due_at <= (select now from moment)
    order by e.due_at limit $2
  ) e
  union
  select e.id, e.execution_id, e.due_at from everyone o cross join lateral (
    select id, execution_id, due_at from executions e
    where o.silent and e.owner = o.owner and e.ended_at is null and e.status not in ('paused', 'stuck')
      and (o.gone or e.owned_until < (select now from moment))
    order by e.due_at limit $2
  ) e
  union
  (select e.id, e.execution_id, e.due_at from executions e
  where e.owner is null and e.ended_at is null and e.status not in ('paused', 'stuck') order by e.due_at limit $2)
)
select execution_id from found order by due_at nulls first, id limit $2

-- name: post
insert into mailbox (execution, message) select id, $2 from executions where execution_id = $1 and ended_at is null
returning id

-- name: is_posted
select 1 from mailbox where id = $1

-- name: mail
select m.id, e.execution_id, m.message from mailbox m join executions e on e.id = m.execution
where e.owner = $1 and e.ended_at is null order by m.id

-- name: discard_mail
delete from mailbox where id = any ($1::bigint[])

-- name: newest_version
select path, version, hash, text, file, registered_at, made_by, language, deleted_at from playbooks where path = $1
order by version desc limit 1

-- name: lock_path
select pg_advisory_xact_lock(hashtextextended('noetl playbook ' || $1, 0))

-- name: move_playbook
update playbooks set file = $3 where path = $1 and version = $2

-- name: add_playbook
insert into playbooks (path, version, hash, text, file, registered_at, made_by, language)
values ($1, $2, $3, $4, $5, coalesce($6::bigint, now_ms()), $7, $8)
returning path, version, hash, text, file, registered_at, made_by, language

-- name: playbook_by_hash
select path, version, hash, text, file, registered_at, made_by, language from playbooks
where hash = $1 and ($2::text is null or path = $2) and ($3::bigint is null or version = $3)
order by version desc limit 1

-- name: playbook_by_path
select path, version, hash, text, file, registered_at, made_by, language from playbooks
where ($1::text is null or path = $1) and ($2::bigint is null or version = $2) and deleted_at is null
order by version desc limit 1

-- name: playbooks
select distinct on (path) path, version, hash, text, file, registered_at, made_by, language from playbooks
where deleted_at is null order by path, version desc

-- name: versions
select path, version, hash, text, file, registered_at, made_by, language from playbooks
where path = $1 and deleted_at is null order by version desc

-- name: delete_playbook
update playbooks set deleted_at = coalesce($3::bigint, now_ms())
where path = $1 and ($2::bigint is null or version = $2) and deleted_at is null returning 1

-- name: put_credential
insert into credentials (name, sealed, set_at) values ($1, $2, coalesce($3::bigint, now_ms()))
on conflict (name) do update set sealed = excluded.sealed, set_at = excluded.set_at

-- name: reseal_credential
update credentials set sealed = $3 where name = $1 and sealed = $2 returning 1

-- name: credential
select sealed from credentials where name = $1

-- name: credentials
select name, set_at from credentials order by name

-- name: delete_credential
delete from credentials where name = $1 returning 1

-- name: put_token
insert into tokens (id, hash, name, scopes, prefixes, created_at, expires_at, made_by, pools)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (id) do update set hash = excluded.hash, name = excluded.name, scopes = excluded.scopes,
  prefixes = excluded.prefixes, created_at = excluded.created_at, expires_at = excluded.expires_at,
  made_by = excluded.made_by, pools = excluded.pools

-- name: token
select id, hash, name, scopes, prefixes, created_at, expires_at, made_by, pools from tokens where id = $1

-- name: tokens
select id, hash, name, scopes, prefixes, created_at, expires_at, made_by, pools from tokens
order by created_at desc, id

-- name: delete_token
delete from tokens where id = $1 returning 1

-- name: ended
select execution_id, hash, ended_at, trimmed_at is not null from executions
where ended_at <= $1 and execution_id > $2 order by execution_id limit $3

-- name: family
with recursive family (member, parent, retry_of, chain) as (
  select execution_id, parent, retry_of, chain from executions where execution_id = $1
  union
  select e.execution_id, e.parent, e.retry_of, e.chain from family f join executions e
  on e.execution_id in (f.parent, f.retry_of, f.chain) or f.member in (e.parent, e.retry_of, e.chain)
)
select execution_id, hash, ended_at, trimmed_at is not null from executions
where execution_id in (select member from family)

-- name: trim
with over as materialized (
  select id from executions where execution_id = $1 and ended_at is not null for update
), shorter as (
  update log l set body = r.body, seal = r.seal
  from over, unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[]) as r (first, last, body, seal)
  where l.execution = over.id and l.first = r.first and l.last = r.last
), marked as (
  update executions e set trimmed_at = coalesce($7::bigint, now_ms()) from over where $6 and e.id = over.id
)
select id from over

-- name: hold_kept
-- What a retry goes on from and keeps, held until the retry is in the log; or being given up by another.
select execution_id, expired_at is not null from executions where execution_id = any ($1::text[])
order by id for share nowait

-- name: lock_families
-- Everyone of the families that are over, in one order everywhere. A retry that has begun to begin is waited for.
with recursive family (member, parent, retry_of, chain, ended_at) as (
  select execution_id, parent, retry_of, chain, ended_at from executions
  where execution_id = any ($1::text[]) and expired_at is null
  union
  select e.execution_id, e.parent, e.retry_of, e.chain, e.ended_at from family f join executions e
  on e.execution_id in (f.parent, f.retry_of, f.chain) or f.member in (e.parent, e.retry_of, e.chain)
), kept (member, parent, retry_of, chain) as (
  select member, parent, retry_of, chain from family where ended_at is null or ended_at > $2::bigint
  union
  select e.execution_id, e.parent, e.retry_of, e.chain from kept k join executions e
  on e.execution_id in (k.parent, k.retry_of, k.chain) or k.member in (e.parent, e.retry_of, e.chain)
)
select execution_id from executions e where execution_id in (select member from family) and expired_at is null
  and not exists (select from kept where member = e.execution_id)
order by id for update

-- name: expire
-- Once they are locked families are looked at anew: they have no retry but those that are in the log by now.
with recursive family (member, parent, retry_of, chain, kept) as (
  select execution_id, parent, retry_of, chain,
    ended_at is null or ended_at > $2::bigint or (expired_at is null and execution_id <> all ($3::text[]))
  from executions where execution_id = any ($1::text[])
  union
  select e.execution_id, e.parent, e.retry_of, e.chain,
    e.ended_at is null or e.ended_at > $2 or (e.expired_at is null and e.execution_id <> all ($3))
  from family f join executions e
  on e.execution_id in (f.parent, f.retry_of, f.chain) or f.member in (e.parent, e.retry_of, e.chain)
), kept (member, parent, retry_of, chain) as (
  select member, parent, retry_of, chain from family where kept
  union
  select e.execution_id, e.parent, e.retry_of, e.chain from kept k join executions e
  on e.execution_id in (k.parent, k.retry_of, k.chain) or k.member in (e.parent, e.retry_of, e.chain)
)
update executions e set expired_at = coalesce($4::bigint, now_ms())
where execution_id = any ($3) and not exists (select from kept where member = e.execution_id)

-- name: expired
select execution_id from executions where execution_id = any ($1::text[]) and expired_at is not null

-- name: lock_expired
select execution_id from executions where execution_id = any ($1::text[]) and expired_at is not null
order by id for update skip locked

-- name: delete
-- Families are looked at here, not only before: a retry that began meanwhile keeps what it refers to. Once all of
-- them together, then from those who live to everyone they are related to. What another deletes is left to it.
with recursive family (member, parent, retry_of, chain, ended_at) as (
  select execution_id, parent, retry_of, chain, ended_at from executions where execution_id = any ($1::text[])
  union
  select e.execution_id, e.parent, e.retry_of, e.chain, e.ended_at from family f join executions e
  on e.execution_id in (f.parent, f.retry_of, f.chain) or f.member in (e.parent, e.retry_of, e.chain)
), kept (member, parent, retry_of, chain) as (
  select member, parent, retry_of, chain from family where ended_at is null or ended_at > $2::bigint
  union
  select e.execution_id, e.parent, e.retry_of, e.chain from kept k join executions e
  on e.execution_id in (k.parent, k.retry_of, k.chain) or k.member in (e.parent, e.retry_of, e.chain)
), free as materialized (
  select id from executions e where execution_id = any ($1::text[]) and ended_at is not null
    and not exists (select from kept where member = e.execution_id)
  for update skip locked
), gone as (
  delete from executions where id in (select id from free)
  returning id, execution_id
), logs as (
  delete from log where execution in (select id from gone)
), states as (
  delete from snapshots where execution in (select id from gone)
), printed as (
  delete from task_lines where execution in (select id from gone)
), letters as (
  delete from mailbox where execution in (select id from gone)
)
select execution_id from gone

-- name: add_lines
insert into task_lines (execution, number, total, whose, upto, lines, lost, body, batch)
select e.id, coalesce(l.number, 0) + 1, coalesce(l.total, 0) + $2::bigint, $3, $4, $5, $6, $7, nullif($8::text, '')
from executions e left join lateral (
  select number, total from task_lines where execution = e.id order by number desc limit 1
) l on true
where e.execution_id = $1
on conflict (execution, batch) where batch is not null do nothing
returning execution, total

-- name: trim_lines_of_attempt
with gone as (
  delete from task_lines where execution = $1 and whose = $2 and upto > $3 and upto <= $4 returning lines + lost as lines
)
update task_lines set lost = lost + (select coalesce(sum(lines), 0) from gone)
where execution = $1 and number = (
  select min(number) from task_lines where execution = $1 and whose = $2 and upto > $4
) and exists (select from gone)

-- name: trim_lines_of_execution
with gone as (
  delete from task_lines where execution = $1 and total <= $2 returning lines + lost as lines
)
update task_lines set lost = lost + (select coalesce(sum(lines), 0) from gone)
where execution = $1 and number = (select min(number) from task_lines where execution = $1 and total > $2)
  and exists (select from gone)

-- name: lines
select l.number, l.lost, l.body from executions e join task_lines l on l.execution = e.id
where e.execution_id = $1 and l.number > $2 and l.total <= $3 + (
  select f.total from task_lines f where f.execution = e.id and f.number > $2 order by f.number limit 1)
order by l.number limit $4

-- name: schema
select max(version) from migrations

-- name: by_status
select status, count(*) from executions group by status

-- name: counts
select
  (select coalesce(sum(seq), 0) from executions)::bigint,
  (select count(*) from playbooks where deleted_at is null),
  (select count(*) from credentials),
  (select count(*) from mailbox),
  (select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c
   where c.relnamespace = 'noetl'::regnamespace and c.relkind = 'r')::bigint

-- name: oldest_due
select execution_id, due_at from executions
where ended_at is null and status not in ('paused', 'stuck') and due_at is not null order by due_at limit 1

-- name: write_payload
with wanted as (
  insert into payloads (key, parts, bytes, written_at) values ($1, 1, length($2::bytea), coalesce($3::bigint, now_ms()))
  on conflict (key) do nothing returning key, written_at
)
insert into payload_chunks (key, part, written_at, body) select key, 0, written_at, $2::bytea from wanted

-- name: mark_payload
insert into payloads (key, parts, bytes, written_at) values ($1, $2, $3, coalesce($4::bigint, now_ms()))
on conflict (key) do nothing returning key

-- name: add_chunk
insert into payload_chunks (key, part, written_at, body) values ($1, $2, coalesce($3::bigint, now_ms()), $4)

-- name: rename_chunks
update payload_chunks set key = $2 where key = $1

-- name: drop_chunks
delete from payload_chunks where key = $1

-- name: read_payload
select p.parts, c.body from payloads p join payload_chunks c on c.key = p.key
where p.key = $1 and c.part >= $2 and c.part < $3 order by c.part

-- name: footprints
-- Chunks that belong to nothing are told of too, without counting: a crash left them.
select execution_id, sum(payloads)::bigint, sum(bytes)::bigint, max(written_at) from (
  select left(key, 32) as execution_id, 1 as payloads, bytes, written_at from payloads
  union all
  select left(c.key, 32), 0, 0, c.written_at from payload_chunks c
  where not exists (select from payloads p where p.key = c.key)
) found group by execution_id order by execution_id

-- name: discard_payloads
with marked as (delete from payloads where key >= $1 || '/' and key < $1 || '0')
delete from payload_chunks where key >= $1 || '/' and key < $1 || '0'
