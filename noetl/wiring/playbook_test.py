"""One test of a playbook: the engine and a worker in memory, on a clock that skips waits, tools answered.

And the recording of one: the same with real tools and real time.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import msgspec

from noetl.adapters.clock.skipping import SkippingLoop
from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.control.log_audit import audit
from noetl.control.log_rows import outcome_of
from noetl.core.event import Event, step_of
from noetl.core.message import Control, Start, WorkOrder
from noetl.core.program.program import Program
from noetl.core.state import State
from noetl.core.testing.expectations import Facts, arc_name
from noetl.core.values.output import is_reference
from noetl.dsl.model import Playbook
from noetl.dsl.testing.script import Script
from noetl.dsl.testing.suite import Case
from noetl.dsl.yaml.tree import plain
from noetl.errors import InvariantViolation
from noetl.json_value import Json
from noetl.ports.call import Secret
from noetl.ports.store import PlaybookText
from noetl.settings import Settings
from noetl.wiring.embedded import Embedded
from noetl.wiring.plane import Plane, control_plane, make_toolbox, with_own_steps
from noetl.worker.pool import Pool
from noetl.worker.scripted_toolbox import Called, RecordingToolbox, RehearsedToolbox
from noetl.worker.toolbox import Toolbox

BEGAN_MS = 1_767_225_600_000  # every test begins with the year 2026
PATIENCE_S = 60.0  # of real time
LEASE_MS = 100 * 365 * 86_400_000  # nobody else is there to take over
SLOTS = 1000
Box = TypeVar("Box", bound=Toolbox)
FIELDS = ("value", "token", "username", "password", "key", "secret")


@dataclass(frozen=True, slots=True)
class Seen:
    """An execution of a rehearsal: its playbook and its events."""

    entry: PlaybookText
    playbook: Playbook
    events: list[Event]


@dataclass(slots=True)
class Rehearsal:
    """How a test went: what was seen, what was called, and why it did not come to its end."""

    facts: Facts
    seen: list[Seen] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    main: str = ""
    script: Script = field(default_factory=Script)
    stuck: str | None = None
    skipped_ms: int = 0  # of waiting that nobody waited for


@dataclass(frozen=True, slots=True)
class GivenSecrets:
    """The keychain of a test: what it gives, else something that stands for it."""

    keychain: Mapping[str, Json]

    async def resolve(self, execution_id: str, name: str, refused: str | None = None) -> Secret:
        """The fields of an entry."""
        entry = self.keychain.get(name)
        if isinstance(entry, Mapping):
            return dict(plain(entry))
        text = f"test-{name}" if entry is None else str(entry)
        return dict.fromkeys(FIELDS, text)


def rehearse(settings: Settings, case: Case, text: str, file: str | None) -> Rehearsal:
    """Run one test of a playbook, with waits skipped; raises PlaybookError."""
    loop = SkippingLoop(BEGAN_MS, PATIENCE_S)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(_rehearse(settings, case, text, file, loop))


async def _rehearse(
    settings: Settings, case: Case, text: str, file: str | None, loop: SkippingLoop
) -> Rehearsal:
    stopped: asyncio.Future[bool] = loop.create_future()

    def stop(late: bool) -> None:
        if not stopped.done():
            stopped.set_result(late)

    loop.when_stuck = stop
    secrets = GivenSecrets(case.keychain)
    script = Script(case.given, case.children)

    def toolbox(plane: Plane) -> RehearsedToolbox:
        own = _parts(make_toolbox(settings, plane.results, secrets, "test", trusted=True))
        return RehearsedToolbox(
            **own, script=script, main=_id(file, case.name), run=frozenset(case.run), outside=loop.outside
        )

    embedded, box = _assembled(settings, loop.now_ms, toolbox)
    embedded.catalog.gate = _unguarded
    try:
        rehearsal = await _run(embedded, box.main, text, file, case, stopped)
    finally:
        with loop.outside():
            await embedded.close()
    rehearsal.calls, rehearsal.script = box.calls, script
    rehearsal.skipped_ms = round(loop.skipped_s * 1000)
    rehearsal.facts.calls = [
        (called.place.name, called.input) for called in box.calls if called.execution_id == box.main
    ]
    return rehearsal


async def record(settings: Settings, case: Case, text: str, file: str | None) -> Rehearsal:
    """Run a playbook for real and keep what its tools answered; raises PlaybookError."""

    def toolbox(plane: Plane) -> RecordingToolbox:
        return RecordingToolbox(**_parts(make_toolbox(settings, plane.results, plane, "test", trusted=True)))

    embedded, box = _assembled(settings, now_ms, toolbox)
    try:
        rehearsal = await _run(embedded, _id(file, case.name), text, file, case, None)
    finally:
        await embedded.close()
    rehearsal.calls = box.calls
    return rehearsal


def _parts(toolbox: Toolbox) -> dict[str, Any]:
    return {
        field_of.name: getattr(toolbox, field_of.name)
        for field_of in fields(Toolbox)
        if not field_of.name.startswith("_")
    }


def _assembled(
    settings: Settings, now: Callable[[], int], toolbox: Callable[[Plane], Box]
) -> tuple[Embedded, Box]:
    """An engine and a worker in memory."""
    results = MemoryResults(now)
    plane = control_plane(settings, MemoryStore(now), results, now, trusted=True, files=True)
    plane.engine.lease_ms = LEASE_MS
    box = toolbox(plane)

    def program_of(order: WorkOrder) -> Program:
        return with_own_steps(plane.catalog.compiled(order.program), order)

    pool = Pool(box, plane.engine, results, program_of, SLOTS, now=now, spread=lambda: 0.0)
    plane.engine.workers = pool
    return Embedded(**{name: getattr(plane, name) for name in Plane.__slots__}, pool=pool), box


async def _unguarded(start: Start, program: Program) -> Start:
    """The keychain of a test is the test's."""
    return start


