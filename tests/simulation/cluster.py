"""A cluster in one thread: two servers and their workers over one store and one bus, and all that goes wrong.

Servers, leases, links and workers are the product's own; store, bus, clocks and operators are played here.
"""

import asyncio
import hashlib
from functools import partial
from random import Random
from typing import Any

import msgspec

from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.control.catalog import Catalog
from noetl.control.stuck_executions import StuckError
from noetl.core.message import Control, Start
from noetl.errors import BackendError, Conflict, NoetlError, NotFound
from noetl.ports.store import Append, Find
from tests.simulation.clock import PROCESS, VirtualLoop
from tests.simulation.cluster_bus import SimulatedBus
from tests.simulation.cluster_nodes import LEASE_S, ServerNode, WorkerNode
from tests.simulation.faults import Faults
from tests.simulation.lies import Liar
from tests.simulation.playbooks import SIGNAL, Sample
from tests.simulation.tools import KINDS, Effects
from tests.simulation.world import ENGINE

SERVERS = ("a", "b")
WORKERS = 2
PLANNED = (
    "server crash",
    "server stop",
    "worker crash",
    "worker cut off",
    "server cut off",
    "bus away",
    "store hangs",
    "clock jump",
    "damaged log",
)
STEADY = (
    "crash around a commit",
    "store fails",
    "commit of unknown outcome",
    "slow store",
    "slow bus",
    "lost message",
    "lying worker",
)
FAULTS = (*PLANNED, *STEADY)
OLDER = "older release"  # the first server and the last worker do not know what this release added
BROKEN = b"[{"


