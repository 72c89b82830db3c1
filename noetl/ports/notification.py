"""Who is told what becomes of executions: notifications as they rest, their deliveries, and who sends them.

A delivery is written by the commit that changes what it tells of: what happened and that somebody has to be
told of it are one fact. Times are milliseconds since the epoch; the store's clock decides what is due.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Protocol, get_args

import msgspec
from msgspec import Meta

from noetl.core.event import iso
from noetl.errors import NoetlError, NotFound
from noetl.json_value import Json, JsonObject
from noetl.ports.schedule import Pattern, StandingName

Occasion = Literal["failed", "stuck", "completed", "waiting", "late"]
OCCASIONS: tuple[str, ...] = get_args(Occasion)
BAD_ENDS: tuple[Occasion, ...] = ("failed", "stuck")  # what is told unless something else is wanted
Kind = Literal["webhook", "slack", "teams", "mail", "playbook"]
KINDS: tuple[str, ...] = get_args(Kind)
SAMPLE = "sample"  # the occasion of a delivery that only tries the way
KEY_PREFIX = "notification/"  # of the idempotency keys of executions that a notification starts
TARGET_LENGTH = 2048

CredentialRef = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_.-]{0,127}$")]


class NotificationBody(
    msgspec.Struct, kw_only=True, forbid_unknown_fields=True, rename={"occasions": "on", "target": "to"}
):
    """A notification that is wanted: what is told of which playbooks, and to whom."""

    name: StandingName
    occasions: Annotated[list[Occasion], Meta(max_length=16)] = msgspec.field(
        default_factory=lambda: list[Occasion](BAD_ENDS)
    )
    path: Pattern = "*"  # of playbooks: `*` stands for any characters, `?` for one
    target: Annotated[str, Meta(min_length=1, max_length=TARGET_LENGTH)]
    auth: CredentialRef | None = None  # the credential with the address or the secret
    children: bool = False  # of executions that others started, too
    enabled: bool = True


class NotificationAsk(NotificationBody, kw_only=True):
    """The same, and by whom."""

    by: str = "cli"


class Notification(NotificationBody, kw_only=True, forbid_unknown_fields=False):
    """Someone who is told when executions of some playbooks fail, end, wait or are late."""

    created_at: int = 0
    by: str = ""


class Attempt(msgspec.Struct, omit_defaults=True):
    """One try to deliver: when, how long it took, and what the other side answered."""

    at: int
    ms: int = 0
    code: int | None = None
    error: str | None = None
    taken: list[str] = msgspec.field(default_factory=list[str])  # addresses that have it, while others do not


class Delivery(msgspec.Struct, kw_only=True):
    """Something that somebody is told, until it has arrived or been given up."""

    id: int
    notification: str
    occasion: str
    execution_id: str | None
    path: str
    seq: int
    at: int
    detail: str | None = None  # JSON of what the event itself says, where it is one of a step
    state: str = "pending"  # pending | delivered | failed
    attempts: int = 0
    next_at: int | None = 0  # when it is tried next; None: never
    code: int | None = None
    error: str | None = None
    settled_at: int | None = None
    answers: str = "[]"  # JSON of the newest attempts

    @property
    def key(self) -> str:
        """What tells a repeat from another: the same however often it is sent."""
        return f"{self.execution_id or f'{self.occasion}-{self.at}'}-{self.id}"


class Outcome(msgspec.Struct):
    """How an attempt went, and when the next one is; none is left when `state` says that it is settled."""

    state: str
    attempt: Attempt
    answers: str
    next_at: int | None = None


class FindDeliveries(msgspec.Struct, kw_only=True):
    """Which deliveries are wanted, the newest first."""

    notification: str | None = None
    execution_id: str | None = None
    state: str | None = None
    before: int | None = None  # those with a smaller number
    limit: int = 100


EVERY_DELIVERY = FindDeliveries()


class Notice(msgspec.Struct):
    """Something that the log says and somebody may want to know: told with the commit that appends it.

    `to`: notifications that the playbook names; None: those that asked for the occasion.
    """

    occasion: str
    seq: int
    at: int
    to: list[str] | None = None
    detail: str | None = None
    due_at: int = 0  # when it is told, unless it is not true by then


class NotificationMessage(msgspec.Struct, kw_only=True):
    """What is told, as every target gets it in its own shape."""

    id: str
    notification: str
    event: str
    at: str
    text: str
    execution_id: str | None = None
    path: str = ""
    version: int | None = None
    status: str | None = None
    step: str | None = None
    error: JsonObject | None = None
    counts: JsonObject | None = None
    duration_ms: int | None = None
    expected_ms: int | None = None
    by: str | None = None
    url: str | None = None


class NotDelivered(NoetlError):
    """The other side did not take it."""

    code = "not-delivered"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        taken: Sequence[str] = (),
    ) -> None:
        self.status, self.retry_after_s = status, retry_after_s
        self.taken = taken  # addresses of several that have it all the same
        super().__init__(message)


class Sender(Protocol):
    """One way to tell somebody."""

    async def send(
        self, address: str | None, material: Mapping[str, Json], message: NotificationMessage
    ) -> int | None:
        """Tell it, once; the code of the answer. Raises NotDelivered."""


class Notifications(Protocol):
    """Notifications by name; unknown names raise NotFound."""

    async def notifications(self) -> Sequence[Notification]:
        """Every notification, by name."""

    async def notification(self, name: str) -> Notification:
        """One notification."""

    async def delete_notification(self, name: str) -> None:
        """Forget a notification, what it was to tell, and what it told."""

    async def deliveries(self, find: FindDeliveries = EVERY_DELIVERY) -> Sequence[Delivery]:
        """What was told, or is to be, the newest first; not what may yet happen."""

    async def delivery(self, number: int) -> Delivery:
        """One delivery; raises NotFound."""


class NotificationStore(Notifications, Protocol):
    """Notifications, and the deliveries that commits write for them."""

    async def put_notification(self, notification: Notification, *, new: bool = False) -> bool:
        """Keep a notification, in the place of one that has the name; `new`: unless there is one, then False.

        Who made it first stays as it is.
        """

    async def add_delivery(
        self, notification: str, occasion: str, at: int, path: str | None = None, detail: str | None = None
    ) -> Delivery:
        """Something that no execution said: a sample, or what became of a tick that could start none."""

    async def take_deliveries(
        self, lease_ms: int, but: Sequence[str] = (), limit: int = 8
    ) -> Sequence[Delivery]:
        """Deliveries that are due, the longest first; none goes to two who ask at once.

        Each is due again when the lease is over, unless it is settled. Those of the notifications in `but`
        are not wanted.
        """

    async def settle_delivery(self, number: int, attempts: int, outcome: Outcome) -> bool:
        """Note how an attempt went; False when a later attempt was begun by somebody else."""

    async def drop_delivery(self, number: int) -> None:
        """Forget a delivery that does not come true."""

    async def redeliver(self, number: int) -> bool:
        """Let a delivery be due at once, as if it had never been tried, under the same key."""

    async def prune_deliveries(self, before: int) -> int:
        """Forget what was settled before a moment; how many."""


def notice_values(execution_id: str, notice: Notice) -> tuple[object, ...]:
    """A notice as the columns of a delivery, and for whom."""
    to = None if notice.to is None else msgspec.json.encode(notice.to).decode()
    return execution_id, notice.occasion, notice.seq, notice.at, to, notice.detail, notice.due_at


def target_of(target: str) -> tuple[str, str | None]:
    """The kind and the address of a target."""
    kind, _, address = target.partition(":")
    return kind, address or None


def notification_facts(notification: Notification) -> JsonObject:
    """A notification as readers see it. Addresses that are secrets are in its credential."""
    fields = msgspec.to_builtins(notification)
    return {**fields, "created_at": iso(notification.created_at)}


def delivery_facts(delivery: Delivery) -> JsonObject:
    """A delivery as readers see it."""
    attempts = msgspec.json.decode(delivery.answers, type=list[Attempt])
    detail = msgspec.json.decode(delivery.detail) if delivery.detail else {}
    return {
        "id": delivery.id,
        "key": delivery.key,
        "notification": delivery.notification,
        "event": delivery.occasion,
        "execution_id": delivery.execution_id,
        "path": delivery.path,
        "step": detail.get("step"),
        "at": iso(delivery.at),
        "state": delivery.state,
        "attempts": delivery.attempts,
        "next_at": iso(delivery.next_at) if delivery.next_at else None,
        "settled_at": iso(delivery.settled_at) if delivery.settled_at is not None else None,
        "code": delivery.code,
        "error": delivery.error,
        "answers": [
            {"at": iso(one.at), "ms": one.ms, "code": one.code, "error": one.error} for one in attempts
        ],
    }


def unknown_notification(name: str) -> NotFound:
    """What is raised for a notification that is not there."""
    return NotFound(f"there is no notification {name!r}", hint="noetl notification list")


def unknown_delivery(number: int) -> NotFound:
    """What is raised for a delivery that is not there."""
    return NotFound(f"there is no delivery {number}", hint="noetl notification deliveries")
