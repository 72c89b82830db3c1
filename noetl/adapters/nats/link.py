"""A worker's way to the servers over the bus. Asks one server, or any, until it is answered."""

import logging
import random
import time
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec

from noetl.adapters.link.error_reply import decode_error
from noetl.adapters.link.requests import ANSWER_S, ORDERS, WorkerLink
from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import Bus
from noetl.adapters.nats.envelope import Announcement, enclose, open_envelope
from noetl.adapters.nats.serve import DONE
from noetl.adapters.nats.signing import SignatureError, Signer
from noetl.errors import BackendError, RequestError
from noetl.ports.link import Heartbeat, Push
from noetl.ports.link_protocol import (
    SPOKEN,
    NoCommonProtocol,
    ProtocolRange,
)

AROUND = 512  # of a piece of a payload: its place and its signature
ALIVE_S = 3.0  # a server that was not heard for so long is not asked by name
BEATEN_S = 60.0  # a server that was not heard for so long needs no beats
STALE_MS = 60_000  # orders that were given unasked so long ago are not for now
SERVERS_KEPT = 1000
WARNINGS_MOST = 20
UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_LOG = logging.getLogger("noetl.worker")
T = TypeVar("T")
_PUSH = msgspec.json.Decoder(Push)
_ANNOUNCEMENT = msgspec.json.Decoder(Announcement)


class _LiveServer(NamedTuple):
    heard: float
    protocol: int  # the newest that both sides speak; 0: none


class NatsLink(WorkerLink):
    """Speaks to the servers for one worker."""

    def __init__(
        self, bus: Bus, pool: str, worker_id: str, signer: Signer, spoken: ProtocolRange = SPOKEN
    ) -> None:
        super().__init__(pool)
        self._bus, self._worker_id, self._signer, self._spoken = bus, worker_id, signer, spoken
        self._alive: dict[str, _LiveServer] = {}
        self._warned: set[str] = set()

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
        told = self._told(subjects.worker(self._worker_id), message, _PUSH)
        if told is not None:
            self.on_push(told[0])

    def _handed(self, message: bytes) -> None:
        told = self._told(subjects.orders(self._worker_id), message, ORDERS)
        if told is None:
            return
        orders, protocol = told
        if self._ahead_ms is not None and abs(orders.now - self.now()) < STALE_MS:
            self._spoke_with(orders.server, protocol)
            self.on_orders(self.noted(orders))

    def _spoke_with(self, server: str | None, protocol: int) -> None:
        """A server used a version with us: it has not to announce itself before that is known."""
        if server and server not in self._alive:
            self._alive[server] = _LiveServer(time.monotonic(), protocol)

    def _told(self, subject: str, message: bytes, decoder: "msgspec.json.Decoder[T]") -> tuple[T, int] | None:
        """What a server tells, and in which version; None when it is not for us, or not to be understood."""
        try:
            notice = open_envelope(self._signer.open_notice(subject, message))
        except RequestError:
            return None  # anyone may speak on the bus
        try:
            if self._spoken.oldest <= notice.protocol <= self._spoken.newest:
                return decoder.decode(notice.body), notice.protocol
            why = f"it is in version {notice.protocol} of the worker protocol; spoken here: {self._spoken}"
        except UNREADABLE as error:
            why = str(error)
        if why not in self._warned and len(self._warned) < WARNINGS_MOST:
            self._warned.add(why)
            _LOG.warning("what a server tells is not understood: %s", why)
        return None

    def tell(self, beat: Heartbeat) -> None:
        body = msgspec.json.encode(beat)
        recent = time.monotonic() - BEATEN_S
        heard = {server.protocol for server in self._alive.values() if server.heard > recent}
        for protocol in heard - {0} or {self._spoken.newest}:
            message = enclose(protocol, self._spoken, body)
            self._bus.publish(subjects.BEAT, self._signer.sign(subjects.BEAT, message).message)

    @property
    def room(self) -> int:
        """How many bytes of a request go at once."""
        return self._bus.room - AROUND

    async def which(self) -> str:
        """The name of a server that lets us work; raises RequestError when each that is heard does not."""
        refusal: RequestError | None = None
        for server in self._heard_lately():
            try:
                return (await self.once("which", self.pool.encode(), server, ANSWER_S)).decode()
            except BackendError:
                self.no_answer_from(server)
            except RequestError as error:
                refusal = error
        if refusal is not None:
            raise refusal
        return await super().which()

    async def once(self, what: str, body: bytes, server: str | None, patience: float) -> bytes:
        """Ask one server, or any, once; again when it speaks another version of the protocol."""
        known = self._alive.get(server or "")
        protocol = (known.protocol if known is not None else 0) or self._spoken.newest
        try:
            answer = await self._asked(subjects.asked(what, server), protocol, body, patience)
        except NoCommonProtocol as error:
            common = self._spoken.highest_shared(error.spoken)
            if common is None or common == protocol:
                raise
            protocol = common
            answer = await self._asked(subjects.asked(what, server), protocol, body, patience)
        self._spoke_with(server, protocol)
        return answer

    async def _asked(self, subject: str, protocol: int, body: bytes, patience: float) -> bytes:
        """Ask once, and believe only what is signed."""
        request = self._signer.sign(subject, enclose(protocol, self._spoken, body))
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
        try:
            said = _ANNOUNCEMENT.decode(body)
        except UNREADABLE:
            return
        if subjects.is_name(said.server):
            self._alive.pop(said.server, None)
            self._alive[said.server] = _LiveServer(
                time.monotonic(), self._spoken.highest_shared(said.spoken) or 0
            )
            if len(self._alive) > SERVERS_KEPT:  # anyone may say to be one
                del self._alive[next(iter(self._alive))]

    def _heard_lately(self) -> list[str]:
        recent = time.monotonic() - ALIVE_S
        return [name for name, server in self._alive.items() if server.heard > recent]

    def protocols(self) -> Mapping[str, int]:
        return {server: self._alive[server].protocol for server in self._heard_lately()}

    def no_answer_from(self, server: str | None) -> None:
        """A server did not answer in time: it is not asked by name until it is heard again."""
        self._alive.pop(server or "", None)

    def some_server(self, but: str | None = None) -> str | None:
        """A server that was heard lately, if possible another than the one that did not answer."""
        alive = [name for name in self._heard_lately() if self._alive[name].protocol]
        others = [name for name in alive if name != but] or alive
        return random.choice(others) if others else None
