"""One process: control plane and worker over SQLite, an in-process transport, results in a folder."""

import gc
import os
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uuid_utils

from noetl import __version__
from noetl.adapters.directory.results import DirectoryResults
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.adapters.secrets.keychain import Keychain
from noetl.adapters.secrets.sealed import Sealer, keys_of
from noetl.adapters.sqlite.store import SqliteStore
from noetl.control.catalog import Catalog
from noetl.control.engine import Engine, now_ms
from noetl.control.front import Fleet, LocalFront
from noetl.core.fragment import extended
from noetl.core.message import Start, WorkOrder
from noetl.core.output import problem
from noetl.core.program import Program
from noetl.errors import NotFound, RequestError
from noetl.ports.call import PYTHON_HOST, Resources
from noetl.ports.front import Worker
from noetl.ports.network import Network
from noetl.ports.results import Results
from noetl.ports.store import Store
from noetl.settings import FILE_NAME, Settings, environment
from noetl.tools import get, kinds
from noetl.wiring.payloads import StoredPayloads
from noetl.worker.pool import Pool
from noetl.worker.python_host import PythonHost
from noetl.worker.toolbox import Toolbox

MEMORY = "memory://"  # keeps nothing: for trying things out


def new_execution_id() -> str:
    """A fresh id; ids sort by the time they were made."""
    return uuid_utils.uuid7().hex


def store_path(settings: Settings) -> str:
    """The SQLite file of the settings; one named in a settings file is relative to that file."""
    scheme, separator, rest = settings.store.partition("://")
    if separator and scheme != "sqlite":
        told = f"an embedded run keeps its log in SQLite, not in {scheme}://"
        raise RequestError(told, hint="unset NOETL_STORE, or name a server with --server")
    path = (rest[1:] if rest.startswith("//") else rest) if separator else settings.store
    origin = settings.origins.get("store", "")
    return str(Path(origin).parent / path) if origin.endswith(FILE_NAME) else path


@dataclass(slots=True)
class Embedded:
    """Everything one process needs to run executions."""

    settings: Settings
    store: Store
    results: Results
    payloads: StoredPayloads
    catalog: Catalog
    engine: Engine
    pool: Pool
    keychain: Keychain
    front: LocalFront

    @property
    def trouble(self) -> BaseException | None:
        """What went wrong where nobody waits: in the engine's own work, or when a worker could not report."""
        return self.engine.failed or self.pool.lost

    async def resolve(self, execution_id: str, name: str) -> Mapping[str, Any]:
        """The secret a task names."""
        program = self.engine.program_of(execution_id)
        entries = program.playbook.keychain if program else ()
        return await self.keychain.material(entries, name)

    async def checked(self, start: Start, program: Program) -> Start:
        """The request, refused when a keychain entry cannot be had."""
        missing = await self.keychain.check(program.playbook.keychain)
        if missing and start.problem is None:
            told = "; ".join(missing.values())
            start.problem = problem("keychain", told, names=sorted(missing))
        return start

    async def close(self) -> None:
        """Stop the worker, let go of executions, close the store."""
        await self.pool.stop()
        await self.engine.close()
        await self.store.close()


class _Secrets:
    """The worker's way to secrets, within the one process."""

    def __init__(self) -> None:
        self.embedded: Embedded | None = None

    async def resolve(self, execution_id: str, name: str) -> Mapping[str, Any]:
        """The secret a task names."""
        if self.embedded is None:
            raise NotFound(f"there is no secret {name!r} yet")
        return await self.embedded.resolve(execution_id, name)


def build(settings: Settings) -> Embedded:
    """Fill every port for one process over the SQLite file of the settings."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)  # many small objects, few cycles: looking for them often costs a tenth
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
) -> Embedded:
    """Put control plane and worker together over a store and a result store."""
    payloads = StoredPayloads(results)
    catalog = Catalog(store, kinds(), f"noetl {__version__}", settings.project)
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    engine = Engine(store, results, payloads, catalog, owner, now)
    engine.lease_ms = int(settings.lease_s * 1000)
    keychain = Keychain(
        store, lambda: Sealer(keys_of(settings.key, settings.home / "key")), environment, settings.project
    )
    secrets = _Secrets()
    toolbox = _toolbox(settings, results, secrets)
    pool = Pool(toolbox, engine, results, _programs(catalog), settings.concurrency, now=now)
    engine.workers = pool
    front = LocalFront(
        engine,
        catalog,
        payloads,
        keychain,
        new_execution_id,
        fleet=_fleet(settings, pool, now),
        adopts=adopts,
    )
    embedded = Embedded(settings, store, results, payloads, catalog, engine, pool, keychain, front)
    secrets.embedded = embedded
    catalog.gate = embedded.checked
    return embedded


def _fleet(settings: Settings, pool: Pool, now: Callable[[], int]) -> Fleet:
    started_at = now()

    async def workers() -> list[Worker]:
        one = Worker(
            worker_id=pool.toolbox.worker_id,
            pool=settings.pool,
            concurrency=settings.concurrency,
            running=pool.slots.busy,
            heard_at=now(),
            started_at=started_at,
            version=__version__,
            host=socket.gethostname(),
        )
        return [one]

    return workers


def _toolbox(settings: Settings, results: Results, secrets: _Secrets) -> Toolbox:
    resources = Resources()
    work_dir = os.getcwd()
    path = {"PATH": environment("PATH") or os.defpath}
    resources.give(PYTHON_HOST, PythonHost(work_dir=work_dir, environment=path))
    return Toolbox(
        worker_id=f"embedded-{os.getpid()}",
        tool=get,
        payloads=lambda execution_id: StoredPayloads(results, execution_id),
        secrets=secrets,
        resources=resources,
        work_dir=work_dir,
        env=_own_environment(),
        roots=("/",),  # whoever runs a playbook here may read and write what they may without it
        network=Network(("loopback", "private", *settings.allow_networks)),  # and reach what they may
    )


def _own_environment() -> dict[str, str]:
    """What programs that tools start see of ours: where programs and the home are, language and time zone."""
    found = {name: environment(name) for name in ("PATH", "HOME", "LANG", "TZ")}
    return {name: value for name, value in found.items() if value}


def _programs(catalog: Catalog) -> Any:
    def program_of(order: WorkOrder) -> Program:
        program = catalog.compiled(order.program)
        for fragment in order.fragments:
            program = extended(program, fragment["origin"], fragment["steps"])
        return program

    return program_of


@asynccontextmanager
async def embedded(settings: Settings) -> AsyncIterator[Embedded]:
    """Build, and close whatever happens."""
    made = build(settings)
    try:
        yield made
    finally:
        await made.close()
