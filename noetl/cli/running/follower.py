"""Following an execution to its end: one that runs here, or one that a server or another process runs.

The first Ctrl-C (or SIGTERM) drains what runs here, the second stops it; what runs elsewhere goes on.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any

import click

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Connection
from noetl.cli.options import server_flag
from noetl.cli.terminal import note
from noetl.core.event import Event
from noetl.core.message import Control
from noetl.ports.answers import ExecutionAnswer
from noetl.wiring.embedded import Embedded

CHECK_S = 0.5
INTERRUPTED = "interrupted"
TIMEOUT = "timeout"
DRAINING = "stopping: tasks that run have 10 seconds to end; Ctrl-C again stops at once"
NOBODY = "nobody runs this execution any more"


class EventListener:
    """What a follower tells: the events of the execution, the passing of time, a sentence."""

    tick_s: float | None = None
    listens = False  # whether it wants to hear of events at all

    def receive(self, first: int, events: list[Event]) -> None:
        """Events that were committed, each once and in order."""

    def tick(self) -> None:
        """Some time has passed."""

    def continued(self, execution_id: str) -> None:
        """The execution goes on as another, whose events come next."""

    def announce(self, text: str) -> None:
        """Something a person should know."""
        note(text)

    def stop(self) -> None:
        """Following went wrong: leave the terminal in order."""


def successor_in(events: list[Event]) -> str | None:
    """The execution that goes on, when these events say so."""
    for event in events:
        if event.name == "execution.continued" and event.data:
            return str(event.data["as"])
    return None


class Feed:
    """Lets a watch hear the events of an execution that runs here.

    It listens before the execution begins and so before its id is known; `choose` says whose events count.
    """

    def __init__(self, embedded: Embedded, watch: EventListener) -> None:
        self.embedded, self.watch = embedded, watch
        self.closed = asyncio.Event()  # nobody reads what the watch prints any more
        self.execution_id: str | None = None
        self._early: list[tuple[str, int, list[Event]]] = []
        if watch.listens:
            embedded.engine.listeners.append(self)

    def __call__(self, execution_id: str, first: int, events: list[Event]) -> None:
        if self.execution_id is None:
            self._early.append((execution_id, first, events))
        elif execution_id == self.execution_id and events and not self.closed.is_set():
            self._tell(first, events)

    def choose(self, execution_id: str) -> None:
        """Tell of one execution, also what was heard of it already."""
        self.execution_id = execution_id
        early, self._early = self._early, []
        for batch in early:
            self(*batch)

    def _tell(self, first: int, events: list[Event]) -> None:
        """A reader who has gone away must not disturb the engine."""
        try:
            self.watch.receive(first, events)
            successor = successor_in(events)
            if successor is not None:
                self.execution_id = successor
                self.watch.continued(successor)
        except click.exceptions.Exit:
            self.closed.set()

    def drop(self) -> None:
        if self.watch.listens:
            self.embedded.engine.listeners.remove(self)


async def follow_embedded(feed: Feed, timeout_s: float | None = None) -> ExecutionAnswer:
    """Wait until an execution that runs here is over, paused, interrupted or out of time; how it stands."""
    async with _ticking(feed.watch):
        with _signals() as stops:
            return await _follow(feed, timeout_s, stops)


async def _follow(feed: Feed, timeout_s: float | None, stops: "StopRequests") -> ExecutionAnswer:
    embedded, execution_id, watch = feed.embedded, feed.execution_id or "", feed.watch
    waiting = asyncio.ensure_future(_until_all_quiet(embedded, execution_id, watch))
    first = asyncio.ensure_future(stops.first.wait())
    closed = asyncio.ensure_future(feed.closed.wait())
    try:
        done, _ = await asyncio.wait(
            {waiting, first, closed}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        if waiting in done:
            return await embedded.front.execution(waiting.result())
        if done:
            if first in done:
                watch.announce(DRAINING)
            await _either(embedded.pool.drain(), stops.second.wait())
            return await _drained_result(embedded, await _newest(embedded, execution_id))
        await embedded.engine.send(
            execution_id, Control("cancel", caller(), f"--timeout {timeout_s:g} reached")
        )
        result = await embedded.front.execution(await _newest(embedded, execution_id))
        return {**result, "status": TIMEOUT}
    finally:
        await _drop(waiting, first, closed)


async def _newest(embedded: Embedded, execution_id: str) -> str:
    return (await embedded.store.newest(execution_id)).execution_id


async def _until_all_quiet(embedded: Embedded, execution_id: str, watch: EventListener) -> str:
    """Nothing of the execution is under way, nor of the playbooks it started without waiting for them.

    The execution that it is by then: it may have gone on as another.
    """
    await _until_resting(embedded, execution_id)
    while (newest := await _newest(embedded, execution_id)) != execution_id:
        execution_id = newest
        await _until_resting(embedded, execution_id)
    others = [other for other in embedded.engine.running() if other != execution_id]
    if others and embedded.engine.live_state(execution_id) is None:
        watch.announce(f"waiting for what it started: {', '.join(others)}")
        for other in others:
            await _until_quiet(embedded, other)
    return execution_id


async def _until_resting(embedded: Embedded, execution_id: str) -> None:
    """An execution is over, or rests with all children that were paused with it: what ran in them is done."""
    await _until_quiet(embedded, execution_id)
    state = embedded.engine.live_state(execution_id)
    for child in list(state.children) if state is not None else ():
        await _until_resting(embedded, await _newest(embedded, child))


async def _until_quiet(embedded: Embedded, execution_id: str) -> None:
    waiting = asyncio.ensure_future(embedded.engine.until_quiet(execution_id))
    try:
        while not (await asyncio.wait({waiting}, timeout=CHECK_S))[0]:
            if embedded.trouble is not None:
                raise embedded.trouble
        waiting.result()
    finally:
        await _drop(waiting)


async def _drained_result(embedded: Embedded, execution_id: str) -> ExecutionAnswer:
    """How an execution stands that was drained; it may have come to its end by that."""
    result = await embedded.front.execution(execution_id)
    if result["status"] in ("pending", "running", "waiting"):
        result["status"] = INTERRUPTED
    return result


# What runs elsewhere


async def follow_remote(
    connection: Connection, execution_id: str, watch: EventListener, timeout_s: float | None = None
) -> tuple[ExecutionAnswer, bool]:
    """Follow an execution that runs elsewhere until it is over or rests, or as long as one wants to wait.

    How it stands then, and whether the user left it.
    """
    async with _ticking(watch):
        with _signals() as stops:
            reading = asyncio.ensure_future(_read(connection, execution_id, watch))
            first = asyncio.ensure_future(stops.first.wait())
            try:
                done, _ = await asyncio.wait(
                    {reading, first}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
                )
                if reading in done:
                    return reading.result(), False
                prefix = "" if done else f"--timeout {timeout_s:g} reached; "
                watch.announce(f"{prefix}{_goes_on(execution_id)}")
                result = await connection.front.execution(execution_id)
                return (result, True) if done else ({**result, "status": TIMEOUT}, False)
            finally:
                await _drop(reading, first)


def _goes_on(execution_id: str) -> str:
    return (
        f"it goes on by itself; see it with: noetl execution watch {execution_id}{server_flag()}, "
        f"end it with: noetl execution cancel {execution_id}{server_flag()}"
    )


async def _read(connection: Connection, execution_id: str, watch: EventListener) -> ExecutionAnswer:
    """Tell a watch every event, until the execution is over, rests, or has nobody who runs it.

    One that goes on as another is followed there.
    """
    while isinstance(read := await _read_one(connection, execution_id, watch), str):
        execution_id = read
        watch.continued(execution_id)
    return read


async def _read_one(connection: Connection, execution_id: str, watch: EventListener) -> ExecutionAnswer | str:
    """The same for one execution; the id of the one that goes on, if there is one."""
    paused, last, successor = False, 0, None
    async with aclosing(_batches(connection, execution_id)) as batches:
        async for batch in batches:
            if batch is None:
                if await connection.interrupted(execution_id):
                    return await _abandoned_result(connection, execution_id, watch)
                continue
            start, events = batch
            if watch.listens:
                watch.receive(start, events)
            last = start + len(events) - 1
            successor = successor or successor_in(events)
            for event in events:
                if event.name in ("execution.paused", "execution.resumed"):
                    paused = event.name == "execution.paused"
            if paused and await _is_resting(connection, execution_id, last):
                break
    return successor or await connection.front.execution(execution_id)


async def _batches(
    connection: Connection, execution_id: str
) -> AsyncGenerator[tuple[int, list[Event]] | None]:
    """The events of an execution, and None whenever there was none for a while and nobody may be there."""
    async with aclosing(connection.front.follow(execution_id)) as log:
        waiting: asyncio.Task[tuple[int, list[Event]]] | None = None
        try:
            while True:
                waiting = waiting or asyncio.ensure_future(anext(log))
                done, _ = await asyncio.wait({waiting}, timeout=CHECK_S if connection.embedded else None)
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


async def _abandoned_result(
    connection: Connection, execution_id: str, watch: EventListener
) -> ExecutionAnswer:
    """How an execution stands whose process is gone."""
    result = await connection.front.execution(execution_id)
    if result["status"] in ("pending", "running", "waiting"):
        watch.announce(NOBODY)
        result["status"] = INTERRUPTED
    return result


async def _is_resting(connection: Connection, execution_id: str, last: int) -> bool:
    """Whether an execution is paused and nothing of it is under way any more."""
    state = await connection.front.state(execution_id)
    under_way = any(run["status"] == "running" for run in state["runs"])
    return state["status"] == "paused" and state["seq"] <= last and not under_way


async def _either(*work: Coroutine[None, None, object]) -> None:
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _drop(*tasks)


async def _drop(*tasks: "asyncio.Future[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _ticking(watch: EventListener) -> AsyncIterator[None]:
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


async def _tick(watch: EventListener, seconds: float | None) -> None:
    while seconds is not None:
        await asyncio.sleep(seconds)
        watch.tick()


class StopRequests:
    """How often the user asked to stop."""

    def __init__(self) -> None:
        self.first, self.second = asyncio.Event(), asyncio.Event()

    def press(self) -> None:
        (self.second if self.first.is_set() else self.first).set()


@contextmanager
def _signals() -> Iterator[StopRequests]:
    stops, loop = StopRequests(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stops.press)
    try:
        yield stops
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
