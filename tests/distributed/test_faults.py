"""Whatever process is killed, at whatever point, the execution finishes and nothing is done with two keys."""

from contextlib import suppress

import msgspec
import pytest

from noetl.errors import BackendError
from tests.distributed.cluster import BOTH_LINKS, ROOT, Cluster
from tests.distributed.playbooks import ITEMS, WORK, check_effects
from tests.engine.web import Web

SERVER_POINTS = [
    "before_commit:1",
    "before_commit:4",
    "before_commit:12",
    "after_commit:2",
    "after_commit:5",
    "after_commit:14",
    "after_answer:1",
    "after_answer:6",
    "before_hint:1",
]
WORKER_POINTS = [
    "before_report:1",
    "before_report:5",
    "after_report:1",
    "after_report:7",
    "before_task:3",
    "before_task:20",
    "after_task:4",
    "after_task:60",
]


async def finish(cluster: Cluster, execution_id: str, web: Web) -> None:
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    result = msgspec.json.decode(summary.result or b"")
    assert result["ctx"] == {"shared": ITEMS, "alone": ITEMS}
    check_effects(web)


@BOTH_LINKS
async def test_work_of_all_sorts_finishes_on_two_workers(cluster: Cluster, web: Web) -> None:
    server = cluster.server()
    cluster.worker(), cluster.worker()
    execution_id = await cluster.start(server, WORK, {"url": web.url})
    await finish(cluster, execution_id, web)
    assert len(web.seen) == 6 + 2 * ITEMS + 1  # without faults, one call each


@BOTH_LINKS
@pytest.mark.parametrize("point", SERVER_POINTS)
async def test_a_server_that_dies_loses_nothing(cluster: Cluster, web: Web, point: str) -> None:
    cluster.worker()
    good = cluster.server()
    doomed = cluster.server(point)
    with suppress(BackendError):  # it may die before it can answer
        await cluster.start(doomed, WORK, {"url": web.url}, key="once")
    await doomed.gone()
    execution_id = await cluster.start(good, WORK, {"url": web.url}, key="once")
    await finish(cluster, execution_id, web)
    assert len(await cluster.executions()) == 1


@BOTH_LINKS
async def test_a_killed_server_is_replaced_long_before_its_lease_is_over(cluster: Cluster, web: Web) -> None:
    cluster.lease_s = 3600.0
    cluster.worker()
    doomed = cluster.server()
    execution_id = await cluster.start(doomed, WORK, {"url": web.url})
    await cluster.reached(execution_id, "step.done", 1)
    doomed.kill()
    cluster.server()
    await finish(cluster, execution_id, web)


@BOTH_LINKS
@pytest.mark.parametrize("point", WORKER_POINTS)
async def test_a_worker_that_dies_loses_nothing(cluster: Cluster, web: Web, point: str) -> None:
    server = cluster.server()
    doomed = cluster.worker(point)
    execution_id = await cluster.start(server, WORK, {"url": web.url})
    await doomed.gone()
    cluster.worker()
    await finish(cluster, execution_id, web)


@BOTH_LINKS
async def test_ten_thousand_items_end_as_ten_thousand_whoever_is_killed(cluster: Cluster) -> None:
    server = cluster.server()
    doomed = cluster.worker()
    cluster.worker()
    text = (ROOT / "examples" / "ten_thousand.yaml").read_text()
    execution_id = await cluster.start(server, text)
    await cluster.reached(execution_id, "loop.iteration.done", 500)
    doomed.kill()
    await cluster.reached(execution_id, "loop.iteration.done", 2500)
    server.kill()
    cluster.server()
    summary = await cluster.finished(execution_id)
    assert summary.status == "completed", summary.result
    assert msgspec.json.decode(summary.result or b"")["output"] == "10000 of 10000"
    log = await cluster.log(execution_id)
    assert len({event.at for event in log if event.name == "loop.iteration.done"}) == 10_000
