"""A worker's way to the servers over the bus. Asks one server, or any, until it is answered."""

import random
import time
from contextlib import suppress

import msgspec

from noetl.adapters.link.error_reply import decode_error
from noetl.adapters.link.requests import ORDERS, WorkerLink
from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import Bus
from noetl.adapters.nats.serve import DONE
from noetl.adapters.nats.signing import SignatureError, Signer
from noetl.errors import RequestError
from noetl.ports.link import Heartbeat, Push

AROUND = 512  # of a piece of a payload: its place and its signature
ALIVE_S = 3.0  # a server that was not heard for so long is not asked by name
STALE_MS = 60_000  # orders that were given unasked so long ago are not for now
SERVERS_KEPT = 1000
# It does not come from a server that knows us, or says nothing we know: anyone may speak on the bus.
NOT_FOR_US = (RequestError, msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_PUSH = msgspec.json.Decoder(Push)


class NatsLink(WorkerLink):
    """Speaks to the servers for one worker."""

    def __init__(self, bus: Bus, pool: str, worker_id: str, signer: Signer) -> None:
        super().__init__(pool)
        self._bus, self._worker_id, self._signer = bus, worker_id, signer
        self._alive: dict[str, float] = {}  # servers, and when each was last heard

    def open(self) -> None:
        """Begin to hear."""
        self._bus.on_connected = self._connected
        self._bus.listen(subjects.hint(self.pool), self._hinted)
        self._bus.listen(subjects.ALIVE, self._heard)
        self._bus.listen(subjects.worker(self._worker_id), self._pushed)
        self._bus.listen(subjects.orders(self._worker_id), self._handed)

    def _connected(self) -> None:
        self.on_connected()

    def _hinted(self, body: bytes) -> None:
        server = body.decode(errors="replace")
        if subjects.is_name(server):
            self.on_hint(server)

    def _pushed(self, message: bytes) -> None:
        with suppress(*NOT_FOR_US):
            self.on_push(_PUSH.decode(self._signer.open_notice(subjects.worker(self._worker_id), message)))

    def _handed(self, message: bytes) -> None:
        with suppress(*NOT_FOR_US):
            orders = ORDERS.decode(self._signer.open_notice(subjects.orders(self._worker_id), message))
            if self._ahead_ms is not None and abs(orders.now - self.now()) < STALE_MS:
                self.on_orders(self.noted(orders))

    def tell(self, beat: Heartbeat) -> None:
        """Say to every server what is held."""
        self._bus.publish(subjects.BEAT, self._signer.sign(subjects.BEAT, msgspec.json.encode(beat)).message)

    @property
    def room(self) -> int:
        """How many bytes of a request go at once."""
        return self._bus.room - AROUND

    async def once(self, what: str, body: bytes, server: str | None, patience: float) -> bytes:
        """Ask one server, or any, once, and believe only what is signed."""
        subject = subjects.asked(what, server)
        request = self._signer.sign(subject, body)
        try:
            reply = await self._bus.request(subject, request.message, patience)
        except RequestError as error:
            if self._signer.signs:
                raise SignatureError(error.message, hint=error.hint) from None
            raise
        answer = self._signer.open_answer(request, reply)
        if answer[:1] != DONE:
            raise decode_error(answer[1:])
        return answer[1:]

    def _heard(self, body: bytes) -> None:
        server = body.decode(errors="replace")
        if subjects.is_name(server):
            self._alive.pop(server, None)
            self._alive[server] = time.monotonic()
            if len(self._alive) > SERVERS_KEPT:  # anyone may say to be one
                del self._alive[next(iter(self._alive))]

    def no_answer_from(self, server: str | None) -> None:
        """A server did not answer in time: it is not asked by name until it is heard again."""
        self._alive.pop(server or "", None)

    def some_server(self, but: str | None = None) -> str | None:
        """A server that was heard lately, if possible another than the one that did not answer."""
        recent = time.monotonic() - ALIVE_S
        alive = [name for name, heard in self._alive.items() if heard > recent]
        others = [name for name in alive if name != but] or alive
        return random.choice(others) if others else None
