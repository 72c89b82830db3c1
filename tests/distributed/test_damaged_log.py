"""A log that is damaged stops its execution alone: seen from the command line, repaired, and released."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import asyncpg

from noetl.adapters.postgres.database import SCHEMA
from noetl.control.log_rows import encode_message
from noetl.core.message import Control
from tests.distributed.cluster import LOOK_S, WITHIN_S, Cluster, Node
from tests.distributed.test_stuck import stuck
from tests.fork_server import FORK_SERVER

# The task runs on in its worker while its server dies; when it is begun again, it ends at once.
BROKEN = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: broken, path: distributed/broken}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: works}, {step: waits}]}
  - step: works
    tool: {kind: shell, input: {command: "test -e pid || { echo begun; echo $$ > pid; exec sleep 600; }"}}
  - {step: waits, tool: {kind: wait, input: {signal: go}}}
"""
SOUND = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: sound, path: distributed/sound}
workflow:
  - {step: waits, tool: {kind: wait, input: {signal: go}}}
"""
OF = "execution = (SELECT id FROM executions WHERE execution_id = $1)"
LAST = f"SELECT first, body FROM log WHERE {OF} ORDER BY first DESC LIMIT 1"
CHANGE = f"UPDATE log SET body = $3 WHERE {OF} AND first = $2"


def command(cluster: Cluster, server: Node, *words: str) -> tuple[int, str]:
    """Run a command against a server; its exit code and all that it said."""
    environment = {**cluster.environment({}), "NOETL_SERVER": server.said}
    environment.pop("PYTHONPATH")
    ended = FORK_SERVER.run(words, cluster.folder, environment)
    return ended.returncode, (ended.stdout + ended.stderr).decode()


def printed(cluster: Cluster, server: Node, execution_id: str) -> str:
    """What its tasks printed, as a terminal shows it."""
    code, said = command(cluster, server, "execution", "logs", execution_id)
    assert code == 0, said
    return said


def metrics(server: Node) -> str:
    """What a server tells of itself in numbers."""
    with urlopen(f"{server.said}/metrics", timeout=60) as answer:
        return str(answer.read().decode())


def process_of(folder: Path) -> int | None:
    """The number that the task wrote down, once it is there."""
    written = folder / "pid"
    return int(written.read_text()) if written.exists() and written.read_text().endswith("\n") else None


async def until(check: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + WITHIN_S
    while not check():
        assert time.monotonic() < end, what
        await asyncio.sleep(LOOK_S)


async def test_a_damaged_log_is_stuck_alone_until_it_is_repaired_and_released(cluster: Cluster) -> None:
    first = cluster.server()
    cluster.worker()
    broken, sound = await cluster.start(first, BROKEN), await cluster.start(first, SOUND)
    await cluster.reached(broken, "task.parked", 1)
    await cluster.reached(broken, "step.started", 2)
    await cluster.reached(sound, "task.parked", 1)
    await until(lambda: process_of(cluster.folder), "the task did not begin")
    shell = process_of(cluster.folder)
    first.kill()
    connection = await asyncpg.connect(cluster.store_url, server_settings={"search_path": SCHEMA})
    try:
        place, body = await connection.fetchrow(LAST, broken)
        await connection.execute(CHANGE, broken, place, body[: len(body) // 2])
        async with cluster.store() as store:
            await store.post(broken, encode_message(Control("signal", name="go")))
        second = cluster.server()
        assert (await stuck(cluster, broken)).reason == "log"
        await until(lambda: not Path(f"/proc/{shell}").exists(), "the worker was not told to stop")
        code, listed = command(cluster, second, "execution", "list", "--status", "stuck")
        assert (code, broken in listed, sound in listed) == (0, True, False)
        code, why = command(cluster, second, "execution", "why", broken)
        assert (code, "its log or playbook cannot be read" in why, f"release {broken}" in why) == (
            0,
            True,
            True,
        )
        assert "noetl_executions_stuck 1" in metrics(second)
        await until(lambda: "begun" in printed(cluster, second, broken), "what it printed is not shown")
        assert "is not known from here on: the row of event" in printed(cluster, second, broken)
        code, said = command(cluster, second, "execution", "release", broken)
        assert (code, "cannot be read" in said, "Traceback" in said) == (2, True, False)
        code, said = command(cluster, second, "execution", "signal", sound, "go")
        assert code == 0, said
        assert (await cluster.finished(sound)).status == "completed"
        async with cluster.store() as store:
            assert (await store.extent()).messages == 1  # the letter for it is kept
        await connection.execute(CHANGE, broken, place, body)
    finally:
        await connection.close()
    code, said = command(cluster, second, "execution", "release", broken)
    assert code == 0, said
    assert (await cluster.finished(broken)).status == "completed"
