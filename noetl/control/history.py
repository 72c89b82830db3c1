"""What a log says afterwards: its events as readers see them, and the state at any of them."""

import asyncio
from collections.abc import AsyncIterator
from fnmatch import fnmatchcase
from typing import Protocol

from noetl.control.log_rows import events_of
from noetl.core.event import Event, EventEnvelope, envelope
from noetl.core.fold import evolve
from noetl.core.state import State
from noetl.errors import NotFound
from noetl.ports.store import Row, Store

PAGE = 500
FIRST_PAGE = 2


class Log(Protocol):
    """Whatever has logs: a store, or the product itself."""

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        """Rows of the log in order, from the one that holds an event."""


async def rows_of(store: Log, execution_id: str, first: int = 1) -> AsyncIterator[Row]:
    """Every row of a log from the one that holds an event, page by page: who wants few gets few."""
    size = FIRST_PAGE
    while True:
        page = await store.rows(execution_id, first, size)
        for row in page:
            yield row
            await asyncio.sleep(0)  # a long log lets others have their turn
        if len(page) < size:
            return
        first, size = page[-1].last + 1, min(PAGE, size * 4)


async def events(store: Store, execution_id: str, first: int = 1) -> AsyncIterator[tuple[int, Event]]:
    """Every event of a log with its sequence number."""
    async for row in rows_of(store, execution_id, first):
        for offset, event in enumerate(events_of(row)):
            if row.first + offset >= first:
                yield row.first + offset, event


async def envelopes(
    store: Store, execution_id: str, *, first: int = 1, name: str | None = None, step: str | None = None
) -> AsyncIterator[EventEnvelope]:
    """Events as readers see them, those that match."""
    async for seq, event in events(store, execution_id, first):
        if name is not None and not fnmatchcase(event.name, name):
            continue
        event_envelope = envelope(execution_id, seq, event)
        if step is None or event_envelope.get("step") == step:
            yield event_envelope


async def state_at(store: Store, execution_id: str, seq: int | None = None) -> State:
    """The state after an event, or after the newest."""
    await store.summary(execution_id)
    state = State(execution_id)
    async for number, event in events(store, execution_id):
        if seq is not None and number > seq:
            break
        evolve(state, event)
    if seq is not None and state.seq < seq:
        message = f"execution {execution_id} has {state.seq} events, not {seq}"
        raise NotFound(message, hint=f"noetl execution events {execution_id}")
    return state
