"""The shapes of what is sent and answered, as the OpenAPI document shows them; bodies are read by them.

What a port or a reader of logs has a type for is described by that one; here is what has no other.
"""

from collections.abc import Collection, Iterable
from types import GenericAlias
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from noetl.core.event import EventEnvelope, ExecutionId, Moment
from noetl.core.shapes import one_of
from noetl.core.state import STATUSES
from noetl.json_value import Json, JsonObject
from noetl.ports.answers import ExecutionAnswer, ExecutionItem
from noetl.ports.front import Slice, Worker
from noetl.ports.notification import Notification, NotificationBody
from noetl.ports.schedule import (
    ComingTick,
    PlaybookNumber,
    PlaybookPath,
    Schedule,
    ScheduleBody,
    Skipped,
    Trigger,
    TriggerBody,
)
from noetl.ports.store import AccessToken, PlaybookText, Projection, Row, Snapshot, Summary
from noetl.ports.tick import Backfill, Tick

CredentialName = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_.-]{0,127}$")]


def part_of(
    name: str,
    whole: type[msgspec.Struct],
    words: str,
    *,
    without: Collection[str] = (),
    defaults: bool = True,
    **other: Any,
) -> type[msgspec.Struct]:
    """The shape of a struct without some of its fields, with others in another form, or more of them."""
    fields: list[tuple[str, Any, Any]] = [
        (field.name, other.pop(field.name, field.type), _default(field) if defaults else msgspec.NODEFAULT)
        for field in msgspec.structs.fields(whole)
        if field.name not in without
    ]
    fields += [(field, kind, msgspec.NODEFAULT) for field, kind in other.items()]
    return msgspec.defstruct(
        name,
        fields,
        namespace={"__doc__": words},
        module=__name__,
        kw_only=True,
        forbid_unknown_fields=whole.__struct_config__.forbid_unknown_fields,
        rename={field.name: field.encode_name for field in msgspec.structs.fields(whole)},
    )


def _default(field: msgspec.structs.FieldInfo) -> Any:
    made = field.default_factory is not msgspec.NODEFAULT
    return msgspec.field(default_factory=field.default_factory) if made else field.default


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
    version: PlaybookNumber | None = None
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


ScheduleChange = part_of(
    "ScheduleChange",
    ScheduleBody,
    "What a schedule starts and when: by a cron expression in a time zone, or every so many seconds.",
    without={"name"},
)
TriggerChange = part_of(
    "TriggerChange",
    TriggerBody,
    "What a trigger starts, and by what: a webhook, a subject of NATS, ends of playbooks, or objects.",
    without={"name"},
)


NotificationChange = part_of(
    "NotificationChange",
    NotificationBody,
    "What is told of which playbooks, and to whom.",
    without={"name"},
)


class FireBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a message would have said."""

    payload: Json = None
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=255)] | None = None


class SessionBody(msgspec.Struct, forbid_unknown_fields=True):
    """The token a session begins with."""

    token: Annotated[str, Meta(max_length=16_384)]


LegacyVersion = Annotated[str, Meta(pattern="^(latest|[1-9][0-9]{0,8})$")]


class LegacyExecuteBody(msgspec.Struct):
    """What clients of the original send to run a playbook; fields beyond these are left unread."""

    path: PlaybookPath | None = None
    playbook_id: PlaybookPath | None = None
    version: PlaybookNumber | LegacyVersion | None = None
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


def numbers(name: str, words: str, counted: Iterable[str]) -> type[msgspec.Struct]:
    """The shape of so many numbers."""
    return msgspec.defstruct(
        name, [(one, int) for one in counted], namespace={"__doc__": words}, module=__name__
    )


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


CatalogEntry = part_of(
    "CatalogEntry",
    PlaybookText,
    "One version of a registered playbook, without its text.",
    without={"text", "language"},
    defaults=False,
    registered_at=Moment,
)
CatalogText = part_of(
    "CatalogText", CatalogEntry, "One version of a registered playbook.", defaults=False, text=str
)
CatalogPage = page_of("CatalogPage", CatalogEntry, "A page of the catalog, and where the next one begins.")


class Deleted(msgspec.Struct):
    """How many versions were taken off the catalog."""

    deleted: int


class BegunPlaybook(msgspec.Struct):
    """Which playbook it is of; which version is told by the execution itself."""

    path: str


class Begun(msgspec.Struct):
    """An execution that was asked for; `path` is `playbook.path` once more, for older clients."""

    execution_id: ExecutionId
    status: str
    path: str | UnsetType = UNSET
    playbook: BegunPlaybook | UnsetType = UNSET


class Called(msgspec.Struct):
    """What a call of a webhook started; nothing yet when it was collected, nothing at all when filtered."""

    execution_id: ExecutionId | None
    status: str
    path: str
    playbook: BegunPlaybook


Counts = numbers(
    "Counts",
    "How much happened in an execution; failed iterations are of loops that went on without them.",
    ("events", "steps", "tasks", "iterations", "failed_iterations"),
)
ExecutionPage = page_of(
    "ExecutionPage", ExecutionItem, "A page of executions, the newest first, and where the next one begins."
)


class LegacyExecutionAnswer(ExecutionAnswer):
    """How an execution stands, with the status as clients of the original wait for it."""

    status: Annotated[str, one_of(*map(str.upper, STATUSES))]


EventPage = page_of(
    "EventPage",
    EventEnvelope,
    "Events in order, and the number at which the next page begins.",
    ("next", int | None),
)


class Rendered(msgspec.Struct):
    """What a template evaluates to."""

    value: Json


ResultSlice = part_of("ResultSlice", Slice, "A stored payload, or a part of it.", defaults=False)


class CredentialItem(msgspec.Struct):
    """A credential by its name; no answer has a value."""

    name: str
    set_at: Moment


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


WorkerItem = part_of(
    "WorkerItem",
    Worker,
    "A worker that was heard of.",
    defaults=False,
    heard_at=Moment,
    started_at=Moment,
    leases=list[LeaseItem],
)
WorkerList = page_of("WorkerList", WorkerItem, "The workers that were heard of lately.")


TokenItem = part_of(
    "TokenItem",
    AccessToken,
    "A token as lists show it, never itself.",
    without={"hash"},
    defaults=False,
    created_at=Moment,
    expires_at=Moment | None,
)
NewTokenAnswer = part_of("NewTokenAnswer", TokenItem, "A token, shown this once.", defaults=False, token=str)
TokenList = page_of("TokenList", TokenItem, "Every token.")


SkippedTicks = part_of(
    "SkippedTicks", Skipped, Skipped.__doc__ or "", defaults=False, first_at=Moment, last_at=Moment
)
ScheduleItem = part_of(
    "ScheduleItem",
    Schedule,
    "A schedule with its next and its last tick.",
    defaults=False,
    next_at=Moment | None,
    last_at=Moment | None,
    created_at=Moment,
    skipped=SkippedTicks | None,
)
TickItem = part_of(
    "TickItem",
    Tick,
    "A tick, and what became of it.",
    without={"owner"},
    defaults=False,
    tick=Moment,
    at=Moment,
    failed_iterations=int,
)
TickPage = page_of("TickPage", TickItem, "Ticks, the newest first, and where the next page begins.")
ComingItem = part_of("ComingItem", ComingTick, ComingTick.__doc__ or "", defaults=False, tick=Moment)
ComingPage = page_of("ComingPage", ComingItem, "Ticks to come, the next one first.")
BackfillItem = part_of(
    "BackfillItem",
    Backfill,
    "A backfill, and how many of its ticks stand how.",
    without={"first_at", "last_at"},
    defaults=False,
    created_at=Moment,
    **{"from": Moment, "to": Moment},
)
BackfillAnswer = part_of(
    "BackfillAnswer",
    BackfillItem,
    "A backfill; of a dry run its ticks, and the executions that some of the first have already.",
    defaults=False,
    ticks=list[Moment],
    existing=dict[str, str],
)
BackfillPage = page_of("BackfillPage", BackfillItem, "Backfills, the newest first.")
SchedulePage = page_of("SchedulePage", ScheduleItem, "Schedules by name, and where the next page begins.")


TriggerItem = part_of(
    "TriggerItem",
    Trigger,
    "A trigger, without the secret; `hook` is where a webhook is called.",
    without={"secret"},
    defaults=False,
    created_at=Moment,
    last_at=Moment | None,
    hook=str | None,
)
NewTriggerAnswer = part_of(
    "NewTriggerAnswer",
    TriggerItem,
    "A trigger, and its secret if that was made or given: shown this once.",
    defaults=False,
    secret=str | None,
)


class ArrivalItem(msgspec.Struct):
    """Something that arrived for a trigger, and what became of it."""

    id: int
    at: Moment
    what: Json
    state: Annotated[str, one_of("pending", "fired", "filtered", "superseded", "failed")]
    attempts: int
    next_at: Moment | None
    settled_at: Moment | None
    execution_id: ExecutionId | None
    error: str | None


ArrivalPage = page_of(
    "ArrivalPage",
    ArrivalItem,
    "What arrived, the newest first, and where the next page begins.",
)
TriggerPage = page_of("TriggerPage", TriggerItem, "Triggers by name, and where the next page begins.")


NotificationItem = part_of(
    "NotificationItem",
    Notification,
    "A notification; its secrets are in the credential that `auth` names.",
    defaults=False,
    created_at=Moment,
)
NotificationPage = page_of(
    "NotificationPage", NotificationItem, "Notifications by name, and where the next page begins."
)


class AttemptItem(msgspec.Struct):
    """One try to deliver: when, how long it took, and what the other side answered."""

    at: Moment
    ms: int
    code: int | None
    error: str | None


class DeliveryItem(msgspec.Struct):
    """What somebody is told: `key` is the same however often it is sent."""

    id: int
    key: str
    notification: str
    event: str
    execution_id: str | None
    path: str
    step: str | None
    at: Moment
    state: Literal["pending", "delivered", "failed"]
    attempts: int
    next_at: Moment | None
    settled_at: Moment | None
    code: int | None
    error: str | None
    answers: list[AttemptItem]


DeliveryPage = page_of(
    "DeliveryPage", DeliveryItem, "Deliveries, the newest first, and where the next page begins."
)


class SessionAnswer(msgspec.Struct):
    """Who one is, and what changes of a session carry in the header X-CSRF-Token."""

    name: str
    scopes: list[str]
    prefixes: list[str]
    csrf: str | None


class LoginWays(msgspec.Struct):
    """How somebody can log in to the web page: with a token, and at which OpenID provider, if any."""

    token: bool
    provider: str | None


ToolList = page_of("ToolList", JsonObject, "The installed tool kinds.")


class Health(msgspec.Struct):
    """Whether the server can do its work."""

    status: Literal["ok", "behind"]
    overdue_ms: int | UnsetType = UNSET


# ---- the log as it rests; bytes are in base64 ------------------------------------------------------------


LogRow = part_of("LogRow", Row, "One row of the log as it rests; bytes are in base64.", defaults=False)
LogPage = page_of(
    "LogPage", LogRow, "Rows in order, and the event at which the next page begins.", ("next", int | None)
)
SnapshotView = part_of("SnapshotView", Snapshot, Snapshot.__doc__ or "")
SummaryView = part_of("SummaryView", Summary, "What lists show of an execution; times in milliseconds.")
ProjectionView = part_of(
    "ProjectionView",
    Projection,
    "What stands beside a log as its last commit left it: `replay` holds the log against it.",
    defaults=False,
    summary=SummaryView,
    snapshot=SnapshotView | None,
)
