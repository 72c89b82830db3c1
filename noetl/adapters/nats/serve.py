"""A server on the bus: answers workers by asking the desk, and calls workers."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import Bus, Handler
from noetl.adapters.nats.signing import Verifier, closed
from noetl.core.message import Payload
from noetl.errors import RequestError
from noetl.ports.link import AskSecret, Beat, Desk, Listening, Push, Take, Told

_encode = msgspec.json.encode


class Calling:
    """How a server reaches workers."""

    def __init__(self, bus: Bus, server: str) -> None:
        self._bus, self._server = bus, server.encode()

    def hint(self, pool: str) -> None:
        """Tell the idle workers of a pool that there is work here."""
        self._bus.publish(subjects.hint(pool), self._server)

    def alive(self) -> None:
        """Tell all workers that this server is there."""
        self._bus.publish(subjects.ALIVE, self._server)

    def push(self, worker_id: str, push: Push) -> None:
        """Tell one worker something."""
        self._bus.publish(subjects.worker(worker_id), _encode(push))


async def serve(bus: Bus, server: str, desk: Desk, listening: Listening, verifier: Verifier) -> None:
    """Answer what is asked of this server, and of any server, by those who may ask."""
    handlers = {what: _checked(what, one, verifier) for what, one in _handlers(desk, server).items()}
    await bus.serve_parts(subjects.parts(server))
    for what in subjects.ASKED:
        await bus.serve(subjects.asked(what, server), handlers[what])
        await bus.serve(subjects.asked(what), handlers[what], queue=subjects.SERVERS)
    beats = msgspec.json.Decoder(Beat)

    async def heard(message: bytes) -> None:
        with suppress(RequestError, msgspec.DecodeError):  # whoever said it may not, or says nothing we know
            body, _ = await verifier.opened("beat", message)
            listening.beat(beats.decode(body))

    await bus.listen(subjects.BEAT, heard)


def _checked(what: str, handler: Handler, verifier: Verifier) -> Handler:
    async def handle(message: bytes) -> bytes:
        body, key = await verifier.opened(what, message)
        return closed(what, await handler(body), key)

    return handle


def _handlers(desk: Desk, server: str) -> dict[str, Handler]:
    async def which(body: bytes) -> bytes:
        return server.encode()

    async def program(digest: str) -> bytes:
        return (await desk.program(digest)).encode()

    async def write(body: bytes) -> bytes:
        key, _, content = body.partition(b"\n")
        await desk.write(Payload(key.decode(), content))
        return b""

    async def read(body: bytes) -> bytes:
        return await desk.read(body.decode())

    return {
        "which": which,
        "take": _typed(Take, desk.take),
        "report": _typed(Told, desk.report),
        "secret": _typed(AskSecret, desk.secret),
        "program": _typed(str, program),
        "write": write,
        "read": read,
    }


def _typed(kind: Any, answer: Callable[[Any], Awaitable[Any]]) -> Handler:
    decoder = msgspec.json.Decoder(kind)

    async def handle(body: bytes) -> bytes:
        try:
            asked = decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RequestError(f"what was asked cannot be read: {error}") from None
        found = await answer(asked)
        return found if isinstance(found, bytes) else _encode(found)

    return handle