def _id(file: str | None, name: str) -> str:
    """The same test is the same execution, whenever it is run."""
    return hashlib.sha256(f"{file}\0{name}".encode()).hexdigest()[:32]


async def _run(
    embedded: Embedded,
    execution_id: str,
    text: str,
    file: str | None,
    case: Case,
    stopped: "asyncio.Future[bool] | None",
) -> Rehearsal:
    """From the request to the end, or to where it cannot go on; every log is audited."""
    logs: dict[str, list[Event]] = {}
    embedded.engine.listeners.append(
        lambda execution, _, events: logs.setdefault(execution, []).extend(events)
    )
    entry, program = await embedded.catalog.register(text, file)
    start = await embedded.catalog.request(entry, program, plain(case.workload), by="test")
    start = await embedded.catalog.gate(start, program)
    await embedded.engine.start(execution_id, start)
    for signal in case.signals:
        wish = Control("signal", name=signal["name"], payload=plain(signal.get("payload")))
        await embedded.engine.send(execution_id, wish)
    stuck = await _ended(embedded, execution_id, stopped)
    state = embedded.engine.live_state(execution_id)
    facts = await _facts(embedded, execution_id, state, logs.get(execution_id, []))
    facts.workload = start.workload or {}
    views = [] if stuck else [await _seen(embedded, execution, events) for execution, events in logs.items()]
    if embedded.trouble is not None:
        raise embedded.trouble
    return Rehearsal(facts, views, main=execution_id, stuck=stuck)


async def _ended(embedded: Embedded, execution_id: str, stopped: "asyncio.Future[bool] | None") -> str | None:
    """Wait until it is over; else why it never will be."""
    task = asyncio.ensure_future(_over(embedded, execution_id))
    awaited: list[asyncio.Future[Any]] = [task] if stopped is None else [task, stopped]
    await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
        return None
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if stopped is not None and stopped.result():
        return f"it did not come to an end within {PATIENCE_S:g} s"
    return _waits(embedded.engine.live_state(execution_id))


async def _over(embedded: Embedded, execution_id: str) -> None:
    """An execution is over and so is what it started; or it rests."""
    state = await embedded.engine.until_quiet(execution_id)
    if state is None or state.ended:
        await embedded.engine.until_idle()


def _waits(state: State | None) -> str:
    """What an execution that cannot go on is waiting for."""
    runs = state.runs.values() if state is not None else ()
    for run in runs:
        for parked in run.parked.values():
            if parked.output is None and (parked.signal or parked.approval):
                return f"{step_of(run.id)}.{parked.label} waits for the signal '{parked.signal}'"
    return "it waits for something that never comes"


async def _facts(embedded: Embedded, execution_id: str, state: State | None, events: list[Event]) -> Facts:
    if state is not None and not state.ended:
        result = outcome_of(state)
    else:
        result = msgspec.json.decode((await embedded.store.summary(execution_id)).result or b"{}")
    output = result["output"]
    arcs = [
        arc_name(step_of(event.run or ""), step)
        for event in events
        if event.name == "next.evaluated"
        for step in (event.data or {})["taken"]
    ]
    return Facts(
        status=result["status"],
        output=await embedded.payloads.get(output) if is_reference(output) else output,
        error=result["error"],
        failures=[*result["failures"]],
        failed_iterations=result["counts"]["failed_iterations"],
        ctx=result["ctx"],
        steps=[(event.data or {})["step"] for event in events if event.name == "step.scheduled"],
        arcs=Counter(arcs),
    )


async def _seen(embedded: Embedded, execution_id: str, events: list[Event]) -> Seen:
    summary = await embedded.store.summary(execution_id)
    program = await embedded.catalog.program(summary.hash) if summary.hash else None
    audited = await audit(embedded.store, execution_id, program, embedded.catalog.engine)
    if audited.problems:
        message = f"the log of a test breaks its own rules: {audited.problems[0]}"
        raise InvariantViolation(message, hint="this is a bug in noetl; please report the test")
    if program is None:
        return Seen(PlaybookText(summary.path, 0, "", ""), Playbook("", summary.path, ()), events)
    return Seen(await embedded.catalog.entry(summary.hash), program.playbook, events)
