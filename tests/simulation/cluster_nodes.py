"""The processes of a simulated cluster: servers and workers made of the product's own parts."""

import asyncio
from typing import Any

import msgspec

from noetl.adapters.link.handlers import request_handlers
from noetl.control import sweep
from noetl.control.engine import Engine
from noetl.control.front.control import Steering
from noetl.control.front.stuck import release
from noetl.control.leases import WorkerLeases
from noetl.control.stuck_executions import StuckError, StuckExecutions
from noetl.control.task_log import TaskLog
from noetl.control.worker_api import EngineWorkerApi
from noetl.core.event import Event
from noetl.core.message import Control, Expire
from noetl.errors import BackendError, RequestError
from noetl.ports.call import Resources
from noetl.ports.link import Heartbeat, Hello, Orders
from noetl.ports.store import Append
from noetl.ports.task_lines import KeptLines
from noetl.wiring.payloads import StoredPayloads
from noetl.worker.pool import Pool
from noetl.worker.remote_worker import Programs, RemoteReports, RemoteSecrets, RemoteWorker
from noetl.worker.toolbox import Toolbox
from tests.simulation.clock import Process
from tests.simulation.cluster_bus import SimulatedChannel, SimulatedLink
from tests.simulation.tools import KINDS, tool_of

LEASE_S = 3.0


class StoreDoor:
    """The store as one server sees it: slow, failing, hanging, late, and shut when the server is dead."""

    path = "simulated"

    def __init__(self, world: Any, node: "ServerNode") -> None:
        self._world, self._node = world, node

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._world.store, name)

        async def gated(*args: Any, **options: Any) -> Any:
            await self._pass()
            return await inner(*args, **options)

        return gated

    async def _pass(self) -> None:
        world, faults = self._world, self._world.faults
        delay = faults.delay("slow store", 0.4, world.now)
        hangs = world.hangs_until - world.now
        if delay or hangs > 0:
            await asyncio.sleep(max(delay, hangs))
        await self._shut_if_dead()
        if hangs > 0 or faults.strikes_now("store fails", 0.03, world.now):
            raise BackendError("the store cannot be reached")

    async def _shut_if_dead(self) -> None:
        if not self._node.process.alive:
            await asyncio.get_running_loop().create_future()

    async def commit(self, append: Append) -> None:
        """Append, with everything that can go wrong around it."""
        world, faults = self._world, self._world.faults
        world.inspector.look_at(self._node, append.execution_id)
        await self._pass()
        if faults.strikes_now("crash around a commit", 0.02, world.now):
            world.crash_server(self._node, "before a commit")
            await self._shut_if_dead()
        await world.store.commit(append)
        world.committed(self._node, append)
        if faults.strikes_now("crash around a commit", 0.02, world.now):
            world.crash_server(self._node, "after a commit")
            await self._shut_if_dead()
        if faults.strikes_now("commit of unknown outcome", 0.04, world.now):
            if faults.rng.random() < 0.5:  # and late
                await asyncio.sleep(faults.rng.choice((0.5, 4.0)))
                await self._shut_if_dead()
            raise BackendError("the connection broke during the commit")


class WatchedStuck(StuckExecutions):
    """What is given up is judged."""

    node: "ServerNode"

    def put(self, execution_id: str, reason: str, error: Exception) -> StuckError:
        self.node.world.inspector.gave_up(execution_id, reason, error)
        return super().put(execution_id, reason, error)


class WatchedLeases(WorkerLeases):
    """What is decided on silence is judged."""

    node: "ServerNode"

    def still_overdue(self, execution_id: str, overdue: Expire) -> dict[str, int]:
        leases = super().still_overdue(execution_id, overdue)
        self.node.world.inspector.decided(self.node, execution_id, leases)
        return leases


