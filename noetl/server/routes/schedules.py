"""What starts executions without a person: schedules, triggers, and the door of webhooks.

A schedule or trigger goes on when the token that made it is gone, so making one takes `write` besides `run`.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Path, Query, Request
from msgspec import Struct
from msgspec.structs import asdict
from starlette.responses import Response

from noetl.core.event import iso
from noetl.errors import Denied, NotFound
from noetl.json_value import Json, JsonObject
from noetl.ports.arrival import arrival_facts
from noetl.ports.front import Collected, WebhookCall
from noetl.ports.schedule import (
    CRON_LENGTH,
    EVERY_MOST_S,
    NAME_PATTERN,
    Schedule,
    ScheduleAsk,
    ScheduleBody,
    Times,
    Trigger,
    TriggerAsk,
    TriggerBody,
    schedule_facts,
    trigger_facts,
)
from noetl.server.access import require, require_everywhere, require_path, who_asks
from noetl.server.paging import Cursor, Limit, page
from noetl.server.problem import Problem
from noetl.server.reply import body_of, front_of, read, reply, require_json
from noetl.server.route_spec import HOOK_SECRET, HOOK_SIGNATURE, describe, make_router, parameter
from noetl.server.routes.backfills import before_of, tick_page
from noetl.server.routes.executions import KEY_PARAMETER, begun_fields, begun_reply, key_of
from noetl.server.shapes import (
    ArrivalPage,
    Begun,
    Called,
    ComingPage,
    FireBody,
    NewTriggerAnswer,
    ScheduleChange,
    ScheduleItem,
    SchedulePage,
    TickPage,
    TriggerChange,
    TriggerItem,
    TriggerPage,
)

router = make_router("schedules")
T = TypeVar("T", Schedule, Trigger)
Find = Callable[[str], Awaitable[Schedule | Trigger]]  # by name; raises NotFound
Name = Annotated[str, Path(pattern=NAME_PATTERN, description="The name of a schedule or trigger")]
NAME_PARAMETER = parameter(
    "path", "name", "The name of a webhook", required=True, type="string", pattern=NAME_PATTERN
)
FAULTS = (404, 409, 422)
COMING_MOST = 100  # ticks to come that are told at once


# ---- schedules ------------------------------------------------------------------------------------------


@router.get("/schedules", **describe("read", {200: SchedulePage}))
async def list_schedules(request: Request, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """Schedules by name, with their next and last tick."""
    items, more = _page(request, await front_of(request).schedules(), cursor, limit)
    return reply({"items": [schedule_facts(item) for item in items], "cursor": more})


@router.post("/schedules", **describe("write", {201: ScheduleItem}, body=ScheduleBody, problems=FAULTS))
async def add_schedule(request: Request) -> Response:
    """Make a schedule: a playbook, and either a cron expression or an interval."""
    return reply(await _put_schedule(request, await read(request, ScheduleBody), new=True), 201)


@router.get("/schedules/{name}", **describe("read", {200: ScheduleItem}, problems=(404,)))
async def show_schedule(request: Request, name: Name) -> Response:
    """One schedule."""
    return reply(schedule_facts(await _own_schedule(request, name)))


@router.put(
    "/schedules/{name}", **describe("write", {200: ScheduleItem}, body=ScheduleChange, problems=FAULTS)
)
async def put_schedule(request: Request, name: Name) -> Response:
    """Make a schedule, or put it in the place of the one that has the name."""
    body = await read(request, ScheduleChange)
    await _not_of_others(request, front_of(request).schedule, name)
    return reply(await _put_schedule(request, body, name=name))


async def _put_schedule(request: Request, body: Struct, *, new: bool = False, **name: str) -> JsonObject:
    ask = ScheduleAsk(**{**asdict(body), **name, "by": who_asks(request).name})
    _require_standing(request, ask.path)
    return schedule_facts(await front_of(request).put_schedule(ask, new=new))


@router.delete("/schedules/{name}", **describe("write", {204: None}, problems=(404,)))
async def delete_schedule(request: Request, name: Name) -> Response:
    """Forget a schedule; what it started goes on."""
    await _own_schedule(request, name)
    await front_of(request).delete_schedule(name)
    return Response(status_code=204)


@router.get("/ticks", **describe("read", {200: ComingPage}, problems=(404, 422)))
async def list_coming_ticks(
    request: Request,
    *,
    cron: Annotated[str | None, Query(min_length=1, max_length=CRON_LENGTH)] = None,
    timezone: Annotated[str, Query(min_length=1, max_length=64)] = "UTC",
    every_s: Annotated[int | None, Query(ge=1, le=EVERY_MOST_S)] = None,
    schedule: Annotated[
        str | None, Query(pattern=NAME_PATTERN, description="Which gets these times; without any, its own")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=COMING_MOST)] = 5,
) -> Response:
    """The next ticks that such times have, and where clocks are put in between; nothing is kept."""
    if schedule is not None:
        await _own_schedule(request, schedule)
    times = Times(cron=cron, timezone=timezone, every_s=every_s, schedule=schedule, limit=limit)
    coming = await front_of(request).coming_ticks(times)
    items = [{**asdict(tick), "tick": iso(tick.tick)} for tick in coming]
    return reply({"items": items, "cursor": None})


@router.post("/schedules/{name}/run", **describe("run", {201: Begun}, problems=FAULTS))
async def run_schedule(request: Request, name: Name) -> Response:
    """Start at once what a schedule starts; its ticks stay where they are."""
    await _own_schedule(request, name)
    return begun_reply(await front_of(request).run_schedule(name, who_asks(request).name))


@router.get("/schedules/{name}/ticks", **describe("read", {200: TickPage}, problems=(404, 422)))
async def list_ticks(request: Request, name: Name, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """What became of its ticks, the newest first."""
    await _own_schedule(request, name)
    ticks = await front_of(request).schedule_ticks(name, limit + 1, before_of(cursor))
    return await tick_page(request, f"schedule {name}", ticks, limit)


async def _own_schedule(request: Request, name: str) -> Schedule:
    schedule = await front_of(request).schedule(name)
    require_path(request, schedule.path, f"schedule {name!r}")
    return schedule


# ---- triggers -------------------------------------------------------------------------------------------


@router.get("/triggers", **describe("read", {200: TriggerPage}))
async def list_triggers(request: Request, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """Triggers by name; no secret is in any answer but the one to its making."""
    items, more = _page(request, await front_of(request).triggers(), cursor, limit)
    return reply({"items": [trigger_facts(item) for item in items], "cursor": more})


@router.post("/triggers", **describe("write", {201: NewTriggerAnswer}, body=TriggerBody, problems=FAULTS))
async def add_trigger(request: Request) -> Response:
    """Make a trigger. The secret of a webhook can only be read in this answer."""
    return reply(await _put_trigger(request, await read(request, TriggerBody), new=True), 201)


@router.get("/triggers/{name}", **describe("read", {200: TriggerItem}, problems=(404,)))
async def show_trigger(request: Request, name: Name) -> Response:
    """One trigger."""
    return reply(trigger_facts(await _own_trigger(request, name)))


@router.put(
    "/triggers/{name}", **describe("write", {200: NewTriggerAnswer}, body=TriggerChange, problems=FAULTS)
)
async def put_trigger(request: Request, name: Name) -> Response:
    """Make a trigger, or put it in the place of the one that has the name; a secret not given stays."""
    body = await read(request, TriggerChange)
    await _not_of_others(request, front_of(request).trigger, name)
    return reply(await _put_trigger(request, body, name=name))


async def _put_trigger(request: Request, body: Struct, *, new: bool = False, **name: str) -> JsonObject:
    ask = TriggerAsk(**{**asdict(body), **name, "by": who_asks(request).name})
    _require_standing(request, ask.path)
    for pattern in ask.after:
        require_path(request, pattern, f"place for triggers on '{pattern}'")
    if ask.kind in ("nats", "object"):  # a subject or a bucket belongs to no path
        require_everywhere(request)
    new_trigger = await front_of(request).put_trigger(ask, new=new)
    return {**trigger_facts(new_trigger.trigger), "secret": new_trigger.secret}


@router.delete("/triggers/{name}", **describe("write", {204: None}, problems=(404,)))
async def delete_trigger(request: Request, name: Name) -> Response:
    """Forget a trigger and its secret."""
    await _own_trigger(request, name)
    await front_of(request).delete_trigger(name)
    return Response(status_code=204)


@router.post("/triggers/{name}/run", **describe("run", {201: Begun}, body=FireBody, problems=FAULTS))
async def run_trigger(request: Request, name: Name) -> Response:
    """Start what a trigger starts, with a payload, as if a message had said it."""
    body = await read(request, FireBody)
    await _own_trigger(request, name)
    key, by = key_of(request, body.idempotency_key), who_asks(request).name
    return begun_reply(await front_of(request).fire_trigger(name, body.payload, key=key, by=by))


@router.get("/triggers/{name}/arrivals", **describe("read", {200: ArrivalPage}, problems=(404, 422)))
async def list_arrivals(request: Request, name: Name, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """What arrived for a trigger and what became of it, the newest first."""
    await _own_trigger(request, name)
    found = list(await front_of(request).arrivals(name, limit + 1, before_of(cursor)))
    more = str(found[limit - 1].id) if len(found) > limit else None
    return reply({"items": [arrival_facts(one) for one in found[:limit]], "cursor": more})


async def _own_trigger(request: Request, name: str) -> Trigger:
    trigger = await front_of(request).trigger(name)
    require_path(request, trigger.path, f"trigger {name!r}")
    return trigger


# ---- webhooks -------------------------------------------------------------------------------------------


@router.post(
    "/hooks/{name}",
    **describe(
        "hook",
        {202: Called},
        body=Json,
        optional_body=True,
        problems=FAULTS,
        parameters=(NAME_PARAMETER, KEY_PARAMETER),
    ),
)
async def call_hook(request: Request) -> Response:
    """Start what a webhook starts, with the body in its workload; its secret proves who calls.

    A trigger with a debounce or a batch collects it, one with a filter may let it go by.
    """
    body = await body_of(request)
    if body:
        require_json(request)
    knock = WebhookCall(
        body=body,
        secret=request.headers.get(HOOK_SECRET),
        signature=request.headers.get(HOOK_SIGNATURE),
        key=key_of(request),
    )
    try:
        started = await front_of(request).knock(request.path_params["name"], knock)
    except Denied as denied:
        request.app.state.gate.slow_stranger(request)
        hint = f"send the secret as {HOOK_SECRET}, or sign the body and send {HOOK_SIGNATURE}"
        raise Problem(401, denied.message, hint=hint, headers={"WWW-Authenticate": "Hook"}) from None
    if isinstance(started, Collected):
        return reply(begun_fields(None, started.status, started.path), 202)
    return begun_reply(started, 202)


# ---- both -----------------------------------------------------------------------------------------------


def _require_standing(request: Request, path: str) -> None:
    require(request, "run")
    require_path(request, path, f"playbook '{path}'")


async def _not_of_others(request: Request, find: Find, name: str) -> None:
    """Refuse to put something in the place of what lies outside the sender's prefixes."""
    try:
        existing = await find(name)
    except NotFound:
        return
    require_path(request, existing.path, f"place for {name!r}")


def _page(request: Request, items: Sequence[T], cursor: str | None, limit: int) -> tuple[list[T], str | None]:
    """A page of what the sender sees, in order of names, and where the next one begins."""
    who = who_asks(request)
    return page((item for item in items if who.sees(item.path)), lambda item: item.name, cursor, limit)
