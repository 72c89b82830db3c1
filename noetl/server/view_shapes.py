"""The shapes of what pages are shown of executions and their logs, as the OpenAPI document has them."""

from typing import Annotated

import msgspec

from noetl.core.event import EventEnvelope, ExecutionId, Moment
from noetl.core.reading.loop_view import COUNTED
from noetl.core.reading.views import ProgressAnswer, RunOutput, Writer
from noetl.core.shapes import described
from noetl.core.state import STATUSES
from noetl.dsl.net.diagram import Sketch
from noetl.json_value import Json, JsonObject
from noetl.ports.answers import ExecutionAnswer, ExecutionItem
from noetl.server.shapes import Finding, numbers


class GraphAnswer(Sketch, frozen=True):
    """A playbook as steps and arcs."""


class PageAnswer(msgspec.Struct):
    """What an execution's page opens with."""

    summary: ExecutionAnswer
    progress: ProgressAnswer
    graph: GraphAnswer | None
    loops: list[str]
    children: list[ExecutionItem]


class LoopRuns(msgspec.Struct):
    """The runs that are loops."""

    items: list[str]


IterationCounts = numbers(
    "IterationCounts",
    "Iterations by state; kept ones come from the execution that this one goes on from.",
    COUNTED,
)


class DataAnswer(msgspec.Struct):
    """ctx and workload with the event that wrote each key, and the outputs of runs."""

    seq: int
    ctx: JsonObject
    workload: Json
    writers: dict[str, Writer]
    outputs: list[RunOutput]


class FoundAnswer(msgspec.Struct):
    """A page of the events that match, and how many match in all."""

    total: int
    items: list[EventEnvelope]


class Bucket(msgspec.Struct):
    """Executions that ended in a part of the span, and those that began in it and go on."""

    at: Moment
    completed: int
    failed: int
    cancelled: int
    waiting: int
    active: int


StatusCounts = numbers("StatusCounts", "Executions by status.", STATUSES)


class SlowStep(msgspec.Struct):
    """A step and how long it took of late."""

    path: str
    step: str
    runs: int
    mean_ms: int
    max_ms: int
    execution_id: ExecutionId


class FailureGroup(msgspec.Struct):
    """Failures of one playbook that are alike: how many, where, what the newest of them says."""

    count: int
    step: str | None
    kind: str
    message: str
    newest: ExecutionItem


class OverviewAnswer(msgspec.Struct):
    """The last day: executions by status and hour, failures, what is under way, the slowest steps."""

    since: Moment
    bucket_ms: int
    buckets: list[Bucket]
    counts: Annotated[dict[str, int], described("StatusCounts")]
    failures: list[FailureGroup]
    active: list[ExecutionItem]
    slowest: list[SlowStep]
    overdue_ms: int


class RecentAnswer(msgspec.Struct):
    """The newest executions of each playbook, among the newest of all."""

    items: dict[str, list[ExecutionItem]]


class AskedWait(msgspec.Struct, kw_only=True):
    """A task that waits for somebody: its question or the name of the signal; since when its run goes on."""

    execution_id: ExecutionId
    path: str
    run: str
    step: str
    address: str
    task: str
    since: Moment
    signal: str
    approval: str | None
    expires: Moment | None


class WaitsAnswer(msgspec.Struct):
    """What waits for somebody, the oldest first."""

    items: list[AskedWait]


class Uses(msgspec.Struct):
    """Which registered playbooks name which credential."""

    items: dict[str, list[str]]


class SketchAnswer(msgspec.Struct):
    """A text's graph as far as it can be read, its findings, and the workload it declares."""

    graph: GraphAnswer | None
    diagnostics: list[Finding]
    workload: JsonObject


class Limits(msgspec.Struct):
    """What a server lets through."""

    ready_after_ms: int
    body_bytes: int


class You(msgspec.Struct):
    """Who asks, and what they may do."""

    name: str
    scopes: list[str]
    prefixes: list[str]


class AboutAnswer(msgspec.Struct):
    """What a server is."""

    version: str
    kinds: list[str]
    limits: Limits
    you: You
