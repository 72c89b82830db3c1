"""Backfills: ticks of the past that are made up for. Making one takes what making a schedule takes."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path, Request
from msgspec.structs import asdict
from starlette.responses import Response

from noetl.errors import RequestError
from noetl.ports.front import counts_of
from noetl.ports.store import Find
from noetl.ports.tick import (
    Backfill,
    BackfillAsk,
    BackfillBody,
    BackfillWish,
    PlannedBackfill,
    Tick,
    backfill_facts,
    plan_facts,
    tick_facts,
)
from noetl.server.access import require, require_path, who_asks
from noetl.server.paging import Cursor, Limit
from noetl.server.reply import front_of, read, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.shapes import BackfillAnswer, BackfillItem, BackfillPage, TickPage

router = make_router("schedules")
BackfillId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The id of a backfill")]
FAULTS = (404, 409, 422)


@router.get("/backfills", **describe("read", {200: BackfillPage}))
async def list_backfills(request: Request) -> Response:
    """Backfills with their progress, the newest first."""
    who = who_asks(request)
    items = [backfill_facts(one) for one in await front_of(request).backfills() if who.sees(one.path)]
    return reply({"items": items, "cursor": None})


@router.post("/backfills", **describe("write", {201: BackfillAnswer}, body=BackfillBody, problems=FAULTS))
async def add_backfill(request: Request) -> Response:
    """Make up for the ticks of a span: one execution for each that has none; a dry run only tells them."""
    body = await read(request, BackfillBody)
    require(request, "run")
    if body.path is not None:
        require_path(request, body.path, f"playbook '{body.path}'")
    if body.schedule is not None:
        schedule = await front_of(request).schedule(body.schedule)
        require_path(request, schedule.path, f"schedule {body.schedule!r}")
    planned = await front_of(request).add_backfill(BackfillAsk(**asdict(body), by=who_asks(request).name))
    told = planned if body.dry_run else PlannedBackfill(planned.backfill)
    return reply({**backfill_facts(planned.backfill), **plan_facts(told)}, 201)


@router.get("/backfills/{backfill_id}", **describe("read", {200: BackfillItem}, problems=(404,)))
async def show_backfill(request: Request, backfill_id: BackfillId) -> Response:
    """One backfill, and how far it is."""
    return reply(backfill_facts(await _own_backfill(request, backfill_id)))


@router.get("/backfills/{backfill_id}/ticks", **describe("read", {200: TickPage}, problems=(404, 422)))
async def list_backfill_ticks(
    request: Request, backfill_id: BackfillId, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """Its ticks and what became of each, the newest first."""
    await _own_backfill(request, backfill_id)
    ticks = await front_of(request).backfill_ticks(backfill_id, limit + 1, before_of(cursor))
    return await tick_page(request, f"backfill {backfill_id}", ticks, limit)


@router.post("/backfills/{backfill_id}/pause", **describe("run", {200: BackfillItem}, problems=FAULTS))
async def pause_backfill(request: Request, backfill_id: BackfillId) -> Response:
    """Start no more ticks for now; what has begun goes on."""
    return await _control(request, backfill_id, "pause")


@router.post("/backfills/{backfill_id}/resume", **describe("run", {200: BackfillItem}, problems=FAULTS))
async def resume_backfill(request: Request, backfill_id: BackfillId) -> Response:
    """Go on with a paused backfill."""
    return await _control(request, backfill_id, "resume")


@router.post("/backfills/{backfill_id}/cancel", **describe("run", {200: BackfillItem}, problems=FAULTS))
async def cancel_backfill(request: Request, backfill_id: BackfillId) -> Response:
    """Start no more ticks; what has begun goes on."""
    return await _control(request, backfill_id, "cancel")


async def _control(request: Request, backfill_id: str, wish: BackfillWish) -> Response:
    await _own_backfill(request, backfill_id)
    return reply(backfill_facts(await front_of(request).control_backfill(backfill_id, wish)))


async def _own_backfill(request: Request, backfill_id: str) -> Backfill:
    backfill = await front_of(request).backfill(backfill_id)
    require_path(request, backfill.path, f"backfill {backfill_id!r}")
    return backfill


def before_of(cursor: str | None) -> int | None:
    """The tick that a page ended with."""
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise RequestError(f"the cursor '{cursor[:80]}' is none of ours", hint="take it from the page before")
    return int(cursor)


async def tick_page(request: Request, by: str, ticks: Sequence[Tick], limit: int) -> Response:
    """A page of ticks, the newest first; one more was asked for, to know whether there are more."""
    more, ticks = str(ticks[limit - 1].tick) if len(ticks) > limit else None, ticks[:limit]
    failed = await _failed_iterations(request, by, ticks)
    items = [{**tick_facts(tick), "failed_iterations": failed.get(tick.execution or "", 0)} for tick in ticks]
    return reply({"items": items, "cursor": more})


async def _failed_iterations(request: Request, by: str, ticks: Sequence[Tick]) -> dict[str, int]:
    """How many iterations failed of each execution that such ticks started and that completed."""
    if not any(tick.status == "completed" for tick in ticks):
        return {}
    since, until = min(tick.tick for tick in ticks), max(tick.at for tick in ticks)
    find = Find(by=by, status="completed", since=since, until=until, limit=len(ticks))
    page = await front_of(request).executions(find)
    return {one.execution_id: (counts_of(one) or {}).get("failed_iterations", 0) for one in page.items}
