"""The state of one execution: the fold of its log, and nothing that cannot be written down as JSON.

Only the shapes and their look-ups live here; fold.py is the only place that changes them.
"""

from typing import Literal, get_args

import msgspec

from noetl.core import shapes
from noetl.json_value import Json, JsonObject

Status = Literal[
    "pending", "running", "waiting", "paused", "completed", "failed", "cancelled", "stuck"
]  # as readers see it; what waits is `running` in the state, see waiting_status.py
STATUSES: tuple[str, ...] = get_args(Status)
ENDED: frozenset[str] = frozenset({"completed", "failed", "cancelled"})

PENDING, RUNNING, DONE, FAILED = b"prdf"


class Token(msgspec.Struct, omit_defaults=True):
    """A routing envelope on its way to a step. Live until a run consumes it or it is refused or discarded."""

    id: str
    step: str
    source: str | None = None  # the step it came from; None for the entry token
    run: str | None = None  # the run it came from
    event: shapes.ArcEvent = {}
    args: JsonObject = {}
    held: bool = False
    barred: list[str] = []  # joins of mode `first` that refuse it
    fragment: str | None = None  # the run whose synthesised fragment it moves in


class Lease(msgspec.Struct, omit_defaults=True):
    """Work handed to a worker: a whole run, iterations lo..hi-1 of a distributed loop, or one claim of it."""

    id: str
    run: str
    epoch: int = 1
    worker: str | None = None
    lo: int | None = None
    hi: int | None = None
    claim: int | None = None  # the number of the batch that it is to claim
    share: int = 1
    out: bool = True  # a worker has it, or it is on its way to one
    takeovers: int = 0
    progressed: bool = False
    since: int = 0  # when it was granted
    given: list[str] = []  # answers it went out with, see `Run.answers_left`

    def has(self, index: int) -> bool:
        """Whether an iteration is one of its own."""
        return self.claim is None and (self.hi is None or (self.lo or 0) <= index < self.hi)

    @property
    def fruitless(self) -> int:
        """How often it was taken over without accepted progress since."""
        return 0 if self.progressed else self.takeovers


class Parked(msgspec.Struct, omit_defaults=True):
    """A pipeline that waits without a slot: for a time, a signal, an approval or a child execution."""

    label: str
    visit: int = 1
    attempt: int = 1
    until: int | None = None
    signal: str | None = None
    approval: str | None = None  # the text that a person reads
    child: str | None = None
    call: shapes.ChildCall | None = None  # the child's path, version and input, and whether it is waited for
    key: str | None = None  # what the child is known by to those who call it again
    expires: int | None = None  # when the task's own timeout ends the waiting
    within: int | None = None  # when the timeout of a call that it is inside of does
    output: shapes.Output | None = None  # the answer, once it is there
    child_waits: bool = False  # the child said that it waits itself
    child_seq: int = 0  # how far the child was when it said so

    def awaits(self, signal: str) -> bool:
        """Whether a signal of this name is the answer; an approval is known by its text as well."""
        return signal in {self.signal, self.approval} - {None}


class ClaimedBatch(msgspec.Struct, omit_defaults=True):
    """The rows of one claim, kept until every iteration over them has ended."""

    lo: int  # the index of its first row
    count: int
    left: int  # rows whose iterations have not ended
    rows: Json = None  # or a marker, where they rest


class Claims(msgspec.Struct, omit_defaults=True):
    """Where a loop stands that claims its items batch by batch."""

    batch: int  # rows that one claim asks for
    prefetch: int  # the next claim is made when fewer iterations than this are left
    most: int | None = None  # batches
    number: int = 0  # of the last claim that was answered
    batches: int = 0  # those that brought rows
    over: bool = False  # nothing more is claimed
    error: shapes.ErrorObject | None = None  # why not
    last: Json = None  # the last row that was claimed
    open: list[ClaimedBatch] = []


