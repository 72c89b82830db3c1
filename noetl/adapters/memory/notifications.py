"""Notifications and deliveries of the store in memory."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

import msgspec
from msgspec.structs import replace

from noetl.ports.notification import (
    EVERY_DELIVERY,
    KEY_PREFIX,
    Delivery,
    FindDeliveries,
    Notice,
    Notification,
    Outcome,
    target_of,
    unknown_delivery,
    unknown_notification,
)
from noetl.ports.store import Stuck, Summary, glob_of

TOLD = ("failed", "stuck", "completed", "waiting")  # the statuses that somebody may want to know of


class MemoryNotifications:
    """The part of the store in memory that keeps who is told what."""

    _now: Callable[[], int]

    def __init__(self) -> None:
        self._notifications: dict[str, Notification] = {}
        self._deliveries: dict[int, Delivery] = {}
        self._told = 0

    def _tell_status(self, before: str | None, summary: Summary, seq: int) -> None:
        """Write what a change of status has to be told; one that goes on as another has not ended."""
        if summary.status == before or summary.status not in TOLD or summary.continued_as is not None:
            return
        stuck = summary.stuck and msgspec.json.decode(summary.stuck, type=Stuck).since
        self._tell(summary, Notice(summary.status, seq, summary.ended_at or stuck or self._now()))

    def _tell(self, summary: Summary, notice: Notice) -> None:
        for notification in self._notifications.values():
            if _wants(notification, summary, notice):
                self._add(notification, notice, summary.execution_id, summary.path)

    def _add(
        self, notification: Notification, notice: Notice, execution_id: str | None, path: str
    ) -> Delivery:
        self._told += 1
        delivery = self._deliveries[self._told] = Delivery(
            id=self._told,
            notification=notification.name,
            occasion=notice.occasion,
            execution_id=execution_id,
            path=path,
            seq=notice.seq,
            at=notice.at,
            detail=notice.detail,
            next_at=notice.due_at,
        )
        return delivery

    async def put_notification(self, notification: Notification, *, new: bool = False) -> bool:
        existing = self._notifications.get(notification.name)
        if existing is not None and new:
            return False
        first = existing or notification
        self._notifications[notification.name] = replace(
            notification, created_at=first.created_at, by=first.by
        )
        return True

    async def notification(self, name: str) -> Notification:
        if name not in self._notifications:
            raise unknown_notification(name)
        return replace(self._notifications[name])

    async def notifications(self) -> Sequence[Notification]:
        return [replace(self._notifications[name]) for name in sorted(self._notifications)]

    async def delete_notification(self, name: str) -> None:
        if self._notifications.pop(name, None) is None:
            raise unknown_notification(name)
        own = [number for number, delivery in self._deliveries.items() if delivery.notification == name]
        for number in own:
            del self._deliveries[number]

    async def add_delivery(
        self, notification: str, occasion: str, at: int, path: str | None = None, detail: str | None = None
    ) -> Delivery:
        found = await self.notification(notification)
        return replace(self._add(found, Notice(occasion, 0, at, detail=detail), None, path or found.path))

    async def deliveries(self, find: FindDeliveries = EVERY_DELIVERY) -> Sequence[Delivery]:
        found = [
            replace(delivery)
            for delivery in reversed(self._deliveries.values())
            if find.notification in (None, delivery.notification)
            and find.execution_id in (None, delivery.execution_id)
            and find.state in (None, delivery.state)
            and (find.before is None or delivery.id < find.before)
            and (delivery.next_at is None or delivery.occasion != "late" or delivery.at <= self._now())
        ]
        return found[: find.limit]

    async def delivery(self, number: int) -> Delivery:
        if number not in self._deliveries:
            raise unknown_delivery(number)
        return replace(self._deliveries[number])

    async def take_deliveries(
        self, lease_ms: int, but: Sequence[str] = (), limit: int = 8
    ) -> Sequence[Delivery]:
        now = self._now()
        due = [
            (delivery.next_at, delivery.id)
            for delivery in self._deliveries.values()
            if delivery.next_at is not None and delivery.next_at <= now and delivery.notification not in but
        ]
        taken = [self._deliveries[number] for _, number in sorted(due)[:limit]]
        for delivery in taken:
            delivery.next_at, delivery.attempts = now + lease_ms, delivery.attempts + 1
        return sorted((replace(delivery) for delivery in taken), key=lambda delivery: delivery.id)

    async def settle_delivery(self, number: int, attempts: int, outcome: Outcome) -> bool:
        delivery, attempt = self._deliveries.get(number), outcome.attempt
        if delivery is None or delivery.attempts != attempts:
            return False
        delivery.state, delivery.next_at, delivery.answers = outcome.state, outcome.next_at, outcome.answers
        delivery.code, delivery.error = attempt.code, attempt.error
        delivery.settled_at = None if outcome.state == "pending" else attempt.at + attempt.ms
        return True

    async def drop_delivery(self, number: int) -> None:
        self._deliveries.pop(number, None)

    async def redeliver(self, number: int) -> bool:
        delivery = self._deliveries.get(number)
        if delivery is None:
            return False
        delivery.state, delivery.attempts, delivery.next_at, delivery.settled_at = "pending", 0, 0, None
        return True

    async def prune_deliveries(self, before: int) -> int:
        old = [
            number
            for number, delivery in self._deliveries.items()
            if delivery.settled_at is not None and delivery.settled_at < before and delivery.next_at is None
        ]
        for number in old:
            del self._deliveries[number]
        return len(old)


def _wants(notification: Notification, summary: Summary, notice: Notice) -> bool:
    started = (summary.idempotency_key or "").startswith(KEY_PREFIX)
    if not notification.enabled or not fnmatchcase(summary.path, glob_of(notification.path)):
        return False
    if target_of(notification.target)[0] == "playbook" and started:
        return False  # what a notification started is not told to playbooks
    if notice.to is not None:
        return notification.name in notice.to
    return notice.occasion in notification.occasions and (notification.children or summary.parent is None)
