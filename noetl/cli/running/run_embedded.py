"""Executions that run in this process, and the process that goes on with one when it is detached."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Connection
from noetl.cli.exit_codes import EXIT_CLOSED_PIPE
from noetl.cli.playbooks.playbook_text import text_of
from noetl.cli.playbooks.sources import Source
from noetl.cli.running import follower
from noetl.cli.running.follower import Feed
from noetl.cli.running.line_tail import tailing
from noetl.cli.running.run_remote import follow_elsewhere
from noetl.cli.running.runner import EXIT_OF, Start, Watch, exit_code
from noetl.control.front.control import already_over
from noetl.core.message import Control
from noetl.errors import BackendError, Conflict, InvariantViolation
from noetl.ports.front import Ask, Front, Started
from noetl.ports.store import Summary
from noetl.wiring.embedded import Embedded

POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class EmbeddedRunner:
    """The engine of this process."""

    embedded: Embedded

    @property
    def front(self) -> Front:
        return self.embedded.front

    async def text(self, source: Source) -> str:
        """A playbook's text; files that it calls are read where they lie."""
        return text_of(source)

    async def start(self, ask: Ask, source: Source | None) -> Started:
        return await self.front.start(ask)

    async def follow(self, start: Start, watch: Watch, timeout_s: float | None) -> int:
        """Start an execution and run it to its end; the exit code."""
        feed = Feed(self.embedded, watch)
        started = await start()
        if started.existed:
            feed.drop()
            return await self._attach(started.execution_id, watch)
        watch.began(started.execution_id, started.path)
        feed.choose(started.execution_id)
        return await self._follow(feed, watch, timeout_s)

    async def detach(self, start: Start, watch: Watch, timeout_s: float | None) -> int:
        """Start an execution; another process goes on with it; the exit code."""
        await (
            self.embedded.pool.drain()
        )  # no task begins here: the process that goes on with it runs them all
        execution_id = (await start()).execution_id
        result = await self.front.execution(execution_id)
        await self.embedded.engine.close()
        if result["status"] in ("running", "waiting") and not await self.embedded.store.owned(execution_id):
            timeout = [] if timeout_s is None else ["--timeout", f"{timeout_s:g}"]
            other = _spawn(["execution", "resume", execution_id, "--quiet", *timeout])
            await _until_taken_over(self.embedded, execution_id, other)
        watch.detached(result)
        return EXIT_OF.get(result["status"], 0)

    async def resume(self, execution_id: str, watch: Watch, timeout_s: float | None) -> int:
        """Go on with an execution that was interrupted, crashed or paused; the exit code."""
        summary = await self.embedded.store.summary(execution_id)
        if summary.ended_at is not None:
            raise already_over(execution_id, summary.status)
        if not await self.embedded.store.owned(execution_id):
            return await self._take_over(summary, watch, timeout_s)
        if summary.status != "paused":
            message = f"execution {execution_id} is {summary.status}, and another process runs it"
            raise Conflict(message, hint=f"noetl execution watch {execution_id}")
        try:
            await self.front.control(execution_id, Control("resume", by=caller()))
        except Conflict:  # its process ended before it read this
            return await self._take_over(summary, watch, timeout_s)
        return await follow_elsewhere(self._connection(), execution_id, summary.path, watch, timeout_s)

    async def _take_over(self, summary: Summary, watch: Watch, timeout_s: float | None) -> int:
        """Go on in this process with an execution that nobody runs."""
        execution_id = summary.execution_id
        watch.began(execution_id, summary.path)
        feed = Feed(self.embedded, watch)
        try:
            await self._recall(execution_id, watch)
        except InvariantViolation:
            await self.embedded.engine.load(execution_id)  # says that it is stuck, if that is in its way
            raise
        feed.choose(execution_id)
        await self.embedded.engine.resume(execution_id, caller())
        return await self._follow(feed, watch, timeout_s)

    async def _recall(self, execution_id: str, watch: Watch) -> None:
        """Tell a watch what the log holds already."""
        from noetl.control.history import rows_of
        from noetl.control.log_rows import events_of

        if watch.listens:
            async for row in rows_of(self.embedded.store, execution_id):
                watch.receive(row.first, events_of(row))

    async def _attach(self, execution_id: str, watch: Watch) -> int:
        """The key was used before: show that execution; go on with it when its process is gone."""
        store = self.embedded.store
        summary = await store.summary(execution_id)
        if summary.ended_at is None and summary.status != "paused" and not await store.owned(execution_id):
            return await self._take_over(summary, watch, None)
        return await follow_elsewhere(self._connection(), execution_id, summary.path, watch)

    async def _follow(self, feed: Feed, watch: Watch, timeout_s: float | None) -> int:
        async with tailing(self.front, feed.execution_id or "", watch):
            result = await follower.follow_embedded(feed, timeout_s)
        code = exit_code(result, watch)
        return EXIT_CLOSED_PIPE if feed.closed.is_set() else code

    def _connection(self) -> Connection:
        return Connection(self.embedded.front, self.embedded.settings, embedded=self.embedded)


# Processes that go on


async def _until_taken_over(embedded: Embedded, execution_id: str, other: "subprocess.Popen[bytes]") -> None:
    """Wait until the other process has the execution in hand."""
    while True:
        ended = other.poll() is not None
        summary = await embedded.store.summary(execution_id)
        if summary.ended_at is not None or await embedded.store.owned(execution_id):
            return
        if ended and summary.status == "paused":
            return
        if ended:
            message = f"the process that was to go on with execution {execution_id} ended at once"
            raise BackendError(message, hint=f"noetl execution resume {execution_id}")
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
