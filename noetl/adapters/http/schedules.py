"""Schedules and triggers of a server far away."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from noetl.adapters.http.client import Client
from noetl.adapters.http.moment import ms, with_ms
from noetl.adapters.http.problem import error_of
from noetl.json_value import Json, JsonObject
from noetl.ports.arrival import Arrival
from noetl.ports.front import Collected, NewTrigger, Started, WebhookCall
from noetl.ports.schedule import ComingTick, Schedule, ScheduleAsk, Times, Trigger, TriggerAsk
from noetl.ports.tick import Backfill, BackfillAsk, BackfillWish, PlannedBackfill, Tick

PAGE = 500
SECRET_HEADER, SIGNATURE_HEADER, KEY_HEADER = "X-Noetl-Secret", "X-Hub-Signature-256", "Idempotency-Key"


class HttpSchedules:
    """The part of a front over REST that speaks of what starts executions."""

    client: Client

    async def put_schedule(self, ask: ScheduleAsk, *, new: bool = False) -> Schedule:
        """Keep a schedule; the server says who asked."""
        return _schedule(await self._put("/schedules", ask, new=new))

    async def _put(self, place: str, ask: ScheduleAsk | TriggerAsk, *, new: bool) -> Any:
        body = body_of(ask)
        if new:
            return await self.client.ask("POST", place, body=body)
        return await self.client.ask("PUT", f"{place}/{segment(body.pop('name'))}", body=body)

    async def schedules(self) -> Sequence[Schedule]:
        return [_schedule(item) for item in await self._all("/schedules")]

    async def _all(self, place: str, path: str | None = None) -> list[JsonObject]:
        """Every item of a list, page by page."""
        items: list[JsonObject] = []
        cursor = None
        while True:
            page = await self.client.ask("GET", place, query={"path": path, "cursor": cursor, "limit": PAGE})
            items += page["items"]
            cursor = page.get("cursor")
            if cursor is None:
                return items

    async def schedule(self, name: str) -> Schedule:
        return _schedule(await self.client.ask("GET", f"/schedules/{segment(name)}"))

    async def delete_schedule(self, name: str) -> None:
        await self.client.ask("DELETE", f"/schedules/{segment(name)}")

    async def coming_ticks(self, times: Times) -> Sequence[ComingTick]:
        page = await self.client.ask("GET", "/ticks", query=msgspec.to_builtins(times))
        return [msgspec.convert(with_ms(one, "tick"), ComingTick) for one in page["items"]]

    async def run_schedule(self, name: str, by: str = "cli") -> Started:
        """Start at once what a schedule starts; the server says who asked."""
        return started_of(await self.client.ask("POST", f"/schedules/{segment(name)}/run"))

    async def schedule_ticks(self, name: str, limit: int = 100, before: int | None = None) -> Sequence[Tick]:
        return await self._ticks(f"/schedules/{segment(name)}/ticks", f"schedule/{name}", limit, before)

    async def _ticks(self, place: str, owner: str, limit: int, before: int | None) -> list[Tick]:
        query = {"limit": limit, "cursor": before}
        page = await self.client.ask("GET", place, query=query)
        return [
            msgspec.convert({**with_ms(one, "tick", "at"), "owner": owner}, Tick) for one in page["items"]
        ]

    async def add_backfill(self, ask: BackfillAsk) -> PlannedBackfill:
        answer = await self.client.ask("POST", "/backfills", body=body_of(ask))
        existing = {ms(tick): execution for tick, execution in answer.get("existing", {}).items()}
        return PlannedBackfill(_backfill(answer), [ms(tick) for tick in answer["ticks"]], existing)

    async def backfills(self) -> Sequence[Backfill]:
        return [_backfill(one) for one in (await self.client.ask("GET", "/backfills"))["items"]]

    async def backfill(self, backfill_id: str) -> Backfill:
        return _backfill(await self.client.ask("GET", f"/backfills/{segment(backfill_id)}"))

    async def backfill_ticks(
        self, backfill_id: str, limit: int = 100, before: int | None = None
    ) -> Sequence[Tick]:
        place = f"/backfills/{segment(backfill_id)}/ticks"
        return await self._ticks(place, f"backfill/{backfill_id}", limit, before)

    async def control_backfill(self, backfill_id: str, wish: BackfillWish) -> Backfill:
        return _backfill(await self.client.ask("POST", f"/backfills/{segment(backfill_id)}/{wish}"))

    async def put_trigger(self, ask: TriggerAsk, *, new: bool = False) -> NewTrigger:
        """Keep a trigger; the server says who asked."""
        answer = await self._put("/triggers", ask, new=new)
        return NewTrigger(_trigger(answer), answer["secret"])

    async def triggers(self) -> Sequence[Trigger]:
        """Every trigger, by name, without digests."""
        return [_trigger(item) for item in await self._all("/triggers")]

    async def trigger(self, name: str) -> Trigger:
        return _trigger(await self.client.ask("GET", f"/triggers/{segment(name)}"))

    async def delete_trigger(self, name: str) -> None:
        await self.client.ask("DELETE", f"/triggers/{segment(name)}")

    async def arrivals(self, trigger: str, limit: int = 100, before: int | None = None) -> Sequence[Arrival]:
        query = {"limit": limit, "cursor": before}
        page = await self.client.ask("GET", f"/triggers/{segment(trigger)}/arrivals", query=query)
        return [_arrival(trigger, item) for item in page["items"]]

    async def fire_trigger(
        self, name: str, payload: Json, *, key: str | None = None, by: str | None = None
    ) -> Started:
        body = {"payload": payload, "idempotency_key": key}
        return started_of(await self.client.ask("POST", f"/triggers/{segment(name)}/run", body=body))

    async def knock(self, name: str, knock: WebhookCall) -> Started | Collected:
        sent_headers = {SECRET_HEADER: knock.secret, SIGNATURE_HEADER: knock.signature, KEY_HEADER: knock.key}
        headers = {name: value for name, value in sent_headers.items() if value is not None}
        async with self.client.open(
            "POST", f"/hooks/{segment(name)}", content=knock.body, headers=headers
        ) as answer:
            content = await answer.read()
            if answer.status >= 300:
                raise error_of(self.client.url, answer.status, content)
            called = await answer.json()
        if called["execution_id"] is None:
            return Collected(called["status"], called["path"])
        return started_of(called)


def segment(text: str) -> str:
    """A text as one part of a path."""
    return quote(text, safe="")


def started_of(answer: Mapping[str, object], *, existed: bool = False) -> Started:
    """The execution that was asked for."""
    return msgspec.convert({**answer, "existed": existed}, Started)


def body_of(ask: msgspec.Struct) -> dict[str, Any]:
    """What is asked for, without what is left open; the server says who asked."""
    fields = msgspec.to_builtins(ask)
    return {name: value for name, value in fields.items() if value is not None and name != "by"}


def _schedule(item: Mapping[str, object]) -> Schedule:
    """A schedule as it was answered; its fields are those of the port."""
    fields = with_ms(item, "next_at", "last_at", "created_at")
    skipped = fields.get("skipped")
    if isinstance(skipped, dict):
        fields["skipped"] = with_ms(skipped, "from", "to")
    return msgspec.convert(fields, Schedule)


def _backfill(item: Mapping[str, object]) -> Backfill:
    fields = with_ms(item, "from", "to", "created_at")
    known = {"schedule": None, "version": None, "cron": None, "every_s": None}
    return msgspec.convert(
        {**known, **fields, "first_at": fields.pop("from"), "last_at": fields.pop("to")}, Backfill
    )


def _trigger(item: Mapping[str, object]) -> Trigger:
    return msgspec.convert({**with_ms(item, "created_at", "last_at"), "secret": None}, Trigger)


def _arrival(trigger: str, item: Mapping[str, Any]) -> Arrival:
    fields = with_ms(item, "at", "next_at", "settled_at")
    fields["body"] = msgspec.json.encode(fields.pop("what", None)).decode()
    fields["execution"] = fields.pop("execution_id", None)
    return msgspec.convert({"next_at": None, **fields, "trigger": trigger, "key": ""}, Arrival)
