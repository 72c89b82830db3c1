"""One world: a server and its workers over a store that outlives them, the faults, and everyone who reacts.

Server and workers are the product's own Engine and Pool. The wire between them, the watch over silent leases
and the restart of what died are played here.
"""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.control.catalog import Catalog
from noetl.control.engine import Engine
from noetl.core.event import Event
from noetl.core.message import Answer, Control, Deliver, Expire, Message, Report, WorkOrder
from noetl.core.shapes import Output
from noetl.core.state import Lease
from noetl.errors import BackendError, Conflict, NoetlError, NotFound
from noetl.ports.call import Resources
from noetl.ports.store import Append, Find
from noetl.wiring.payloads import StoredPayloads
from noetl.worker.pool import Pool
from noetl.worker.toolbox import Toolbox
from tests.simulation.clock import Process, VirtualLoop
from tests.simulation.faults import Faults
from tests.simulation.playbooks import SIGNAL, Sample
from tests.simulation.tools import KINDS, Effects, tool_of

WORKERS = 2
LEASE_S = 3.0
WATCH_S = 1.0
TURN_S = 1e-6  # messages on one wire keep their order
ENGINE = "simulated"
ENDS = ("loop.iteration.done", "loop.iteration.failed")


class Down(Exception):
    """Whoever was asked died before answering."""


class Door:
    """The store as one server sees it: slow, failing, and shut when the server is dead."""

    path = "simulated"

    def __init__(self, world: "World", process: Process) -> None:
        self._world, self._process = world, process

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._world.store, name)

        async def gated(*args: Any, **options: Any) -> Any:
            await self._pass()
            return await inner(*args, **options)

        return gated

    async def _pass(self) -> None:
        world = self._world
        delay = world.faults.delay("slow store", 0.4, world.now)
        if delay:
            await asyncio.sleep(delay)
        await self._shut_if_dead()
        if world.faults.strikes_now("store fails", 0.05, world.now):
            world.note("store fails")
            raise BackendError("the store cannot be reached")

    async def _shut_if_dead(self) -> None:
        if not self._process.alive:
            await asyncio.get_running_loop().create_future()

    async def commit(self, append: Append) -> None:
        """Append, with everything that can go wrong around it."""
        world, faults = self._world, self._world.faults
        await self._pass()
        if faults.strikes_now("crash around a commit", 0.03, world.now):
            world.crash_server("before a commit")
            await self._shut_if_dead()
        await world.store.commit(append)
        world.committed(append)
        if faults.strikes_now("crash around a commit", 0.03, world.now):
            world.crash_server("after a commit")
            await self._shut_if_dead()
        if faults.strikes_now("commit of unknown outcome", 0.06, world.now):
            world.note("commit of unknown outcome")
            raise BackendError("the connection broke during the commit")


