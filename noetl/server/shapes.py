"""The shapes of what is sent and answered, as the OpenAPI document shows them; bodies are read by them."""

from types import GenericAlias
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from noetl.core.state import Status
from noetl.json_value import Json, JsonObject

ExecutionId = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Moment = Annotated[str, Meta(description="ISO 8601 in UTC, with milliseconds")]
PlaybookPath = Annotated[str, Meta(min_length=1, max_length=512)]
NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_.-]{0,63}$"
StandingName = Annotated[str, Meta(pattern=NAME_PATTERN)]
CredentialName = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_.-]{0,127}$")]


# ---- bodies ---------------------------------------------------------------------------------------------


class RegisterBody(msgspec.Struct, forbid_unknown_fields=True):
    """A playbook to register."""

    playbook: str


class ValidateBody(msgspec.Struct, forbid_unknown_fields=True):
    """A text to check."""

    playbook: str
    strict: bool = False


class StartBody(msgspec.Struct, forbid_unknown_fields=True):
    """What to run: the path of a registered playbook, or a playbook's text."""

    path: PlaybookPath | None = None
    playbook_id: PlaybookPath | None = None
    playbook: str | None = None
    version: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    workload: JsonObject | None = None
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    until: str | None = None


class WishBody(msgspec.Struct, forbid_unknown_fields=True):
    """Why it is asked for."""

    why: Annotated[str, Meta(max_length=1000)] | None = None


class SignalBody(msgspec.Struct, forbid_unknown_fields=True):
    """A signal for tasks that wait."""

    name: Annotated[str, Meta(min_length=1, max_length=255)]
    payload: Json = None


class RetryBody(msgspec.Struct, forbid_unknown_fields=True):
    """Where to go on: at a step, else at what failed."""

    step: str | None = None


class RerunBody(msgspec.Struct, forbid_unknown_fields=True, rename={"start": "from"}):
    """Where to begin again, perhaps with a changed playbook."""

    start: Annotated[str, Meta(min_length=1)]
    playbook: str | None = None


class RenderBody(msgspec.Struct, forbid_unknown_fields=True):
    """A template, and the event after which it is evaluated, else the newest."""

    template: Annotated[str, Meta(max_length=16_384)]
    at: Annotated[int, Meta(ge=1)] | None = None


class ScheduleChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a schedule starts and when: by a cron expression in a time zone, or every so many seconds."""

    path: PlaybookPath
    version: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    workload: JsonObject = {}
    cron: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    timezone: Annotated[str, Meta(min_length=1, max_length=64)] = "UTC"
    every_s: Annotated[int, Meta(ge=1, le=31_622_400)] | None = None
    enabled: bool = True
    catch_up: Literal["one", "skip"] = "one"


class ScheduleBody(ScheduleChange, kw_only=True):
    """A schedule that is wanted."""

    name: StandingName


class TriggerChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename={"payload_key": "as"}):
    """What a trigger starts, and by what: a webhook, or a subject of NATS."""

    kind: Literal["webhook", "nats"]
    path: PlaybookPath
    version: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    workload: JsonObject = {}
    payload_key: Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")] = "payload"
    secret: Annotated[str, Meta(min_length=16, max_length=255)] | None = None
    subject: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    queue: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    enabled: bool = True


class TriggerBody(TriggerChange, kw_only=True):
    """A trigger that is wanted."""

    name: StandingName


class FireBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a message would have said."""

    payload: Json = None
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=255)] | None = None