class Cluster:
    """Everything."""

    def __init__(self, loop: VirtualLoop, sample: Sample, faults: Faults, execution_id: str) -> None:
        self.loop, self.sample, self.faults, self.execution_id = loop, sample, faults, execution_id
        self.slots = faults.rng.choice((1, 2, 8))
        self.store, self.results = MemoryStore(loop.now_ms), MemoryResults(loop.now_ms)
        self.effects = Effects()
        self.catalog = Catalog(self.store, KINDS, ENGINE)
        self.programs_by_hash = {program.hash: program for program in sample.programs.values()}
        self.catalog._programs.update(self.programs_by_hash)
        self.violations: list[str] = []
        self.lines: list[str] = []
        self.trace = hashlib.blake2b(digest_size=16)
        self.inspector: Any = None
        self.bus = SimulatedBus(self)
        self.hangs_until = 0.0
        self.servers: dict[str, ServerNode] = {}
        self.workers: list[WorkerNode] = []
        self.committing: ServerNode | None = None
        self.damaged: dict[str, tuple[Any, bytes]] = {}  # rows and what they were, by execution
        self._made = 0
        self._operator = asyncio.Lock()
        self._resumes = False  # whoever paused wants it to go on
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def now(self) -> float:
        return self.loop.time()

    @property
    def server(self) -> Any:
        """The engine that commits."""
        return self.committing.engine if self.committing is not None else None

    def note(self, what: str) -> None:
        """Add a line to the trace."""
        line = f"{self.now:9.3f}  {what}"
        self.lines.append(line)
        self.trace.update(line.encode())

    def violate(self, what: str) -> None:
        """Note that something is wrong."""
        self.note(f"VIOLATION {what}")
        self.violations.append(what)

    def committed(self, node: ServerNode, append: Append) -> None:
        """A commit is in the store."""
        self.committing = node
        for row in append.rows:
            self.trace.update(row.hash)
        self.inspector.committed(append)

    async def resolve(self, execution_id: str, name: str, refused: str | None = None) -> Any:
        """Every secret there is."""
        return {"token": name}

    def worker(self, name: str) -> WorkerNode | None:
        """A worker that lives."""
        return next((one for one in self.workers if one.name == name and one.process.alive), None)

    # Processes

    def boot(self, place: str) -> None:
        """Start a server over what is in the store."""
        self._made += 1
        name = f"{place}{self._made}"
        self.servers = {known: node for known, node in self.servers.items() if known[0] != place}
        older = OLDER in self.faults.on and place == SERVERS[0]
        self.servers[name] = ServerNode(self, name, older=older)
        self.note(f"server {name} is up{', of an older release' if older else ''}")

    def crash_server(self, node: ServerNode, when: str) -> None:
        """A server dies; another one comes up in its place."""
        if node.process.alive:
            self.note(f"server {node.name} dies {when}")
            node.process.kill()
            self.loop.call_later(self.faults.rng.choice((0.05, 0.5, 6.0)), self.boot, node.name[0])

    def hire(self, number: int, pool: str = "default") -> None:
        """Start a worker in a place."""
        self._made += 1
        older = OLDER in self.faults.on and number == 1 and "lying worker" not in self.faults.on
        worker = WorkerNode(self, f"w{number}-{self._made}", pool, older=older)
        self.workers[number : number + 1] = [worker]
        if number == 0 and "lying worker" in self.faults.on:
            self.go(self._lies(worker))

    def go(self, work: Any) -> None:
        """Do something beside all the rest."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.violate(f"the simulation failed: {task.exception()!r}")

    async def begin(self, start: Start) -> None:
        """Boot everything, and ask for the execution until it is there."""
        for place in SERVERS:
            self.boot(place)
        for number in range(WORKERS):
            liar = number == 0 and "lying worker" in self.faults.on
            self.hire(number, self.faults.rng.choice(("default", "default", "other")) if liar else "default")
        if self.workers[0].hello.pool == "other":
            self.hire(WORKERS)
        while self.execution_id not in [summary.execution_id for summary in await self.summaries()]:
            await self.ask(lambda node: node.engine.start(self.execution_id, msgspec.convert(start, Start)))
            await asyncio.sleep(0.1)

    # Faults

    def strike(self, what: str) -> None:
        """One of the planned faults happens."""
        rng = self.faults.rng
        self.faults.count(what)
        node = self.servers[rng.choice(sorted(self.servers))]
        place = rng.randrange(len(self.workers))
        worker = self.workers[place]
        self.note(f"{what}: {worker.name if what.startswith('worker') else node.name}")
        if what == "server crash":
            self.crash_server(node, "by itself")
        elif what == "server stop":
            self.go(self._stop(node))
        elif what == "worker crash":
            worker.process.kill()
            self.hire(place, worker.hello.pool)
        elif what == "worker cut off":
            self.bus.cut(worker.name, rng.choice((1.0, 2 * LEASE_S, 4 * LEASE_S)))
        elif what == "server cut off":
            self.bus.cut(node.name, rng.choice((1.0, 2 * LEASE_S, 4 * LEASE_S)))
        elif what == "bus away":
            self.bus.go_away(rng.choice((1.0, LEASE_S + 1, 3 * LEASE_S + 1)))
        elif what == "store hangs":
            self.hangs_until = self.now + rng.choice((0.5, LEASE_S, 2 * LEASE_S))
        elif what == "clock jump":
            node.process.ahead_ms += rng.choice((-60_000, -2_000, 2_000, 60_000))
        elif what == "damaged log":
            self.go(self._damage())

    async def _stop(self, node: ServerNode) -> None:
        """A server is told to stop, and another one comes up."""
        if node.process.alive:
            closing = node.process.spawn(node.engine.close())
            await asyncio.wait([closing])
            self.crash_server(node, "as it was told to")

    async def _damage(self) -> None:
        """Make a row unreadable, see that nobody goes on with it, repair it, and let it go on."""
        rng = self.faults.rng
        running = [one for one in await self.unfinished() if one not in self.damaged]
        if not running:
            return
        execution_id = rng.choice(running)
        row = rng.choice(self.store._executions[execution_id].rows[-3:])
        self.damaged[execution_id] = (row, row.body)
        row.body = BROKEN
        until = self.now + rng.choice((2.0, 8.0, 20.0))
        kept: set[int] = set()
        while self.now < until:
            await asyncio.sleep(1.0)
            kept = await self._while_damaged(execution_id, kept)
        row.body = self.damaged[execution_id][1]
        self.note(f"repaired {execution_id}")
        del self.damaged[execution_id]

    async def release(self) -> None:
        """Let go on what is stuck although its log can be read again; a server may say late what it gave up."""
        for summary in await self.summaries():
            if summary.stuck is not None and summary.execution_id not in self.damaged:
                await self.ask(partial(_released, summary.execution_id))

    async def _while_damaged(self, execution_id: str, kept: set[int]) -> set[int]:
        """What is stuck keeps its mail, and is not released."""
        if (await self.store.summary(execution_id)).stuck is None:
            return set()
        letters = {one.id for one in self.store._mail if one.execution_id == execution_id}
        if not kept <= letters:
            self.violate(f"{execution_id} lost letters while it was stuck")
        error = await self.ask(lambda node: node.release(execution_id))
        if not isinstance(error, StuckError | BackendError) and error is not None:
            self.note(f"release: {error}")
        released = error is None and (await self.store.summary(execution_id)).stuck is None
        if released and not self._is_spared(execution_id):
            self.violate(f"{execution_id} was released although its log cannot be read")
        return letters

    def _is_spared(self, execution_id: str) -> bool:
        """Whether a snapshot was made behind the broken row: then nobody has to read it."""
        snapshot = self.store._executions[execution_id].snapshot
        return snapshot is not None and bool(self.damaged[execution_id][0].last <= snapshot.seq)

    async def _lies(self, node: WorkerNode) -> None:
        rng = Random(f"lies {node.name} {self.execution_id}")
        liar = Liar(self, node, rng)
        while node.process.alive and self.now < self.faults.until:
            await asyncio.sleep(rng.choice((0.02, 0.1, 0.4)))
            made = liar.lie()
            if made is not None and self.servers:
                await asyncio.wait([node.process.spawn(self._tell_lie(node, *made))])

    async def _tell_lie(self, node: WorkerNode, what: str, body: Any) -> None:
        self.faults.count("lying worker")
        if what == "beat":
            node.link.tell(body)
            return
        server = node.link.some_server()
        if what == "report":
            self.inspector.told[body.report.batch_id] = repr(body)[:400]
        try:
            reply = await node.link.once(what, msgspec.json.encode(body), server, 2.0)
        except NoetlError:
            return
        if what == "secret":
            self.violate("a secret was given to a worker that has not the lease")
        elif not msgspec.json.decode(reply)["answer"].get("why"):
            self.violate(f"a lie was taken: {body}")

    # People

    async def ask(self, work: Any) -> Exception | None:
        """Have some server do something; what it answered when that was an error."""
        alive = [node for _, node in sorted(self.servers.items()) if node.process.alive]
        if not alive:
            return BackendError("no server is up")
        node = self.faults.rng.choice(alive)
        task = node.process.spawn(work(node))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait([task])
        if task.cancelled():
            return BackendError("the server died")
        error = task.exception()
        if error is not None and not isinstance(error, BackendError | Conflict | NotFound):
            self.violate(f"an operator was answered with {error!r}")
        return error if isinstance(error, Exception) else None

    async def wish(self, what: Any) -> None:
        """What an operator asks for, until the log has it."""
        self.faults.count(what)
        async with self._operator:  # one person, who waits for what was asked for
            await self._wish(what)

    async def _wish(self, what: Any) -> None:
        self.note(f"operator: {what}")
        error: Exception | None = BackendError("not asked yet")
        while isinstance(error, BackendError) or (what == "resume" and isinstance(error, StuckError)):
            error = await self.ask(lambda node: node.tell(self.execution_id, Control(what)))
            await asyncio.sleep(1.0)
        self._resumes |= what == "resume"
        self.note(f"operator: {what}: {error or 'done'}")

    async def resume(self) -> None:
        """Ask again: a pause that was kept as mail may have come after it."""
        known = any(one.execution_id == self.execution_id for one in await self.summaries())
        if self._resumes and known and (await self.store.newest(self.execution_id)).status == "paused":
            await self.ask(lambda node: node.tell(self.execution_id, Control("resume")))

    async def summaries(self) -> list[Any]:
        return list((await self.store.executions(Find(limit=1000))).items)

    async def unfinished(self) -> list[str]:
        """Executions that are not over, the oldest first."""
        listed = await self.summaries()
        return [one.execution_id for one in reversed(listed) if one.ended_at is None]

    async def signal(self) -> None:
        """Send what executions wait for."""
        for execution_id, checker in list(self.inspector.checkers.items()):
            waits = (one for run in checker.state.runs.values() for one in run.parked.values())
            if checker.state.ended or not any(one.signal == SIGNAL and one.output is None for one in waits):
                continue
            await self.ask(partial(_signalled, execution_id))


async def _released(execution_id: str, node: ServerNode) -> None:
    await node.release(execution_id)


async def _signalled(execution_id: str, node: ServerNode) -> None:
    await node.tell(execution_id, Control("signal", name=SIGNAL, payload={"at": "any"}))


def clock_of(loop: VirtualLoop) -> Any:
    """The wall clock of whichever process asks."""

    def now_ms() -> int:
        process = PROCESS.get()
        return loop.now_ms() + (process.ahead_ms if process is not None else 0)

    return now_ms
