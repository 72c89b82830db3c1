"""A worker's requests, whatever carries them: asked of one server, then of others, until one is answered.

Everything that is asked may be asked again: a repeated batch changes nothing, a payload is what its key says.
"""

import asyncio
import logging
import random
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.link.uploads import NUMBER_BYTES, PLACE
from noetl.core.message import Payload
from noetl.errors import BackendError, RequestError
from noetl.ports.link import (
    Heartbeat,
    LinesRequest,
    Orders,
    Push,
    ReportReply,
    ReportRequest,
    SecretRequest,
    TakeRequest,
)
from noetl.ports.link_protocol import LINES_SINCE

_LOG = logging.getLogger("noetl.worker")
ANSWER_S = 2.0  # what is asked again is harmless, so that the first wait is short
ANSWER_MOST_S = 20.0
WRITTEN_S = 60.0  # a long payload takes its time into the result store
AGAIN_S = 0.1
AGAIN_MOST_S = 1.0
OWNERS_KEPT = 10_000
Once = Callable[[str | None, float], Awaitable[bytes]]  # ask one server, or any, with some patience
_encode = msgspec.json.encode
ORDERS = msgspec.json.Decoder(Orders)
_REPLY = msgspec.json.Decoder(ReportReply)


class NoAnswer(BackendError):
    """Nobody answered in time, or nobody is there."""


class UnprovenReply(RequestError):
    """A reply that no server which knows our token can be shown to have given."""


def ignore(_: object) -> None:
    """Nobody wants to know."""
    return


