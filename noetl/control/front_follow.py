"""Followers of executions: each hears every event once and in order, whoever runs the execution.

What runs here is pushed by the engine; what another process runs is read from the store by one reader for
all of its followers. A follower that is behind reads the log, so that nothing depends on who was quicker.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial

from noetl.control.engine import Engine
from noetl.control.rows import events_of
from noetl.core.event import Event

POLL_S = 0.1
POLL_MOST_S = 1.0
PAGE = 200  # rows read at once
KEPT_EVENTS = 2000  # of a followed execution at hand; who is further behind reads the log
LAST_EVENT = "playbook.processed"

Batch = tuple[int, list[Event]]


class _Topic:
    """One followed execution: its newest events, and how far its log is known to go."""

    def __init__(self) -> None:
        self.head = 0
        self.followers = 0
        self.over = False
        self.ready = asyncio.Event()  # what was there before is known, or could not be had
        self.reader: asyncio.Task[None] | None = None
        self.failed: BaseException | None = None
        self._recent: deque[Batch] = deque()
        self._kept = 0
        self._news = asyncio.Event()

    def reaches(self, head: int) -> None:
        """The log goes this far; what of it was not heard is read."""
        if head > self.head:
            self.head = head
            self._forget()
            self.wake()

    def _forget(self) -> None:
        self._recent.clear()
        self._kept = 0

    def feed(self, first: int, events: list[Event]) -> None:
        """Take committed events; those that are known are left out."""
        last = first + len(events) - 1
        if not events or last <= self.head:
            return
        if first > self.head + 1:  # some went by unheard; they are read from the log
            self._forget()
        new = events[max(0, self.head + 1 - first) :]
        self._recent.append((last - len(new) + 1, new))
        self._kept += len(new)
        while self._kept > KEPT_EVENTS and len(self._recent) > 1:
            self._kept -= len(self._recent.popleft()[1])
        self.head = last
        self.over = self.over or events[-1].name == LAST_EVENT
        self.wake()

    def wake(self) -> None:
        """Let every follower look again."""
        self._news.set()
        self._news = asyncio.Event()

    async def changed(self) -> None:
        """Wait for more."""
        await self._news.wait()

    def after(self, first: int) -> list[Batch] | None:
        """What is at hand from an event on; None when it must be read from the log."""
        if not self._recent or self._recent[0][0] > first:
            return None
        return [batch for batch in self._recent if batch[0] + len(batch[1]) > first] or None


class Followers:
    """Everyone who follows an execution through this process."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._store = engine, engine.store
        self._topics: dict[str, _Topic] = {}
        engine.listeners.append(self._heard)

    def _heard(self, execution_id: str, first: int, events: list[Event]) -> None:
        topic = self._topics.get(execution_id)
        if topic is not None:
            topic.feed(first, events)

    async def follow(self, execution_id: str, first: int = 1) -> AsyncGenerator[Batch]:
        """The events of an execution from one on, until it is over; raises NotFound."""
        topic = self._enter(execution_id)
        try:
            await topic.ready.wait()
            while True:
                if topic.failed is not None:
                    raise topic.failed
                known, over = topic.head, topic.over
                async for batch in self._known(topic, execution_id, first, known):
                    first = batch[0] + len(batch[1])
                    yield batch
                    if batch[1][-1].name == LAST_EVENT:
                        return
                if over:
                    return
                if topic.head == known and not topic.over and topic.failed is None:
                    await topic.changed()
        finally:
            self._leave(execution_id, topic)

    def _enter(self, execution_id: str) -> _Topic:
        topic = self._topics.get(execution_id)
        if topic is None:
            topic = self._topics[execution_id] = _Topic()
            topic.reader = asyncio.create_task(self._read(execution_id, topic))
            topic.reader.add_done_callback(partial(_ended, topic))
        topic.followers += 1
        return topic

    def _leave(self, execution_id: str, topic: _Topic) -> None:
        topic.followers -= 1
        if topic.followers == 0:
            self._topics.pop(execution_id, None)
            if topic.reader is not None:
                topic.reader.cancel()

    async def _known(self, topic: _Topic, execution_id: str, first: int, last: int) -> AsyncIterator[Batch]:
        """What is known of the log between two events, from memory or from the log."""
        while first <= last:
            batches = topic.after(first)
            if batches is None:
                batches = [
                    (row.first, events_of(row)) for row in await self._store.rows(execution_id, first, PAGE)
                ]
                if not batches:
                    return
            for start, events in batches:
                new = events[max(0, first - start) :]
                if new:
                    yield max(first, start), new
                    first = start + len(events)

    async def _read(self, execution_id: str, topic: _Topic) -> None:
        """Look after an execution that does not run here, gently; one that does is heard."""
        live = self._engine.in_memory(execution_id)
        if live is not None:
            topic.reaches(live.committed)
        else:
            over = (await self._store.summary(execution_id)).ended_at is not None
            topic.reaches(await self._store.end(execution_id))
            topic.over = topic.over or over
        topic.ready.set()
        wait = POLL_S
        while not topic.over:
            await asyncio.sleep(wait)
            if self._engine.live_state(execution_id) is not None:
                wait = POLL_MOST_S
                continue
            before = topic.head
            await self._look(execution_id, topic)
            wait = POLL_S if topic.head > before else min(wait * 1.5, POLL_MOST_S)

    async def _look(self, execution_id: str, topic: _Topic) -> None:
        over = (await self._store.summary(execution_id)).ended_at is not None
        while rows := await self._store.rows(execution_id, topic.head + 1, PAGE):
            for row in rows:
                topic.feed(row.first, events_of(row))
            if len(rows) < PAGE:
                break
        if over and not topic.over:  # its last events were known before it was said to be over
            topic.over = True
            topic.wake()


def _ended(topic: _Topic, reader: "asyncio.Task[None]") -> None:
    """What stopped the reader stops its followers."""
    if not reader.cancelled():
        topic.failed = reader.exception()
    topic.ready.set()
    topic.wake()
