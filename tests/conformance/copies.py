"""Open executions by the thousand in PostgreSQL: copies of one that really waits."""

COPY = """
with copied as (
  insert into noetl.executions (seq, head, execution_id, status, path, version, hash, requested_at, started_at,
    due_at, request, requested_by, owner, owned_until, format)
  select seq, head, lpad(to_hex(n), 32, '0'), status, path, version, hash, requested_at, started_at, due_at + n,
    request, requested_by, owner, owned_until, format
  from noetl.executions, generate_series(1, $1::int) n where execution_id = $2
  returning id
)
insert into noetl.log (execution, first, last, ts, cause, body, hash, batch, format)
select c.id, l.first, l.last, l.ts, l.cause, l.body, l.hash, l.batch, l.format
from copied c, noetl.log l join noetl.executions e on e.id = l.execution where e.execution_id = $2
"""
