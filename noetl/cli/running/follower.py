"""Following an execution to its end: one that runs here, or one that a server or another process runs.

The first Ctrl-C (or SIGTERM) drains what runs here, the second stops it; what runs elsewhere goes on.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol

import click

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Reached
from noetl.cli.options import there
from noetl.core.event import Event
from noetl.core.message import Control
from noetl.wiring.embedded import Embedded

CHECK_S = 0.5
INTERRUPTED = "interrupted"
TIMEOUT = "timeout"
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


class Feed:
    """Lets a watch hear the events of an execution that runs here.

    It listens before the execution begins and so before its id is known; `choose` says whose events count.
    """

    def __init__(self, made: Embedded, watch: Heard) -> None:
        self.made, self.watch = made, watch
        self.closed = asyncio.Event()  # nobody reads what the watch prints any more
        self.execution_id: str | None = None
        self._early: list[tuple[str, int, list[Event]]] = []
        if watch.listens:
            made.engine.listeners.append(self)

    def __call__(self, execution_id: str, first: int, events: list[Event]) -> None:
        """Take what was committed."""
        if self.execution_id is None:
            self._early.append((execution_id, first, events))
        elif execution_id == self.execution_id and events and not self.closed.is_set():
            self._tell(first, events)

    def choose(self, execution_id: str) -> None:
        """Tell of one execution, also what was heard of it already."""
        self.execution_id = execution_id
        early, self._early = self._early, []
        for heard in early:
            self(*heard)

    def _tell(self, first: int, events: list[Event]) -> None:
        """A reader who has gone away must not disturb the engine."""
        try:
            self.watch.heard(first, events)
        except click.exceptions.Exit:
            self.closed.set()

    def drop(self) -> None:
        """Listen no more."""
        if self.watch.listens:
            self.made.engine.listeners.remove(self)


async def here(feed: Feed, timeout_s: float | None = None) -> dict[str, Any]:
    """Wait until an execution that runs here is over, paused, interrupted or out of time; how it stands."""
    async with _ticking(feed.watch):
        with _signals() as pressed:
            return await _follow(feed, timeout_s, pressed)


async def _follow(feed: Feed, timeout_s: float | None, pressed: "Pressed") -> dict[str, Any]:
    made, execution_id, watch = feed.made, feed.execution_id or "", feed.watch
    waiting = asyncio.ensure_future(_all_quiet(made, execution_id, watch))
    first = asyncio.ensure_future(pressed.first.wait())
    closed = asyncio.ensure_future(feed.closed.wait())
    try:
        done, _ = await asyncio.wait(
            {waiting, first, closed}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        if waiting in done:
            waiting.result()
            return await made.front.execution(execution_id)
        if done:
            if first in done:
                watch.told(DRAINING)
            await _either(made.pool.drain(), pressed.second.wait())
            return await _left(made, execution_id)
        await made.engine.send(execution_id, Control("cancel", caller(), f"--timeout {timeout_s:g} reached"))
        return {**await made.front.execution(execution_id), "status": TIMEOUT}
    finally:
        await _drop(waiting, first, closed)


async def _all_quiet(made: Embedded, execution_id: str, watch: Heard) -> None:
    """Nothing of the execution is under way, nor of the playbooks it started without waiting for them."""
    await _resting(made, execution_id)
    others = [other for other in made.engine.running() if other != execution_id]
    if others and made.engine.live_state(execution_id) is None:
        watch.told(f"waiting for what it started: {', '.join(others)}")
        for other in others:
            await _quiet(made, other)


async def _resting(made: Embedded, execution_id: str) -> None:
    """An execution is over, or rests with all children that were paused with it: what ran in them is done."""
    await _quiet(made, execution_id)
    state = made.engine.live_state(execution_id)
    for child in list(state.children) if state is not None else ():
        await _resting(made, child)


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
    result = await made.front.execution(execution_id)
    if result["status"] in ("pending", "running", "waiting"):
        result["status"] = INTERRUPTED
    return result


# What runs elsewhere


async def along(
    reached: Reached, execution_id: str, watch: Heard, timeout_s: float | None = None
) -> tuple[dict[str, Any], bool]:
    """Follow an execution that runs elsewhere until it is over or rests, or as long as one wants to wait.

    How it stands then, and whether the user left it.
    """
    async with _ticking(watch):
        with _signals() as pressed:
            reading = asyncio.ensure_future(_read(reached, execution_id, watch))
            first = asyncio.ensure_future(pressed.first.wait())
            try:
                done, _ = await asyncio.wait(
                    {reading, first}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
                )
                if reading in done:
                    return reading.result(), False
                reached_it = "" if done else f"--timeout {timeout_s:g} reached; "
                watch.told(f"{reached_it}{_goes_on(execution_id)}")
                result = await reached.front.execution(execution_id)
                return (result, True) if done else ({**result, "status": TIMEOUT}, False)
            finally:
                await _drop(reading, first)


def _goes_on(execution_id: str) -> str:
    return (
        f"it goes on by itself; see it with: noetl execution watch {execution_id}{there()}, "
        f"end it with: noetl execution cancel {execution_id}{there()}"
    )


async def _read(reached: Reached, execution_id: str, watch: Heard) -> dict[str, Any]:
    """Tell a watch every event, until the execution is over, rests, or has nobody who runs it."""
    paused, last = False, 0
    async with aclosing(_batches(reached, execution_id)) as batches:
        async for batch in batches:
            if batch is None:
                if await reached.interrupted(execution_id):
                    return await _abandoned(reached, execution_id, watch)
                continue
            start, events = batch
            if watch.listens:
                watch.heard(start, events)
            last = start + len(events) - 1
            for event in events:
                if event.name in ("execution.paused", "execution.resumed"):
                    paused = event.name == "execution.paused"
            if paused and await _rests(reached, execution_id, last):
                break
    return await reached.front.execution(execution_id)


async def _batches(reached: Reached, execution_id: str) -> AsyncGenerator[tuple[int, list[Event]] | None]:
    """The events of an execution, and None whenever there was none for a while and nobody may be there."""
    async with aclosing(reached.front.follow(execution_id)) as log:
        waiting: asyncio.Task[tuple[int, list[Event]]] | None = None
        try:
            while True:
                waiting = waiting or asyncio.ensure_future(anext(log))
                done, _ = await asyncio.wait({waiting}, timeout=CHECK_S if reached.made else None)
                if not done:
                    yield None
                    continue
                try:
                    batch = waiting.result()
                except StopAsyncIteration:
                    return
                waiting = None
                yield batch
        finally:
            if waiting is not None:
                await _drop(waiting)


async def _abandoned(reached: Reached, execution_id: str, watch: Heard) -> dict[str, Any]:
    """How an execution stands whose process is gone."""
    result = await reached.front.execution(execution_id)
    if result["status"] in ("pending", "running", "waiting"):
        watch.told(NOBODY)
        result["status"] = INTERRUPTED
    return result


async def _rests(reached: Reached, execution_id: str, last: int) -> bool:
    """Whether an execution is paused and nothing of it is under way any more."""
    state = await reached.front.state(execution_id)
    under_way = any(run["status"] == "running" for run in state["runs"])
    return state["status"] == "paused" and state["seq"] <= last and not under_way


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
