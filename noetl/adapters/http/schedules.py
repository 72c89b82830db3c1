"""Schedules and triggers of a server far away."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from noetl.adapters.http.client import Client
from noetl.adapters.http.moment import ms, ms_or_none
from noetl.adapters.http.problem import error_of
from noetl.json_value import Json
from noetl.ports.front import NewTrigger, ScheduleAsk, Started, TriggerAsk, WebhookCall
from noetl.ports.schedule import Schedule, Skipped, Trigger

PAGE = 500
SECRET_HEADER, SIGNATURE_HEADER, KEY_HEADER = "X-Noetl-Secret", "X-Hub-Signature-256", "Idempotency-Key"


class HttpSchedules:
    """The part of a front over REST that speaks of what starts executions."""

    client: Client

    async def put_schedule(self, ask: ScheduleAsk, *, new: bool = False) -> Schedule:
        """Keep a schedule; the server says who asked."""
        fields = ("path", "version", "workload", "cron", "timezone", "every_s", "enabled", "catch_up")
        return _schedule(await self._put("/schedules", ask.name, _request_fields(ask, fields), new=new))

    async def _put(self, place: str, name: str, body: dict[str, Any], *, new: bool) -> dict[str, Any]:
        answer: dict[str, Any]
        if new:
            answer = await self.client.ask("POST", place, body={"name": name, **body})
        else:
            answer = await self.client.ask("PUT", f"{place}/{_id(name)}", body=body)
        return answer

    async def schedules(self) -> Sequence[Schedule]:
        """Every schedule, by name."""
        return [_schedule(item) for item in await self._all("/schedules")]

    async def _all(self, place: str, **query: Any) -> list[dict[str, Any]]:
        """Every item of a list, page by page."""
        items: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = await self.client.ask("GET", place, query={**query, "cursor": cursor, "limit": PAGE})
            items += page["items"]
            cursor = page.get("cursor")
            if cursor is None:
                return items

    async def schedule(self, name: str) -> Schedule:
        """One schedule."""
        return _schedule(await self.client.ask("GET", f"/schedules/{_id(name)}"))

    async def delete_schedule(self, name: str) -> None:
        """Forget a schedule."""
        await self.client.ask("DELETE", f"/schedules/{_id(name)}")

    async def run_schedule(self, name: str, by: str = "cli") -> Started:
        """Start at once what a schedule starts; the server says who asked."""
        return _started(await self.client.ask("POST", f"/schedules/{_id(name)}/run"))

    async def put_trigger(self, ask: TriggerAsk, *, new: bool = False) -> NewTrigger:
        """Keep a trigger; the server says who asked."""
        fields = ("kind", "path", "version", "workload", "secret", "subject", "queue", "enabled")
        body = {**_request_fields(ask, fields), "as": ask.payload_key}
        answer = await self._put("/triggers", ask.name, body, new=new)
        return NewTrigger(_trigger(answer), answer["secret"])

    async def triggers(self) -> Sequence[Trigger]:
        """Every trigger, by name, without digests."""
        return [_trigger(item) for item in await self._all("/triggers")]

    async def trigger(self, name: str) -> Trigger:
        """One trigger."""
        return _trigger(await self.client.ask("GET", f"/triggers/{_id(name)}"))

    async def delete_trigger(self, name: str) -> None:
        """Forget a trigger and its secret."""
        await self.client.ask("DELETE", f"/triggers/{_id(name)}")

    async def fire_trigger(
        self, name: str, payload: Json, *, key: str | None = None, by: str | None = None
    ) -> Started:
        """Start what a trigger starts, with a payload."""
        body = {"payload": payload, "idempotency_key": key}
        return _started(await self.client.ask("POST", f"/triggers/{_id(name)}/run", body=body))

    async def knock(self, name: str, knock: WebhookCall) -> Started:
        """A call of a webhook."""
        sent_headers = {SECRET_HEADER: knock.secret, SIGNATURE_HEADER: knock.signature, KEY_HEADER: knock.key}
        headers = {name: value for name, value in sent_headers.items() if value is not None}
        async with self.client.open(
            "POST", f"/hooks/{_id(name)}", content=knock.body, headers=headers
        ) as answer:
            content = await answer.read()
            if answer.status >= 300:
                raise error_of(self.client.url, answer.status, content)
            return _started(await answer.json())


def _id(text: str) -> str:
    return quote(text, safe="")


def _request_fields(ask: ScheduleAsk | TriggerAsk, fields: Sequence[str]) -> dict[str, Any]:
    body = {name: getattr(ask, name) for name in fields}
    return {name: value for name, value in body.items() if value is not None}


def _started(answer: dict[str, Any]) -> Started:
    return Started(answer["execution_id"], answer["status"], answer.get("path", ""))


def _schedule(item: dict[str, Any]) -> Schedule:
    """A schedule as it was answered; its fields are those of the port."""
    moments: dict[str, Any] = {name: ms_or_none(item[name]) for name in ("next_at", "last_at")}
    if (skipped := item.get("skipped")) is not None:
        span = {"from": ms(skipped["from"]), "to": ms(skipped["to"])}
        moments["skipped"] = msgspec.convert({**skipped, **span}, Skipped)
    return Schedule(**{**item, **moments, "created_at": ms(item["created_at"])})


def _trigger(item: dict[str, Any]) -> Trigger:
    fields = ("name", "kind", "path", "version", "workload", "subject", "queue", "enabled", "by")
    return Trigger(
        payload_key=item["as"],
        created_at=ms(item["created_at"]),
        **{name: item[name] for name in fields},
    )
