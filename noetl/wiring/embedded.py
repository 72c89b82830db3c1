"""One process: control plane and worker over SQLite, an in-process transport, results in a folder."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from noetl import __version__
from noetl.adapters.clock.wall import now_ms
from noetl.adapters.directory.results import DirectoryResults
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.adapters.sqlite.store import SqliteStore
from noetl.control.front.front import Fleet
from noetl.control.sweep import NOTIFICATIONS_S, repeat, sweep
from noetl.core.message import WorkOrder
from noetl.core.program.program import Program
from noetl.errors import RequestError
from noetl.ports.front import Worker
from noetl.ports.results import Results
from noetl.ports.store import Store
from noetl.settings import FILE_NAME, Settings
from noetl.wiring.plane import (
    Plane,
    collect_seldom,
    control_plane,
    make_toolbox,
    new_execution_id,
    with_own_steps,
)
from noetl.wiring.tool_kinds import kinds
from noetl.worker.pool import Pool
from noetl.worker.secret_cache import CachedSecrets
from noetl.worker.task_output import LineSender

__all__ = [
    "MEMORY",
    "Embedded",
    "assemble",
    "build",
    "embedded",
    "guest",
    "new_execution_id",
    "store_path",
    "swept",
]

MEMORY = "memory://"  # keeps nothing: for trying things out


def store_path(settings: Settings) -> str:
    """The SQLite file of the settings; one named in a settings file is relative to that file."""
    scheme, separator, rest = settings.store.partition("://")
    if separator and scheme != "sqlite":
        if scheme not in ("postgres", "postgresql"):
            message = f"NOETL_STORE is '{scheme}://…', which is neither PostgreSQL nor SQLite"
            raise RequestError(message, hint="postgresql://USER@HOST/DATABASE, or the path of a SQLite file")
        message = f"without a server, executions are kept in SQLite, and NOETL_STORE is {scheme}://…"
        hint = (
            "name the server of that database, as in NOETL_SERVER=http://127.0.0.1:8080, or unset NOETL_STORE"
        )
        raise RequestError(message, hint=hint)
    path = (rest[1:] if rest.startswith("//") else rest) if separator else settings.store
    origin = settings.origins.get("store", "")
    return str(Path(origin).parent / path) if origin.endswith(FILE_NAME) else path


@dataclass(slots=True)
class Embedded(Plane):
    """Everything one process needs to run executions."""

    pool: Pool

    @property
    def trouble(self) -> BaseException | None:
        """What went wrong where nobody waits: in the engine's own work, or when a worker could not report."""
        return self.engine.trouble or self.pool.trouble

    async def close(self) -> None:
        """Stop the worker, let go of executions, close the store."""
        await self.pool.stop()
        await self.engine.close()
        await self.store.close()


def build(settings: Settings) -> Embedded:
    """Fill every port for one process over the SQLite file of the settings."""
    if settings.store == MEMORY:
        return assemble(settings, MemoryStore(now_ms), MemoryResults(now_ms))
    path = Path(store_path(settings))
    return assemble(settings, SqliteStore(str(path)), DirectoryResults(str(path.parent / "results")))


def assemble(
    settings: Settings,
    store: Store,
    results: Results,
    now: Callable[[], int] = now_ms,
    *,
    adopts: bool = False,
    served: bool = False,
    files: bool = True,
) -> Embedded:
    """Put control plane and worker together; `served`: those who send playbooks may not be the user.

    `files`: the files of the project are playbooks too.
    """
    trusted = not served or not settings.guarded
    plane = control_plane(settings, store, results, now, adopts=adopts, trusted=not served, files=files)
    toolbox = make_toolbox(
        settings, results, CachedSecrets(plane), f"embedded-{os.getpid()}", trusted=trusted
    )
    toolbox.lines = LineSender(plane.task_log, now)
    pool = Pool(toolbox, plane.engine, results, _programs(plane), settings.concurrency, now=now)
    pool.outlives_trouble = served
    plane.engine.workers = pool
    plane.front.lines_sent = toolbox.lines.settled
    plane.front.fleet = _fleet(settings, pool, now)
    return Embedded(**{name: getattr(plane, name) for name in Plane.__slots__}, pool=pool)


def _fleet(settings: Settings, pool: Pool, now: Callable[[], int]) -> Fleet:
    started_at = now()

    async def workers() -> list[Worker]:
        worker = Worker(
            worker_id=pool.toolbox.worker_id,
            pool=settings.pool,
            concurrency=settings.concurrency,
            running=pool.slots.busy,
            heard_at=now(),
            started_at=started_at,
            version=__version__,
            host=socket.gethostname(),
            draining=pool.draining,
            leases=pool.shown(),
            finished=pool.finished,
            kinds=sorted(kinds(settings)),
            pid=os.getpid(),
        )
        return [worker]

    return workers


def _programs(plane: Plane) -> Callable[[WorkOrder], Program]:
    def program_of(order: WorkOrder) -> Program:
        live = plane.engine.program_of(order.execution_id)  # with the steps it was given while it ran
        if live is not None and order.step in live.steps:
            return live
        return with_own_steps(plane.catalog.compiled(order.program), order)

    return program_of


@asynccontextmanager
async def embedded(settings: Settings) -> AsyncIterator[Embedded]:
    """Build in a process that is ours, and close whatever happens."""
    collect_seldom()
    async with guest(settings) as engine:
        yield engine


@asynccontextmanager
async def guest(settings: Settings) -> AsyncIterator[Embedded]:
    """Build in the process of somebody else, of which nothing is tuned; close whatever happens."""
    engine = build(settings)
    try:
        yield engine
    finally:
        await engine.close()


@asynccontextmanager
async def swept(engine: Embedded) -> AsyncIterator[Embedded]:
    """The engine with its clockwork: timers fire, what lies still is taken up, whoever wants to know is told.

    What is due when its work is done is told before it ends.
    """
    clockwork = [
        asyncio.create_task(sweep(engine.engine)),
        asyncio.create_task(repeat(NOTIFICATIONS_S, engine.front.send_due)),
    ]
    try:
        yield engine
        await engine.front.finish_sending()
    finally:
        for task in clockwork:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
