"""The shapes of what pages are shown of executions and their logs, as the OpenAPI document has them."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from noetl.core.state import Status
from noetl.json_value import Json, JsonObject
from noetl.server.shapes import (
    EventEnvelope,
    ExecutionAnswer,
    ExecutionId,
    ExecutionItem,
    Finding,
    Moment,
    RunError,
    StepStanding,
)

FROM = {"source": "from"}


class LoopCounts(msgspec.Struct):
    """The iterations of a loop by state."""

    total: int
    done: int
    failed: int
    running: int
    queued: int


class Turn(msgspec.Struct):
    """A change of an execution's status; who asked for it, and why."""

    seq: int
    at: Moment
    status: str
    by: str | UnsetType = UNSET
    why: str | UnsetType = UNSET


class StepProgress(msgspec.Struct):
    """All runs of one step so far."""

    status: Literal["idle", "queued", "running", "waiting", "done", "kept", "failed", "refused"]
    runs: int
    running: int
    done: int
    failed: int
    refused: int
    retries: int
    duration_ms: int
    started_at: Moment | None
    ended_at: Moment | None
    loop: LoopCounts | None
    error: RunError | None


class ArcProgress(msgspec.Struct, rename=FROM):
    """What an arc was asked so far, and what its guard saw last."""

    source: str
    to: str
    order: int
    taken: int
    not_taken: int
    not_asked: int
    seq: int
    matched: bool
    asked: bool
    seen: JsonObject
    set: list[Json]


class GuardSeen(msgspec.Struct):
    """What a guard came to, and the values it saw."""

    value: bool
    seen: JsonObject


class Refusal(msgspec.Struct, rename=FROM):
    """A token that a step did not let in."""

    seq: int
    source: str | None
    step: str
    reason: str | None
    rule: int | str | None
    guards: list[GuardSeen] | None


class Hold(msgspec.Struct):
    """Why a token is held: branches from which another one may still come."""

    seq: int
    at: Moment
    waits_for: list[str]


class TokenProgress(msgspec.Struct, rename=FROM):
    """A token and where it is."""

    id: str
    step: str
    source: str | None
    held: bool
    hold: Hold | None


class Wait(msgspec.Struct):
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
    schema: Json | UnsetType = UNSET


class ProgressAnswer(msgspec.Struct):
    """The graph's colours: steps with their runs, arcs with what they saw, tokens, what waits."""

    execution_id: ExecutionId
    seq: int
    at: Moment
    status: Status
    history: list[Turn]
    steps: dict[str, StepProgress]
    arcs: list[ArcProgress]
    refused: list[Refusal]
    tokens: list[TokenProgress]
    waits: list[Wait]
    error: RunError | None


class GraphStep(msgspec.Struct):
    """A step as a graph shows it."""

    step: str
    desc: str | None
    kinds: list[str]
    loop: str | None
    join: str | None
    admission: bool
    entry: bool
    end: bool
    line: int


class GraphArc(msgspec.Struct, rename=FROM):
    """An arc as a graph shows it."""

    source: str
    to: str
    when: str | None
    mode: str
    order: int
    line: int


class GraphAnswer(msgspec.Struct):
    """A playbook as steps and arcs."""

    name: str
    path: str
    entry: str
    steps: list[GraphStep]
    arcs: list[GraphArc]


class PageAnswer(msgspec.Struct):
    """What an execution's page opens with."""

    summary: ExecutionAnswer
    progress: ProgressAnswer
    graph: GraphAnswer | None
    loops: list[str]
    children: list[ExecutionItem]


class TaskBar(msgspec.Struct):
    """A task, a wait or a delay on the time axis, in milliseconds since the start."""

    task: str
    visit: int
    attempt: int
    address: str
    started: int
    ended: int | None
    status: str
    do: str | None
    what: Literal["task", "wait", "child", "delay"]


class LoopOutcome(msgspec.Struct):
    """How the iterations of a loop ended so far."""

    total: int
    done: int
    failed: int


class RunLine(msgspec.Struct, rename=FROM):
    """One run on the time axis, in milliseconds since the start."""

    run: str
    step: str
    source: list[str]
    status: str
    worker: str | None
    scheduled: int
    started: int | None
    ended: int | None
    tasks: list[TaskBar]
    left_out: int
    loop: LoopOutcome | UnsetType = UNSET


class TimelineAnswer(msgspec.Struct, rename=FROM):
    """Runs, tasks, attempts and waits on a time axis, and the critical path."""

    source: Moment
    to: Moment
    ended: bool
    critical: list[str]
    left_out: int
    runs: list[RunLine]


class LoopRuns(msgspec.Struct):
    """The runs that are loops."""

    items: list[str]


class IterationCounts(msgspec.Struct):
    """Iterations by state; kept ones come from the execution that this one goes on from."""

    queued: int
    running: int
    done: int
    failed: int
    kept: int


class IterationError(msgspec.Struct):
    """Why an iteration failed."""

    kind: str | None
    message: str | None
    task: str | None
    attempt: int | None


