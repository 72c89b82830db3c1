"""A server on the bus: answers workers by asking the desk, and calls workers."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec

from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import Bus, Handler
from noetl.adapters.nats.signing import Verifier, closed
from noetl.core.message import Payload, WorkOrder
from noetl.errors import RequestError
from noetl.ports.link import AskSecret, Beat, Desk, Handed, Listening, Orders, Push, Take, Told

_encode = msgspec.json.encode
WORKERS_KNOWN = 10_000


class Calling:
    """How a server reaches workers."""

    def __init__(self, bus: Bus, server: str, now: Callable[[], int]) -> None:
        self._bus, self.server, self._now = bus, server, now
        self._keys: dict[str, bytes | None] = {}  # what each worker is known by

    def meet(self, worker_id: str, key: bytes | None) -> None:
        """A worker has asked, and proved with a key who it is."""
        self._keys[worker_id] = key
        if len(self._keys) > WORKERS_KNOWN:
            del self._keys[next(iter(self._keys))]

    def hint(self, pool: str) -> None:
        """Tell the idle workers of a pool that there is work here."""
        self._bus.publish(subjects.hint(pool), self.server.encode())

    def alive(self) -> None:
        """Tell all workers that this server is there."""
        self._bus.publish(subjects.ALIVE, self.server.encode())

    def push(self, worker_id: str, push: Push) -> None:
        """Tell one worker something."""
        if worker_id in self._keys:  # else its next beat makes it known, and it is said again
            signed = closed("push", _encode(push), self._keys[worker_id])
            self._bus.publish(subjects.worker(worker_id), signed)

    def hand(self, worker_id: str, orders: list[WorkOrder], unheard: Callable[[], None]) -> bool:
        """Give one worker orders unasked."""
        if worker_id not in self._keys:
            return False
        given = _encode(Orders(self.server, self._now(), [Handed(order) for order in orders]))
        signed = closed("orders", given, self._keys[worker_id])
        return self._bus.tell(subjects.orders(worker_id), signed, unheard)


def serve(bus: Bus, calling: Calling, desk: Desk, listening: Listening, verifier: Verifier) -> None:
    """Answer what is asked of this server, and of any server, by those who may ask."""
    server = calling.server
    handlers = {what: _checked(what, one, verifier) for what, one in _handlers(desk, server).items()}
    bus.serve_parts(subjects.parts(server))
    for what in subjects.ASKED:
        bus.serve(subjects.asked(what, server), handlers[what])
        bus.serve(subjects.asked(what), handlers[what], queue=subjects.SERVERS)
    beats = msgspec.json.Decoder(Beat)

    async def heard(message: bytes) -> None:
        with suppress(RequestError, msgspec.DecodeError):  # whoever said it may not, or says nothing we know
            body, key = await verifier.opened("beat", message)
            beat = beats.decode(body)
            calling.meet(beat.hello.worker_id, key)
            listening.beat(beat)

    bus.listen(subjects.BEAT, lambda message: bus.go(heard(message)))


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