class TokenBody(msgspec.Struct, forbid_unknown_fields=True):
    """A token that is wanted."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: Annotated[list[Literal["read", "run", "write", "admin", "worker"]], Meta(min_length=1)]
    prefixes: list[Annotated[str, Meta(min_length=1, max_length=512)]] = []
    pools: list[Annotated[str, Meta(min_length=1, max_length=512)]] = []
    expires_ms: Annotated[int, Meta(ge=1, le=315_360_000_000)] | None = None


class SessionBody(msgspec.Struct, forbid_unknown_fields=True):
    """The token a session begins with."""

    token: Annotated[str, Meta(max_length=16_384)]


LegacyVersion = Annotated[str, Meta(pattern="^(latest|[1-9][0-9]{0,8})$")]


class LegacyExecuteBody(msgspec.Struct):
    """What clients of the original send to run a playbook; fields beyond these are left unread."""

    path: PlaybookPath | None = None
    playbook_id: PlaybookPath | None = None
    version: Annotated[int, Meta(ge=1, le=2**31 - 1)] | LegacyVersion | None = None
    payload: JsonObject | None = None
    workload: JsonObject | None = None
    input_payload: JsonObject | None = None
    parameters: JsonObject | None = None
    args: JsonObject | None = None


class LegacyRegisterBody(msgspec.Struct):
    """What clients of the original send to register a playbook; fields beyond these are left unread."""

    content: str | None = None
    content_base64: str | None = None
    playbook: str | None = None


class LegacyCredentialBody(msgspec.Struct):
    """What clients of the original send to store a credential; fields beyond these are left unread."""

    name: CredentialName
    data: JsonObject


# ---- answers --------------------------------------------------------------------------------------------


def page_of(
    name: str, item: object, words: str, following: tuple[str, object] = ("cursor", str | None)
) -> type[msgspec.Struct]:
    """The shape of a part of a list, and where the next one begins."""
    fields = [("items", GenericAlias(list, (item,))), following]
    return msgspec.defstruct(name, fields, namespace={"__doc__": words}, module=__name__)


class Finding(msgspec.Struct):
    """One finding about a playbook."""

    code: str
    severity: Literal["error", "warning", "info"]
    message: str
    line: int
    column: int
    path: str
    hint: str | None


class ProblemAnswer(msgspec.Struct):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str | None = None
    diagnostics: list[Finding] | UnsetType = UNSET


class Findings(msgspec.Struct):
    """What was found in a text."""

    diagnostics: list[Finding]
    errors: int
    warnings: int
    infos: int
    path: str | None = None


class CatalogEntry(msgspec.Struct):
    """One version of a registered playbook, without its text."""

    path: str
    version: int
    hash: str
    description: str | None
    file: str | None
    registered_at: Moment
    by: str | None


class CatalogText(CatalogEntry):
    """One version of a registered playbook."""

    text: str


CatalogPage = page_of("CatalogPage", CatalogEntry, "A page of the catalog, and where the next one begins.")


class Deleted(msgspec.Struct):
    """How many versions were taken off the catalog."""

    deleted: int


class Begun(msgspec.Struct):
    """An execution that was asked for."""

    execution_id: ExecutionId
    status: str
    path: str | UnsetType = UNSET


class PlaybookVersion(msgspec.Struct):
    """Which playbook it is."""

    path: str
    version: int | None
    hash: str
    executor_version: str | UnsetType = UNSET


class Counts(msgspec.Struct):
    """How much happened in an execution."""

    events: int
    steps: int
    tasks: int
    iterations: int
    failed_iterations: int  # of best-effort loops that went on without them


class ExecutionItem(msgspec.Struct):
    """An execution as lists show it."""

    execution_id: ExecutionId
    status: Status
    playbook: PlaybookVersion
    requested_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    duration_ms: int
    parent: str | None
    retry_of: str | None
    interrupted: bool
    counts: Counts | None  # of one that runs elsewhere: once it has ended
    failed_iterations: int


ExecutionPage = page_of(
    "ExecutionPage", ExecutionItem, "A page of executions, the newest first, and where the next one begins."
)


class RunError(msgspec.Struct):
    """Why something failed, and where."""

    kind: str
    message: str
    step: str | UnsetType | None = UNSET
    task: str | UnsetType | None = UNSET
    iteration: int | list[int] | UnsetType | None = UNSET
    attempt: int | UnsetType | None = UNSET
    code: Json | UnsetType = UNSET
    retryable: bool | UnsetType | None = UNSET
    details: Json | UnsetType = UNSET


class Failure(msgspec.Struct):
    """A failure that an arc took, and whether the arc's guard asked about it."""

    step: str
    error: RunError
    taken_by: str
    answered: bool


class StepStanding(msgspec.Struct):
    """How a step stands."""

    runs: int
    status: str


class ParentOf(msgspec.Struct):
    """The execution that started this one, and the run of it that waits."""

    execution_id: str
    run: str
    at: str
    depth: int
    waits: bool
    path: str


class StuckAnswer(msgspec.Struct):
    """Why nobody goes on with an execution until it is released."""

    reason: Literal["log", "decision", "mail", "owners"]
    message: str
    since: Moment
    server: str
    engine: str


class ExecutionAnswer(msgspec.Struct):
    """How an execution stands."""

    execution_id: ExecutionId
    status: Status
    playbook: PlaybookVersion
    output: Json
    error: RunError | None
    failures: list[Failure]
    ctx: JsonObject
    steps: dict[str, StepStanding]
    counts: Counts
    duration_ms: int | None
    parent: ParentOf | None
    retry_of: str | None
    workload: Json
    by: str | None
    requested_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    log: str | None
    stuck: StuckAnswer | UnsetType = UNSET  # while it is
    failures_left_out: int | UnsetType = UNSET  # of `failures`, when there were more than 100


class LegacyExecutionAnswer(ExecutionAnswer):
    """How an execution stands, with the status as clients of the original wait for it."""

    status: Literal["PENDING", "RUNNING", "WAITING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED", "STUCK"]  # type: ignore[assignment]