class Server(Engine):
    """The engine, watched."""

    def __init__(self, world: "World", generation: int) -> None:
        self.world, self.process = world, Process(f"server {generation}")
        door: Any = Door(world, self.process)
        owner = f"server {generation}"
        super().__init__(
            door, world.results, StoredPayloads(world.results), world.catalog, owner, now=world.now_ms
        )
        self.lease_ms = int(LEASE_S * 1000)
        self.workers = Wire(world, self.process)

    def stop(self, execution: Any, reason: str, error: Exception, waiting: Any = ()) -> None:
        self.world.violate(f"{reason} of {execution.state.execution_id}: {error!r}")
        super().stop(execution, reason, error, waiting)

    def _break(self, execution: Any, error: NoetlError, waiting: Any) -> None:
        self.world.note(f"broken {execution.state.execution_id}: {error.message}")
        super()._break(execution, error, waiting)

    async def ask(self, work: Any) -> Any:
        """Have the server do something for someone else, who lives on if it dies."""
        task = self.process.spawn(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # whoever asked may be dead
        await asyncio.wait([task])
        if task.cancelled():
            raise Down
        return task.result()


class Wire:
    """Orders on their way from a server to the workers, in order."""

    def __init__(self, world: "World", process: Process) -> None:
        self._world, self._process, self._free_at = world, process, 0.0
        self._holder: dict[tuple[str, str], Worker] = {}

    def offer(self, order: WorkOrder) -> None:
        """Send an order to one of the workers."""
        world = self._world
        if world.faults.strikes_now("crash around a commit", 0.02, world.now):
            world.crash_server("between answer and dispatch")
        if self._process.alive:
            world.inspector.offered(order)
        worker = world.workers[world.faults.rng.randrange(len(world.workers))]
        self._holder[order.execution_id, order.lease] = worker
        if world.wire:
            order = msgspec.json.decode(msgspec.json.encode(order), type=WorkOrder)
        self._carry(worker, "offer", order)

    def adopt(self, execution_id: str, lease: Lease) -> bool:
        """Who had a lease before a server came up is not asked: it is issued again."""
        return False

    def recall(self, execution_id: str, lease: str, give_back: bool) -> None:
        """Call a lease back from whoever has it."""
        for worker in self._holders(execution_id, lease):
            self._carry(worker, "recall", execution_id, lease, give_back)

    def abandon(self, execution_id: str) -> None:
        """Stop all that is out of an execution."""
        for known, lease in list(self._holder):
            if known == execution_id:
                self.recall(execution_id, lease, give_back=False)

    def still_overdue(self, execution_id: str, overdue: Expire) -> dict[str, int]:
        """Whoever fell silent stays so."""
        return overdue.leases if isinstance(overdue.leases, dict) else {}

    def deliver(self, execution_id: str, lease: str, address: str, task: str, output: Output) -> None:
        """Bring an answer to whoever waits for it."""
        if self._process.alive:
            self._world.inspector.delivered(execution_id, lease, address)
        for worker in self._holders(execution_id, lease):
            self._carry(worker, "deliver", execution_id, lease, address, task, output)

    def _holders(self, execution_id: str, lease: str) -> "list[Worker]":
        """The worker that was sent a lease; a server that came up later asks them all."""
        worker = self._holder.get((execution_id, lease))
        return [worker] if worker is not None else self._world.workers

    def _carry(self, worker: "Worker", what: str, *args: Any) -> None:
        if not self._process.alive:
            return
        world = self._world
        delay = world.faults.delay("slow wire", 0.3, world.now)
        if not delay and self._free_at <= world.now:
            worker.receive(what, *args)
            return
        self._free_at = max(self._free_at + TURN_S, world.now + delay)
        world.loop.call_at(self._free_at, worker.receive, what, *args)


class Worker:
    """A pool, and the reports on their way from it to whichever server is up."""

    def __init__(self, world: "World", number: int) -> None:
        self.world, self.process = world, Process(f"worker {number}")
        self.cut_until = 0.0
        self._backlog_at = 0.0
        self._ended: dict[tuple[str, str], list[Event]] = {}  # iterations it told the end of, by lease
        toolbox = Toolbox(
            worker_id=self.process.name,
            tool=tool_of(world.effects),
            payloads=lambda execution_id: StoredPayloads(world.results, execution_id),
            secrets=world,
            resources=Resources(),
            work_dir=".",
        )
        programs = world.programs_by_hash
        self.pool = Pool(
            toolbox,
            self,
            world.results,
            lambda order: programs[order.program],
            world.slots,
            now=world.now_ms,
            spread=world.spread,
        )

    @property
    def reachable(self) -> bool:
        return self.process.alive and self.world.now >= self.cut_until

    def receive(self, what: str, *args: Any) -> None:
        """Something came over the wire."""
        if self.world.now < self.cut_until:
            self._backlog_at = max(self._backlog_at + TURN_S, self.cut_until)
            self.world.loop.call_at(self._backlog_at, self.receive, what, *args)
        elif self.process.alive:
            self.process.call(getattr(self.pool, what), *args)

    def holds(self, execution_id: str, lease: str, epoch: int) -> bool:
        """Whether this worker would say in a heartbeat that it has a lease."""
        return self.reachable and (execution_id, lease, epoch) in self.pool.held()

    def _lies(self, execution_id: str, report: Report) -> Report:
        """A report that says something that cannot be, before what is true."""
        world, run = self.world, report.lease.partition(":")[0]
        if not world.faults.strikes_now("lying worker", 0.2, world.now):
            return report
        lies = [
            Event("loop.iteration.done", world.now_ms(), "w", run, "[9999]"),
            Event("task.done", world.now_ms(), "w", run, None, "no such task", 1, 1),
            Event("token.discarded", world.now_ms(), "w", run, data={"token": "t1"}),
            *self._ended.get((execution_id, report.lease), ()),
        ]
        return msgspec.structs.replace(report, events=[world.faults.rng.choice(lies), *report.events])

    def _accepted(self, execution_id: str, report: Report) -> None:
        ended = [
            event
            for event in report.events
            if event.name in ENDS and (event.at or "").startswith("[") and (event.at or "").count("[") == 1
        ]
        self._ended.setdefault((execution_id, report.lease), []).extend(ended)

    async def report(self, execution_id: str, report: Report) -> Answer:
        """Send a report until it is answered; a repeat must be answered as the first was."""
        world, faults = self.world, self.world.faults
        report = self._lies(execution_id, report)
        while True:
            wait = max(faults.delay("slow wire", 0.3, world.now), self.cut_until - world.now)
            if wait > 0:
                await asyncio.sleep(wait)
            try:
                answer = await world.ask_report(execution_id, report)
                world.inspector.answered(execution_id, report, answer)
                if faults.strikes_now("lost answer", 0.15, world.now):
                    raise Down
                if answer.accepted and faults.strikes_now("repeated report", 0.15, world.now):
                    again = await world.ask_report(execution_id, report)
                    if not again.accepted:
                        world.violate(f"a repeated batch was refused: {report.batch_id}: {again.why}")
                if answer.accepted:
                    self._accepted(execution_id, report)
                return answer
            except (BackendError, Down):
                world.note(f"{self.process.name} sends {report.batch_id} again")
                await asyncio.sleep(0.25)


class World:
    """Everything."""

    def __init__(self, loop: VirtualLoop, sample: Sample, faults: Faults) -> None:
        self.loop, self.sample, self.faults = loop, sample, faults
        self.wire = faults.rng.random() < 0.5  # orders and reports are bytes on the way
        self.slots = faults.rng.choice((1, 2, 8))
        self.now_ms: Callable[[], int] = loop.now_ms
        self.spread = faults.rng.random
        self.store, self.results = MemoryStore(loop.now_ms), MemoryResults(loop.now_ms)
        self.effects = Effects()
        self.catalog = Catalog(self.store, KINDS, ENGINE)
        self.programs_by_hash = {program.hash: program for program in sample.programs.values()}
        self.catalog._programs.update(self.programs_by_hash)
        self.violations: list[str] = []
        self.lines: list[str] = []
        self.trace = hashlib.blake2b(digest_size=16)
        self.inspector: Any = None  # who is told of every commit, offer and answer
        self.generation = 0
        self.server: Server | None = None
        self.workers = [Worker(self, number) for number in range(1, WORKERS + 1)]
        self.silent: dict[tuple[str, str, int], float] = {}
        self.asked: list[asyncio.Future[Any]] = []  # what operators asked for

    @property
    def now(self) -> float:
        return self.loop.time()

    def note(self, what: str) -> None:
        """Add a line to the trace."""
        line = f"{self.now:9.3f}  {what}"
        self.lines.append(line)
        self.trace.update(line.encode())

    def violate(self, what: str) -> None:
        """Note that something is wrong."""
        self.note(f"VIOLATION {what}")
        self.violations.append(what)

    def committed(self, append: Append) -> None:
        """A commit is in the store."""
        for row in append.rows:
            self.trace.update(row.hash)
        self.inspector.committed(append)

    async def resolve(self, execution_id: str, name: str, refused: str | None = None) -> Any:
        """There are no secrets here."""
        raise NotFound(f"there is no secret {name!r}")

    # Faults

    def boot(self) -> Server:
        """Start a server over what is in the store."""
        self.generation += 1
        self.server = Server(self, self.generation)
        self.note(f"server {self.generation} is up")
        return self.server

    def crash_server(self, when: str) -> None:
        """The server dies; another one comes up soon."""
        if self.server is None:
            return
        self.note(f"server {self.generation} dies {when}")
        self.server.process.kill()
        self.server = None
        self.loop.call_later(self.faults.rng.choice((0.05, 0.5, 4.0)), self.boot)

    def crash_worker(self, number: int) -> None:
        """A worker dies and is replaced by a fresh one."""
        worker = self.workers[number]
        self.note(f"{worker.process.name} dies")
        worker.process.kill()
        self.workers[number] = Worker(self, number + 1)

    def strike(self, what: str) -> None:
        """One of the planned faults happens."""
        number = self.faults.rng.randrange(WORKERS)
        self.faults.count(what)
        if what == "worker crash":
            self.crash_worker(number)
        elif what == "worker cut off":
            self.note(f"{self.workers[number].process.name} is cut off")
            self.workers[number].cut_until = self.now + self.faults.rng.choice((1.0, 6.0, 12.0))
        elif what == "server crash":
            self.crash_server("by itself")
        elif what == "machine crash":
            self.crash_server("with its machine")
            for index in range(WORKERS):
                self.crash_worker(index)

    # Reactions

    async def ask_report(self, execution_id: str, report: Report) -> Answer:
        """Hand a report to the server that is up."""
        if self.server is None:
            raise Down
        if self.wire:
            report = msgspec.json.decode(msgspec.json.encode(report), type=Report)
        try:
            answer: Answer = await self.server.ask(self.server.report(execution_id, report))
        except (Conflict, NotFound) as error:
            self.violate(f"a report was answered with an error: {error.message}")
            return Answer(False, error.message)
        return answer

    async def tell(self, execution_id: str, message: Message) -> Answer | None:
        """Tell an execution something, if there is a server and it can."""
        if self.server is None:
            return None
        try:
            answer: Answer = await self.server.ask(self.server.send(execution_id, message))
        except (BackendError, Conflict, NotFound, Down) as error:
            self.note(f"{type(message).__name__} not taken: {error}")
            return None
        return answer

    async def watch(self) -> None:
        """What a server process does by the clock: revive, expire, signal, keep its claims."""
        if self.server is None:
            return
        if self.server.trouble is not None:
            self.note(f"background work failed: {self.server.trouble!r}")
            if not isinstance(self.server.trouble, BackendError):
                self.violate(f"background work failed: {self.server.trouble!r}")
            self.crash_server("of failed background work")
            return
        await self.quietly(self.server.heartbeat())
        for execution_id in await self.unfinished():
            await self._revive(execution_id)
        await self._expire()
        await self._signal()
        self._beat()

    async def _revive(self, execution_id: str) -> None:
        if self.server is None:
            return
        self.server.process.call(self.server.tend)
        if execution_id not in self.server.running():
            self.note(f"resume {execution_id}")
            await self.quietly(self.server.resume(execution_id))

    async def quietly(self, work: Any) -> None:
        if self.server is None:
            work.close()
            return
        try:
            await self.server.ask(work)
        except (BackendError, Conflict, Down) as error:
            self.note(f"not now: {error}")

    async def unfinished(self) -> list[str]:
        """Executions that are not over, the oldest first."""
        listed = (await self.store.executions(Find(limit=1000))).items
        return [one.execution_id for one in reversed(listed) if one.ended_at is None]

    def _beat(self) -> None:
        """Workers say what they hold, and are told again what they may not have heard."""
        server = self.server
        for worker in self.workers if server is not None else ():
            for execution_id, lease, _ in worker.pool.held() if worker.reachable else ():
                if server is not None:
                    server.process.call(self._remind, server, execution_id, lease)

    def _remind(self, server: Server, execution_id: str, lease: str) -> None:
        workers = server.workers
        assert workers is not None

        def tell(told: Deliver, epoch: int) -> None:
            workers.deliver(execution_id, lease, told.address, told.task, told.output)

        server.remind(execution_id, lease, tell)

    def _silent_leases(self) -> dict[tuple[str, str, int], float]:
        """Leases that are out and that no worker within reach has, and since when."""
        found = {}
        assert self.server is not None
        for execution_id in self.server.running():
            state = self.server.live_state(execution_id)
            for lease in state.leases.values() if state else ():
                if lease.out and not any(w.holds(execution_id, lease.id, lease.epoch) for w in self.workers):
                    key = (execution_id, lease.id, lease.epoch)
                    found[key] = self.silent.get(key, self.now)
        return found

    async def _expire(self) -> None:
        if self.server is None:
            return
        self.silent = self._silent_leases()
        for (execution_id, lease, epoch), since in list(self.silent.items()):
            if self.now - since >= LEASE_S:
                self.note(f"expire {execution_id} {lease} epoch {epoch}")
                await self.tell(execution_id, Expire({lease: epoch}))

    async def _signal(self) -> None:
        for execution_id in self.server.running() if self.server else ():
            state = self.server.live_state(execution_id) if self.server else None
            parked = [one for run in state.runs.values() for one in run.parked.values()] if state else []
            if any(one.signal == SIGNAL and one.output is None for one in parked):
                await self.tell(execution_id, Control("signal", name=SIGNAL, payload={"at": "any"}))
