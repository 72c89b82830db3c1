"""Following an execution to its end: one that runs here, or one that another process runs.

The first Ctrl-C (or SIGTERM) drains what runs here, the second stops it. What is shown is the watch's.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Generic, Protocol, TypeVar

import click

from noetl.cli import local
from noetl.control.history import rows_of
from noetl.control.rows import events_of
from noetl.core.event import Event
from noetl.core.message import Control
from noetl.wiring.embedded import Embedded

CHECK_S = 0.5
POLL_S = 0.1
POLL_MOST_S = 1.0
INTERRUPTED = "interrupted"
DRAINING = "stopping: tasks that run are finished first; Ctrl-C again stops at once"
NOBODY = "nobody runs this execution any more"


class Heard(Protocol):
    """What a follower tells: the events of the execution, the passing of time, a sentence."""

    tick_s: float | None
    listens: bool  # whether it wants to hear of events at all

    def heard(self, first: int, events: list[Event]) -> None:
        """Events that were committed, each once and in order."""
        ...

    def tick(self) -> None:
        """Some time has passed."""
        ...

    def told(self, text: str) -> None:
        """Something a person should know."""
        ...

    def stop(self) -> None:
        """Following went wrong: leave the terminal in order."""
        ...


Watching = TypeVar("Watching", bound=Heard)


class Feed(Generic[Watching]):
    """Lets a watch hear the events of an execution that runs here."""

    def __init__(self, made: Embedded, execution_id: str, watch: Watching) -> None:
        self.execution_id, self.watch = execution_id, watch
        self.closed = asyncio.Event()  # nobody reads what the watch prints any more
        if watch.listens:
            made.engine.listeners.append(self)

    def __call__(self, execution_id: str, first: int, events: list[Event]) -> None:
        """Tell of events; a reader who has gone away must not disturb the engine."""
        if execution_id != self.execution_id or not events or self.closed.is_set():
            return
        try:
            self.watch.heard(first, events)
        except click.exceptions.Exit:
            self.closed.set()


async def recall(made: Embedded, execution_id: str, watch: Heard, first: int = 1) -> int:
    """Tell a watch what the log holds from an event on; the number of the next event."""
    if not watch.listens:
        return first
    async for row in rows_of(made.store, execution_id, first):
        watch.heard(row.first, events_of(row))
        first = row.last + 1
    return first


async def here(made: Embedded, feed: "Feed[Watching]", timeout_s: float | None = None) -> dict[str, Any]:
    """Wait until an execution that runs here is over, paused, interrupted or out of time; how it stands."""
    async with _ticking(feed.watch):
        with _signals() as pressed:
            return await _follow(made, feed, timeout_s, pressed)


async def _follow(
    made: Embedded, feed: "Feed[Watching]", timeout_s: float | None, pressed: "Pressed"
) -> dict[str, Any]:
    execution_id, watch = feed.execution_id, feed.watch
    waiting = asyncio.ensure_future(_all_quiet(made, execution_id, watch))
    first = asyncio.ensure_future(pressed.first.wait())
    closed = asyncio.ensure_future(feed.closed.wait())
    try:
        done, _ = await asyncio.wait(
            {waiting, first, closed}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        if waiting in done:
            waiting.result()
            return await local.outcome(made, execution_id)
        if done:
            if first in done:
                watch.told(DRAINING)
            await _either(made.pool.drain(), pressed.second.wait())
            return await _left(made, execution_id)
        await made.engine.send(execution_id, Control("cancel", why=f"--timeout {timeout_s:g} reached"))
        return {**await local.outcome(made, execution_id), "status": "timeout"}
    finally:
        await _drop(waiting, first, closed)


async def _all_quiet(made: Embedded, execution_id: str, watch: Heard) -> None:
    """Nothing of the execution is under way, nor of the playbooks it started without waiting for them."""
    await _quiet(made, execution_id)
    others = [other for other in made.engine.running() if other != execution_id]
    if others and made.engine.live_state(execution_id) is None:
        watch.told(f"waiting for what it started: {', '.join(others)}")
        for other in others:
            await _quiet(made, other)


async def _quiet(made: Embedded, execution_id: str) -> None:
    waiting = asyncio.ensure_future(made.engine.until_quiet(execution_id))
    try:
        while not (await asyncio.wait({waiting}, timeout=CHECK_S))[0]:
            if made.trouble is not None:
                raise made.trouble
        waiting.result()
    finally:
        await _drop(waiting)


async def _left(made: Embedded, execution_id: str) -> dict[str, Any]:
    """How an execution stands that was drained; it may have come to its end by that."""
    result = await local.outcome(made, execution_id)
    if result["status"] in ("pending", "running"):
        result["status"] = INTERRUPTED
    return result


async def _either(*work: Coroutine[Any, Any, Any]) -> None:
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _drop(*tasks)


async def _drop(*tasks: "asyncio.Future[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def changed(made: Embedded, execution_id: str, status: str) -> bool:
    """Wait until an execution that another process runs has another status; False when that process ends."""
    while True:
        alive = await made.store.owned(execution_id)
        if (await made.store.summary(execution_id)).status != status:
            return True
        if not alive:
            return False
        await asyncio.sleep(POLL_S)


async def elsewhere(
    made: Embedded, execution_id: str, watch: Heard, first: int = 1, stop_at: tuple[str, ...] = ("paused",)
) -> dict[str, Any]:
    """Follow an execution that another process runs, reading its log gently, until it is over or paused."""
    wait = POLL_S
    async with _ticking(watch):
        while True:
            summary = await made.store.summary(execution_id)
            alive = await made.store.owned(execution_id)
            seen, first = first, await recall(made, execution_id, watch, first)
            if summary.ended_at is not None or summary.status in stop_at:
                return await local.outcome(made, execution_id)
            if not alive:
                watch.told(NOBODY)
                return {**await local.outcome(made, execution_id), "status": INTERRUPTED}
            wait = POLL_S if first > seen else min(wait * 1.5, POLL_MOST_S)
            await asyncio.sleep(wait)


@asynccontextmanager
async def _ticking(watch: Heard) -> AsyncIterator[None]:
    """Let the watch know that time passes, as often as it wants to."""
    task = asyncio.create_task(_tick(watch, watch.tick_s))
    well = False
    try:
        yield
        well = True
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        if not well:
            watch.stop()


async def _tick(watch: Heard, seconds: float | None) -> None:
    while seconds is not None:
        await asyncio.sleep(seconds)
        watch.tick()


class Pressed:
    """How often the user asked to stop."""

    def __init__(self) -> None:
        self.first, self.second = asyncio.Event(), asyncio.Event()

    def again(self) -> None:
        """One more time."""
        (self.second if self.first.is_set() else self.first).set()


@contextmanager
def _signals() -> Iterator[Pressed]:
    pressed, loop = Pressed(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, pressed.again)
    try:
        yield pressed
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
