"""Worlds for tests of the core: a playbook's program, an execution driven by hand, a pipeline driven by hand.

Nothing here waits or calls anything. What a worker would send is written down by the test.
"""

import textwrap
from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec

from noetl.core.decide import decide
from noetl.core.deciding.synthesize import with_fragments
from noetl.core.deciding.work_order import build_order, put_in_place
from noetl.core.event import Event
from noetl.core.invariants import check_log
from noetl.core.message import (
    Command,
    Control,
    Decision,
    Dispatch,
    Message,
    Payload,
    Report,
    Start,
    WorkOrder,
)
from noetl.core.pipeline.effects import Effect, Ended, RunTool
from noetl.core.pipeline.frame import Frame, PipelineContext
from noetl.core.pipeline.pipeline import drive
from noetl.core.program.program import Program, compile_program
from noetl.core.replay import RecordedRow, replay
from noetl.core.shapes import Output
from noetl.core.state import State
from noetl.dsl.load import load
from noetl.dsl.yaml.tree import plain
from noetl.tools import kinds

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: case, path: tests/case}\n"
ENGINE = "test engine"
T0 = 1_700_000_000_000
ID = "e1"


def text(workflow: str, **root: str) -> str:
    """A whole playbook around a workflow; other root sections by keyword."""
    extra = "".join(textwrap.dedent(section).strip("\n") + "\n" for section in root.values())
    return f"{HEAD}{extra}workflow:\n{textwrap.indent(textwrap.dedent(workflow).strip(chr(10)), '  ')}\n"


class EveryLabel(dict[str, int]):
    """The labels of a pipeline that has whatever task a test writes down."""

    def __contains__(self, label: object) -> bool:
        return True


def compiled(workflow: str, **root: str) -> Program:
    """The program of a workflow that has no errors; reports may name any task of it."""
    program = exactly(workflow, **root)
    steps = {
        name: replace(step, pipeline=replace(step.pipeline, labels=EveryLabel(step.pipeline.labels)))
        for name, step in program.steps.items()
    }
    return replace(program, steps=steps)


def exactly(workflow: str, **root: str) -> Program:
    """The program of a workflow that has no errors, as it is."""
    loaded = load(text(workflow, **root), kinds=kinds())
    assert loaded.ok, [f"{found.code}: {found.message}" for found in loaded.diagnostics]
    assert loaded.playbook is not None
    return compile_program(loaded.playbook, kinds(), "hash")


@dataclass
class World:
    """One execution and everything that was decided about it."""

    program: Program
    state: State = field(default_factory=lambda: State(ID))
    now: int = T0
    rows: list[RecordedRow] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    payloads: dict[str, bytes] = field(default_factory=dict)
    hydrated: dict[str, Any] = field(default_factory=dict)
    batch: int = 0
    compiled: Program = field(init=False)

    def __post_init__(self) -> None:
        self.compiled = self.program

    def send(self, message: Message) -> Decision:
        """Decide on a message and keep its row as the log would."""
        first = self.state.seq + 1
        program = self.program
        refused = isinstance(message, Start) and message.problem is not None
        decision = decide(self.state, message, self.now, None if refused else program, hydrated=self.hydrated)
        self._keep(decision.payloads)
        self.commands = decision.commands
        if decision.events:
            events = msgspec.json.decode(msgspec.json.encode(decision.events), type=list[Event])
            self.rows.append(RecordedRow(first, self.now, _cause(message), events))
        if self.state.fragments:
            self.program = with_fragments(self.compiled, self.state.fragments)
        return decision

    def _keep(self, payloads: list[Payload]) -> None:
        self.payloads |= {payload.key: payload.body for payload in payloads}

    def start(self, **parts: Any) -> Decision:
        """Start the execution with the playbook's own workload."""
        parts.setdefault("workload", plain(self.program.playbook.workload))
        return self.send(Start("tests/case", "hash", ENGINE, **parts))

    def control(self, what: Any, **parts: Any) -> Decision:
        """Carry out an operator's wish."""
        return self.send(Control(what, **parts))

    def report(
        self, lease: str, *events: Event, frames: dict[str, Any] | None = None, **parts: Any
    ) -> Decision:
        """What a worker reports under a lease, at the lease's current epoch unless told otherwise."""
        self.batch += 1
        known = self.state.leases.get(lease)
        parts.setdefault("epoch", known.epoch if known else 1)
        return self.send(
            Report(
                lease,
                worker="w1",
                batch_id=str(self.batch),
                events=list(events),
                frames=frames or {},
                **parts,
            )
        )

    def begun(self, run: str, lease: str | None = None) -> Decision:
        """A worker says that it has begun a run."""
        return self.report(lease or run, self.event("step.started", run, worker="w1", epoch=1))

    def done(self, run: str, data: Any = None, **parts: Any) -> Decision:
        """A worker reports that a plain run went well."""
        event = self.event("step.done", run, output={"status": "ok", "data": data}, **parts)
        return self.report(run, event, final=True)

    def failed(self, run: str, kind: str = "boom", **parts: Any) -> Decision:
        """A worker reports that a plain run failed."""
        error = {"kind": kind, "message": f"{kind}!"}
        output = {"status": "error", "data": None, "error": error}
        return self.report(
            run, self.event("step.failed", run, error=error, output=output, **parts), final=True
        )

    def event(
        self, name: str, run: str, at: str | None = None, label: str | None = None, **data: Any
    ) -> Event:
        """An event as a worker reports it."""
        visit = 1 if label else None
        return Event(name, self.now, "w", run, at, label, visit, visit, data or None)

    def item(self, run: str, index: int, data: Any = None, **parts: Any) -> Event:
        """The end of an outer iteration that went well."""
        return self.event(
            "loop.iteration.done", run, f"[{index}]", output={"status": "ok", "data": data}, **parts
        )

    def item_failed(self, run: str, index: int, kind: str = "boom", **parts: Any) -> Event:
        """The end of an outer iteration that failed."""
        error = {"kind": kind, "message": f"{kind}!"}
        return self.event("loop.iteration.failed", run, f"[{index}]", error=error, **parts)

    def order(self, lease: str) -> WorkOrder:
        """The work order of a lease as it would go out now, with its large values as its worker loads them."""
        order = build_order(self.state, self.program, self.state.leases[lease], self.hydrated)
        if order.aside:
            put_in_place(order, self.hydrated)
        return order

    @property
    def events(self) -> list[Event]:
        """The whole log."""
        return [event for row in self.rows for event in row.events]

    def named(self, name: str, run: str | None = None) -> list[Event]:
        """Events of a name, of one run when told."""
        return [event for event in self.events if event.name == name and run in (None, event.run)]

    def data(self, name: str, run: str | None = None) -> dict[str, Any]:
        """What the latest event of a name says."""
        return self.named(name, run)[-1].data or {}

    @property
    def dispatched(self) -> list[str]:
        """The leases that the last decision sent out."""
        return [command.lease for command in self.commands if isinstance(command, Dispatch)]

    @property
    def live(self) -> list[str]:
        """The runs that are under way."""
        return list(self.state.runs)

    def audit(self) -> None:
        """Every invariant holds, and every decision is made again as it was, without a template."""
        assert check_log(ID, self.events) == []
        state, differences = replay(ID, self.rows, lambda digest: self.compiled if digest else None)
        assert [f"{one.seq}: {one.recorded} / {one.decided}" for one in differences] == []
        assert state == self.state


