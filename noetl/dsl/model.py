"""The frozen playbook: what every accepted spelling becomes. No behaviour beyond look-ups, nothing compiled.

Template-bearing fields hold the author's raw values (strings with `{{ }}`, maps and lists of them).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from noetl.dsl.yaml.tree import Map
from noetl.json_value import Json

Directive = Literal["continue", "skip", "retry", "jump", "break", "fail"]
JoinMode = Literal["sync", "each", "all", "first"]
LoopMode = Literal["sequential", "parallel"]
Placement = Literal["local", "distributed"]
FailureMode = Literal["fail_fast", "best_effort"]
Scope = Literal["ctx", "step", "iter"]

Spec = Mapping[str, Json]
CLAIM: Final = "claim"  # the label of the task that claims the items of a loop; what its templates read
CLAIM_FIELDS: Final = ("number", "batch", "key", "last")


@dataclass(frozen=True, slots=True, kw_only=True)
class Construct:
    """A construct of the language, built from a node of the canonical tree: that has its positions."""

    node: Map = field(default_factory=Map, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assign:
    """One entry of a `set`: scope, path inside it, and the value to render."""

    scope: Scope
    path: tuple[str, ...]
    value: Json

    @property
    def target(self) -> str:
        """The flat spelling, as in `ctx.page`."""
        return ".".join((self.scope, *self.path))


@dataclass(frozen=True, slots=True)
class Rule(Construct):
    """One policy rule: a guard (None is `else`) and the directive it chooses."""

    when: Json
    do: Directive
    set: tuple[Assign, ...] = ()
    to: str | None = None
    attempts: Json = 3
    backoff: Literal["none", "linear", "exponential"] = "none"
    delay: Json = 1.0
    max_delay: Json = 300
    jitter: bool = False
    message: Json = None


@dataclass(frozen=True, slots=True)
class Task(Construct):
    """One tool invocation of a pipeline. `spec` holds its own knobs without `policy`."""

    label: str
    kind: str
    input: Mapping[str, Json] = field(default_factory=dict)
    whole_input: str | None = None  # the one template that gives all of the input
    auth: Json = None
    call: Mapping[str, Json] = field(default_factory=dict)  # what stands beside `kind` for calls
    spec: Spec = field(default_factory=dict)
    before: tuple[Rule, ...] = ()
    rules: tuple[Rule, ...] | None = None  # None: no policy at all
    on_unmatched: Literal["continue", "by_status"] = "continue"
    output: Json = None
    has_output: bool = False
    set: tuple[Assign, ...] = ()
    desc: str | None = None

    @property
    def block(self) -> str | None:
        """The block that a task of kind `workbook` calls: the one it names, else the one named like it."""
        return str(self.call.get("block") or self.label) if self.kind == "workbook" else None


@dataclass(frozen=True, slots=True)
class Claim(Construct):
    """How a loop claims its items: the task that brings a batch of rows, and the bounds of the claims."""

    task: Task
    batch: Json = None
    prefetch: Json = None
    max_batches: Json = None


@dataclass(frozen=True, slots=True)
class Loop(Construct):
    """The iteration of a step or block; `inner` is a loop nested by `loop.loop`."""

    collection: Json
    iterator: str
    mode: LoopMode = "sequential"
    max_in_flight: Json = 10
    chunk: Json = None
    placement: Placement = "local"
    reduce: Mapping[str, str] = field(default_factory=dict)
    claim: Claim | None = None  # its items are claimed batch by batch, and the collection is empty
    inner: "Loop | None" = None
    spec: Spec = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AdmitRule(Construct):
    """One admission rule: a guard (None is `else`) and whether it allows."""

    when: Json
    allow: bool


@dataclass(frozen=True, slots=True)
class Synthesize:
    """A step that returns a workflow fragment: where it is in the output, and its bounds."""

    source: Json
    max_steps: int = 50
    kinds: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Continue:
    """A step at which an execution with a long log goes on as another: how long, and what that one gets."""

    after_events: int = 50_000
    input: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Arc(Construct):
    """One outgoing arc: target, guard (None is always), what it writes, and the v10 token payload."""

    step: str
    when: Json = None
    set: tuple[Assign, ...] = ()
    args: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Router(Construct):
    """The arcs of a step and how they are chosen."""

    mode: Literal["exclusive", "inclusive"] = "exclusive"
    arcs: tuple[Arc, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline(Construct):
    """Tasks in order, run once or once for each item of a loop, and what comes of them."""

    name: str
    input: Mapping[str, Json] = field(default_factory=dict)
    loop: Loop | None = None
    tasks: tuple[Task, ...] = ()
    output: Json = None
    has_output: bool = False
    set: tuple[Assign, ...] = ()

    @property
    def all_tasks(self) -> tuple[Task, ...]:
        """The tasks, and the one that claims the items of the loop."""
        claim = None if self.loop is None else self.loop.claim
        return self.tasks if claim is None else (*self.tasks, claim.task)


@dataclass(frozen=True, slots=True)
class Emit:
    """Which ends of a step are told, and to which notifications."""

    events: tuple[str, ...]
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step(Pipeline):
    """One transition: gate, pipeline, router. `spec` holds its knobs without `policy`."""

    desc: str | None = None
    whole_input: str | None = None  # the one template that gives all of the input
    next: Router = field(default_factory=Router)
    join: JoinMode = "sync"
    pool: str | None = None
    admit: tuple[AdmitRule, ...] = ()
    timeout_s: Json = None
    deadline_s: Json = None
    failure_mode: FailureMode = "fail_fast"
    synthesize: Synthesize | None = None
    continues: Continue | None = None
    emit: Emit | None = None
    validate: Mapping[str, Json] = field(default_factory=dict)
    spec: Spec = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block(Pipeline):
    """A workbook block: a pipeline behind a call boundary."""


@dataclass(frozen=True, slots=True)
class Secret(Construct):
    """One keychain entry: its name, its kind and where the value comes from."""

    name: str
    kind: str
    source: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Executor(Construct):
    """How the execution runs: profile, requirements, and the outermost layer of every spec."""

    profile: Literal["auto", "local", "distributed"] = "auto"
    version: str | None = None
    requires_tools: tuple[str, ...] = ()
    entry_step: str | None = None
    final_step: str | None = None
    on_failure: Literal["stop", "drain"] = "stop"
    pool: str | None = None
    trace: Literal["full", "steps", "errors"] = "full"
    timeout: Json = None
    expected_s: float | None = None  # longer is late
    spec: Spec = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Playbook(Construct):
    """A whole playbook, normalised and expanded."""

    name: str
    path: str
    steps: tuple[Step, ...]
    workload: Mapping[str, Json] = field(default_factory=dict)
    keychain: tuple[Secret, ...] = ()
    executor: Executor = field(default_factory=Executor)
    workbook: Mapping[str, Block] = field(default_factory=dict)
    metadata: Mapping[str, Json] = field(default_factory=dict)

    @property
    def entry(self) -> str:
        """The entry step: the one named by the executor, else `start`, else the first."""
        if self.executor.entry_step is not None:
            return self.executor.entry_step
        names = [step.name for step in self.steps]
        return "start" if "start" in names else names[0]