class LoopAnswer(msgspec.Struct):
    """Every iteration of a loop: a mark for its state, its start and its duration, -1 where there is none."""

    run: str
    step: str
    scheduled_at: Moment
    total: int
    ended: bool
    counts: IterationCounts
    marks: str
    started: list[int]
    took: list[int]
    retries: dict[str, int]
    errors: dict[str, IterationError]


class Writer(msgspec.Struct):
    """The event that wrote a value."""

    seq: int
    at: Moment
    run: str | None
    address: str | None
    origin: str | None


class Locator(msgspec.Struct):
    """Where a payload rests."""

    store: str
    key: str


class StoredMeta(msgspec.Struct):
    """What is known of a payload without reading it."""

    content_type: str | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    ttl: str | UnsetType = UNSET
    preview: Json | UnsetType = UNSET
    schema_hint: Json | UnsetType = UNSET


class StoredRef(msgspec.Struct):
    """A payload that rests elsewhere."""

    type: str
    locator: Locator
    auth_reference: Json | UnsetType = UNSET
    meta: StoredMeta | UnsetType = UNSET


class RunOutput(msgspec.Struct):
    """What a run put out."""

    seq: int
    at: Moment
    run: str
    step: str
    status: str
    data: Json
    ref: StoredRef | None
    bytes: int | None
    error: RunError | None
    loop: JsonObject


class DataAnswer(msgspec.Struct):
    """ctx and workload with the event that wrote each key, and the outputs of runs."""

    seq: int
    ctx: JsonObject
    workload: Json
    writers: dict[str, Writer]
    outputs: list[RunOutput]


class LogLine(msgspec.Struct):
    """A line that a task logged."""

    seq: int
    at: Moment
    run: str
    address: str
    task: str
    attempt: int | None
    text: str
    level: str | None  # `error` of what a failed task ended with


class LinesAnswer(msgspec.Struct):
    """Lines that match, the newest of them; how many older ones are not kept."""

    total: int
    dropped: int
    items: list[LogLine]


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
    active: int


class StatusCounts(msgspec.Struct):
    """Executions by status."""

    pending: int
    running: int
    waiting: int
    paused: int
    completed: int
    failed: int
    cancelled: int
    stuck: int


class SlowStep(msgspec.Struct):
    """A step and how long it took of late."""

    path: str
    step: str
    runs: int
    mean_ms: int
    max_ms: int
    execution_id: ExecutionId


class OverviewAnswer(msgspec.Struct):
    """The last day: executions by status and hour, failures, what is under way, the slowest steps."""

    since: Moment
    bucket_ms: int
    buckets: list[Bucket]
    counts: StatusCounts
    failures: list[ExecutionItem]
    active: list[ExecutionItem]
    slowest: list[SlowStep]
    overdue_ms: int


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


class Reason(msgspec.Struct):
    """One thing that happened and why: the event that says so, what it is about, the sentence, the facts."""

    seq: int
    about: str
    text: str
    step: str | None
    run: str | None
    facts: JsonObject


class WhyAnswer(msgspec.Struct):
    """The decisions of an execution, or of one step of it, in words."""

    execution_id: ExecutionId
    status: str
    step: str | None
    summary: str
    reasons: list[Reason]


class Change(msgspec.Struct):
    """A place at which two values differ; a side that has nothing there is absent."""

    path: str
    a: Json | UnsetType = UNSET
    b: Json | UnsetType = UNSET


class DiffAnswer(msgspec.Struct):
    """How two executions differ; a pair is there only where they do, and what goes beyond is counted."""

    a: ExecutionId
    b: ExecutionId
    same: bool
    status: tuple[str, str] | None
    playbook: tuple[str, str] | None
    workload: list[Change]
    path: list[str]
    ctx: list[Change]
    outputs: list[Change]
    error: list[Json] | None
    timing_ms: dict[str, tuple[int | None, int | None]]
    left_out: dict[str, int]


class TokenStanding(msgspec.Struct, rename=FROM):
    """A token of a state; why it is held, if it is."""

    id: str
    step: str
    source: str | None
    held: bool
    reason: str | UnsetType = UNSET


class Waiting(msgspec.Struct, rename={"until": "for"}):
    """A task that waits, and for what."""

    address: str
    task: str
    until: JsonObject


class RunStanding(msgspec.Struct):
    """A run that has not ended."""

    id: str
    step: str
    status: Literal["running", "waiting", "queued"]
    scheduled_at: Moment
    started_at: Moment | None
    waiting: list[Waiting]
    loop: LoopCounts | UnsetType = UNSET


class StateAnswer(msgspec.Struct):
    """The state of an execution after an event."""

    execution_id: ExecutionId
    seq: int
    last_seq: int
    status: Status
    ctx: JsonObject
    workload: Json
    steps: dict[str, StepStanding]
    tokens: list[TokenStanding]
    runs: list[RunStanding]
    failures: list[JsonObject]
    error: RunError | None
    output: Json
