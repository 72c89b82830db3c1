"""Events as they happen: Server-Sent Events that resume, stay alive, and end with the execution."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from typing import Self

import msgspec
from fastapi import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from noetl.core.event import Event, envelope
from noetl.errors import BackendError, RequestError
from noetl.server.reply import front_of, held, options_of
from noetl.server.route_spec import describe, make_router, parameter
from noetl.server.routes.executions import ID_PARAMETER, id_of

_LOG = logging.getLogger("noetl.http")
router = make_router("executions")
MEDIA_TYPE = "text/event-stream"
ALIVE = b": still here\n\n"
LAST_CHUNK = {"type": "http.response.body", "body": b"", "more_body": False}
END = b"event: end\ndata: {}\n\n"
FIRST_SIGN_S = 0.05  # so that the reader knows that it is connected; events that are there come first
CHUNK_EVENTS = 200  # so much is encoded at once; a reader that is slow holds no more than this
LAST_WORDS = "The number of the last event that was seen; the stream goes on behind it"
LAST_PARAMETER = parameter("header", "Last-Event-ID", LAST_WORDS, type="string", pattern="^[0-9]{1,15}$")
FROM_WORDS = "The number of the first event wanted"
FROM_PARAMETER = parameter("query", "from", FROM_WORDS, type="integer", minimum=1, maximum=2**53, default=1)

Batch = tuple[int, list[Event]]


@router.get(
    "/executions/{execution_id}/stream",
    **describe(
        "read",
        {200: MEDIA_TYPE},
        problems=(404,),
        parameters=(ID_PARAMETER, FROM_PARAMETER, LAST_PARAMETER),
    ),
)
async def stream(request: Request) -> Response:
    """The events of an execution as Server-Sent Events: past ones at once, the others as they happen."""
    execution_id = id_of(request)
    first = _first(request)
    front = front_of(request)
    await front.status(execution_id)  # one that is not there is answered as a problem, not as a stream
    stream = EventStream(execution_id, front.follow(execution_id, first), request.app.state.closing)
    return stream.of(request)


def _first(request: Request) -> int:
    last, start = request.headers.get("last-event-id"), request.query_params.get("from")
    text = last or start  # a reader that has seen nothing yet may send the header empty
    if text is None:
        return 1
    if not (text.isascii() and text.isdigit()) or len(text) > 16:
        raise RequestError(f"'{text[:40]}' is not the number of an event", hint="numbers count from 1")
    return int(text) + 1 if last else max(1, int(text))


class EventStream(Response):
    """A stream that waits for its reader, and lets go of the execution when the reader is gone."""

    media_type = MEDIA_TYPE

    heartbeat_s = 15.0
    held: AbstractContextManager[None] = nullcontext()  # its connection

    def __init__(
        self, execution_id: str, batches: AsyncGenerator[Batch] | None, closing: asyncio.Event
    ) -> None:
        self.execution_id, self.closing = execution_id, closing
        if batches is not None:
            self.batches = batches
        self.status_code, self.background, self._begun, self._quiet = 200, None, False, True
        self.body = b""
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]

    def of(self, request: Request) -> Self:
        """The stream as an answer to a request."""
        self.heartbeat_s, self.held = options_of(request).heartbeat_s, held(request)
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the execution is over or the reader is gone; refused where too many are sent."""
        with self.held:
            await self._send_while_read(receive, send)

    async def _send_while_read(self, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(reader_gone(receive))
        closing = asyncio.create_task(self.closing.wait())
        try:
            await asyncio.wait({sending, leaving, closing}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            disconnected = leaving.done()
            for task in (sending, leaving, closing):
                task.cancel()
            await asyncio.gather(sending, leaving, closing, return_exceptions=True)
        if sending.cancelled() and not disconnected and self._begun:
            await send(LAST_CHUNK)  # the server stops: the reader is told that this is all for now

    async def _send(self, send: Send) -> None:
        self._begun = True
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        alive = asyncio.create_task(self._stay_alive(send))
        try:
            with suppress(OSError):
                await self._send_events(send)
        except BackendError as error:  # the store is away: the reader asks again
            _LOG.warning("a stream was cut: %s", error.message, extra={"execution_id": self.execution_id})
        finally:
            alive.cancel()
        await send(LAST_CHUNK)

    async def _send_events(self, send: Send) -> None:
        async with aclosing(self.batches) as batches:
            async for first, events in batches:
                for place in range(0, len(events), CHUNK_EVENTS):
                    self._quiet = False
                    await send(chunk(self._encode(first + place, events[place : place + CHUNK_EVENTS])))
        await send(chunk(END))

    async def _stay_alive(self, send: Send) -> None:
        """A sign of life soon after the start, and whenever there was none for a while."""
        await asyncio.sleep(FIRST_SIGN_S)
        while True:
            if self._quiet:
                await send(chunk(ALIVE))
            self._quiet = True
            await asyncio.sleep(self.heartbeat_s)

    def _encode(self, first: int, events: list[Event]) -> bytes:
        encode, name = msgspec.json.encode, self.execution_id
        return b"".join(
            b"id: %d\nevent: %s\ndata: %s\n\n"
            % (seq, event.name.encode(), encode(envelope(name, seq, event)))
            for seq, event in enumerate(events, first)
        )


def chunk(body: bytes) -> Message:
    """Some bytes of a stream that goes on."""
    return {"type": "http.response.body", "body": body, "more_body": True}


async def reader_gone(receive: Receive) -> None:
    """Return when nobody reads any more."""
    while (await receive())["type"] != "http.disconnect":
        pass