class EventEnvelope(msgspec.Struct):
    """One event of an execution; ids that do not apply are absent."""

    event_id: str
    execution_id: ExecutionId
    seq: int
    ts: Moment
    source: Literal["server", "worker"]
    name: str
    entity: str
    entity_id: str
    status: str
    data: JsonObject
    step: str | UnsetType = UNSET
    step_run_id: str | UnsetType = UNSET
    task_run_id: str | UnsetType = UNSET
    iteration_id: str | UnsetType = UNSET
    task_label: str | UnsetType = UNSET
    visit: int | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    index: int | list[int] | UnsetType = UNSET
    worker_id: str | UnsetType = UNSET
    lease_epoch: int | UnsetType = UNSET
    trace_id: str | UnsetType = UNSET
    parent_id: str | UnsetType = UNSET


EventPage = page_of(
    "EventPage",
    EventEnvelope,
    "Events in order, and the number at which the next page begins.",
    ("next", int | None),
)


class Rendered(msgspec.Struct):
    """What a template evaluates to."""

    value: Json


class ResultSlice(msgspec.Struct):
    """A stored payload, or a part of it."""

    data: Json
    total: int | None
    offset: int
    content_type: str


class CredentialItem(msgspec.Struct):
    """A credential by its name; no answer has a value."""

    name: str
    set_at: Moment


class CredentialAnswer(CredentialItem):
    """A credential with the names of its fields; no answer has a value."""

    fields: list[str]


class Sealed(msgspec.Struct):
    """How many credentials were sealed again."""

    sealed: int


CredentialList = page_of("CredentialList", CredentialItem, "Every credential by name.")


class LeaseItem(msgspec.Struct):
    """A run in a worker's hands: since when, and how long ago it was last heard of."""

    execution_id: str
    step_run_id: str
    epoch: int | UnsetType = UNSET
    since: Moment | UnsetType = UNSET
    age_ms: int | UnsetType = UNSET


class WorkerItem(msgspec.Struct):
    """A worker that was heard of."""

    worker_id: str
    pool: str
    concurrency: int
    running: int
    heard_at: Moment
    started_at: Moment
    version: str
    host: str
    draining: bool
    leases: list[LeaseItem]
    finished: int


WorkerList = page_of("WorkerList", WorkerItem, "The workers that were heard of lately.")


class TokenItem(msgspec.Struct):
    """A token as lists show it, never itself."""

    id: str
    name: str
    scopes: list[str]
    prefixes: list[str]
    pools: list[str]
    created_at: Moment
    expires_at: Moment | None
    by: str


TokenList = page_of("TokenList", TokenItem, "Every token.")


class NewTokenAnswer(TokenItem):
    """A token, shown this once."""

    token: str


class SkippedTicks(msgspec.Struct, rename={"first": "from", "last": "to"}):
    """Ticks that were due and started nothing: the newest such span, why, and how many there ever were."""

    count: int
    first: Moment
    last: Moment
    why: str
    total: int


class ScheduleItem(msgspec.Struct):
    """A schedule with its next and its last tick."""

    name: str
    path: str
    version: int | None
    workload: JsonObject
    cron: str | None
    timezone: str
    every_s: int | None
    enabled: bool
    catch_up: Literal["one", "skip"]
    next_at: Moment | None
    last_at: Moment | None
    last_execution: str | None
    last_error: str | None
    created_at: Moment
    by: str
    skipped: SkippedTicks | None


SchedulePage = page_of("SchedulePage", ScheduleItem, "Schedules by name, and where the next page begins.")


class TriggerItem(msgspec.Struct, rename={"payload_key": "as"}):
    """A trigger, without the secret; `hook` is where a webhook is called."""

    name: str
    kind: Literal["webhook", "nats"]
    path: str
    version: int | None
    workload: JsonObject
    payload_key: str
    subject: str | None
    queue: str | None
    enabled: bool
    created_at: Moment
    by: str
    hook: str | None


TriggerPage = page_of("TriggerPage", TriggerItem, "Triggers by name, and where the next page begins.")


class NewTriggerAnswer(TriggerItem):
    """A trigger, and its secret if that was made or given: shown this once."""

    secret: str | None


class SessionAnswer(msgspec.Struct):
    """Who one is, and what changes of a session carry in the header X-CSRF-Token."""

    name: str
    scopes: list[str]
    prefixes: list[str]
    csrf: str | None


ToolList = page_of("ToolList", JsonObject, "The installed tool kinds.")


class Health(msgspec.Struct):
    """Whether the server can do its work."""

    status: Literal["ok", "behind"]
    overdue_ms: int | UnsetType = UNSET
