"""What the front answers, field by field: an execution, its state, why it went so, how two differ.

Only shapes live here; values in them that users' playbooks made are Json.
"""

from typing import Annotated, NotRequired, TypeAlias, TypedDict

from noetl.core.event import ExecutionId, Moment
from noetl.core.reading.views import StatusName
from noetl.core.shapes import LoopCounts, Parent, described, one_of
from noetl.json_value import Json, JsonObject

RunError: TypeAlias = Annotated[JsonObject, described("RunError")]
Counts: TypeAlias = Annotated[dict[str, int], described("Counts")]
StuckReason = Annotated[str, one_of("decision", "log", "mail", "owners")]
RunStatus = Annotated[str, one_of("queued", "running", "waiting")]


class PlaybookVersion(TypedDict):
    """Which playbook it is."""

    path: str
    version: int | None
    hash: str
    executor_version: NotRequired[str]


class StepStanding(TypedDict):
    """How a step stands."""

    runs: int
    status: str


class Failure(TypedDict):
    """A failure that an arc took, and whether the arc's guard asked about it."""

    step: str
    taken_by: str
    answered: bool
    error: RunError


class StuckAnswer(TypedDict):
    """Why nobody goes on with an execution until it is released."""

    since: Moment
    reason: StuckReason
    message: str
    server: str
    engine: str


class ExecutionOutcome(TypedDict):
    """What an execution has come to, as its log says."""

    execution_id: ExecutionId
    status: StatusName
    playbook: PlaybookVersion
    output: Json
    error: RunError | None
    failures: list[Failure]
    failures_left_out: NotRequired[int]  # more than are kept at hand; the log has them
    ctx: JsonObject
    steps: dict[str, StepStanding]
    counts: Counts
    duration_ms: int
    parent: Parent | None
    retry_of: str | None
    continued_from: str | None
    continued_as: str | None


class Moments(TypedDict):
    """When an execution was asked for, began and ended."""

    requested_at: Moment
    started_at: Moment | None
    ended_at: Moment | None


class RequestFields(TypedDict):
    """What an execution was asked to work on, and by whom."""

    workload: Json
    by: str | None


class ExecutionAnswer(ExecutionOutcome, Moments, RequestFields):
    """How an execution stands."""

    log: str | None
    stuck: NotRequired[StuckAnswer]
    expected_ms: NotRequired[int]  # how long one should take, where its playbook says so
    late_at: NotRequired[Moment]  # when it has taken longer than that


class BriefError(TypedDict):
    """Why an execution failed, as far as lists tell it."""

    kind: str
    message: str
    step: str | None


class ExecutionItem(TypedDict):
    """An execution as lists show it."""

    execution_id: ExecutionId
    status: StatusName
    playbook: PlaybookVersion
    requested_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    duration_ms: int
    parent: str | None
    retry_of: str | None
    continued_from: str | None
    continued_as: str | None
    interrupted: bool
    counts: Counts | None
    failed_iterations: int
    by: str | None  # who asked for it: a token's name, `schedule …`, `trigger …`, `parent`
    error: BriefError | None
    labels: dict[str, str]  # of its playbook
    expected_ms: int | None  # how long one should take, by its playbook
    late_at: Moment | None  # when it has taken longer than that


_From = TypedDict("_From", {"from": str | None})


class TokenStanding(_From):
    """A token of a state; why it is held, if it is."""

    id: str
    step: str
    held: bool
    reason: NotRequired[str]


class WaitFields(TypedDict, total=False):
    """What a parked task waits for, and when its own time is up."""

    child: str
    signal: str
    approval: str
    until: str
    expires: str


_For = TypedDict("_For", {"for": WaitFields})


class Waiting(_For):
    """A task that waits, and for what."""

    address: str
    task: str


class RunStanding(TypedDict):
    """A run that has not ended."""

    id: str
    step: str
    status: RunStatus
    scheduled_at: Moment
    started_at: Moment | None
    workers: list[str]  # that have some of it in hand
    waiting: list[Waiting]
    loop: NotRequired[LoopCounts]


class StateAnswer(TypedDict):
    """The state of an execution after an event."""

    execution_id: ExecutionId
    seq: int
    last_seq: int
    status: StatusName
    ctx: JsonObject
    workload: Json
    steps: dict[str, StepStanding]
    tokens: list[TokenStanding]
    runs: list[RunStanding]
    failures: list[Failure]
    error: RunError | None
    output: Json


class CredentialAnswer(TypedDict):
    """A credential with the names of its fields; no answer has a value."""

    name: str
    fields: list[str]
    set_at: Moment


class Reason(TypedDict):
    """One thing that happened and why: the event that says so, what it is about, the sentence, the facts."""

    seq: int
    about: str
    text: str
    step: str | None
    run: str | None
    facts: JsonObject


class WhyAnswer(TypedDict):
    """The decisions of an execution, or of one step of it, in words."""

    execution_id: ExecutionId
    status: str
    step: str | None
    summary: str
    reasons: list[Reason]


class Change(TypedDict):
    """A place at which two values differ; a side that has nothing there is absent."""

    path: str
    a: NotRequired[Json]
    b: NotRequired[Json]


class DiffAnswer(TypedDict):
    """How two executions differ; a pair is there only where they do, and what goes beyond is counted."""

    a: ExecutionId
    b: ExecutionId
    same: bool
    status: tuple[str, str] | None
    playbook: tuple[str, str] | None
    error: list[Json] | None
    path: list[str]
    workload: list[Change]
    ctx: list[Change]
    outputs: list[Change]
    left_out: dict[str, int]
    kept: list[str]  # steps that one of them had from an execution before it
    timing_ms: dict[str, tuple[int | None, int | None]]


class LogLine(TypedDict):
    """One line that a task wrote, or of the error that it ended with."""

    execution_id: ExecutionId
    ts: str
    step: str
    run: str
    task: str
    iteration: str | None
    attempt: int | None
    level: str | None
    text: str


class LinesPage(TypedDict):
    """Some lines in order; `next` is where reading goes on, `more` whether there is something now."""

    items: list[LogLine]
    next: str
    more: bool
