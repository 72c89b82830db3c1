"""One pipeline in progress: where it is, what it has seen and written. It can be put down and taken up.

A frame at a task boundary is a checkpoint; the checkpoint is plain JSON. Driving it is pipeline.py's.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from noetl.core.event import Event
from noetl.core.message import Payload
from noetl.core.program.program import Limits, Pipeline, Program
from noetl.core.shapes import Checkpoint, Output, Patch, ScopeValues
from noetl.core.values.event_size import MARKER_BYTES
from noetl.core.values.loop_merge import compact
from noetl.core.values.output import encoded, externalise, size_of
from noetl.core.values.patch import OPERANDS, assign, holds_mark, marker
from noetl.core.values.payload_demand import UnreadablePayload
from noetl.core.values.redact import Redactor
from noetl.core.values.scope import Scope
from noetl.dsl.sugar.labels import entered, name_of
from noetl.dsl.templates.values import Envelope
from noetl.json_value import Json, JsonObject

V = TypeVar("V")
_NO_STEPS: Mapping[str, Output] = {}


class PipelineContext(msgspec.Struct):
    """What all pipelines of one order share."""

    execution_id: str
    run: str
    step: str
    program: Program
    workload: JsonObject
    args: JsonObject
    steps: Mapping[str, Output]
    limits: Limits
    now: Callable[[], int]
    spread: Callable[[], float]  # a number in [0, 1) for jitter
    events: list[Event] = []
    payloads: list[Payload] = []
    redactor: Redactor = msgspec.field(default_factory=Redactor)
    aside: bool = False  # results of some of `steps` rest in the result store
    loaded: dict[str, Json | UnreadablePayload] = {}  # payloads of those that were read here, by key
    jumped: bool = False  # a pipeline jumped since the last report
    repeated: bool = False  # the work was handed out before: any call may have been made already
    stopping: bool = False  # pipelines stop at their next task boundary
    stores_call_input: bool = False  # the server takes the input of a child from the result store
    last: ScopeValues = {}  # names that whatever else has the same name hides

    def record(self, event: Event) -> None:
        """Note something that happened; it is reported with the next batch."""
        self.events.append(event)


class Frame(msgspec.Struct):
    """The state of one pipeline."""

    at: str
    pipeline: Pipeline
    around: PipelineContext
    input: JsonObject
    ctx: JsonObject
    step: JsonObject
    iter: JsonObject
    iterators: JsonObject = {}
    prefix: str = ""  # `<task>/` inside a workbook block
    buffered: bool = False  # in a parallel loop: ctx writes wait for the iteration's end
    reduced: Mapping[tuple[str, ...], str] = {}  # paths whose writes are operands
    args: JsonObject = {}
    pc: int = 0
    visits: dict[str, int] = {}
    passed: dict[str, int] = {}
    runs: int = 0
    attempt: int = 0  # 0: a new visit begins
    answered: int = 0  # answered errors in this visit: each makes a new idempotency key
    unsure: bool = False  # a call under the present key may have been carried out unseen
    settled: bool = False  # the last attempt was answered
    waiting: str | None = None  # parked for: retry, wait, child
    keyed: str | None = None  # its address as idempotency keys have it: the same for an unanswered repeat
    within: int | None = None  # when the timeouts of the calls that it is inside of end it
    call_ends: int | None = None  # when the timeout of the call that it makes does
    inside: str | None = None  # the address of the block that is being called
    prev: Json = None
    output: Output | None = None
    results: dict[str, Output] = {}
    writes: Patch = []  # not yet sent
    moved: bool = False  # went on since the last checkpoint
    aside: dict[int, tuple[object, JsonObject]] = {}  # values put aside, by identity
    aside_before: dict[int, tuple[object, JsonObject]] = {}  # by the checkpoint before

    def write(self, pairs: Patch) -> None:
        """Apply the pairs of one `set`."""
        for path, value in pairs:
            scope, rest = path[0], path[1:]
            if scope == "iter":
                self.iter = assign(self.iter, rest, value)
                continue
            self.writes.append([path, value])
            if self.reduced and tuple(path) in self.reduced:
                continue  # read inside the loop, a reduced key has its value at loop start
            if scope == "step":
                self.step = assign(self.step, rest, value)
            else:
                self.ctx = assign(self.ctx, rest, value)

    def go(self, target: int) -> None:
        """Go on at a task. Passes are counted anew in the sugar items that are entered."""
        tasks = self.pipeline.tasks
        if self.passed and target < len(tasks):
            for scope in entered(tasks[self.pc].label, tasks[target].label):
                inside = f"{scope}."
                self.passed = {label: n for label, n in self.passed.items() if not label.startswith(inside)}
        self.pc = target

    def scope(self, task: str, own_input: JsonObject | None = None) -> Scope:
        """What templates of a task see; with the task's own input over the step's when it is rendered.

        Without a task: what is rendered around the pipeline. A block sees no finished steps: it is called.
        """
        task_input = self.input if own_input is None else {**self.input, **own_input}
        around = self.around
        fixed = {
            "workload": around.workload,
            "ctx": self.ctx,
            "step": self.step,
            "iter": self.iter,
            "input": task_input,
            "args": self.args,
            "execution_id": around.execution_id,
            "_prev": self.prev,
            "_task": task,
            "_attempt": max(self.attempt, 1),
        }
        if not task:
            del fixed["_prev"], fixed["_task"], fixed["_attempt"]
        if self.output is not None:
            fixed["output"] = Envelope(self.output)
        chain = (self.iterators, task_input, self.args, self.ctx, self.step, self.iter, around.workload)
        most = around.limits["max_hydrate_bytes"]
        steps = around.steps if not self.prefix else _NO_STEPS
        return Scope(
            fixed, chain, self.results, steps, task, payloads=around.loaded, most=most, last=around.last
        )

    def checkpoint(self) -> Checkpoint:
        """The frame as plain JSON. Outside parallel loops the pending ctx writes are sent with it."""
        named = self.pipeline.named
        self.aside, self.aside_before = {}, self.aside  # what neither names any more is let go
        fields: dict[str, Any] = {
            "pc": self.pipeline.tasks[self.pc].label if self.pc < len(self.pipeline.tasks) else None,
            "visits": dict(self.visits),
            "passed": dict(self.passed),
            "runs": self.runs,
            "attempt": self.attempt,
            "answered": self.answered,
            "unsure": self.unsure,
            "waiting": self.waiting,
            "inside": self.inside,
            "call_ends": self.call_ends,
            "prev": self.stored(self.prev),
            "output": self.stored(self.output),
            "iter": {key: self.stored(value) for key, value in self.iter.items() if key != "parent"},
            "step": self.fit_step(),
            "results": {
                label: self.stored(output)
                for label, output in self.results.items()
                if name_of(label) in named
            },
        }
        self.writes = compact(self.writes, self.reduced)
        if self.buffered:
            fields["writes"] = self.fit(self.writes)
        else:
            fields["sent"] = self.fit([pair for pair in self.writes if pair[0][0] == "ctx"])
            self.writes = [pair for pair in self.writes if pair[0][0] != "ctx"]
            fields["writes"] = self.fit(self.writes)
        if size_of(fields) > self.around.limits["max_payload_bytes"]:
            fields |= self._smallest()
        self.moved = False
        left = {
            key: value
            for key, value in fields.items()
            if value is not None and (key == "prev" or value not in ({}, [], 0))
        }
        return cast("Checkpoint", left)

    def _smallest(self) -> dict[str, object]:
        """What of a checkpoint can be put aside, put aside."""
        named = self.pipeline.mentions.bare()
        wanted = {label: output for label, output in self.results.items() if name_of(label) in named}
        own = {key: value for key, value in self.iter.items() if key != "parent"}
        scopes: dict[str, ScopeValues] = {"iter": own, "step": self.step, "results": wanted}
        return {
            "prev": self.stored(self.prev, MARKER_BYTES),
            "output": self.stored(self.output, MARKER_BYTES),
            "writes": self._gathered(compact(self.writes, self.reduced)),
            **{
                name: {key: self.stored(value, MARKER_BYTES) for key, value in scope.items()}
                for name, scope in scopes.items()
            },
        }

    def fit(self, pairs: Patch) -> Patch:
        """Patch fit for an event, however many and large they are."""
        limit = self.around.limits["max_payload_bytes"]
        pairs = compact(pairs, self.reduced)
        fitting = [[path, self.stored(value)] for path, value in pairs]
        return fitting if size_of(fitting) <= limit else self._gathered(pairs)

    def _gathered(self, pairs: Patch) -> Patch:
        """Patch of which the operands of one path rest together."""
        operands: dict[tuple[str, ...], list[Json]] = {}
        gathered: Patch = []
        for path, value in pairs:
            if tuple(path) in self.reduced:
                operands.setdefault(tuple(path), []).append(value)
            else:
                gathered.append([path, self.stored(value, MARKER_BYTES)])
        return gathered + [
            [list(path), {OPERANDS: self.stored(values, MARKER_BYTES)}] for path, values in operands.items()
        ]

    def fit_step(self) -> JsonObject:
        """The step scope fit for an event."""
        fitting = {key: self.stored(value) for key, value in self.step.items()}
        if size_of(fitting) <= self.around.limits["max_payload_bytes"]:
            return fitting
        return {key: self.stored(value, MARKER_BYTES) for key, value in self.step.items()}

    def stored(self, value: V, most: int | None = None) -> V | JsonObject:
        """A live value fit for an event: itself, or a marker when it is large or holds a key like ours."""
        if value is None or isinstance(value, bool | int | float):
            return value
        around = self.around
        entry = self.aside.get(id(value)) or self.aside_before.get(id(value))
        if entry is None:
            body = encoded(value)
            fits = len(body) <= (around.limits["max_payload_bytes"] // 4 if most is None else most)
            if fits and not holds_mark(body):
                return value
            ref, payload = externalise(around.execution_id, value)
            around.payloads.append(payload)
            entry = (value, marker(ref))  # the value is held, so that nothing else gets its identity
        self.aside[id(value)] = entry
        return entry[1]

    def resume(self, checkpoint: Checkpoint) -> None:
        """Take up where a checkpoint was made."""
        label = checkpoint.get("pc")
        self.pc = self.pipeline.labels[label] if label is not None else len(self.pipeline.tasks)
        self.visits, self.passed = dict(checkpoint.get("visits", {})), dict(checkpoint.get("passed", {}))
        self.runs, self.attempt = checkpoint.get("runs", 0), checkpoint.get("attempt", 0)
        self.answered, self.waiting = checkpoint.get("answered", 0), checkpoint.get("waiting")
        self.unsure = self.around.repeated or checkpoint.get("unsure", False)
        self.call_ends = checkpoint.get("call_ends")
        self.prev, self.output = checkpoint.get("prev"), checkpoint.get("output")
        self.step = checkpoint.get("step", self.step)
        self.results = dict(checkpoint.get("results", {}))
        self.iter = {**self.iter, **checkpoint.get("iter", {})}
        self.writes = [list(pair) for pair in checkpoint.get("writes", [])]
        for path, value in self.writes:
            if path[0] == "ctx" and tuple(path) not in self.reduced:
                self.ctx = assign(self.ctx, path[1:], value)
