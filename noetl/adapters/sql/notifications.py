"""Notifications and deliveries of a store over SQL: each method is one statement, called by its name."""

from abc import abstractmethod
from collections.abc import Sequence

import msgspec

from noetl.adapters.sql.schedules import Record, SqlSchedules
from noetl.ports.notification import (
    EVERY_DELIVERY,
    Delivery,
    FindDeliveries,
    Notification,
    Outcome,
    unknown_delivery,
    unknown_notification,
)


class SqlNotifications(SqlSchedules):
    """The part of a store over SQL that keeps who is told what, beside what starts executions."""

    @abstractmethod
    def _names(self, names: Sequence[str]) -> object:
        """A list of names as the statements take it."""

    async def put_notification(self, notification: Notification, *, new: bool = False) -> bool:
        fields = msgspec.structs.asdict(notification)
        values = {**fields, "occasions": msgspec.json.encode(notification.occasions).decode()}.values()
        if new:
            return bool(await self._write("add_notification", *values, again=False))
        await self._write("put_notification", *values)
        return True

    async def notification(self, name: str) -> Notification:
        rows = await self._rows("notification", name)
        if not rows:
            raise unknown_notification(name)
        return _notification(rows[0])

    async def notifications(self) -> Sequence[Notification]:
        return [_notification(row) for row in await self._rows("notifications")]

    async def delete_notification(self, name: str) -> None:
        if not await self._write("delete_notification", name, again=False):
            raise unknown_notification(name)

    async def add_delivery(
        self, notification: str, occasion: str, at: int, path: str | None = None, detail: str | None = None
    ) -> Delivery:
        rows = await self._write("add_delivery", notification, occasion, at, path, detail, again=False)
        if not rows:
            raise unknown_notification(notification)
        return _delivery(rows[0])

    async def deliveries(self, find: FindDeliveries = EVERY_DELIVERY) -> Sequence[Delivery]:
        values = (find.notification, find.execution_id, find.state, find.before, find.limit, self._now())
        return [_delivery(row) for row in await self._rows("deliveries", *values)]

    async def delivery(self, number: int) -> Delivery:
        rows = await self._rows("delivery", number)
        if not rows:
            raise unknown_delivery(number)
        return _delivery(rows[0])

    async def take_deliveries(
        self, lease_ms: int, but: Sequence[str] = (), limit: int = 8
    ) -> Sequence[Delivery]:
        if not await self._rows("deliveries_due", self._now()):
            return ()
        values = (self._now(), lease_ms, self._names(but), limit)
        taken = [_delivery(row) for row in await self._write("take_deliveries", *values, again=False)]
        return sorted(taken, key=lambda delivery: delivery.id)

    async def settle_delivery(self, number: int, attempts: int, outcome: Outcome) -> bool:
        attempt = outcome.attempt
        told = (outcome.state, outcome.next_at, attempt.code, attempt.error, outcome.answers)
        return bool(await self._write("settle_delivery", number, attempts, *told, attempt.at + attempt.ms))

    async def drop_delivery(self, number: int) -> None:
        await self._write("drop_delivery", number)

    async def redeliver(self, number: int) -> bool:
        return bool(await self._write("redeliver", number))

    async def prune_deliveries(self, before: int) -> int:
        return len(await self._write("prune_deliveries", before))


def _notification(row: Record) -> Notification:
    fields = dict(zip(Notification.__struct_fields__, row, strict=True))
    flags = {name: bool(fields[name]) for name in ("children", "enabled")}
    return Notification(**{**fields, **flags, "occasions": msgspec.json.decode(fields["occasions"])})


def _delivery(row: Record) -> Delivery:
    return Delivery(**dict(zip(Delivery.__struct_fields__, row, strict=True)))
