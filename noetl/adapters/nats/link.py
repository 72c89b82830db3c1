"""A worker's way to the servers over the bus. Asks one server, or any, until it is answered."""

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import Bus, NoAnswer
from noetl.adapters.nats.error_reply import decode_error
from noetl.adapters.nats.serve import DONE
from noetl.adapters.nats.signing import SignatureError, Signer
from noetl.adapters.nats.uploads import NUMBER_BYTES, PLACE
from noetl.core.message import Payload
from noetl.errors import BackendError, RequestError
from noetl.ports.link import Heartbeat, Orders, Push, ReportReply, ReportRequest, SecretRequest, TakeRequest

_LOG = logging.getLogger("noetl.worker")
ANSWER_S = 2.0  # what is asked again is harmless, so that the first wait is short
ANSWER_MOST_S = 20.0
WRITTEN_S = 60.0  # a long payload takes its time into the result store
AROUND = 512  # of a piece of a payload: its place and its signature
ALIVE_S = 3.0  # a server that was not heard for so long is not asked by name
STALE_MS = 60_000  # orders that were given unasked so long ago are not for now
AGAIN_S = 0.1
AGAIN_MOST_S = 1.0
OWNERS_KEPT = 10_000
SERVERS_KEPT = 1000
# It does not come from a server that knows us, or says nothing we know: anyone may speak on the bus.
NOT_FOR_US = (RequestError, msgspec.DecodeError, RecursionError, UnicodeDecodeError)
Once = Callable[[str | None, float], Awaitable[bytes]]  # ask one server, or any, with some patience
_encode = msgspec.json.encode
_ORDERS = msgspec.json.Decoder(Orders)
_ANSWERED = msgspec.json.Decoder(ReportReply)
_PUSH = msgspec.json.Decoder(Push)


def _nothing(_: object) -> None:
    return None


