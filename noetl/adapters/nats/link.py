"""A worker's way to the servers over the bus. Asks one server, or any, until it is answered."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec

from noetl.adapters.nats import subjects
from noetl.adapters.nats.bus import Bus
from noetl.core.message import Payload
from noetl.errors import BackendError
from noetl.ports.link import Answered, AskSecret, Beat, Orders, Push, Take, Told

ANSWER_S = 10.0
AGAIN_S = 0.1
AGAIN_MOST_S = 1.0
OWNERS_KEPT = 10_000
_encode = msgspec.json.encode
_ORDERS = msgspec.json.Decoder(Orders)
_ANSWERED = msgspec.json.Decoder(Answered)
_PUSH = msgspec.json.Decoder(Push)


def _nothing(_: Any) -> None:
    return None


class NatsLink:
    """Speaks to the servers for one worker."""

    def __init__(self, bus: Bus, pool: str, worker_id: str) -> None:
        self._bus, self._pool, self._worker_id = bus, pool, worker_id
        self.on_hint: Callable[[str], None] = _nothing
        self.on_push: Callable[[Push], None] = _nothing
        self._owners: dict[str, str] = {}  # the server that answered last for an execution
        self._ahead_ms = 0  # how far the servers' clock is ahead of ours

    async def open(self) -> None:
        """Begin to hear."""
        await self._bus.listen(subjects.hint(self._pool), lambda body: self.on_hint(body.decode()))
        worker = subjects.worker(self._worker_id)
        await self._bus.listen(worker, lambda body: self.on_push(_PUSH.decode(body)))

    def now(self) -> int:
        """Milliseconds since the epoch, by the servers' clock."""
        return time.time_ns() // 1_000_000 + self._ahead_ms

    def tell(self, beat: Beat) -> None:
        """Say to every server what is held."""
        self._bus.publish(subjects.BEAT, _encode(beat))

    async def take_from(self, server: str, take: Take) -> Orders:
        """Ask one server for orders."""
        body = await self._bus.request(subjects.asked("take", server), _encode(take), ANSWER_S)
        return self._noted(_ORDERS.decode(body))

    async def take(self, take: Take) -> Orders:
        """Ask any server for orders."""
        return self._noted(_ORDERS.decode(await self._ask("take", _encode(take))))

    async def report(self, told: Told) -> Answered:
        """Hand a report in, again and again until it is answered: a repeated batch changes nothing."""
        owner = self._owners.get(told.execution_id)
        answered = _ANSWERED.decode(await self._ask("report", _encode(told), owner))
        self._note(told.execution_id, answered.next.server)
        self._noted(answered.next)
        return answered

    async def secret(self, ask: AskSecret) -> bytes:
        """A secret, sealed for us."""
        return await self._ask("secret", _encode(ask), self._owners.get(ask.execution_id))

    async def program(self, digest: str) -> str:
        """The text of a playbook."""
        return (await self._ask("program", _encode(digest))).decode()

    async def write(self, payload: Payload) -> None:
        """Write a payload through a server."""
        await self._ask("write", payload.key.encode() + b"\n" + payload.body)

    async def read(self, key: str) -> bytes:
        """Read a payload through a server."""
        return await self._ask("read", key.encode())

    async def _ask(self, what: str, body: bytes, server: str | None = None) -> bytes:
        """Ask one server, then any, until someone answers; an error that is an answer is raised."""
        wait = AGAIN_S
        while True:
            asked = server
            try:
                if asked is None and self._bus.long(body):  # all its parts must come to the same server
                    asked = (await self._bus.request(subjects.asked("which"), b"", ANSWER_S)).decode()
                return await self._bus.request(subjects.asked(what, asked), body, ANSWER_S)
            except BackendError:
                if server is None:
                    await asyncio.sleep(wait)
                    wait = min(wait * 1.5, AGAIN_MOST_S)
                server = None

    def _noted(self, orders: Orders) -> Orders:
        self._ahead_ms = orders.now - time.time_ns() // 1_000_000
        for handed in orders.orders:
            self._note(handed.order.execution_id, orders.server)
        return orders

    def _note(self, execution_id: str, server: str) -> None:
        self._owners[execution_id] = server
        if len(self._owners) > OWNERS_KEPT:
            del self._owners[next(iter(self._owners))]
