"""The control plane over a store and a result store, and the toolbox of a worker: what every topology has."""

import gc
import logging
import os
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uuid_utils

from noetl import __version__
from noetl.adapters.clock.wall import now_ms
from noetl.adapters.fork.trial import trial
from noetl.adapters.notify.smtp import Smtp
from noetl.adapters.secrets.keychain import Keychain
from noetl.adapters.secrets.sealed_credentials import Sealer, keys_of
from noetl.control.catalog import Catalog
from noetl.control.engine import Engine
from noetl.control.front.front import LocalFront
from noetl.control.task_log import TaskLog
from noetl.core.message import Start, WorkOrder
from noetl.core.pipeline.effects import RunTool
from noetl.core.program.fragment import extended
from noetl.core.program.program import Program
from noetl.core.values.output import problem
from noetl.errors import BackendError
from noetl.ports.call import PYTHON_HOST, Resources, Secret
from noetl.ports.control import Secrets
from noetl.ports.mail import MAIL_SERVER
from noetl.ports.network import Network
from noetl.ports.results import Results
from noetl.ports.store import Store
from noetl.ports.task_lines import KeptLines
from noetl.ports.trace import traceparent
from noetl.settings import FILE_NAME, Settings, environment
from noetl.tools import get
from noetl.tools.parts.guard import connector
from noetl.wiring.notify import pages_at, senders
from noetl.wiring.object_listing import object_listing
from noetl.wiring.payloads import StoredPayloads
from noetl.wiring.tool_kinds import kinds
from noetl.worker.orphans import MARK, mark
from noetl.worker.python.host import PythonHost
from noetl.worker.toolbox import Toolbox, no_trace

logging.getLogger("noetl").addHandler(logging.NullHandler())  # who wants to read it sets a log up
OWN_MACHINE = ("loopback",)


def collect_seldom() -> None:
    """Look for garbage seldom: many small objects, few cycles; looking often costs a tenth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


def new_execution_id() -> str:
    """A fresh id; ids sort by the time they were made."""
    return uuid_utils.uuid7().hex


@dataclass(slots=True)
class Plane:
    """Everything that admits, routes and owns executions, without a worker."""

    settings: Settings
    store: Store
    results: Results
    payloads: StoredPayloads
    catalog: Catalog
    engine: Engine
    keychain: Keychain
    front: LocalFront
    task_log: TaskLog

    async def resolve(self, execution_id: str, name: str, refused: str | None = None) -> Secret:
        """The secret a task names; another one than was refused, where there can be one."""
        program = self.engine.program_of(execution_id)
        if program is None:
            raise BackendError(f"execution {execution_id} is just being loaded", hint="ask again in a moment")
        return await self.keychain.material(program.playbook.keychain, name, refused)

    async def checked(self, start: Start, program: Program) -> Start:
        """The request, refused when a keychain entry cannot be had."""
        missing = await self.keychain.check(program.playbook.keychain)
        if missing and start.problem is None:
            message = "; ".join(error.message for error in missing.values())
            hints = dict.fromkeys(error.hint for error in missing.values() if error.hint)
            said: dict[str, Any] = {"hint": "; ".join(hints)} if hints else {}
            start.problem = problem("keychain", message, names=sorted(missing), **said)
        return start


def control_plane(
    settings: Settings,
    store: Store,
    results: Results,
    now: Callable[[], int] = now_ms,
    *,
    adopts: bool = False,
    trusted: bool = False,
    files: bool = False,
) -> Plane:
    """Put a control plane together; its workers are given to the engine afterwards.

    `trusted`: whoever wrote a playbook may have secrets fetched from wherever we can reach.
    `files`: the files of the project are playbooks too.
    """
    payloads = StoredPayloads(results)
    project = settings.project if files else None
    catalog = Catalog(store, kinds(settings), f"noetl {__version__}", project)
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    engine = Engine(store, results, payloads, catalog, owner, now)
    engine.lease_ms = int(settings.lease_s * 1000)
    engine.version, engine.trial = catalog.engine, trial
    allowed = _reach(settings, trusted=trusted or not settings.guarded)
    keychain = Keychain(
        store,
        lambda: Sealer(keys_of(settings.key, settings.home / "key")),
        environment,
        settings.project,
        connector=None if trusted else lambda: connector(allowed),
        closed=() if trusted else _closed(settings),
    )
    front = LocalFront(engine, catalog, payloads, keychain, new_execution_id, adopts=adopts)
    front.sending.sender_of = senders(front.notification_playbook, allowed)
    roots = settings.roots or (("/",) if trusted or not settings.guarded else (os.getcwd(),))
    front.watching.list_objects = object_listing(payloads, roots, allowed)
    front.sending.page_of = pages_at(settings.public_url)
    task_log = TaskLog(store, KeptLines(settings.task_log_bytes, settings.execution_log_bytes))
    plane = Plane(settings, store, results, payloads, catalog, engine, keychain, front, task_log)
    catalog.gate = plane.checked
    return plane


def _reach(settings: Settings, *, trusted: bool) -> Network:
    """The addresses that playbooks may reach beside public ones."""
    return Network((*OWN_MACHINE, *settings.allow_networks) if trusted else settings.allow_networks)


def _closed(settings: Settings) -> tuple[Path, ...]:
    """Where keys, tokens and addresses of noetl itself are: no file there is a secret of a playbook."""
    return settings.home, settings.project / ".noetl", settings.project / FILE_NAME, Path("/proc")


def with_own_steps(program: Program, order: WorkOrder) -> Program:
    """The program of an order, with the steps that its execution was given while it ran."""
    for fragment in order.fragments:
        program = extended(program, fragment["origin"], fragment["steps"])
    return program


def make_toolbox(
    settings: Settings, results: Results, secrets: Secrets, worker_id: str, *, trusted: bool = False
) -> Toolbox:
    """What the tasks of a worker may use; `trusted`: whoever wrote the playbook may do all that we may."""
    resources = Resources()
    work_dir = os.getcwd()
    path = {"PATH": environment("PATH") or os.defpath, MARK: mark()}
    resources.give(PYTHON_HOST, PythonHost(work_dir=work_dir, environment=path))
    resources.give(MAIL_SERVER, Smtp())
    return Toolbox(
        worker_id=worker_id,
        tool=get,
        payloads=lambda execution_id: StoredPayloads(results, execution_id),
        secrets=secrets,
        resources=resources,
        work_dir=work_dir,
        env=_own_environment(),
        roots=settings.roots or (("/",) if trusted else (work_dir,)),
        network=_reach(settings, trusted=trusted),
        trace=_traceparent if settings.otlp is not None else no_trace,
    )


def _traceparent(effect: RunTool, order: WorkOrder) -> str:
    return traceparent(order.execution_id, effect.key, effect.attempt)


def _own_environment() -> dict[str, str]:
    """What programs that tools start see of ours: where programs and the home are, language and time zone."""
    variables = {name: environment(name) for name in ("PATH", "HOME", "LANG", "TZ")}
    return {**{name: value for name, value in variables.items() if value}, MARK: mark()}
