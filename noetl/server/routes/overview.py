"""All executions at a glance: the last day, what waits for somebody, how each playbook went of late."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fastapi import Request
from msgspec import json, structs
from starlette.responses import Response

from noetl.core.reading.overview import BUCKETS, Ended, failure_groups, slowest, throughput
from noetl.core.state import ENDED, STATUSES
from noetl.errors import NoetlError
from noetl.ports.answers import StateAnswer
from noetl.ports.front import counts_of, error_of, execution_row
from noetl.ports.store import Find, Stuck, Summary
from noetl.server.access import Who, who_asks
from noetl.server.reply import front_of, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.routes.views import readings_of
from noetl.server.view_shapes import AskedWait, OverviewAnswer, RecentAnswer, WaitsAnswer

router = make_router("overview")
_STUCK = json.Decoder(Stuck)

DAY_MS = 24 * 60 * 60 * 1000
COUNTED = 1000  # executions that are looked at, of those that failed as many again
OPEN = [status for status in STATUSES if status not in ENDED]
TIMED = 20  # executions whose steps are timed
TIMED_EVENTS = 5000  # of each at most
LATEST = 12  # of each playbook
ASKED = {"waiting": 200, "running": 50}  # executions whose waits are told; a branch of one that runs may wait
GROUPS = 12  # of failures


@router.get("/overview", **describe("read", {200: OverviewAnswer}))
async def overview(request: Request) -> Response:
    """The last day: executions by status and hour, failures, what is under way, the slowest steps."""
    front, now = front_of(request), int(time.time() * 1000)
    recent = await _recent(request, now - DAY_MS)
    active = [one for status in OPEN for one in await _seen(request, Find(status=status, limit=200), 200)]
    active.sort(key=lambda summary: summary.requested_at)
    return reply(
        {
            **throughput(await _counted(request, now - DAY_MS), now, DAY_MS),
            "failures": await _failures(request, recent, now),
            "active": [execution_row(summary, now) for summary in active[:6]],
            "slowest": slowest(await _durations(request, recent)),
            "overdue_ms": await front.overdue_ms(),
        }
    )


async def _counted(request: Request, since: int) -> list[tuple[str, int, int]]:
    """How many executions of a status the asker sees in each part of the last day."""
    front, paths = front_of(request), _paths(who_asks(request))
    return [
        (item.status, item.part, item.number)
        for path in paths
        for item in await front.tally(since, DAY_MS // BUCKETS, path)
    ]


async def _failures(request: Request, recent: list[Summary], now: int) -> list[dict[str, object]]:
    """Failures by what failed, each with its newest execution, however many went well since."""
    failed = await _seen(request, Find(status="failed", since=now - DAY_MS, limit=200), COUNTED)
    flawed = [one for one in recent if one.status == "completed" and _failed_iterations(one)]
    stuck = await _seen(request, Find(status="stuck", limit=200), 200)  # however old
    newest_first = sorted([*failed, *flawed, *stuck], key=_asked_at, reverse=True)
    summaries = {one.execution_id: one for one in newest_first}
    retried = await front_of(request).retried(list(summaries))
    groups = failure_groups(map(_ended, summaries.values()), retried)[:GROUPS]
    return [
        {
            "count": len(group.executions),
            "step": group.step,
            "kind": group.kind,
            "message": group.message,
            "newest": execution_row(summaries[group.executions[0]], now),
        }
        for group in groups
    ]


def _asked_at(summary: Summary) -> int:
    return summary.requested_at


def _ended(summary: Summary) -> Ended:
    return Ended(
        execution_id=summary.execution_id,
        path=summary.path,
        status=summary.status,
        parent=summary.parent,
        error=_error_of(summary),
        failed_iterations=_failed_iterations(summary) if summary.status == "completed" else 0,
    )


def _error_of(summary: Summary) -> Mapping[str, Any] | None:
    if summary.stuck is not None:
        return {"kind": "stuck", "message": _STUCK.decode(summary.stuck).error}
    return error_of(summary) if summary.status == "failed" else None


def _failed_iterations(summary: Summary) -> int:
    return (counts_of(summary) or {}).get("failed_iterations", 0)


async def _recent(request: Request, since: int | None) -> list[Summary]:
    """The newest executions that the asker sees."""
    return await _seen(request, Find(since=since, limit=200), COUNTED)


async def _seen(request: Request, find: Find, most: int) -> list[Summary]:
    """What is wanted of the executions that the asker sees, the newest first."""
    seen: dict[str, Summary] = {}
    for path in _paths(who_asks(request)):
        mine = await _found(request, structs.replace(find, path=path), most)
        seen |= {summary.execution_id: summary for summary in mine}
    return sorted(seen.values(), key=lambda summary: summary.requested_at, reverse=True)[:most]


def _paths(who: Who) -> list[str | None]:
    """The paths that the store is to look for, so that what others run is not read first; each once."""
    prefixes = {prefix.rstrip("/") for prefix in who.prefixes}
    apart = sorted(
        prefix for prefix in prefixes if not any(prefix.startswith(f"{other}/") for other in prefixes)
    )
    return [path for prefix in apart for path in (prefix, f"{prefix}/*")] or [None]


async def _found(request: Request, find: Find, most: int) -> list[Summary]:
    found: list[Summary] = []
    while len(found) < most:
        page = await front_of(request).executions(find)
        found += [summary for summary in page.items if who_asks(request).sees(summary.path)]
        find = structs.replace(find, cursor=page.cursor)
        if page.cursor is None:
            break
    return found


async def _durations(request: Request, recent: list[Summary]) -> dict[tuple[str, str], list[tuple[int, str]]]:
    durations: dict[tuple[str, str], list[tuple[int, str]]] = {}
    ended = [summary for summary in recent if summary.ended_at is not None and summary.status != "cancelled"]
    for summary in ended[:TIMED]:
        counts = counts_of(summary)
        if counts is None or counts.get("events", 0) > TIMED_EVENTS:
            continue
        with suppress(NoetlError):  # one that cannot be read hides no other
            reading = await readings_of(request).newest(summary.execution_id)
            for step, took in reading.timeline.step_durations():
                durations.setdefault((summary.path, step), []).append((took, summary.execution_id))
    return durations


@router.get("/recent", **describe("read", {200: RecentAnswer}))
async def recent(request: Request) -> Response:
    """The newest executions of each playbook, also of one that others have run more often since."""
    now = int(time.time() * 1000)
    latest: dict[str, list[object]] = {}
    for summary in await _recent(request, None):
        runs = latest.setdefault(summary.path, [])
        if len(runs) < LATEST:
            runs.append(execution_row(summary, now))
    front, who = front_of(request), who_asks(request)
    registered = [item.path for item in await front.playbooks() if who.sees(item.path)]
    for path in [path for path in registered if path not in latest][:COUNTED]:
        page = await front.executions(Find(path=path, limit=LATEST))
        if page.items:
            latest[path] = [execution_row(summary, now) for summary in page.items]
    return reply({"items": latest})


@router.get("/waits", **describe("read", {200: WaitsAnswer}))
async def waits(request: Request) -> Response:
    """What waits for a signal or an approval in any execution, the oldest first."""
    items: list[AskedWait] = []
    for status, most in ASKED.items():
        for summary in await _seen(request, Find(status=status, limit=most), most):
            with suppress(NoetlError):  # one that cannot be read, or is gone, hides no other
                items += _asked(summary, await front_of(request).state(summary.execution_id))
    return reply({"items": sorted(items, key=lambda wait: wait.since)})


def _asked(summary: Summary, state: StateAnswer) -> list[AskedWait]:
    """The waits of an execution that somebody can end."""
    return [
        AskedWait(
            execution_id=summary.execution_id,
            path=summary.path,
            run=run["id"],
            step=run["step"],
            address=waiting["address"],
            task=waiting["task"],
            since=run["started_at"] or run["scheduled_at"],
            signal=waiting["for"]["signal"],
            approval=waiting["for"].get("approval"),
            expires=waiting["for"].get("expires"),
        )
        for run in state["runs"]
        for waiting in run["waiting"]
        if "signal" in waiting["for"]
    ]
