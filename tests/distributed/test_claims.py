"""A table that a cluster works through: each row once, whatever process is killed, and under which key."""

import asyncio
from contextlib import suppress
from typing import Any

import asyncpg
import pytest

from noetl.errors import BackendError
from tests.distributed.cluster import BOTH_LINKS, LOOK_S, WITHIN_S, Cluster

ROWS = 600
SOME = 120  # enough for several batches
CLAIM = """
set local idle_in_transaction_session_timeout = '3s';
select pg_advisory_xact_lock(hashtextextended(:key, 0));
with mine as (select id, state from job where claimed_by = :key),
fresh as (
  select id from job where state = 'new' and not exists (select from mine) order by id limit :batch
  for update skip locked)
update job set state = 'taken', claimed_by = :key
where id in (select id from mine where state = 'taken' union all select id from fresh) returning id
"""
WORK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: jobs, path: distributed/jobs}
keychain: [{name: table, kind: static, dsn: "$dsn"}]
workflow:
  - step: work
    loop:
      in:
        claim:
          kind: postgres
          auth: table
          input: {query: "$claim", params: {key: "{{ claim.key }}", batch: "{{ claim.batch }}"}}
          batch: $batch
        until: empty
      iterator: row
      spec: {mode: parallel, max_in_flight: 20, policy: {exec: distributed, reduce: {ctx.rows: sum}}}
    tool:
      kind: postgres
      auth: table
      input:
        query: "insert into effect (key, id) values (:idempotency_key, :id) on conflict do nothing"
        params: {id: "{{ iter.row.id }}"}
      set: {ctx.rows: 1}
"""


async def filled(dsn: str, rows: int, batch: int) -> str:
    """Make a table with so many rows; the playbook that works through it."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            "create schema work; create table work.job (id int primary key, state text default 'new', claimed_by text);"
            "create table work.effect (key text primary key, id int)"
        )
        await connection.execute("insert into work.job (id) select generate_series(1, $1)", rows)
    finally:
        await connection.close()
    text = WORK.replace("$claim", " ".join(CLAIM.replace("job", "work.job").split())).replace(
        "$batch", str(batch)
    )
    return text.replace("effect", "work.effect").replace("$dsn", dsn)


async def check(cluster: Cluster, execution_id: str, dsn: str, rows: int) -> list[Any]:
    """Every row was worked on under one key, and was in one batch; the batches."""
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    connection = await asyncpg.connect(dsn)
    try:
        worked = [row["id"] for row in await connection.fetch("select id from work.effect order by id")]
        left = await connection.fetchval("select count(*) from work.job where state <> 'taken'")
    finally:
        await connection.close()
    assert (worked, left) == (list(range(1, rows + 1)), 0)
    log = await cluster.log(execution_id)
    batches = [event.data or {} for event in log if event.name == "loop.claimed"]
    claimed = [row["id"] for batch in batches for row in batch.get("rows", ())]
    assert sorted(claimed) == worked
    return batches


@BOTH_LINKS
async def test_two_workers_work_through_a_table_and_each_row_once(cluster: Cluster, database: str) -> None:
    server = cluster.server()
    cluster.worker(), cluster.worker()
    await cluster.knows(server, 2)
    execution_id = await cluster.start(server, await filled(database, ROWS, 100))
    batches = await check(cluster, execution_id, database, ROWS)
    assert [batch["count"] for batch in batches] == [100] * 6 + [0]


@pytest.mark.parametrize(
    "point",
    [
        "before_task:1", "after_task:1", "before_report:1", "after_report:1",
        "before_task:40", "after_task:60", "before_report:4",
    ],
)  # fmt: skip
async def test_a_worker_that_dies_claiming_or_working_loses_no_row(
    cluster: Cluster, database: str, point: str
) -> None:
    server = cluster.server()
    doomed = cluster.worker(point)
    execution_id = await cluster.start(server, await filled(database, SOME, 50))
    await doomed.gone()
    cluster.worker()
    batches = await check(cluster, execution_id, database, SOME)
    assert [batch["number"] for batch in batches] == [1, 2, 3, 4]


@pytest.mark.parametrize("point", ["before_commit:2", "after_commit:2", "before_commit:3", "after_commit:4"])
async def test_a_server_that_dies_around_the_commit_of_a_batch_loses_no_row(
    cluster: Cluster, database: str, point: str
) -> None:
    cluster.worker()
    good = cluster.server()
    text = await filled(database, SOME, 50)
    doomed = cluster.server(point)
    with suppress(BackendError):  # it may die before it can answer
        await cluster.start(doomed, text, key="once")
    await doomed.gone()
    execution_id = await cluster.start(good, text, key="once")
    await check(cluster, execution_id, database, SOME)
    assert len(await cluster.executions()) == 1


GATE = """
create function work.gate() returns trigger language plpgsql
  as $$ begin perform pg_advisory_xact_lock_shared(7); return null; end $$;
create trigger gate before update on work.job for each statement execute function work.gate();
select pg_advisory_lock(7)
"""
WAITING = "select count(*) from pg_locks where locktype = 'advisory' and not granted"


@BOTH_LINKS
@pytest.mark.parametrize("wakes", ["in time", "too late"])
async def test_a_worker_that_stands_still_in_the_midst_of_its_claim_strands_no_row(
    cluster: Cluster, database: str, wakes: str
) -> None:
    """Another one claims under the same key; it waits for the first one's statement, as long as that may last."""
    server, sleeper = cluster.server(), cluster.worker()
    text = await filled(database, SOME, 50)
    gate = await asyncpg.connect(database)
    await gate.execute(GATE)

    async def waiting(wanted: int) -> None:
        async with asyncio.timeout(WITHIN_S):
            while await gate.fetchval(WAITING) != wanted:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_S)

    execution_id = await cluster.start(server, text)
    await waiting(1)
    sleeper.pause()
    cluster.worker()
    await waiting(2)  # the lease is out, and the claim was made again
    if wakes == "in time":
        sleeper.resume()
    await gate.close()
    batches = await check(cluster, execution_id, database, SOME)
    assert [batch["count"] for batch in batches] == [50, 50, 20, 0]
    log = await cluster.log(execution_id)
    assert [event.name for event in log if event.name == "lease.expired"] == ["lease.expired"]
    sleeper.resume()
    again = await cluster.start(server, text)  # by whoever claims: nothing is left
    assert (await cluster.finished(again)).status == "completed"
    claimed = [event.data or {} for event in await cluster.log(again) if event.name == "loop.claimed"]
    assert [batch["count"] for batch in claimed] == [0]
    assert await cluster.log(execution_id) == log