class ServerNode:
    """A server, without its HTTP face."""

    def __init__(self, world: Any, name: str, *, older: bool = False) -> None:
        self.world, self.name, self.process = world, name, Process(name)
        self.process.older = older
        self.since = world.now
        door: Any = StoreDoor(world, self)
        self.engine = Engine(
            door, world.results, StoredPayloads(world.results), world.catalog, name, now=self.now_ms
        )
        self.engine.stuck.__class__ = WatchedStuck
        self.engine.stuck.node = self  # type: ignore[attr-defined]
        self.engine.lease_ms = int(LEASE_S * 1000)
        self.engine.listeners.append(self._listen)
        self.leasing = WatchedLeases(
            SimulatedChannel(world, self),
            LEASE_S,
            later=world.loop.call_soon,
            wall=self.now_ms,
            clock=world.loop.time,
        )
        self.leasing.node = self
        self.engine.workers = self.leasing
        self.steering = Steering(self.engine, adopts=True)
        self.api = EngineWorkerApi(
            name,
            self.engine,
            self.leasing,
            world.catalog,
            world.results,
            secrets=world.resolve,
            seal=_seal,
            lines=TaskLog(world.store, KeptLines()).add,
        )
        self._handlers = request_handlers(name, self.api, _check_sender)
        self.process.spawn(sweep.serve(self.engine, self.api))

    def now_ms(self) -> int:
        """The moment by the clock of this server."""
        return int(self.world.loop.now_ms()) + self.process.ahead_ms

    def _listen(self, execution_id: str, first: int, events: list[Event]) -> None:
        self.world.inspector.listened(execution_id, first, events)

    def hear(self, body: bytes) -> None:
        """A worker says what it holds."""
        beat = msgspec.json.decode(body, type=Heartbeat)
        self.world.inspector.beat(self, beat)

    async def answer(self, what: str, body: bytes, caller: str) -> bytes:
        """Answer a request of a worker; the rules see the orders that leave."""
        reply = await self._handlers[what](body, caller)
        if self.process.alive and what in ("take", "report"):
            self.world.inspector.handed(reply, what)
        return reply

    async def tell(self, execution_id: str, wish: Control) -> None:
        """Carry out what an operator wishes."""
        await self.steering.tell(execution_id, wish)

    async def release(self, execution_id: str) -> None:
        """Let a stuck execution go on."""
        await release(self.engine, execution_id, "operator", adopts=True)


def _seal(key: bytes, secret: Any) -> bytes:
    return b"sealed"


def _check_sender(worker_id: str | None, pool: str | None, caller: str) -> None:
    if worker_id not in (None, caller):
        raise RequestError(f"{caller} spoke as {worker_id}")


class WorkerNode:
    """A worker in a process of its own."""

    def __init__(self, world: Any, name: str, pool: str = "default", *, older: bool = False) -> None:
        self.world, self.name, self.process = world, name, Process(name)
        self.process.older = older
        self.process.ahead_ms = world.faults.rng.choice((0, 0, 5000, -5000)) if world.faults.on else 0
        self.link = SimulatedLink(world, self.process)
        self.hello = Hello(name, pool, world.slots, sorted(KINDS), b"key", 0, claims=not older)
        self.worker: RemoteWorker = self.process.call(self._made)
        self.process.spawn(self.worker.beats())

    def _made(self) -> RemoteWorker:
        world = self.world
        programs = Programs(lambda digest, text: world.programs_by_hash[digest])
        worker = RemoteWorker(self.link, self.hello, programs, LEASE_S)
        toolbox = Toolbox(
            worker_id=self.name,
            tool=tool_of(world.effects),
            payloads=lambda execution_id: StoredPayloads(world.results, execution_id),
            secrets=RemoteSecrets(worker, lambda sealed: {}),
            resources=Resources(),
            work_dir=".",
        )
        worker.pool = Pool(
            toolbox,
            RemoteReports(worker),
            world.results,
            lambda order: programs.get(order.program),
            world.slots,
            now=self.link.now,
            spread=world.faults.rng.random,
        )
        worker.pool.outlives_trouble = True
        return worker

    def handed(self, body: bytes) -> None:
        """A server gives orders unasked."""
        orders = msgspec.json.decode(body, type=Orders)
        self.link.on_orders(self.link.noted(orders))
