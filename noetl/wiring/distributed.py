"""A server, and a worker in a process of its own: settings in, ports filled with adapters out."""

import asyncio
import os
import socket
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from noetl import __version__, tools
from noetl.adapters.directory.results import DirectoryResults
from noetl.adapters.link.requests import WorkerLink
from noetl.adapters.link.sealed_box import SealedBox, seal
from noetl.adapters.nats.bus import Bus
from noetl.adapters.sqlite.store import SqliteStore
from noetl.control import sweep
from noetl.control.front.front import Fleet, LocalFront
from noetl.control.leases import WorkerLeases
from noetl.control.retention import LOOK_S as LOOK_FOR_OLD_S
from noetl.control.retention import Retention
from noetl.control.worker_api import EngineWorkerApi
from noetl.core.program.program import Program, compile_program
from noetl.dsl.load import load_accepted
from noetl.errors import InvariantViolation, RequestError
from noetl.ports.front import Worker
from noetl.ports.link import ConnectionAcceptor, Hello
from noetl.ports.link_protocol import SPOKEN
from noetl.ports.results import Results
from noetl.ports.store import Store
from noetl.settings import Settings
from noetl.wiring.embedded import assemble, store_path
from noetl.wiring.links import opened_bus, server_link, worker_link, worker_name
from noetl.wiring.notify import pages_at
from noetl.wiring.plane import Plane, collect_seldom, control_plane, make_toolbox, with_own_steps
from noetl.wiring.tool_kinds import kinds
from noetl.worker.pool import Pool
from noetl.worker.remote_results import LinkedResults
from noetl.worker.remote_worker import Programs, RemoteLines, RemoteReports, RemoteSecrets, RemoteWorker
from noetl.worker.retrying_results import PatientPayloads
from noetl.worker.task_output import LineSender

POSTGRES = ("postgres://", "postgresql://")

BEGIN_S = 2.0  # a server that stops waits so long for orders that are out to begin
LOOK_S = 0.01


@asynccontextmanager
async def opened_store(settings: Settings) -> AsyncIterator[Store]:
    """The event log that the settings name."""
    store: Store
    if settings.store.startswith(POSTGRES):
        from noetl.adapters.postgres.store import PostgresStore

        store = await PostgresStore.open(settings.store)
    else:
        store = SqliteStore(store_path(settings))
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def opened_results(settings: Settings, store: Store, bus: Bus | None) -> AsyncIterator[Results]:
    """The result store that the settings name; beside the event log when they name none."""
    named = settings.results
    if named is None and not settings.store.startswith(POSTGRES):
        yield DirectoryResults(str(Path(store_path(settings)).parent / "results"))
    elif named in (None, "postgres"):
        from noetl.adapters.postgres.results import PostgresResults
        from noetl.adapters.postgres.store import PostgresStore

        if not isinstance(store, PostgresStore):
            raise RequestError("NOETL_RESULTS is 'postgres', but the store is not PostgreSQL")
        yield PostgresResults(store)
    else:
        async with opened_elsewhere(str(named), bus) as results:
            yield results


@asynccontextmanager
async def opened_elsewhere(named: str, bus: Bus | None) -> AsyncIterator[Results]:
    """A result store that workers reach by themselves."""
    if named == "nats":
        from noetl.adapters.nats.results import NatsResults

        if bus is None:
            raise RequestError("NOETL_RESULTS is 'nats', but there is no bus", hint="set NOETL_BUS")
        yield NatsResults(await bus.client())
    elif named.startswith("s3://"):
        from noetl.adapters.objects.results import ObjectResults

        yield ObjectResults(named)
    elif "/" in named and "://" not in named:
        yield DirectoryResults(named)
    else:
        message = f"NOETL_RESULTS is '{named}', which is no place for results"
        raise RequestError(message, hint="postgres, nats, s3://BUCKET/PREFIX, or a folder as in ./results")


@dataclass(slots=True)
class Serving:
    """A server without its HTTP face."""

    plane: Plane
    server_id: str
    leasing: WorkerLeases | None = None
    acceptors: Mapping[str, ConnectionAcceptor] = field(
        default_factory=dict
    )  # what its HTTP port takes besides

    @property
    def front(self) -> LocalFront:
        """The product, as the HTTP face calls it."""
        return self.plane.front


@asynccontextmanager
async def serving(settings: Settings, *, url: str = "", files: bool = False) -> AsyncIterator[Serving]:
    """A server over the store of the settings: its own worker, or one that workers reach.

    `url`: the address of its HTTP port. `files`: the files of the project are playbooks too, which is for the
    machine of those who write them.
    """
    collect_seldom()
    server_id = uuid.uuid4().hex[:12]
    if settings.bus is not None and settings.own_worker:
        raise RequestError("a server with a bus does not run tasks itself", hint="unset NOETL_OWN_WORKER")
    async with (
        opened_store(settings) as store,
        opened_bus(settings, f"noetl server {server_id}") as bus,
        opened_results(settings, store, bus) as results,
    ):
        if settings.works_itself:
            server = _alone(settings, store, results, server_id, files)
        else:
            server = _with_workers(settings, store, results, server_id, bus, url)
        async with server as made:
            made.front.sending.page_of = pages_at(settings.public_url or settings.advertise_url or url)
            yield made


@asynccontextmanager
async def _alone(
    settings: Settings, store: Store, results: Results, server_id: str, files: bool
) -> AsyncIterator[Serving]:
    made = assemble(settings, store, results, adopts=True, served=True, files=files)
    async with _clockwork(made, None):
        try:
            yield Serving(made, server_id)
        finally:
            await made.pool.hand_back()
            await made.pool.stop()