class WorkerLink:
    """Speaks to the servers for one worker; subclasses carry one request to one server."""

    def __init__(self, pool: str) -> None:
        self.pool = pool
        self.on_hint: Callable[[str], None] = ignore
        self.on_push: Callable[[Push], None] = ignore
        self.on_orders: Callable[[Orders], None] = ignore
        self.on_connected: Callable[[], None] = lambda: None  # perhaps after an interruption
        self._owners: dict[str, str] = {}  # the server that answered last for an execution
        self._ahead_ms: int | None = None  # how far the servers' clock is ahead of ours

    # What a subclass does

    def open(self) -> None:
        """Begin to hear."""
        raise NotImplementedError

    def tell(self, beat: Heartbeat) -> None:
        raise NotImplementedError

    async def once(self, what: str, body: bytes, server: str | None, patience: float) -> bytes:
        """Ask one server, or any, once; raises NoAnswer, or the error that was answered."""
        raise NotImplementedError

    def some_server(self, but: str | None = None) -> str | None:
        """A server that seems to be there, if possible another than the one that did not answer."""
        raise NotImplementedError

    def protocols(self) -> Mapping[str, int]:
        """The servers that seem to be there, and the version of the protocol that is spoken with each."""
        raise NotImplementedError

    def no_answer_from(self, server: str | None) -> None:
        """A server did not answer in time."""

    async def until_server(self) -> None:
        """Wait a moment until there may be a server to ask."""
        await asyncio.sleep(AGAIN_S)

    @property
    def room(self) -> int:
        """How many bytes of a request go at once."""
        raise NotImplementedError

    def long(self, body: bytes) -> bool:
        """Whether a request has to go in parts."""
        return len(body) > self.room

    # What a worker asks

    def now(self) -> int:
        """Milliseconds since the epoch, by the servers' clock."""
        return now_ms() + (self._ahead_ms or 0)

    async def which(self) -> str:
        """The name of a server that answers us; here, where nobody knows us yet, unproven refusals count."""
        once = partial(self.once, "which", self.pool.encode())
        return (await self._until_answered("which", once, unproven_counts=True)).decode()

    async def take_from(self, server: str, take: TakeRequest) -> Orders:
        """Ask one server for orders."""
        return self.noted(ORDERS.decode(await self.once("take", _encode(take), server, ANSWER_S)))

    async def report(self, request: ReportRequest) -> ReportReply:
        """Hand a report in, again and again until it is answered: a repeated batch changes nothing."""
        return await self.report_again(request, _encode(request))

    async def report_again(self, request: ReportRequest, body: bytes) -> ReportReply:
        """Hand a report in, as it was encoded, wherever it is taken."""
        return self.replied(request, await self._ask("report", body, self._owners.get(request.execution_id)))

    def replied(self, request: ReportRequest, answer: bytes) -> ReportReply:
        """The answer to a report; who gave it is the one to ask next."""
        reply = _REPLY.decode(answer)
        self._note(request.execution_id, reply.next.server)
        self.noted(reply.next)
        return reply

    def takes_lines(self, execution_id: str) -> bool:
        return self._line_server(execution_id) is not None

    def _line_server(self, execution_id: str) -> str | None:
        """Who takes lines: the server of the execution; any that can when that one is not known or gone."""
        there = self.protocols()
        owner = self._owners.get(execution_id, "")
        able = [server for server, protocol in there.items() if protocol >= LINES_SINCE]
        if owner in there:
            return owner if owner in able else None  # whoever asks an older server finds them in the events
        return random.choice(able) if able else None  # one of them runs it, or can

    async def lines(self, request: LinesRequest) -> None:
        """Hand lines in, to one server, once: whoever has them sends them again."""
        server = self._line_server(request.printed[0].execution_id)
        if server is None:
            raise NoAnswer("there is no link to a server that takes lines")
        try:
            await self.once("lines", _encode(request), server, ANSWER_S)
        except NoAnswer:
            self.no_answer_from(server)
            raise

    async def secret(self, ask: SecretRequest) -> bytes:
        """A secret, sealed for us."""
        return await self._ask("secret", _encode(ask), self._owners.get(ask.execution_id))

    async def program(self, digest: str) -> str:
        return (await self._ask("program", _encode(digest))).decode()

    async def write(self, payload: Payload) -> None:
        """Write a payload through a server: a long one piece by piece."""
        if self.long(payload.body):
            await self._until_answered("write", partial(self._upload, payload))
        else:
            await self._ask("write", payload.key.encode() + b"\n" + payload.body[:])

    async def _upload(self, payload: Payload, server: str | None, patience: float) -> bytes:
        """All pieces to one server; when it is lost, or has lost some, to begin again."""
        server = server or await self._any_server(patience)
        number, body, size = secrets.token_bytes(NUMBER_BYTES), payload.body, self.room
        for offset in range(0, len(body), size):
            piece = PLACE.pack(number, offset) + body[offset : offset + size]
            await self.once("piece", piece, server, patience)
        return await self.once("whole", number + payload.key.encode(), server, WRITTEN_S)

    async def read(self, key: str) -> bytes:
        """Read a payload through a server."""
        return await self._ask("read", key.encode())

    async def _ask(self, what: str, body: bytes, server: str | None = None) -> bytes:
        async def once(server: str | None, patience: float) -> bytes:
            if server is None and self.long(body):  # all its parts must come to the same server
                server = await self._any_server(patience)
            return await self.once(what, body, server, patience)

        return await self._until_answered(what, once, server)

    async def _until_answered(
        self, what: str, once: Once, server: str | None = None, *, unproven_counts: bool = False
    ) -> bytes:
        """Ask one server, then others, until someone answers; an error that is an answer is raised."""
        wait, patience, warned = AGAIN_S, ANSWER_S, False
        server = server or self.some_server()
        while True:
            try:
                return await once(server, patience)
            except NoAnswer:
                self.no_answer_from(server)
                patience = min(patience * 1.5, ANSWER_MOST_S)
                if not warned:
                    whose = "any server" if server is None else f"server {server}"
                    _LOG.warning("no answer from %s; asking again", whose, extra={"asked": what})
                warned = True
            except UnprovenReply as error:  # anyone could have said it
                if unproven_counts:
                    raise
                if not warned:
                    _LOG.warning("asking again: %s", error.message, extra={"asked": what})
                warned = True
                await asyncio.sleep(wait)
            except BackendError:  # it is not the one to ask, or its store is away
                await asyncio.sleep(wait)
                wait = min(wait * 1.5, AGAIN_MOST_S)
            server = self.some_server(but=server)
            if server is None:
                await self.until_server()

    async def _any_server(self, patience: float) -> str:
        return (await self.once("which", b"", None, patience)).decode()

    def noted(self, orders: Orders) -> Orders:
        """Remember who gave orders, and what time it is there."""
        self._ahead_ms = orders.now - now_ms()
        for delivery in orders.orders:
            self._note(delivery.order.execution_id, orders.server)
        return orders

    def _note(self, execution_id: str, server: str) -> None:
        self._owners[execution_id] = server
        if len(self._owners) > OWNERS_KEPT:
            del self._owners[next(iter(self._owners))]