class LoopState(msgspec.Struct, omit_defaults=True):
    """Where a loop stands. `marks` has one byte per iteration: pending, running, done or failed."""

    total: int
    marks: bytearray = msgspec.field(default_factory=bytearray)
    limit: int = 0  # how many may run at one moment (distributed)
    chunk: int = 0  # how many the author wants to be handed out together (distributed)
    next: int = 0  # the first index not yet handed out (distributed)
    quick: bool = False  # the iterations of the chunk that ended last took next to no time (distributed)
    done: int = 0
    failed: int = 0
    outputs: JsonObject = {}
    refs: dict[str, shapes.Reference] = {}
    parts: dict[str, shapes.PackPlace] = {}  # outputs in a pack: its key and the place in it
    writes: dict[str, shapes.Patch] = {}  # buffered ctx and step writes, by index
    errors: dict[str, shapes.ErrorObject] = {}
    claims: Claims | None = None  # of a loop that claims its items

    @property
    def left(self) -> int:
        """How many iterations, of those that are known, have not ended."""
        return self.total - self.done - self.failed

    @property
    def over(self) -> bool:
        """Whether every iteration has ended, and no more can come."""
        return not self.left and (self.claims is None or self.claims.over)

    def totals(self) -> shapes.LoopTotals:
        """How many iterations ended how, once no more of them will."""
        totals = loop_totals(self.total, self.done, self.failed)
        if self.claims is not None:
            totals["batches"] = self.claims.batches
        return totals

    def so_far(self) -> shapes.LoopCounts:
        """How many iterations are where while the loop is on its way."""
        counts: shapes.LoopCounts = {
            "total": self.total,
            "done": self.done,
            "failed": self.failed,
            "running": self.marks.count(RUNNING),
            "queued": self.marks.count(PENDING),
        }
        if self.claims is not None:
            counts |= {"claimed": self.total, "batches": self.claims.batches}
            counts["total"] = self.total if self.claims.over else None
        return counts


def loop_totals(total: int, done: int, failed: int) -> shapes.LoopTotals:
    """How the iterations of a loop ended; those that never did were skipped."""
    return {"total": total, "done": done, "failed": failed, "skipped": total - done - failed}


class Run(msgspec.Struct, omit_defaults=True):
    """One live run of a step."""

    id: str
    step: str
    tokens: list[str] = []
    source: str | None = None
    event: shapes.ArcEvent = {}
    args: JsonObject = {}
    input: JsonObject | None = None
    collection: Json = None  # the loop's items, or a reference to them
    loop: LoopState | None = None
    scheduled_at: int = 0
    started_at: int | None = None
    timeout_at: int | None = None  # a pause moves it
    timeout_ms: int | None = None
    deadline: int | None = None  # nothing moves it
    frame: dict[str, shapes.Checkpoint] = {}  # checkpoints of pipelines by address
    outcomes: dict[str, shapes.IterationRecord] = {}  # finished inner iterations by address
    parked: dict[str, Parked] = {}
    dropped: dict[str, int] = {}  # key of a call -> how many children of it were given up
    step_scope: JsonObject = {}
    iter_scope: JsonObject = {}  # of a run without loop, once its pipeline is over
    barred: list[str] = []
    fragment: str | None = None
    failed_inside: int = 0  # failed iterations of loops inside its pipelines
    ctx_then: dict[str, list[Json]] = {}  # what others have written to ctx since it was scheduled, as it was
    results_then: dict[
        str, list[shapes.Output]
    ] = {}  # finished steps that have run again since: scheduling_scopes.py

    def answers_left(self) -> dict[str, str]:
        """Answers that no pipeline is known to have taken, by a name of their own; the address of each."""
        return {
            f"{at} {parked.label} {parked.visit} {parked.attempt}": at
            for at, parked in self.parked.items()
            if parked.output is not None
            and self.frame.get(at, {}).get("waiting") is not None
            and not any(at == over or at.startswith((f"{over}/", f"{over}[")) for over in self.outcomes)
        }


class FinishedIterations(msgspec.Struct, omit_defaults=True):
    """What a retry keeps of a loop: its items, and the iterations that are over."""

    loop: LoopState
    collection: Json = None