@asynccontextmanager
async def _with_workers(
    settings: Settings, store: Store, results: Results, server_id: str, bus: Bus | None, url: str
) -> AsyncIterator[Serving]:
    plane = control_plane(settings, store, results, adopts=True)
    async with server_link(settings, plane, server_id, bus, url) as link:
        later = asyncio.get_running_loop().call_soon
        leasing = WorkerLeases(link.channel, settings.lease_s, later=later, wall=plane.engine.now)
        plane.engine.workers = leasing
        plane.front.fleet, plane.front.backlog = _fleet(leasing), leasing.longest_wait_ms
        worker_api = EngineWorkerApi(
            server_id,
            plane.engine,
            leasing,
            plane.catalog,
            results,
            secrets=plane.resolve,
            seal=seal,
            lines=plane.task_log.add,
        )
        link.open(worker_api, leasing)
        async with _clockwork(plane, worker_api, *link.jobs):
            yield Serving(plane, server_id, leasing, link.acceptors)
            leasing.close()
            await _all_begun(plane, leasing)


async def _all_begun(plane: Plane, leasing: WorkerLeases) -> None:
    """Wait a little until the log says with whom each order is that is out: the next owner reads it there."""
    for _ in range(int(BEGIN_S / LOOK_S)):
        states = (
            (plane.engine.live_state(execution_id), lease) for execution_id, lease in leasing.given_out()
        )
        leases = (state.leases.get(lease) for state, lease in states if state is not None)
        if all(lease is None or lease.worker is not None for lease in leases):
            return
        await asyncio.sleep(LOOK_S)


@asynccontextmanager
async def _clockwork(
    plane: Plane, worker_api: EngineWorkerApi | None, *also: tuple[float, sweep.Work]
) -> AsyncIterator[None]:
    """What happens by the clock while a server runs; at its end its executions are free for others."""
    schedules = (sweep.SCHEDULES_S, plane.front.fire_schedules)
    notifications = (sweep.NOTIFICATIONS_S, plane.front.send_due)
    triggers = (sweep.TRIGGERS_S, plane.front.fire_due)
    objects = (sweep.OBJECTS_S, plane.front.watch_objects)
    jobs = (schedules, notifications, triggers, objects, *_retention(plane), *also)
    task = asyncio.create_task(sweep.serve(plane.engine, worker_api, jobs))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await plane.front.finish_sending()
        await plane.engine.close()


def _retention(plane: Plane) -> list[tuple[float, sweep.Work]]:
    """What forgets what has ended, where a server is told how long to keep it."""
    if plane.settings.retention is None:
        return []
    retention = Retention(plane.store, plane.results, plane.settings.retention)
    return [(LOOK_FOR_OLD_S, lambda: retention.look(plane.engine.now()))]


def _fleet(leasing: WorkerLeases) -> Fleet:
    async def workers() -> list[Worker]:
        return leasing.fleet()

    return workers


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[RemoteWorker]:
    """A worker that takes orders from servers until it is told to stop, then hands back what it has."""
    collect_seldom()
    worker_id = worker_name(settings)
    async with (
        opened_bus(settings, f"noetl worker {worker_id}") as bus,
        worker_link(settings, worker_id, bus) as link,
        _worker_results(settings, link, bus) as results,
    ):
        box = SealedBox()
        worker = _worker(settings, link, results, worker_id, box)
        link.on_connected = worker.beat
        link.open()
        await worker.look_for_servers()
        beats = asyncio.create_task(worker.beats())
        worker.keep_looking()
        try:
            yield worker
        finally:
            await worker.pool.hand_back()
            worker.beat()
            beats.cancel()
            await worker.close()
            await worker.pool.stop()


def _worker(
    settings: Settings, link: WorkerLink, results: Results, worker_id: str, box: SealedBox
) -> RemoteWorker:
    hello = Hello(
        worker_id,
        settings.pool,
        settings.concurrency,
        sorted(kinds(settings)),
        box.public,
        link.now(),
        __version__,
        socket.gethostname(),
        SPOKEN,
        claims=True,
        pid=os.getpid(),
    )
    programs = Programs(compile_text)
    worker = RemoteWorker(link, hello, programs, settings.lease_s)
    # Whoever asks for no token serves this machine alone: its users may do what they may without it.
    alone = settings.token is None
    secrets = RemoteSecrets(worker, box.open)
    toolbox = make_toolbox(settings, results, secrets, worker_id, trusted=alone)
    toolbox.lines = LineSender(RemoteLines(worker), link.now)
    worker.pool = Pool(
        toolbox,
        RemoteReports(worker),
        PatientPayloads(results),
        lambda order: with_own_steps(programs.get(order.program), order),
        settings.concurrency,
        now=link.now,
    )
    worker.pool.outlives_trouble = True
    return worker


@asynccontextmanager
async def _worker_results(settings: Settings, link: WorkerLink, bus: Bus | None) -> AsyncIterator[Results]:
    if settings.results in (None, "postgres"):
        yield LinkedResults(link)
    else:
        async with opened_elsewhere(str(settings.results), bus) as results:
            yield results


def compile_text(digest: str, text: str) -> Program:
    """A playbook that a server has accepted, compiled here."""
    known = tools.kinds()
    playbook = load_accepted(text, kinds=known)
    if playbook is None:
        raise InvariantViolation(f"the playbook {digest} that a server sent cannot be read here")
    return compile_program(playbook, known, digest)
