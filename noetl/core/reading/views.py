"""What the readers of a log show of an execution, as it goes out. Types only; no code lives here."""

from typing import Annotated, NotRequired, TypedDict

from noetl.core import shapes
from noetl.core.event import ExecutionId, Moment
from noetl.core.event_data import GuardSeen
from noetl.core.state import STATUSES
from noetl.json_value import Json

StatusName = Annotated[str, shapes.one_of(*STATUSES)]
StepStatus = Annotated[
    str, shapes.one_of("done", "failed", "idle", "kept", "queued", "refused", "running", "waiting")
]
BarKind = Annotated[str, shapes.one_of("child", "delay", "task", "wait")]
_Source = TypedDict("_Source", {"from": str})
_From = TypedDict("_From", {"from": str | None})
_Sources = TypedDict("_Sources", {"from": list[str]})
_Span = TypedDict("_Span", {"from": Moment, "to": Moment})


class Turn(TypedDict):
    """A change of an execution's status; who asked for it, and why."""

    seq: int
    at: Moment
    status: str
    by: NotRequired[str]
    why: NotRequired[str]


class StepProgress(TypedDict):
    """All runs of one step so far."""

    status: StepStatus
    runs: int
    running: int
    done: int
    failed: int
    refused: int
    retries: int
    duration_ms: int
    started_at: Moment | None
    ended_at: Moment | None
    loop: shapes.LoopCounts | None
    error: shapes.ErrorObject | None


class ArcProgress(_Source):
    """What an arc was asked so far, and what its guard saw last."""

    to: str
    order: int
    taken: int
    not_taken: int
    not_asked: int
    seq: int
    matched: bool
    asked: bool
    seen: shapes.ScopeValues
    set: shapes.Patch


class Refusal(_From):
    """A token that a step did not let in."""

    seq: int
    step: str
    reason: str | None
    rule: int | str | None
    guards: list[GuardSeen] | None


class Hold(TypedDict):
    """Why a token is held: branches from which another one may still come."""

    seq: int
    at: Moment
    waits_for: list[str]


class TokenProgress(_From):
    """A token and where it is."""

    id: str
    step: str
    held: bool
    hold: Hold | None


class Wait(TypedDict):
    """A task that waits: for a signal, an answer, a child or a time."""

    run: str
    step: str
    address: str
    task: str
    since: Moment
    signal: str | None
    approval: str | None
    child: str | None
    path: str | None
    until: Moment | None
    expires: Moment | None
    schema: NotRequired[Json]  # of the answer, where the playbook says one


class ProgressAnswer(TypedDict):
    """The graph's colours: steps with their runs, arcs with what they saw, tokens, what waits."""

    execution_id: ExecutionId
    seq: int
    at: Moment
    status: StatusName
    history: list[Turn]
    steps: dict[str, StepProgress]
    arcs: list[ArcProgress]
    refused: list[Refusal]
    tokens: list[TokenProgress]
    waits: list[Wait]
    error: shapes.ErrorObject | None


class TaskBar(TypedDict):
    """A task, a wait or a delay on the time axis, in milliseconds since the start."""

    task: str
    visit: int
    attempt: int
    address: str
    started: int
    ended: int | None
    status: str
    do: str | None
    what: BarKind


class LoopOutcome(TypedDict):
    """How the iterations of a loop ended so far."""

    total: int
    done: int
    failed: int


class RunLine(_Sources):
    """One run on the time axis, in milliseconds since the start."""

    run: str
    step: str
    status: str
    worker: str | None
    scheduled: int
    started: int | None
    ended: int | None
    tasks: list[TaskBar]
    left_out: int
    loop: NotRequired[LoopOutcome]


class TimelineAnswer(_Span):
    """Runs, tasks, attempts and waits on a time axis, and the critical path."""

    ended: bool
    critical: list[str]
    left_out: int
    runs: list[RunLine]


class IterationError(TypedDict):
    """Why an iteration failed."""

    kind: str | None
    message: str | None
    task: str | None
    attempt: int | None


class LoopAnswer(TypedDict):
    """Every iteration of a loop: a mark for its state, its start and its duration, -1 where there is none."""

    run: str
    step: str
    scheduled_at: Moment
    total: int
    ended: bool
    batches: NotRequired[int]  # of a loop that claims its items: more may come until it has ended
    counts: Annotated[dict[str, int], shapes.described("IterationCounts")]
    marks: str
    started: list[int]
    took: list[int]
    retries: dict[int, int]
    errors: dict[int, IterationError]


class IterationAnswer(TypedDict):
    """One iteration of a loop: its item, what it put out or why it failed."""

    run: str
    index: int
    item: Json
    output: Json
    ref: shapes.Reference | None
    error: shapes.ErrorObject | None


class Writer(TypedDict):
    """The event that wrote a value."""

    seq: int
    at: Moment
    run: str | None
    address: str | None
    origin: str | None


class RunOutput(TypedDict):
    """What a run put out."""

    seq: int
    at: Moment
    run: str
    step: str
    status: str
    data: Json
    ref: shapes.Reference | None
    bytes: int | None
    error: shapes.ErrorObject | None
    loop: shapes.LoopTotals
