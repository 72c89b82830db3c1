"""The bus of a simulated cluster, and the two ends of it: a worker's link and a server's channel.

Requests are asked again by the product's own WorkerLink; what is played here is whether a message arrives.
Every message is bytes on its way.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from noetl.adapters.link.error_reply import decode_error, encode_error
from noetl.adapters.link.requests import NoAnswer, WorkerLink
from noetl.core.message import WorkOrder
from noetl.errors import NoetlError
from noetl.ports.link import Heartbeat, OrderDelivery, Orders, Push
from tests.simulation.clock import Process

encode = msgspec.json.encode
TURN_S = 1e-6  # messages from one end to another keep their order


class SimulatedBus:
    """Carries messages, loses some, and is away at times."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._free_at: dict[tuple[str, str], float] = {}
        self._cut: dict[str, float] = {}  # who is cut off, until when
        self._away_until = 0.0
        self._outages: list[tuple[str, float, float]] = []  # who could not be heard, from when to when

    def go_away(self, seconds: float) -> None:
        """Carry nothing for a while."""
        self._away_until = max(self._away_until, self._world.now + seconds)
        self._outages.append(("", self._world.now, self._away_until))

    def cut(self, name: str, seconds: float) -> None:
        """Carry nothing from or to one end for a while."""
        self._cut[name] = max(self._cut.get(name, 0.0), self._world.now + seconds)
        self._outages.append((name, self._world.now, self._cut[name]))

    def passes(self, one: str, other: str) -> bool:
        """Whether a message between two ends would arrive now."""
        now = self._world.now
        return now >= self._away_until and all(now >= self._cut.get(name, 0.0) for name in (one, other))

    def outages(self, since: float, name: str) -> int:
        """How often something kept all messages, or those from or to one end, from arriving."""
        return sum(end > since and who in ("", name) for who, _, end in self._outages)

    def was_cut(self, since: float, name: str) -> bool:
        """Whether one end was cut off by itself."""
        return any(end > since and who == name for who, _, end in self._outages)

    def carry(self, sender: str, receiver: Process, receive: Callable[..., object], *args: Any) -> None:
        """Bring a message, in a moment, unless it gets lost."""
        world, faults = self._world, self._world.faults
        if not self.passes(sender, receiver.name) or faults.strikes_now("lost message", 0.03, world.now):
            return
        pair = (sender, receiver.name)
        delay = faults.delay("slow bus", 0.3, world.now)
        self._free_at[pair] = max(self._free_at.get(pair, 0.0) + TURN_S, world.now + delay)
        world.loop.call_at(self._free_at[pair], self._arrive, sender, receiver, receive, args)

    def _arrive(self, sender: str, receiver: Process, receive: Callable[..., object], args: Any) -> None:
        if receiver.alive and self.passes(sender, receiver.name):
            receiver.call(receive, *args)


class SimulatedChannel:
    """How one server reaches workers."""

    def __init__(self, world: Any, node: Any) -> None:
        self._world, self._node = world, node
        self._echo = world.now

    def _each(self, pool: str) -> list[Any]:
        return [worker for worker in self._world.workers if worker.hello.pool == pool]

    def hint(self, pool: str) -> None:
        """Tell the workers of a pool that there is work here."""
        for worker in self._each(pool):
            self._world.bus.carry(self._node.name, worker.process, worker.link.on_hint, self._node.name)

    def alive(self) -> None:
        """Tell all, this server among them, that it is there."""
        self._world.bus.carry(self._node.name, self._node.process, self._heard)

    def _heard(self) -> None:
        self._echo = self._world.now

    def quiet_s(self) -> float:
        """For how long nothing has come that was said to all."""
        return float(self._world.now - self._echo)

    def push(self, worker_id: str, push: Push) -> None:
        """Tell one worker something; the rules see it as it leaves."""
        worker = self._world.worker(worker_id)
        if self._node.process.alive and push.what == "deliver":
            self._world.inspector.delivered(push.execution_id, push.lease, push.address)
        if worker is not None:
            pushed = msgspec.json.decode(encode(push), type=Push)
            self._world.bus.carry(self._node.name, worker.process, worker.link.on_push, pushed)

    def hand(self, worker_id: str, orders: list[WorkOrder], on_no_responder: Callable[[], None]) -> bool:
        """Give one worker orders unasked."""
        worker, node = self._world.worker(worker_id), self._node
        if worker is None:
            node.process.call(self._world.loop.call_later, 0.01, on_no_responder)
            return True
        for order in orders:
            self._world.inspector.offered(order)
        given = Orders(node.name, node.now_ms(), [OrderDelivery(order) for order in orders])
        self._world.bus.carry(node.name, worker.process, worker.handed, encode(given))
        return True


class SimulatedLink(WorkerLink):
    """A worker's way to the servers."""

    room = 1 << 30

    def __init__(self, world: Any, process: Process) -> None:
        super().__init__("default")
        self._world, self._process = world, process

    def open(self) -> None:
        """There is nothing to subscribe to."""

    def tell(self, beat: Heartbeat) -> None:
        """Say to every server what is held."""
        for node in self._world.servers.values():
            body = encode(beat)
            self._world.bus.carry(self._process.name, node.process, node.hear, body)

    def some_server(self, but: str | None = None) -> str | None:
        """Any server that was up lately, if possible another one."""
        names = sorted(self._world.servers)
        others = [name for name in names if name != but] or names
        return self._world.faults.rng.choice(others) if others else None

    async def once(self, what: str, body: bytes, server: str | None, patience: float) -> bytes:
        """Ask one server once."""
        node = self._world.servers.get(server or self.some_server())
        answer: asyncio.Future[bytes | NoetlError] = asyncio.get_running_loop().create_future()
        if node is not None:
            self._world.bus.carry(self._process.name, node.process, self._request, node, what, body, answer)
        try:
            async with asyncio.timeout(patience):
                reply = await answer
        except TimeoutError:
            raise NoAnswer(f"{server} did not answer") from None
        if isinstance(reply, NoetlError):
            raise reply
        return reply

    def _request(self, node: Any, what: str, body: bytes, answer: "asyncio.Future[Any]") -> None:
        task = node.process.spawn(node.answer(what, body, self._process.name))
        task.add_done_callback(lambda done: self._reply(node, done, answer))

    def _reply(self, node: Any, done: "asyncio.Task[bytes]", answer: "asyncio.Future[Any]") -> None:
        if done.cancelled():
            return
        error = done.exception()
        if error is not None and not isinstance(error, NoetlError):
            self._world.violate(f"a request ended with {error!r}")
            return
        reply = done.result() if error is None else decode_error(encode_error(error))
        self._world.bus.carry(node.name, self._process, _settle, answer, reply)


def _settle(answer: "asyncio.Future[Any]", reply: Any) -> None:
    if not answer.done():
        answer.set_result(reply)
