"""A long execution goes on as another on a cluster over PostgreSQL, whoever is killed around that commit."""

import asyncio
import time
from contextlib import suppress

import msgspec
import pytest

from noetl.core.message import Control
from noetl.errors import BackendError
from noetl.ports.store import Summary
from tests.distributed.cluster import LOOK_S, WITHIN_S, Cluster

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"
ROUNDS = (
    HEAD
    + """
metadata: {name: rounds, path: tests/rounds}
workload: {rounds: 8}
workflow:
  - step: round
    spec: {continue: {after_events: 14}}
    tool: {kind: python, input: {code: "result = n + 1", n: "{{ ctx.n | default(0) }}"}}
    set: {ctx.n: "{{ output.data }}"}
    next: {arcs: [{step: round, when: "{{ event.ok and ctx.n < workload.rounds }}"}]}
"""
)
SIGNALS = (
    HEAD
    + """
metadata: {name: signals, path: tests/signals}
workflow:
  - step: round
    spec: {continue: {after_events: 10}}
    tool: {kind: wait, input: {signal: go}}
    set: {ctx.got: "{{ (ctx.got | default([])) + [output.data] }}"}
    next: {arcs: [{step: round, when: "{{ event.ok and ctx.got | length < 10 }}"}]}
"""
)


async def last(cluster: Cluster, execution_id: str) -> tuple[Summary, list[Summary]]:
    """The last execution of a chain once it is over, and all of them; each log is checked."""
    until = time.monotonic() + WITHIN_S
    async with cluster.store() as store:
        while (newest := await store.newest(execution_id)).ended_at is None:
            assert time.monotonic() < until, f"{newest} does not end"
            await asyncio.sleep(LOOK_S)
        members = [await store.summary(newest.chain or newest.execution_id)]
        while members[-1].continued_as is not None:
            members.append(await store.summary(members[-1].continued_as))
    for member in members:
        await cluster.finished(member.execution_id)
    return newest, members


@pytest.mark.parametrize("point", ["before_commit:4", "after_commit:4", "before_commit:5", "after_commit:5"])
async def test_a_server_that_dies_around_the_continuing_commit_loses_nothing(
    cluster: Cluster, point: str
) -> None:
    cluster.worker()
    good = cluster.server()
    doomed = cluster.server(point)
    with suppress(BackendError):  # it may die before it can answer
        await cluster.start(doomed, ROUNDS, key="once")
    await doomed.gone()
    execution_id = await cluster.start(good, ROUNDS, key="once")
    newest, members = await last(cluster, execution_id)
    assert newest.status == "completed", newest.result
    assert msgspec.json.decode(newest.result or b"")["ctx"] == {"n": 8}
    assert len(members) > 2
    assert len(await cluster.executions()) == len(members)


async def test_signals_reach_the_successor_and_another_server_takes_it_over(cluster: Cluster) -> None:
    """All are sent to the id of the first; the server that began it is killed on the way."""
    cluster.worker()
    first, other = cluster.server(), cluster.server()
    execution_id = await cluster.start(first, SIGNALS)
    async with cluster.front(other) as front:
        for number in range(10):
            if number == 5:
                first.kill()
            await front.control(execution_id, Control("signal", name="go", payload=number))
    newest, members = await last(cluster, execution_id)
    assert newest.status == "completed", newest.result
    assert msgspec.json.decode(newest.result or b"")["ctx"] == {"got": list(range(10))}
    assert len(members) > 3