class NatsLink:
    """Speaks to the servers for one worker."""

    def __init__(self, bus: Bus, pool: str, worker_id: str, signer: Signer) -> None:
        self._bus, self._pool, self._worker_id, self._signer = bus, pool, worker_id, signer
        self.on_hint: Callable[[str], None] = _nothing
        self.on_push: Callable[[Push], None] = _nothing
        self.on_orders: Callable[[Orders], None] = _nothing
        self._owners: dict[str, str] = {}  # the server that answered last for an execution
        self._alive: dict[str, float] = {}  # servers, and when each was last heard
        self._ahead_ms: int | None = None  # how far the servers' clock is ahead of ours

    def open(self) -> None:
        """Begin to hear."""
        self._bus.listen(subjects.hint(self._pool), self._hinted)
        self._bus.listen(subjects.ALIVE, self._heard)
        self._bus.listen(subjects.worker(self._worker_id), self._pushed)
        self._bus.listen(subjects.orders(self._worker_id), self._handed)

    def _hinted(self, body: bytes) -> None:
        server = body.decode(errors="replace")
        if subjects.is_name(server):
            self.on_hint(server)

    def _pushed(self, message: bytes) -> None:
        with suppress(*NOT_FOR_US):
            self.on_push(_PUSH.decode(self._signer.open_notice(subjects.worker(self._worker_id), message)))

    def _handed(self, message: bytes) -> None:
        with suppress(*NOT_FOR_US):
            orders = _ORDERS.decode(self._signer.open_notice(subjects.orders(self._worker_id), message))
            if self._ahead_ms is not None and abs(orders.now - self.now()) < STALE_MS:
                self.on_orders(self._noted(orders))

    def now(self) -> int:
        """Milliseconds since the epoch, by the servers' clock."""
        return now_ms() + (self._ahead_ms or 0)

    def tell(self, beat: Heartbeat) -> None:
        """Say to every server what is held."""
        self._bus.publish(subjects.BEAT, self._signer.sign(subjects.BEAT, _encode(beat)).message)

    async def which(self) -> str:
        """The name of a server that answers us; here, where nobody knows us yet, unsigned refusals count."""
        once = partial(self._once, "which", b"")
        return (await self._until_answered("which", once, unsigned_counts=True)).decode()

    async def take_from(self, server: str, take: TakeRequest) -> Orders:
        """Ask one server for orders."""
        return self._noted(_ORDERS.decode(await self._once("take", _encode(take), server, ANSWER_S)))

    async def report(self, request: ReportRequest) -> ReportReply:
        """Hand a report in, again and again until it is answered: a repeated batch changes nothing."""
        owner = self._owners.get(request.execution_id)
        answered = _ANSWERED.decode(await self._ask("report", _encode(request), owner))
        self._note(request.execution_id, answered.next.server)
        self._noted(answered.next)
        return answered

    async def secret(self, ask: SecretRequest) -> bytes:
        """A secret, sealed for us."""
        return await self._ask("secret", _encode(ask), self._owners.get(ask.execution_id))

    async def program(self, digest: str) -> str:
        """The text of a playbook."""
        return (await self._ask("program", _encode(digest))).decode()

    async def write(self, payload: Payload) -> None:
        """Write a payload through a server: a long one piece by piece, each of them signed."""
        if self._bus.long(payload.body):
            await self._until_answered("write", partial(self._upload, payload))
        else:
            await self._ask("write", payload.key.encode() + b"\n" + payload.body[:])

    async def _upload(self, payload: Payload, server: str | None, patience: float) -> bytes:
        """All pieces to one server; when it is lost, or has lost some, to begin again."""
        server = server or await self._any_server(patience)
        number, body, size = secrets.token_bytes(NUMBER_BYTES), payload.body, self._bus.room - AROUND
        for offset in range(0, len(body), size):
            piece = PLACE.pack(number, offset) + body[offset : offset + size]
            await self._once("piece", piece, server, patience)
        return await self._once("whole", number + payload.key.encode(), server, WRITTEN_S)

    async def read(self, key: str) -> bytes:
        """Read a payload through a server."""
        return await self._ask("read", key.encode())

    async def _ask(self, what: str, body: bytes, server: str | None = None) -> bytes:
        async def once(server: str | None, patience: float) -> bytes:
            if server is None and self._bus.long(body):  # all its parts must come to the same server
                server = await self._any_server(patience)
            return await self._once(what, body, server, patience)

        return await self._until_answered(what, once, server)

    async def _until_answered(
        self, what: str, once: Once, server: str | None = None, *, unsigned_counts: bool = False
    ) -> bytes:
        """Ask one server, then others, until someone answers; an error that is an answer is raised."""
        wait, patience, told = AGAIN_S, ANSWER_S, False
        server = server or self._some_server()
        while True:
            try:
                return await once(server, patience)
            except NoAnswer:
                self._alive.pop(server or "", None)
                patience = min(patience * 1.5, ANSWER_MOST_S)
                if not told:
                    _LOG.warning("no server answers; asking again", extra={"asked": what})
                told = True
            except SignatureError as error:  # anyone could have said it
                if unsigned_counts:
                    raise
                if not told:
                    _LOG.warning("asking again: %s", error.message, extra={"asked": what})
                told = True
                await asyncio.sleep(wait)
            except BackendError:  # it is not the one to ask, or its store is away
                await asyncio.sleep(wait)
                wait = min(wait * 1.5, AGAIN_MOST_S)
            server = self._some_server(but=server)
            if server is None:
                await asyncio.sleep(wait)

    async def _any_server(self, patience: float) -> str:
        return (await self._once("which", b"", None, patience)).decode()

    async def _once(self, what: str, body: bytes, server: str | None, patience: float) -> bytes:
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

    def _some_server(self, but: str | None = None) -> str | None:
        """A server that was heard lately, if possible another than the one that did not answer."""
        recent = time.monotonic() - ALIVE_S
        alive = [name for name, heard in self._alive.items() if heard > recent]
        others = [name for name in alive if name != but] or alive
        return random.choice(others) if others else None

    def _noted(self, orders: Orders) -> Orders:
        self._ahead_ms = orders.now - now_ms()
        for handed in orders.orders:
            self._note(handed.order.execution_id, orders.server)
        return orders

    def _note(self, execution_id: str, server: str) -> None:
        self._owners[execution_id] = server
        if len(self._owners) > OWNERS_KEPT:
            del self._owners[next(iter(self._owners))]
