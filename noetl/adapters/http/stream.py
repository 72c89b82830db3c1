"""Server-Sent Events: events and lines of an execution read from a stream, and read on where it was cut."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing

import aiohttp
import msgspec

from noetl.adapters.http.client import Client, Query
from noetl.adapters.http.moment import ms
from noetl.adapters.http.problem import error_of
from noetl.core.event import Event, EventEnvelope
from noetl.errors import BackendError
from noetl.ports.answers import LinesPage

PATIENCE_S = 120.0  # of a server that does not answer any more
WAIT_S = 0.2
WAIT_MOST_S = 3.0
GAP = b"\n\n"

Batch = tuple[int, list[Event]]
Notify = Callable[[str], None]


class Mending:
    """How long a server that answered before, and does not now, is tried again, and who is told."""

    def __init__(self, client: Client, notify: Notify) -> None:
        self._client, self._notify = client, notify
        self._clock = asyncio.get_running_loop().time
        self._heard_at, self._wait, self.resumes, self._cut = self._clock(), WAIT_S, False, False

    def heard(self) -> None:
        """The stream brings something."""
        self._heard_at, self._wait, self.resumes, self._cut = self._clock(), WAIT_S, True, False

    def lost(self, error: BackendError) -> None:
        """The stream was cut; raises the error when that cannot be mended."""
        if not self._client.answered or self._clock() - self._heard_at > PATIENCE_S:
            raise error
        if not self._cut:
            self._notify(f"{error.message}; trying again")
        self._cut = True

    async def pause(self) -> None:
        """Wait before the next try."""
        await asyncio.sleep(self._wait)
        self._wait = min(self._wait * 2, WAIT_MOST_S)


async def follow(client: Client, execution_id: str, first: int, notify: Notify) -> AsyncGenerator[Batch]:
    """Events from one on, each once and in order, until the execution is over; a cut is mended."""
    mending = Mending(client, notify)
    while True:
        batches = _read_connection(client, execution_id, first, resumes=mending.resumes)
        try:
            async for start, events, ended in batches:
                mending.heard()
                new = events[max(0, first - start) :]
                first += len(new)
                if new:
                    yield first - len(new), new
                if ended:
                    return
        except BackendError as error:
            mending.lost(error)
        finally:
            await batches.aclose()
        await mending.pause()


async def follow_lines(
    client: Client, execution_id: str, query: Query, after: str, notify: Notify
) -> AsyncGenerator[LinesPage]:
    """Lines behind a place, until the execution is over; a cut is mended."""
    mending = Mending(client, notify)
    while True:
        path = f"/executions/{execution_id}/logs/stream"
        blocks = _read_blocks(client, path, {**query, "after": after or None}, {})
        try:
            async for block in blocks:
                mending.heard()
                if _field(block, b"event") == b"end":
                    return
                after = _field(block, b"id").decode() or after
                data = _field(block, b"data")
                yield {"items": msgspec.json.decode(data) if data else [], "next": after, "more": False}
        except BackendError as error:
            mending.lost(error)
        finally:
            await blocks.aclose()
        await mending.pause()


async def _read_connection(
    client: Client, execution_id: str, first: int, *, resumes: bool
) -> AsyncGenerator[tuple[int, list[Event], bool]]:
    """What one connection brings: events, none of them as a sign of life, and whether that was the end."""
    headers = {"Last-Event-ID": str(first - 1)} if resumes else {}
    path = f"/executions/{execution_id}/stream"
    async with aclosing(_read_chunks(client, path, {"from": first}, headers)) as chunks:
        async for whole in chunks:
            yield *_batch(whole, first), any(_field(block, b"event") == b"end" for block in whole)


async def _read_blocks(
    client: Client, path: str, query: Query, headers: Mapping[str, str]
) -> AsyncGenerator[bytes]:
    async with aclosing(_read_chunks(client, path, query, headers)) as chunks:
        async for whole in chunks:
            for block in whole:
                yield block


async def _read_chunks(
    client: Client, path: str, query: Query, headers: Mapping[str, str]
) -> AsyncGenerator[list[bytes]]:
    """What one connection brings, as far as it is whole."""
    headers = {"Accept": "text/event-stream", **headers}
    async with client.open("GET", path, query=query, headers=headers) as answer:
        if answer.status != 200:
            raise error_of(client.url, answer.status, await answer.read())
        rest = b""
        async for chunk in _chunks(client, answer):
            *whole, rest = (rest + chunk).split(GAP)
            yield whole


async def _chunks(client: Client, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.content.iter_any():
            yield chunk
    except aiohttp.ClientPayloadError as error:
        raise client.unreachable(error) from error


def _batch(blocks: list[bytes], first: int) -> Batch:
    events = [event for block in blocks for event in _events(block)]
    return (events[0][0] if events else first), [event for _, event in events]


def _events(block: bytes) -> Iterator[tuple[int, Event]]:
    data = _field(block, b"data")
    if data and _field(block, b"event") != b"end":
        yield event_of(msgspec.json.decode(data))


def _field(block: bytes, name: bytes) -> bytes:
    start = name + b": "
    return b"".join(line[len(start) :] for line in block.split(b"\n") if line.startswith(start))


def event_of(envelope: EventEnvelope) -> tuple[int, Event]:
    """The event that an envelope shows, with its number; shown again it gives the same envelope."""
    run, task = envelope.get("step_run_id") or "", envelope.get("task_run_id")
    own = f"/{envelope.get('task_label')}.{envelope.get('visit') or 1}"
    place = envelope.get("iteration_id") or (task.removesuffix(own) if task else run)
    event = Event(
        envelope["name"],
        ms(envelope["ts"]),
        envelope["source"][0],
        run or None,
        place.removeprefix(run) or None,
        envelope.get("task_label"),
        envelope.get("visit"),
        envelope.get("attempt"),
        envelope["data"] or None,
    )
    return envelope["seq"], event
