"""What the front answers, field by field: an execution, its state, why it went so, how two differ.

Only shapes live here; values in them that users' playbooks made are Json.
"""

from typing import NotRequired, TypedDict

from noetl.core.shapes import LoopCounts, Parent
from noetl.json_value import Json, JsonObject


class PlaybookFields(TypedDict):
    """Which playbook an execution runs."""

    path: str
    version: int | None
    hash: str
    executor_version: NotRequired[str]


class StepFields(TypedDict):
    """How often a step ran, and how its latest run stands."""

    runs: int
    status: str


class Failure(TypedDict):
    """A failure that an arc took."""

    step: str
    taken_by: str
    answered: NotRequired[bool]
    error: JsonObject | None


class StuckFields(TypedDict):
    """Since when an execution is stuck, and why."""

    since: str
    reason: str
    message: str
    server: str
    engine: str


class ExecutionOutcome(TypedDict):
    """What an execution has come to, as its log says."""

    execution_id: str
    status: str
    playbook: PlaybookFields
    output: Json
    error: JsonObject | None
    failures: list[Failure]
    failures_left_out: NotRequired[int]  # more than are kept at hand; the log has them
    ctx: JsonObject
    steps: dict[str, StepFields]
    counts: dict[str, int]
    duration_ms: int
    parent: Parent | None
    retry_of: str | None


class Moments(TypedDict):
    """When an execution was asked for, began and ended."""

    requested_at: str
    started_at: str | None
    ended_at: str | None


class RequestFields(TypedDict):
    """What an execution was asked to work on, and by whom."""

    workload: JsonObject
    by: str | None


class ExecutionResult(ExecutionOutcome, Moments, RequestFields):
    """One execution, as `noetl run --json` and the API show it."""

    log: str | None
    stuck: NotRequired[StuckFields]


class ExecutionRow(TypedDict):
    """One execution, as lists show it."""

    execution_id: str
    status: str
    playbook: PlaybookFields
    requested_at: str
    started_at: str | None
    ended_at: str | None
    duration_ms: int
    parent: str | None
    retry_of: str | None
    interrupted: bool
    counts: dict[str, int] | None
    failed_iterations: int


TokenFields = TypedDict(
    "TokenFields", {"id": str, "step": str, "from": str | None, "held": bool, "reason": NotRequired[str]}
)
"""A token: at which step, where it came from, and why it is held there."""


class WaitFields(TypedDict, total=False):
    """What a parked task waits for, and when its own time is up."""

    child: str
    signal: str
    approval: Json
    until: str
    expires: str


ParkedFields = TypedDict("ParkedFields", {"address": str, "task": str, "for": WaitFields})
"""A task that waits for something outside."""


class RunFields(TypedDict):
    """A run of a step that is not over: running, waiting or queued."""

    id: str
    step: str
    status: str
    scheduled_at: str
    started_at: str | None
    waiting: list[ParkedFields]
    loop: NotRequired[LoopCounts]


class ExecutionState(TypedDict):
    """The state of an execution after one of its events."""

    execution_id: str
    seq: int
    last_seq: int
    status: str
    ctx: JsonObject
    workload: JsonObject
    steps: dict[str, StepFields]
    tokens: list[TokenFields]
    runs: list[RunFields]
    failures: list[Failure]
    error: JsonObject | None
    output: Json


class CredentialFields(TypedDict):
    """What may be known of a credential: never a value."""

    name: str
    fields: list[str]
    set_at: str


class Reason(TypedDict):
    """One decision in words, and the event that says so."""

    seq: int
    step: str | None
    text: str
    facts: JsonObject


class Explanation(TypedDict):
    """Why an execution went as it did."""

    execution_id: str
    status: str
    step: str | None
    summary: str
    reasons: list[Reason]


class Change(TypedDict):
    """One place at which two values differ."""

    path: str
    a: NotRequired[Json]
    b: NotRequired[Json]


class Difference(TypedDict):
    """How two executions differ."""

    a: str
    b: str
    same: bool
    status: list[Json] | None
    playbook: list[Json] | None
    error: list[Json] | None
    path: list[str]
    workload: list[Change]
    ctx: list[Change]
    outputs: list[Change]
    left_out: dict[str, int]
    timing_ms: dict[str, list[int | None]]


class LogLine(TypedDict):
    """One line that a task wrote to its output."""

    seq: int
    ts: str
    step: str
    task: str
    iteration: str | None
    attempt: int | None
    text: str
    level: str | None
