"""Executions that run in this process, and the process that goes on with one when it is detached."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Reached
from noetl.cli.main import EXIT_CLOSED_PIPE
from noetl.cli.running import follower, run_remote
from noetl.cli.running.follower import Feed
from noetl.cli.running.run_flow import EXIT_OF, Watch, Wish, end
from noetl.control.front.control import already_over
from noetl.core.message import Control
from noetl.errors import BackendError, Conflict
from noetl.ports.front import Ask, Started
from noetl.ports.store import Summary
from noetl.wiring.embedded import Embedded

POLL_S = 0.1


async def run(made: Embedded, ask: Ask, wish: Wish, watch: Watch) -> int:
    """Run a playbook; the exit code."""
    if wish.detach:
        await made.pool.drain()  # no task begins here: the process that goes on with it runs them all
        started = await made.front.start(ask)
        return await _detach(made, started.execution_id, wish, watch)
    return await begin(made, lambda: made.front.start(ask), watch, wish.timeout_s)


async def begin(
    made: Embedded, start: Callable[[], Awaitable[Started]], watch: Watch, timeout_s: float | None
) -> int:
    """Start an execution and see it through; the exit code."""
    feed = Feed(made, watch)
    started = await start()
    if started.existed:
        feed.drop()
        return await _attach(made, started.execution_id, watch)
    watch.began(started.execution_id, started.path)
    feed.choose(started.execution_id)
    return await _follow(made, feed, watch, timeout_s)


async def resume(made: Embedded, execution_id: str, watch: Watch, timeout_s: float | None) -> int:
    """Go on with an execution that was interrupted, crashed or paused; the exit code."""
    summary = await made.store.summary(execution_id)
    if summary.ended_at is not None:
        raise already_over(execution_id, summary.status)
    if not await made.store.owned(execution_id):
        return await _resume_here(made, summary, watch, timeout_s)
    if summary.status != "paused":
        told = f"execution {execution_id} is {summary.status}, and another process runs it"
        raise Conflict(told, hint=f"noetl execution watch {execution_id}")
    try:
        await made.front.control(execution_id, Control("resume", by=caller()))
    except Conflict:  # its process ended before it read this
        return await _resume_here(made, summary, watch, timeout_s)
    return await run_remote.follow(_reached(made), execution_id, summary.path, watch, timeout_s)


async def _resume_here(made: Embedded, summary: Summary, watch: Watch, timeout_s: float | None) -> int:
    execution_id = summary.execution_id
    watch.began(execution_id, summary.path)
    feed = Feed(made, watch)
    await _recall(made, execution_id, watch)
    feed.choose(execution_id)
    await made.engine.resume(execution_id, caller())
    return await _follow(made, feed, watch, timeout_s)


async def _recall(made: Embedded, execution_id: str, watch: Watch) -> None:
    """Tell a watch what the log holds already."""
    from noetl.control.history import rows_of
    from noetl.control.log_rows import events_of

    if watch.listens:
        async for row in rows_of(made.store, execution_id):
            watch.heard(row.first, events_of(row))


async def _attach(made: Embedded, execution_id: str, watch: Watch) -> int:
    """The key was used before: show that execution; go on with it when its process is gone."""
    known = await made.store.summary(execution_id)
    if known.ended_at is None and known.status != "paused" and not await made.store.owned(execution_id):
        return await _resume_here(made, known, watch, None)
    return await run_remote.follow(_reached(made), execution_id, known.path, watch)


async def _follow(made: Embedded, feed: Feed, watch: Watch, timeout_s: float | None) -> int:
    code = await end(_reached(made), await follower.here(feed, timeout_s), watch)
    return EXIT_CLOSED_PIPE if feed.closed.is_set() else code


def _reached(made: Embedded) -> Reached:
    return Reached(made.front, made.settings, made=made)


# Processes that go on


async def _detach(made: Embedded, execution_id: str, wish: Wish, watch: Watch) -> int:
    """Let go of the execution; another process goes on with it."""
    result = await made.front.execution(execution_id)
    await made.engine.close()
    if result["status"] in ("running", "waiting") and not await made.store.owned(execution_id):
        timeout = [] if wish.timeout_s is None else ["--timeout", f"{wish.timeout_s:g}"]
        other = _spawn(["execution", "resume", execution_id, "--quiet", *timeout])
        await _taken_over(made, execution_id, other)
    watch.detached(result)
    return EXIT_OF.get(result["status"], 0)


async def _taken_over(made: Embedded, execution_id: str, other: "subprocess.Popen[bytes]") -> None:
    """Wait until the other process has the execution in hand."""
    while True:
        gone = other.poll() is not None
        summary = await made.store.summary(execution_id)
        if summary.ended_at is not None or await made.store.owned(execution_id):
            return
        if gone and summary.status == "paused":
            return
        if gone:
            told = f"the process that was to go on with execution {execution_id} ended at once"
            raise BackendError(told, hint=f"noetl execution resume {execution_id}")
        await asyncio.sleep(POLL_S)


def _spawn(arguments: list[str]) -> "subprocess.Popen[bytes]":
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-m", "noetl.cli", *arguments],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=True,
    )
