"""Notifications and deliveries of a server far away."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from noetl.adapters.http.moment import with_ms
from noetl.adapters.http.schedules import HttpSchedules, body_of, segment
from noetl.ports.notification import (
    EVERY_DELIVERY,
    Attempt,
    Delivery,
    FindDeliveries,
    Notification,
    NotificationAsk,
)


class HttpNotifications(HttpSchedules):
    """The part of a front over REST that speaks of who is told what, beside what starts executions."""

    async def put_notification(self, ask: NotificationAsk, *, new: bool = False) -> Notification:
        """Keep a notification; the server says who asked."""
        body = body_of(ask)
        if new:
            return _notification(await self.client.ask("POST", "/notifications", body=body))
        place = f"/notifications/{segment(body.pop('name'))}"
        return _notification(await self.client.ask("PUT", place, body=body))

    async def notifications(self) -> Sequence[Notification]:
        return [_notification(item) for item in await self._all("/notifications")]

    async def notification(self, name: str) -> Notification:
        return _notification(await self.client.ask("GET", f"/notifications/{segment(name)}"))

    async def delete_notification(self, name: str) -> None:
        await self.client.ask("DELETE", f"/notifications/{segment(name)}")

    async def send_sample(self, name: str) -> Delivery:
        return _delivery(await self.client.ask("POST", f"/notifications/{segment(name)}/test"))

    async def deliveries(self, find: FindDeliveries = EVERY_DELIVERY) -> Sequence[Delivery]:
        query: dict[str, Any] = {
            "notification": find.notification,
            "execution_id": find.execution_id,
            "state": find.state,
            "cursor": find.before,
            "limit": find.limit,
        }
        answer = await self.client.ask("GET", "/deliveries", query=query)
        return [_delivery(item) for item in answer["items"]]

    async def delivery(self, number: int) -> Delivery:
        return _delivery(await self.client.ask("GET", f"/deliveries/{number}"))

    async def redeliver(self, number: int) -> Delivery:
        return _delivery(await self.client.ask("POST", f"/deliveries/{number}/redeliver"))


def _notification(item: Mapping[str, object]) -> Notification:
    return msgspec.convert(with_ms(item, "created_at"), Notification)


def _delivery(item: Mapping[str, Any]) -> Delivery:
    fields = with_ms(item, "at", "next_at", "settled_at")
    answers = [msgspec.convert(with_ms(one, "at"), Attempt) for one in item["answers"]]
    detail = None if item["step"] is None else msgspec.json.encode({"step": item["step"]}).decode()
    named = {
        "occasion": fields["event"],
        "execution_id": fields.get("execution_id"),
        "seq": 0,
        "next_at": fields.get("next_at"),
        "answers": msgspec.json.encode(answers).decode(),
        "detail": detail,
    }
    return msgspec.convert({**fields, **named}, Delivery)
