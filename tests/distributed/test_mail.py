"""What an operator asks of a server that does not run the execution, and whoever dies: it is done, and done once."""

import asyncio
from contextlib import suppress

import pytest

from noetl.core.message import Control
from noetl.errors import BackendError, Conflict
from tests.distributed.cluster import LOOK_S, WITHIN_S, Cluster, Node

WAITS = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waits, path: distributed/waits}
workflow:
  - step: ask
    tool: {kind: wait, input: {signal: go}}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: python, input: {code: "result = 1"}}
"""


async def wish(cluster: Cluster, server: Node, execution_id: str, what: Control) -> None:
    async with cluster.front(server) as front:
        await front.control(execution_id, what)


async def until_posted(cluster: Cluster, execution_id: str) -> None:
    """Wait until a letter lies there for whoever runs the execution."""
    async with cluster.store() as store, asyncio.timeout(WITHIN_S):
        owned = "select 1 from mailbox m join executions e on e.id = m.execution where execution_id = $1"
        while not await store.database.fetch(owned, execution_id):  # type: ignore[attr-defined]  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)


async def goes_on(cluster: Cluster, server: Node, execution_id: str) -> None:
    """It was paused once, by whoever wished it, stays so, and ends once it is resumed."""
    async with cluster.front(server) as front:
        assert await front.status(execution_id) == "paused"
    await wish(cluster, server, execution_id, Control("resume"))
    await wish(cluster, server, execution_id, Control("signal", name="go"))
    assert (await cluster.finished(execution_id)).status == "completed"
    paused = [
        event.data or {} for event in await cluster.log(execution_id) if event.name == "execution.paused"
    ]
    assert [event.get("why") for event in paused] == ["lunch"]


LUNCH = Control("pause", why="lunch")


async def test_a_pause_in_the_mail_of_a_server_that_is_killed_is_made_by_who_takes_its_work_over(
    cluster: Cluster,
) -> None:
    owner, other = cluster.server(), cluster.server()
    cluster.worker()
    execution_id = await cluster.start(owner, WAITS)
    await cluster.reached(execution_id, "task.parked", 1)
    owner.pause()  # so that it reads no mail
    asked = asyncio.create_task(wish(cluster, other, execution_id, LUNCH))
    await until_posted(cluster, execution_id)
    owner.kill()
    await asked
    await goes_on(cluster, other, execution_id)


@pytest.mark.parametrize("point", ["after_mail:1", "before_answered_mail:1", "after_answered_mail:1"])
async def test_a_server_that_is_killed_reading_its_mail_loses_no_pause_and_makes_none_twice(
    cluster: Cluster, point: str
) -> None:
    doomed, other = cluster.server(point), cluster.server()
    cluster.worker()
    execution_id = await cluster.start(doomed, WAITS)
    await cluster.reached(execution_id, "task.parked", 1)
    await wish(cluster, other, execution_id, LUNCH)
    await doomed.gone()
    await goes_on(cluster, other, execution_id)


async def test_a_pause_whose_messenger_is_killed_is_made_all_the_same(cluster: Cluster) -> None:
    owner, messenger = cluster.server(), cluster.server()
    cluster.worker()
    execution_id = await cluster.start(owner, WAITS)
    await cluster.reached(execution_id, "task.parked", 1)
    owner.pause()
    asked = asyncio.create_task(wish(cluster, messenger, execution_id, LUNCH))
    await until_posted(cluster, execution_id)
    messenger.kill()
    with suppress(BackendError, Conflict):
        await asked
    owner.resume()
    await cluster.reached(execution_id, "execution.paused", 1)
    await goes_on(cluster, owner, execution_id)
