"""What the readers of a log show of an execution, as it goes out. Types only; no code lives here."""

from typing import NotRequired, TypedDict

from noetl.core.event_data import GuardRecord
from noetl.core.shapes import ErrorObject, LoopCounts, LoopTotals, Patch, Reference, ScopeValues
from noetl.json_value import Json

_From = TypedDict("_From", {"from": str | None})
_Sources = TypedDict("_Sources", {"from": list[str]})
_Span = TypedDict("_Span", {"from": str, "to": str})


class StatusTurn(TypedDict):
    """An event that changed the status of the execution."""

    seq: int
    at: str
    status: str
    by: NotRequired[str | None]
    why: NotRequired[str | None]


class StepProgress(TypedDict):
    """All runs of one step so far."""

    status: str
    runs: int
    running: int
    done: int
    failed: int
    refused: int
    retries: int
    duration_ms: int
    started_at: str | None
    ended_at: str | None
    loop: LoopCounts | None
    error: ErrorObject | None


class ArcProgress(_From):
    """What an arc was asked so far, and what it saw last."""

    to: str
    order: int
    taken: int
    not_taken: int
    not_asked: int
    seq: int
    matched: bool
    asked: bool
    seen: ScopeValues
    set: Patch


class Refusal(_From):
    """A token that a step did not let in."""

    seq: int
    step: str
    reason: str | None
    rule: int | str | None
    guards: list[GuardRecord] | None


class TokenHold(TypedDict):
    """Since when a token waits at a join, and for whom."""

    seq: int
    at: str
    waits_for: list[str]


class LiveToken(_From):
    """A token on its way."""

    id: str
    step: str
    held: bool
    hold: TokenHold | None


class Wait(TypedDict):
    """A task that waits without a slot, and for what."""

    run: str
    step: str
    address: str
    task: str
    since: str
    signal: str | None
    approval: str | None
    child: str | None
    path: str | None
    until: str | None
    expires: str | None
    schema: NotRequired[Json]  # of the answer, where the playbook says one


class ExecutionProgress(TypedDict):
    """The graph's colours, counts and tokens."""

    execution_id: str
    seq: int
    at: str
    status: str
    history: list[StatusTurn]
    steps: dict[str, StepProgress]
    arcs: list[ArcProgress]
    refused: list[Refusal]
    tokens: list[LiveToken]
    waits: list[Wait]
    error: ErrorObject | None


class TaskBar(TypedDict):
    """One attempt of a task, or a wait, in milliseconds after the first event."""

    task: str
    visit: int
    attempt: int
    address: str
    started: int
    ended: int | None
    status: str
    do: str | None
    what: str


class RunLine(_Sources):
    """One step run on the time axis."""

    run: str
    step: str
    status: str
    worker: str | None
    scheduled: int
    started: int | None
    ended: int | None
    tasks: list[TaskBar]
    left_out: int
    loop: NotRequired[dict[str, int]]


class ExecutionTimeline(_Span):
    """All runs in the order they were scheduled."""

    ended: bool
    critical: list[str]
    left_out: int
    runs: list[RunLine]


class IterationFailure(TypedDict):
    """Why an iteration failed, in short."""

    kind: str | None
    message: str | None
    task: str | None
    attempt: int | None


class LoopIterations(TypedDict):
    """The iterations of one run: a mark and two numbers each."""

    run: str
    step: str
    scheduled_at: str
    total: int
    ended: bool
    counts: dict[str, int]
    marks: str
    started: list[int]
    took: list[int]
    retries: dict[int, int]
    errors: dict[int, IterationFailure]


class Writer(TypedDict):
    """The event that wrote a key of ctx."""

    seq: int
    at: str
    run: str | None
    address: str | None
    origin: str | None


class RunOutput(TypedDict):
    """What a run gave."""

    seq: int
    at: str
    run: str
    step: str
    status: str
    data: Json
    ref: Reference | None
    bytes: Json
    error: ErrorObject | None
    loop: LoopTotals


class TaskLine(TypedDict):
    """A line that a task printed."""

    seq: int
    at: str
    run: str | None
    address: str
    task: str | None
    attempt: int | None
    text: str
    level: str | None