def _cause(message: Message) -> Message:
    """The message as its row keeps it: without what the events say."""
    if isinstance(message, Report):
        message = msgspec.structs.replace(message, events=[], frames={})
    elif isinstance(message, Start):
        message = msgspec.structs.replace(message, payload=None, workload=None, kept=None)
    cause: Message = msgspec.json.decode(msgspec.json.encode(message), type=Message)
    return cause


class Pipe:
    """One pipeline, driven by hand: the answers to its effects are given in order."""

    def __init__(self, program: Program, step: str = "start", **parts: Any) -> None:
        self.clock = T0
        self.around = PipelineContext(
            execution_id=ID,
            run=f"{step}.1",
            step=step,
            program=program,
            workload=parts.pop("workload", plain(program.playbook.workload)),
            args={},
            steps=parts.pop("steps", {}),
            limits={**program.steps[step].limits, **parts.pop("limits", {})},
            now=lambda: self.clock,
            spread=lambda: 0.5,
        )
        given: dict[str, Any] = {"input": {}, "ctx": {}, "step": {}, "iter": {}, "at": ""}
        self.frame = Frame(
            pipeline=parts.pop("pipeline", program.steps[step].pipeline),
            around=self.around,
            **(given | parts),
        )
        self.effects: list[Effect] = []

    def run(self, *answers: Any, answer: Output | None = None) -> Any:
        """Drive to the end; a missing answer is an ok of null."""
        waiting = list(answers)
        machine = drive(self.frame, answer)
        reply: Any = None
        while True:
            try:
                effect = machine.send(reply)
            except StopIteration as stop:
                return _ended(stop.value, waiting)
            self.effects.append(effect)
            reply = waiting.pop(0) if waiting else ok_of(None)

    def until(self, *answers: Any) -> Any:
        """Drive to the effect behind these answers and leave the pipeline there."""
        machine = drive(self.frame)
        effect = next(machine)
        for reply in answers:
            self.effects.append(effect)
            effect = machine.send(reply)
        self.effects.append(effect)
        return effect

    @property
    def calls(self) -> list[RunTool]:
        """The tool calls so far."""
        return [effect for effect in self.effects if isinstance(effect, RunTool)]

    @property
    def told(self) -> list[tuple[str, Any]]:
        """Label and directive of every task that is over."""
        return [(event.label or "", (event.data or {})["do"]) for event in self.named("task.done")]

    def named(self, name: str) -> list[Event]:
        """What was recorded under a name."""
        return [event for event in self.around.events if event.name == name]


def _ended(value: Ended, waiting: list[Any]) -> Ended:
    assert not waiting, f"not asked for: {waiting}"
    return value


def marker_of(key: str) -> dict[str, Any]:
    """The marker of a JSON payload."""
    locator = {"store": "results", "key": key}
    meta = {"content_type": "application/json", "bytes": 1}
    return {"$stored": {"type": "blob", "locator": locator, "auth_reference": None, "meta": meta}}


def ok_of(data: Any, **parts: Any) -> Output:
    """An envelope that went well, as a tool gives it."""
    return cast(Output, {"status": "ok", "data": data, **parts})


def error_of(kind: str = "boom", data: Any = None, **parts: Any) -> Output:
    """An envelope that failed, as a tool gives it."""
    error: dict[str, Any] = {
        "kind": kind,
        "code": None,
        "message": f"{kind}!",
        "retryable": False,
        "details": {},
    }
    return cast(Output, {"status": "error", "data": data, "error": error, **parts})
