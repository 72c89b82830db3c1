"""What the front answers, field by field: an execution, why it went so, how two differ, what tasks printed.

Only shapes live here; values in them that users' playbooks made are Json.
"""

from typing import NotRequired, TypedDict

from noetl.json_value import Json


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
    error: dict[str, Json] | None


class StuckFields(TypedDict):
    """Since when an execution is stuck, and why."""

    since: str
    reason: str
    message: str
    server: str
    engine: str


class ExecutionResult(TypedDict):
    """One execution, as `noetl run --json` and the API show it."""

    execution_id: str
    status: str
    playbook: PlaybookFields
    output: Json
    error: dict[str, Json] | None
    failures: list[Failure]
    ctx: dict[str, Json]
    steps: dict[str, StepFields]
    counts: dict[str, int]
    duration_ms: int
    parent: dict[str, Json] | None
    retry_of: str | None
    requested_at: str
    started_at: str | None
    ended_at: str | None
    workload: dict[str, Json]
    by: str
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


class Reason(TypedDict):
    """One decision in words, and the event that says so."""

    seq: int
    step: str | None
    text: str
    facts: dict[str, Json]


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
