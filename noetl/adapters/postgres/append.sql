-- One group commit, one round trip: an append that finds its log as it expects is applied whole, any other not
-- at all. The caller sees to it that no execution and no idempotency key comes twice.
with input as materialized (
  select *, starts and (
    not newest
    or version = (select max(v.version) from playbooks v where v.path = i.path and v.deleted_at is null)
  ) as begins
  from unnest(
    $1::int[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bool[], $7::bigint[], $8::bool[],
    $9::text[], $10::text[], $11::bigint[], $12::text[], $13::bigint[], $14::bigint[], $15::bigint[],
    $16::bigint[], $17::text[], $18::text[], $19::text[], $20::text[], $21::bytea[], $22::text[], $23::bool[],
    $24::bytea[], $41::smallint[]
  ) as i (
    n, execution_id, expected, seq, owner, starts, lease, shown,
    status, path, version, hash, requested_at, started_at, ended_at,
    due_at, parent, retry_of, idempotency_key, request, result, requested_by, newest, head, format
  )
), moment as materialized (
  select coalesce($40::bigint, now_ms()) as now
), begun as (
  insert into executions (
    seq, head, execution_id, status, path, version, hash, requested_at, started_at, ended_at, due_at,
    parent, retry_of, idempotency_key, request, result, requested_by, owner, owned_until, format
  )
  select
    seq, head, execution_id, status, path, version, hash, requested_at, started_at, ended_at, due_at,
    parent, retry_of, idempotency_key, request, result, requested_by, owner, coalesce(now + lease, 0), format
  from input, moment where begins
  order by idempotency_key, execution_id -- in one order everywhere, so that two servers cannot lock each other
  on conflict do nothing
  returning id, execution_id
), moved as (
  -- Not a plain equality: that could be planned as a join over the whole table while it is still small.
  update executions e set
    seq = i.seq,
    head = coalesce(i.head, e.head),
    format = greatest(e.format, i.format),
    status = case when i.shown then i.status else e.status end,
    path = case when i.shown then i.path else e.path end,
    version = case when i.shown then i.version else e.version end,
    hash = case when i.shown then i.hash else e.hash end,
    started_at = case when i.shown then i.started_at else e.started_at end,
    ended_at = case when i.shown then i.ended_at else e.ended_at end,
    due_at = case when i.shown then i.due_at else e.due_at end,
    result = case when i.shown then i.result else e.result end
  from input i
  where not i.begins and e.execution_id = any (array[i.execution_id])
    and e.seq = i.expected and (i.owner is null or e.owner = i.owner)
  returning e.id, i.n, i.ended_at is not null and e.continued_as is null as ended -- what goes on keeps its mail
), passed as materialized (
  select b.id, i.n, false as ended from begun b join input i on i.execution_id = b.execution_id
  union all
  select id, n, ended from moved
), logged as (
  insert into log (execution, first, last, ts, cause, body, hash, batch, format)
  select p.id, r.first, r.last, r.ts, r.cause, r.body, r.hash, r.batch, r.format
  from passed p
  join unnest(
    $25::int[], $26::bigint[], $27::bigint[], $28::bigint[], $29::bytea[], $30::bytea[], $31::bytea[], $32::text[],
    $33::smallint[]
  ) as r (n, first, last, ts, cause, body, hash, batch, format) on r.n = p.n
), saved as (
  insert into snapshots (execution, seq, hash, state)
  select p.id, s.seq, s.hash, s.state
  from passed p join unnest($34::int[], $35::bigint[], $36::bytea[], $37::bytea[]) as s (n, seq, hash, state)
  on s.n = p.n
  on conflict (execution) do update set seq = excluded.seq, hash = excluded.hash, state = excluded.state
), taken as (
  delete from mailbox m
  using passed p join unnest($38::int[], $39::bigint[]) as t (n, id) on t.n = p.n
  where not p.ended and m.execution = p.id and m.id = t.id
), dropped as (
  delete from mailbox m using passed p where p.ended and m.execution = p.id
), alive as (
  insert into owners (owner, until, session)
  select owner, max(now + lease), split_part(current_setting('application_name'), ' ', 2)
  from input, moment where begins and lease is not null group by owner
  on conflict (owner) do update set until = excluded.until, session = excluded.session
  where owners.until < excluded.until - 1000
)
select n from passed
