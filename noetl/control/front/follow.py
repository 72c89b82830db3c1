"""Followers of executions: each hears every event once and in order, whoever runs the execution.

What runs here is pushed by the engine; what another process runs is read from the store by one reader for
all of its followers. The first events of executions that began here lately are at hand: whoever starts one
and then follows it needs no log. A follower that is behind reads the log, so that nothing depends on who was
quicker. What happens in quick succession is heard together.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from functools import partial

from noetl.control.engine import Engine
from noetl.control.log_rows import events_of
from noetl.core.event import Event
from noetl.errors import InvariantViolation, NewerFormat

POLL_S = 0.1
POLL_MOST_S = 1.0
PACE_S = 0.01  # a follower hears nothing for so long after it heard something, unless it is the end
PAGE = 200  # rows read at once
KEPT_EVENTS = 2000  # of a followed execution at hand; who is further behind reads the log
KEPT_UNFOLLOWED = 100
KEPT_UNFOLLOWED_TOPICS = 64  # executions that began lately, and that nobody follows yet
LAST_EVENT = "playbook.processed"

Batch = tuple[int, list[Event]]


class _Topic:
    """One execution: its newest events, and how far its log is known to go."""

    def __init__(self) -> None:
        self.head = 0
        self.followers = 0
        self.over = False
        self.ready = asyncio.Event()  # what was there before is known, or could not be had
        self.reader: asyncio.Task[None] | None = None
        self.failed: BaseException | None = None
        self.kept = 0
        self._recent: deque[Batch] = deque()
        self._waiting: list[asyncio.Future[None]] = []
        self._pausing: list[asyncio.Future[None]] = []

    def reaches(self, head: int) -> None:
        """The log goes this far; what of it was not heard is read."""
        if head > self.head:
            self.head = head
            self._forget()
            self.wake()

    def _forget(self) -> None:
        self._recent.clear()
        self.kept = 0

    def feed(self, first: int, events: list[Event]) -> None:
        """Take committed events; those that are known are left out."""
        last = first + len(events) - 1
        if not events or last <= self.head:
            return
        if first > self.head + 1:  # some went by unheard; they are read from the log
            self._forget()
        new = events[self.head + 1 - first :] if first <= self.head else events
        self._recent.append((last - len(new) + 1, new))
        self.kept += len(new)
        while self.kept > KEPT_EVENTS and len(self._recent) > 1:
            self.kept -= len(self._recent.popleft()[1])
        self.head = last
        self.over = self.over or events[-1].name == LAST_EVENT
        self.wake()

    def wake(self) -> None:
        """Let every follower look again; one that pauses does so only for the end."""
        _free(self._waiting)
        if self.over or self.failed is not None:
            _free(self._pausing)

    async def changed(self) -> None:
        """Wait for more."""
        await _queued(self._waiting)

    async def pause(self) -> None:
        """Let a moment pass, so that what happens in it is heard together."""
        if self.over or self.failed is not None:
            return
        try:
            async with asyncio.timeout(PACE_S):
                await _queued(self._pausing)
        except TimeoutError:
            return

    def after(self, first: int) -> list[Event] | None:
        """The events at hand from one on; None when they must be read from the log."""
        if not self._recent or self._recent[0][0] > first:
            return None
        newer = (batch for batch in self._recent if batch[0] + len(batch[1]) > first)
        return [event for start, events in newer for event in events[max(0, first - start) :]]


def _queued(queue: list[asyncio.Future[None]]) -> asyncio.Future[None]:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    queue.append(future)
    return future


def _free(queue: list[asyncio.Future[None]]) -> None:
    for future in queue:
        if not future.done():
            future.set_result(None)
    queue.clear()


class Followers:
    """Everyone who follows an execution through this process."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._store = engine, engine.store
        self._topics: dict[str, _Topic] = {}
        self._unfollowed: OrderedDict[str, None] = OrderedDict()  # of them, the newest last
        engine.listeners.append(self._heard)

    def _heard(self, execution_id: str, first: int, events: list[Event]) -> None:
        topic = self._topics.get(execution_id)
        if topic is None:
            if first > 1:
                return
            topic = self._begun(execution_id)
        topic.feed(first, events)
        if topic.kept > KEPT_UNFOLLOWED and execution_id in self._unfollowed:
            del self._topics[execution_id], self._unfollowed[execution_id]

    def _begun(self, execution_id: str) -> _Topic:
        """An execution begins here: whoever asked for it will want to hear of it."""
        topic = self._topics[execution_id] = _Topic()
        self._unfollowed[execution_id] = None
        topic.ready.set()
        if len(self._unfollowed) > KEPT_UNFOLLOWED_TOPICS:
            del self._topics[self._unfollowed.popitem(last=False)[0]]
        return topic

    async def follow(self, execution_id: str, first: int = 1) -> AsyncGenerator[Batch]:
        """The events of an execution from one on, until it is over; raises NotFound."""
        topic = self._enter(execution_id)
        try:
            await topic.ready.wait()
            while True:
                if topic.failed is not None:
                    raise topic.failed
                head, over = topic.head, topic.over
                while first <= head and (batch := await self._next(topic, execution_id, first)):
                    yield batch
                    first = batch[0] + len(batch[1])
                    if batch[1][-1].name == LAST_EVENT:
                        return
                    await topic.pause()
                if over:
                    return
                if topic.head == head and not topic.over and topic.failed is None:
                    await topic.changed()
        finally:
            self._leave(execution_id, topic)

    def _enter(self, execution_id: str) -> _Topic:
        topic = self._topics.get(execution_id)
        if topic is None:
            topic = self._topics[execution_id] = _Topic()
        self._unfollowed.pop(execution_id, None)
        if topic.reader is None and not topic.over:
            topic.reader = asyncio.create_task(self._read(execution_id, topic))
            topic.reader.add_done_callback(partial(_ended, topic))
        topic.followers += 1
        return topic

    def _leave(self, execution_id: str, topic: _Topic) -> None:
        topic.followers -= 1
        if topic.followers == 0 and self._topics.get(execution_id) is topic:
            del self._topics[execution_id]
        if topic.followers == 0 and topic.reader is not None:
            topic.reader.cancel()

    async def _next(self, topic: _Topic, execution_id: str, first: int) -> Batch | None:
        """What is known of the log from an event on, from memory or a page of the log."""
        at_hand = topic.after(first)
        if at_hand is not None:
            return (first, at_hand) if at_hand else None
        rows = await self._store.rows(execution_id, first, PAGE)
        if not rows:
            return None
        start = max(first, rows[0].first)
        try:
            return start, [event for row in rows for event in events_of(row)][start - rows[0].first :]
        except (InvariantViolation, NewerFormat):
            if topic.over:  # it is stuck, and that is why
                return None
            raise

    async def _read(self, execution_id: str, topic: _Topic) -> None:
        """Look after an execution that does not run here, gently; one that does is heard."""
        live = self._engine.in_memory(execution_id)
        if live is not None:
            topic.reaches(live.committed)
        elif not topic.over:
            over = await self._is_over(execution_id)
            topic.reaches(await self._store.end(execution_id))
            if over:
                topic.over = True
        topic.ready.set()
        topic.wake()
        wait = POLL_S
        while not topic.over:
            await asyncio.sleep(wait)
            if self._engine.live_state(execution_id) is not None:
                wait = POLL_MOST_S
                continue
            before = topic.head
            await self._look(execution_id, topic)
            wait = POLL_S if topic.head > before else min(wait * 1.5, POLL_MOST_S)

    async def _is_over(self, execution_id: str) -> bool:
        """Whether nothing more comes: what is stuck may be released, and is followed anew then."""
        summary = await self._store.summary(execution_id)
        return summary.ended_at is not None or summary.stuck is not None

    async def _look(self, execution_id: str, topic: _Topic) -> None:
        over = await self._is_over(execution_id)
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
