"""What becomes of the ticks of a schedule that have come: which fires, which are skipped and why. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from noetl.control.ticks import next_tick, previous_tick
from noetl.core.event import iso
from noetl.ports.schedule import Fired, Schedule, Skipped
from noetl.ports.tick import Tick, TickStatus, schedule_owner

LATE_MS = 60_000  # a tick that is later than this was missed
COUNTED = 10_000  # ticks of a cron expression that are counted one by one
NOTED = 50  # ticks that were skipped together and are noted one by one, the newest of them
CATCH_UP_MOST = 1000  # ticks that `all` makes up for
QUEUED_MOST = 100  # ticks of `queue` that wait

MISSED = "nothing started it in time, and catch-up is none"
LATER = "a later tick was due as well, and only the last of them counts (catch-up latest)"


class Decided(NamedTuple):
    """How a schedule goes on, and what becomes of its ticks."""

    fired: Fired
    ticks: list[Tick]


def decide_ticks(schedule: Schedule, now: int, open_ticks: Sequence[Tick]) -> Decided:
    """What to do about the tick that is next, which has come; `open_ticks` are earlier ones not yet over."""
    first = schedule.next_at
    assert first is not None
    latest = _latest(schedule, first, now)
    if schedule.catch_up == "all":
        return _each(schedule, first, latest, now, open_ticks)
    missed = schedule.catch_up == "none" and now - latest > LATE_MS
    fired = Fired(next_tick(schedule, now), latest)
    ticks: list[Tick] = []
    if missed:
        fired.skipped = _skipped(schedule, first, latest, MISSED)
        fired.error = f"the tick of {iso(latest)} was skipped: {MISSED}"
        return Decided(fired, _noted(schedule, first, latest, MISSED, now))
    due = _due(schedule, latest, now, open_ticks)
    if due.status == "skipped":
        fired.skipped = _skipped(schedule, first, latest, due.why or LATER)
    if latest > first:
        why = MISSED if schedule.catch_up == "none" else LATER
        before = previous_tick(schedule, latest) or first
        fired.skipped = fired.skipped or _skipped(schedule, first, before, why)
        ticks = _noted(schedule, first, before, why, now)
    return Decided(fired, [*ticks, due])


def _each(schedule: Schedule, first: int, latest: int, now: int, open_ticks: Sequence[Tick]) -> Decided:
    """Every tick in its turn; of very many, the newest."""
    begin = _begin(schedule, first, latest) if now - first > LATE_MS else first
    if begin > first:
        why = f"more than {CATCH_UP_MOST} ticks were missed"
        before = previous_tick(schedule, begin) or first
        fired = Fired(begin, before, skipped=_skipped(schedule, first, before, why))
        return Decided(fired, _noted(schedule, first, before, why, now))
    due = _due(schedule, first, now, open_ticks)
    skipped = _skipped(schedule, first, first, due.why or LATER) if due.status == "skipped" else None
    return Decided(Fired(next_tick(schedule, first), first, skipped=skipped), [due])


def _begin(schedule: Schedule, first: int, latest: int) -> int:
    """The earliest tick that is made up for."""
    if schedule.every_s is not None:
        step = schedule.every_s * 1000
        return max(first, latest - (CATCH_UP_MOST - 1) * step)
    tick = latest
    for _ in range(CATCH_UP_MOST - 1):
        before = previous_tick(schedule, tick)
        if before is None or before < first:
            return first
        tick = before
    return tick


def _latest(schedule: Schedule, first: int, now: int) -> int:
    """The last tick that has come."""
    if schedule.every_s is not None:
        step = schedule.every_s * 1000
        return first + (now - first) // step * step
    return max(first, previous_tick(schedule, now + 1) or first)


def _due(schedule: Schedule, tick: int, now: int, open_ticks: Sequence[Tick]) -> Tick:
    """What becomes of a tick that is to fire, beside those before it that are not over."""
    status, why = _overlap(schedule, tick, now, open_ticks)
    return Tick(owner=schedule_owner(schedule.name), tick=tick, status=status, why=why, at=now)


def _overlap(
    schedule: Schedule, tick: int, now: int, open_ticks: Sequence[Tick]
) -> tuple[TickStatus, str | None]:
    if not open_ticks or schedule.overlap in ("allow", "replace"):
        return "starting", None
    made_up = _made_up(schedule, tick, now, open_ticks)
    if schedule.overlap == "skip" and not made_up:
        return "skipped", f"the tick of {iso(open_ticks[0].tick)} was still {open_ticks[0].status}"
    if len(open_ticks) >= (CATCH_UP_MOST if made_up else QUEUED_MOST):
        return "skipped", f"{len(open_ticks)} ticks before it were not over"
    return "queued", f"until the tick of {iso(open_ticks[-1].tick)} is over"


def _made_up(schedule: Schedule, tick: int, now: int, open_ticks: Sequence[Tick]) -> bool:
    """Whether a tick comes in its turn, not at its time: it is late, or was due when one before it began."""
    return schedule.catch_up == "all" and (now - tick > LATE_MS or any(one.at >= tick for one in open_ticks))


def _noted(schedule: Schedule, first: int, last: int, why: str, now: int) -> list[Tick]:
    """The ticks of a span as skipped, the oldest first."""
    owner = schedule_owner(schedule.name)
    ticks: list[Tick] = []
    tick: int | None = last
    while tick is not None and tick >= first and len(ticks) < NOTED:
        ticks.append(Tick(owner=owner, tick=tick, status="skipped", why=why, at=now))
        tick = previous_tick(schedule, tick)
    return ticks[::-1]


def _skipped(schedule: Schedule, first: int, last: int, why: str) -> Skipped:
    """A span of ticks that start nothing."""
    if schedule.every_s is not None:
        count = (last - first) // (schedule.every_s * 1000) + 1
    else:
        count, tick = 1, first
        while tick < last and count < COUNTED:
            count, tick = count + 1, next_tick(schedule, tick)
        if count >= COUNTED:
            why += f"; more than {COUNTED} are not counted"
    total = count + (schedule.skipped.total if schedule.skipped else 0)
    return Skipped(count, first, last, why, total)


def skipped_words(skipped: Skipped) -> str:
    """Which ticks started nothing, in words."""
    if skipped.count == 1:
        return f"the tick of {iso(skipped.first_at)} was skipped: {skipped.why}"
    span = f"from {iso(skipped.first_at)} to {iso(skipped.last_at)}"
    return f"{skipped.count} ticks {span} were skipped: {skipped.why}"
