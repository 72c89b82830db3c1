"""Server-Sent Events: the events of an execution read from a stream, and read on where it was cut."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

import aiohttp
import msgspec

from noetl.adapters.http.client import Client
from noetl.adapters.http.moment import ms
from noetl.adapters.http.problem import error_of
from noetl.core.event import Event, EventEnvelope
from noetl.errors import BackendError

PATIENCE_S = 120.0  # of a server that does not answer any more
WAIT_S = 0.2
WAIT_MOST_S = 3.0
GAP = b"\n\n"

Batch = tuple[int, list[Event]]
Notify = Callable[[str], None]


async def follow(client: Client, execution_id: str, first: int, notify: Notify) -> AsyncGenerator[Batch]:
    """Events from one on, each once and in order, until the execution is over; a cut is mended."""
    clock = asyncio.get_running_loop().time
    heard_at, wait, resumes, cut = clock(), WAIT_S, False, False
    while True:
        batches = _read_connection(client, execution_id, first, resumes=resumes)
        try:
            async for start, events, ended in batches:
                heard_at, wait, resumes, cut = clock(), WAIT_S, True, False
                new = events[max(0, first - start) :]
                first += len(new)
                if new:
                    yield first - len(new), new
                if ended:
                    return
        except BackendError as error:
            if not client.answered or clock() - heard_at > PATIENCE_S:
                raise
            if not cut:
                notify(f"{error.message}; trying again")
            cut = True
        finally:
            await batches.aclose()
        await asyncio.sleep(wait)
        wait = min(wait * 2, WAIT_MOST_S)


async def _read_connection(
    client: Client, execution_id: str, first: int, *, resumes: bool
) -> AsyncGenerator[tuple[int, list[Event], bool]]:
    """What one connection brings: events, none of them as a sign of life, and whether that was the end."""
    headers = {"Accept": "text/event-stream"}
    if resumes:
        headers["Last-Event-ID"] = str(first - 1)
    path = f"/executions/{execution_id}/stream"
    async with client.open("GET", path, query={"from": first}, headers=headers) as answer:
        if answer.status != 200:
            raise error_of(client.url, answer.status, await answer.read())
        rest = b""
        async for chunk in _chunks(client, answer):
            *whole, rest = (rest + chunk).split(GAP)
            yield *_batch(whole, first), any(_field(block, b"event") == b"end" for block in whole)


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