class StepCount(msgspec.Struct):
    """How often a step ran and how its latest run ended."""

    runs: int = 0
    status: str = "running"


class Fragment(msgspec.Struct, omit_defaults=True):
    """A synthesised piece of workflow, alive until its last token ends."""

    origin: str
    step: str
    steps: list[JsonObject] = []
    last: shapes.FragmentEnd | None = None
    run: shapes.FragmentOrigin = {}  # the origin's run, kept for its arcs
    ended: bool = False


class State(msgspec.Struct, omit_defaults=True):
    """Everything a decision needs to know of one execution."""

    execution_id: str
    status: Status = "pending"
    seq: int = 0
    path: str = ""
    version: int | None = None
    hash: str = ""
    engine: str = ""
    executor_version: str | None = None
    requested_at: int = 0
    started_at: int | None = None
    ended_at: int | None = None
    paused_at: int | None = None
    paused_by: str | None = None
    idempotency_key: str | None = None
    parent: shapes.Parent | None = None
    retry_of: str | None = None
    continued_from: shapes.Continuation | None = None
    continued_as: str | None = None
    until: str | None = None
    by: str | None = None  # who asked for it
    trigger: shapes.TriggerFacts | None = None  # what did, where that was no person and no parent
    workload: JsonObject | None = None
    ctx: JsonObject = {}
    tokens: dict[str, Token] = {}
    runs: dict[str, Run] = {}
    leases: dict[str, Lease] = {}
    results: dict[str, shapes.Output] = {}  # step -> envelope of its latest completed run
    steps: dict[str, StepCount] = {}
    children: dict[str, str] = {}  # child execution id -> `run address` that waits for it
    left: list[str] = []  # children that were waited for and given up; they are to be cancelled
    signals: list[shapes.Signal] = []
    kept: dict[
        str, FinishedIterations
    ] = {}  # token -> the loop whose finished iterations its run need not repeat
    fragments: dict[str, Fragment] = {}
    failures: list[shapes.Failure] = []  # those that an arc took, and whether its guard asked about them
    failures_left_out: int = 0  # of those; see state_bounds.py
    error: shapes.ErrorObject | None = None
    output: Json = None
    failing: bool = False  # a failure nothing took; draining
    enqueued: int = 0
    consumed: int = 0
    refused: int = 0
    discarded: int = 0
    tasks: int = 0
    iterations: int = 0
    failed_iterations: int = 0  # of best-effort loops that went on without them
    runs_left_out: int = 0  # of `steps`: those of fragments that are forgotten

    @property
    def ended(self) -> bool:
        """Whether the execution is over."""
        return self.status in ENDED

    @property
    def first(self) -> str:
        """What whoever asked for it knows it by: the first of those that went on from one another."""
        return self.continued_from["first"] if self.continued_from else self.execution_id

    @property
    def before(self) -> str | None:
        """The execution that this one goes on from."""
        return self.continued_from["execution_id"] if self.continued_from else None

    @property
    def events_before(self) -> int:
        """How many events the logs of those before it have."""
        return self.continued_from["events"] if self.continued_from else 0

    @property
    def step_runs(self) -> int:
        """How many step runs there were."""
        return self.runs_left_out + sum(step.runs for step in self.steps.values())

    @property
    def unanswered(self) -> shapes.Failure | None:
        """The first failure that an arc took without asking about it."""
        return next((failure for failure in self.failures if failure.get("answered") is False), None)


_ENCODER = msgspec.json.Encoder(order="sorted")
_IN_ORDER = msgspec.json.Encoder()


def canonical(value: object) -> bytes:
    """Sorted-key minimal JSON: two equal states have equal bytes."""
    return _ENCODER.encode(value)


def snapshot_of(state: State) -> bytes:
    """The state as a snapshot holds it: tokens, runs and what waits stay in the order they came."""
    return _IN_ORDER.encode(state)


def restore(snapshot: bytes) -> State:
    """The state a snapshot holds."""
    return msgspec.json.decode(snapshot, type=State)
