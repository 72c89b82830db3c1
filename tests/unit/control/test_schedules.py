"""When schedules are due, and that each tick starts one execution, whatever happens in between."""

import asyncio
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from noetl.adapters.memory.store import MemoryStore
from noetl.control.notification_message import message_of
from noetl.control.schedules import ScheduleBook
from noetl.control.tick_decision import CATCH_UP_MOST, LATE_MS, MISSED, skipped_words
from noetl.control.ticks import next_tick, next_ticks, previous_tick
from noetl.core.event import iso
from noetl.core.message import Control
from noetl.errors import BackendError, Conflict, NotFound, RequestError
from noetl.ports.front import Ask, Started
from noetl.ports.notification import Notification
from noetl.ports.schedule import Schedule, ScheduleAsk, Skipped
from tests.conformance.stores import Clock, begin

BERLIN = ZoneInfo("Europe/Berlin")


def ms(text: str, zone: str = "Europe/Berlin", fold: int = 0) -> int:
    moment = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return int(moment.timestamp() * 1000)


def cron(text: str, zone: str = "Europe/Berlin") -> Schedule:
    return Schedule(name="s", path="p", cron=text, timezone=zone)


@pytest.mark.parametrize(
    ("text", "now", "then"),
    [
        ("0 3 * * *", "2026-11-15T02:59:59.999", "2026-11-15T03:00"),
        ("0 3 * * *", "2026-11-15T03:00", "2026-11-16T03:00"),
        ("*/15 9-17 * * MON-FRI", "2026-11-13T17:45", "2026-11-16T09:00"),
        ("0 0 L * *", "2026-02-10T00:00", "2026-02-28T00:00"),
        ("@hourly", "2026-02-10T00:30", "2026-02-10T01:00"),
        ("@daily", "2026-02-10T00:00", "2026-02-11T00:00"),
        ("@weekly", "2026-02-10T00:00", "2026-02-15T00:00"),
        ("@monthly", "2026-02-10T00:00", "2026-03-01T00:00"),
        ("@yearly", "2026-02-10T00:00", "2027-01-01T00:00"),
        ("0 0 29 2 *", "2026-03-01T00:00", "2028-02-29T00:00"),
        ("0 12 * * SUN#1", "2026-11-02T00:00", "2026-12-06T12:00"),
        # the clock goes from 02:00 to 03:00: what lies between happens when it is over, once
        ("30 2 * * *", "2026-03-29T01:00", "2026-03-29T03:00"),
        ("30 2 * * *", "2026-03-29T03:00", "2026-03-30T02:30"),
        ("30 * * * *", "2026-03-29T01:30", "2026-03-29T03:30"),
        # the clock goes from 03:00 back to 02:00: a time of day comes once, an hourly one twice
        ("30 2 * * *", "2026-10-25T01:00", "2026-10-25T02:30"),
        ("30 2 * * *", "2026-10-25T02:30", "2026-10-26T02:30"),
    ],
)
def test_the_next_tick_of_a_cron_expression(text: str, now: str, then: str) -> None:
    assert next_tick(cron(text), ms(now)) == ms(then)


def test_a_time_of_day_that_comes_twice_is_one_tick() -> None:
    in_the_second_hour = ms("2026-10-25T02:10", fold=1)
    assert next_tick(cron("30 2 * * *"), in_the_second_hour) == ms("2026-10-26T02:30")
    assert next_tick(cron("30 * * * *"), ms("2026-10-25T02:30")) == ms("2026-10-25T02:30", fold=1)


def test_a_tick_is_in_the_time_zone_of_its_schedule() -> None:
    now = ms("2026-07-01T00:00", "UTC")
    assert next_tick(cron("0 6 * * *", "UTC"), now) == ms("2026-07-01T06:00", "UTC")
    assert next_tick(cron("0 6 * * *", "America/New_York"), now) == ms("2026-07-01T10:00", "UTC")


@pytest.mark.parametrize(
    ("now", "then"), [(0, 60_000), (59_999, 60_000), (60_000, 120_000), (200_001, 240_000)]
)
def test_an_interval_keeps_its_beat_however_late_it_is_looked_at(now: int, then: int) -> None:
    assert next_tick(Schedule(name="s", path="p", every_s=60, next_at=0), now) == then


@pytest.mark.parametrize(
    ("given", "told", "hint"),
    [
        ({"cron": "61 * * * *"}, "wrong minute: '61'", "0-59"),
        ({"cron": "0 24 * * *"}, "wrong hour: '24'", "0-23"),
        ({"cron": "0 0 32 * *"}, "wrong day-of-month: '32'", "1-31"),
        ({"cron": "0 0 1 FOO *"}, "wrong month: 'FOO'", "JAN"),
        ({"cron": "0 0 * * 9"}, "wrong day-of-week: '9'", "SUN"),
        ({"cron": "0 0 30 2 *"}, "never comes true: no month '2' has a day '30'", "L"),
        ({"cron": "0 0 31 2 *"}, "never comes true: no month '2' has a day '31'", "L"),
        ({"cron": "0 0 31 APR,6 *"}, "never comes true: no month 'APR,6' has a day '31'", "L"),
        ({"cron": "0 0 0 2 *"}, "wrong day-of-month: '0'", "1-31"),
        ({"cron": "* * *"}, "has 3 fields, not 5", "minute hour"),
        ({"cron": "0 0 * * * *"}, "has 6 fields, not 5", "minute hour"),
        (
            {"cron": "0 0 * * *", "timezone": "Europe/Berln"},
            "'Europe/Berln' is no time zone",
            "Europe/Berlin",
        ),
        ({"cron": "0 0 * * *", "timezone": "../secret"}, "no time zone", "Europe/Berlin"),
        ({"every_s": 60, "timezone": "Nowhere"}, "'Nowhere' is no time zone", ""),
        ({"every_s": 0}, "every 0 s is no interval", "one second"),
        ({}, "either a cron expression or an interval", "--every"),
        ({"cron": "0 0 * * *", "every_s": 1}, "either a cron expression or an interval", "--every"),
        ({"every_s": 1, "name": "a b"}, "'a b' is no name", "letters"),
        ({"every_s": 1, "catch_up": "some"}, "catch_up is 'some'", "none, latest, all"),
        ({"every_s": 1, "overlap": "no"}, "overlap is 'no'", "skip, queue, allow, replace"),
    ],
)
async def test_a_schedule_that_makes_no_sense_is_refused_with_what_is_wrong(
    world: "World", given: dict[str, Any], told: str, hint: str
) -> None:
    with pytest.raises(RequestError, match=told) as refused:
        await world.book.put_schedule(ScheduleAsk(**{"name": "s", "path": "p", **given}))
    assert hint in (refused.value.hint or "")


class World:
    """A store with a clock, and executions that are only counted."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock)
        self.asked: list[Ask] = []
        self.trouble: list[Exception] = []
        self.missing = "missing"
        self.told: list[tuple[str, Control]] = []
        self.book = self.server()

    def server(self) -> ScheduleBook:
        return ScheduleBook(self.store, self.start, self.find, self.tell)

    async def tell(self, execution_id: str, wish: Control) -> None:
        self.told.append((execution_id, wish))
        await self.end(execution_id, "cancelled")

    async def end(self, execution_id: str, status: str = "completed") -> None:
        summary = await self.store.summary(execution_id)
        ended = replace(summary, status=status, ended_at=self.clock.now)
        self.store._executions[execution_id].summary = ended

    async def history(self, name: str = "s") -> list[tuple[int, str]]:
        return [(tick.tick, tick.status) for tick in reversed(await self.book.schedule_ticks(name))]

    async def find(self, ask: Ask) -> None:
        if ask.path == self.missing:
            raise NotFound(f"there is no playbook with the path '{ask.path}'")

    async def start(self, ask: Ask) -> Started:
        if self.trouble:
            raise self.trouble.pop()
        known = await self.store.by_key(ask.idempotency_key or "")
        if known is not None:
            return Started(known.execution_id, "running", existed=True)
        self.asked.append(ask)
        return Started(
            await begin(self.store, len(self.asked), idempotency_key=ask.idempotency_key), "running"
        )

    async def put(self, **more: Any) -> Schedule:
        return await self.book.put_schedule(
            ScheduleAsk(**{"name": "s", "path": "p", "every_s": 60, "overlap": "allow", **more})
        )


@pytest.fixture
def world() -> World:
    return World()


async def test_a_tick_starts_one_execution_with_what_the_schedule_says(world: World) -> None:
    made = await world.put(workload={"n": 1}, version=2)
    await world.book.fire_schedules()
    assert world.asked == []
    tick = made.next_at or 0
    world.clock.now = tick
    for _ in range(3):
        await world.book.fire_schedules()
    (asked,) = world.asked
    assert (asked.path, asked.version, asked.workload, asked.by) == ("p", 2, {"n": 1}, "schedule s")
    after = await world.store.schedule("s")
    assert (after.next_at, after.last_at, after.last_error) == (tick + 60_000, tick, None)
    assert after.last_execution is not None


async def test_servers_that_look_at_once_fire_a_tick_once(world: World) -> None:
    await world.put()
    world.clock.now += 60_000
    books = [world.server() for _ in range(5)]
    await asyncio.gather(*(book.fire_schedules() for book in books))
    assert len(world.asked) == 1


async def test_a_crash_between_start_and_going_on_fires_a_tick_once(world: World) -> None:
    made = await world.put()
    world.clock.now += 60_000
    due = (await world.store.due_schedules())[0]
    await world.book._decide(due)  # and the process is gone
    assert await world.history() == [(made.next_at, "starting")]
    started = await world.book._runner._execution(due, due, (await world.store.open_ticks())[0])
    await world.server().fire_schedules()
    assert len(world.asked) == 1
    assert (await world.store.schedule("s")).last_execution == started
    assert await world.history() == [(made.next_at, "running")]


async def test_a_tick_that_was_fired_before_its_schedule_changed_is_not_fired_again(world: World) -> None:
    await world.put()
    world.clock.now += 60_000
    due = (await world.store.due_schedules())[0]
    await world.book._decide(due)
    started = await world.book._runner._execution(due, due, (await world.store.open_ticks())[0])
    world.trouble.append(Conflict("the key belongs to another request"))
    await world.book.fire_schedules()
    after = await world.store.schedule("s")
    assert (after.last_execution, after.last_error) == (started, None)
    assert len(world.asked) == 1


async def test_ticks_that_nobody_saw_are_fired_as_one_or_skipped(world: World) -> None:
    await world.put(name="one", catch_up="one")  # as earlier releases say latest and none
    await world.put(name="skip", catch_up="skip")
    world.clock.now += 60_000 * 100
    await world.book.fire_schedules()
    assert [asked.by for asked in world.asked] == ["schedule one", "schedule skip"]  # neither was late
    for schedule in await world.store.schedules():
        assert schedule.next_at == world.clock.now + 60_000
        assert schedule.last_at == world.clock.now
    assert [one.catch_up for one in await world.store.schedules()] == ["latest", "none"]
    assert len(world.asked) == 2


async def test_a_tick_that_is_a_little_late_is_not_missed(world: World) -> None:
    made = await world.put(catch_up="skip", every_s=3600)
    world.clock.now = (made.next_at or 0) + LATE_MS
    await world.book.fire_schedules()
    assert len(world.asked) == 1


@pytest.mark.parametrize("catch_up", ["latest", "none"])
async def test_no_tick_of_a_fast_schedule_passes_without_a_trace(world: World, catch_up: str) -> None:
    made = await world.put(every_s=1, catch_up=catch_up)
    first = made.next_at or 0
    started = 0
    for late in (6_000, 0, 3_500):
        world.clock.now = ((await world.store.schedule("s")).next_at or 0) + late
        await world.book.fire_schedules()
        started += 1
    assert len(world.asked) == started
    after = await world.store.schedule("s")
    skipped = after.skipped
    assert skipped is not None
    assert (skipped.count, skipped.total, after.last_error) == (3, 9, None)
    assert f"catch-up {catch_up}" in skipped.why.replace("catch-up is", "catch-up")
    assert started + skipped.total == ((after.next_at or 0) - first) // 1000
    assert (skipped.first_at, skipped.last_at) == ((after.last_at or 0) - 3000, (after.last_at or 0) - 1000)


async def test_ticks_that_are_skipped_are_told_with_how_many_from_when_to_when_and_why(world: World) -> None:
    made = await world.put(catch_up="skip", cron="*/5 * * * *", every_s=None)
    first = made.next_at or 0
    world.clock.now = first + 17 * 60_000
    await world.book.fire_schedules()
    after = await world.store.schedule("s")
    assert world.asked == []
    assert after.skipped == Skipped(4, first, first + 15 * 60_000, MISSED, 4)
    assert skipped_words(after.skipped).startswith("4 ticks from ")
    one = Skipped(1, first, first, MISSED, 1)
    assert skipped_words(one) == f"the tick of {iso(first)} was skipped: {MISSED}"


async def test_ticks_beyond_counting_are_told_as_such(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.control.tick_decision.COUNTED", 3)
    made = await world.put(cron="* * * * *", every_s=None)
    world.clock.now = (made.next_at or 0) + 10 * 60_000
    await world.book.fire_schedules()
    skipped = (await world.store.schedule("s")).skipped
    assert skipped is not None
    assert (skipped.count, "more than 3 are not counted" in skipped.why) == (3, True)


async def test_a_schedule_whose_playbook_cannot_start_says_why_and_goes_on(world: World) -> None:
    await world.put(name="a")
    await world.put(name="b")
    world.clock.now += 60_000
    world.trouble.append(NotFound("there is no playbook"))
    await world.book.fire_schedules()
    assert (await world.store.schedule("a")).last_error == "there is no playbook"
    assert [asked.by for asked in world.asked] == ["schedule b"]
    world.clock.now += 60_000
    await world.book.fire_schedules()
    assert (await world.store.schedule("a")).last_error is None


async def test_a_tick_waits_for_a_store_that_is_away(world: World) -> None:
    made = await world.put()
    world.clock.now += 60_000
    world.trouble.append(BackendError("away"))
    with pytest.raises(BackendError):
        await world.book.fire_schedules()
    assert await world.history() == [(made.next_at, "starting")]
    await world.book.fire_schedules()
    assert len(world.asked) == 1


async def test_a_schedule_that_has_to_wait_lets_others_go_first(world: World) -> None:
    await world.put(name="a")
    await world.put(name="b")
    world.clock.now += 60_000
    world.trouble.append(BackendError("no room for its workload"))
    with pytest.raises(BackendError):
        await world.book.fire_schedules()
    assert [asked.by for asked in world.asked] == ["schedule b"]
    await world.book.fire_schedules()
    assert [asked.by for asked in world.asked] == ["schedule b", "schedule a"]


async def test_a_paused_schedule_has_no_ticks_and_begins_anew(world: World) -> None:
    assert (await world.put(enabled=False)).next_at is None
    world.clock.now += 100_000
    await world.book.fire_schedules()
    assert world.asked == []
    assert (await world.put()).next_at == world.clock.now + 60_000


async def test_a_schedule_whose_playbook_is_gone_can_be_paused(world: World) -> None:
    await world.put()
    world.missing = "p"
    assert (await world.put(enabled=False)).next_at is None


async def test_a_schedule_that_is_put_again_keeps_its_beat_unless_its_times_change(world: World) -> None:
    made = await world.put()
    world.clock.now += 30_000
    assert (await world.put(workload={"n": 2})).next_at == made.next_at
    assert (await world.put(every_s=90)).next_at == world.clock.now + 90_000


async def test_a_new_schedule_takes_no_name_that_is_taken_and_no_playbook_that_is_not_there(
    world: World,
) -> None:
    await world.put()
    with pytest.raises(Conflict, match="'s' already"):
        await world.book.put_schedule(ScheduleAsk(name="s", path="p", every_s=1), new=True)
    with pytest.raises(NotFound, match="'missing'"):
        await world.put(path="missing")


async def test_a_run_by_hand_leaves_the_ticks_where_they_are(world: World) -> None:
    made = await world.put(workload={"n": 1}, enabled=False)
    await world.book.run_schedule("s", "ann")
    assert (world.asked[0].by, world.asked[0].idempotency_key) == ("ann", None)
    assert world.asked[0].workload == {"n": 1}
    assert await world.store.schedule("s") == made


def test_a_word_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(RequestError, match="'@fortnightly' is no word") as raised:
        next_tick(cron("@fortnightly"), 0)
    assert "@daily" in (raised.value.hint or "")


def test_the_next_ticks_follow_the_clock_of_the_zone() -> None:
    schedule = cron("30 1 * * *")
    schedule.next_at = next_tick(schedule, ms("2026-10-24T12:00"))
    shown = [datetime.fromtimestamp(tick / 1000, BERLIN).isoformat() for tick in next_ticks(schedule, 3)]
    assert shown == ["2026-10-25T01:30:00+02:00", "2026-10-26T01:30:00+01:00", "2026-10-27T01:30:00+01:00"]
    schedule.next_at = None
    assert next_ticks(schedule, 3) == []


@pytest.mark.parametrize(
    ("text", "tick", "before"),
    [
        ("0 3 * * *", "2026-11-15T03:00", "2026-11-14T03:00"),
        ("@monthly", "2026-03-01T00:00", "2026-02-01T00:00"),
        ("30 2 * * *", "2026-03-30T02:30", "2026-03-29T03:00"),  # the day without that hour
        ("30 2 * * *", "2026-10-26T02:30", "2026-10-25T02:30"),  # the day that had it twice
    ],
)
def test_the_tick_before_one_is_the_one_that_leads_to_it(text: str, tick: str, before: str) -> None:
    assert previous_tick(cron(text), ms(tick)) == ms(before)
    assert next_tick(cron(text), ms(before)) == ms(tick)


def test_the_tick_before_one_of_an_interval_is_an_interval_earlier() -> None:
    assert previous_tick(Schedule(name="s", path="p", every_s=60), 120_000) == 60_000


# What becomes of a tick while an earlier one is not over


async def two_ticks(world: World, **more: Any) -> list[int]:
    """Two ticks have come, one after the other; the execution of the first one is not over."""
    first = (await world.put(**more)).next_at or 0
    for now in (first, first + 60_000):
        world.clock.now = now
        await world.book.fire_schedules()
    return [first, first + 60_000, first + 120_000]


async def next_round(world: World, now: int) -> None:
    world.clock.now = now
    await world.book.fire_schedules()


async def test_a_tick_is_skipped_while_an_earlier_one_runs_and_says_so(world: World) -> None:
    first, second, third = await two_ticks(world, overlap="skip")
    assert await world.history() == [(first, "running"), (second, "skipped")]
    (skipped, running) = await world.book.schedule_ticks("s")
    assert skipped.why == f"the tick of {iso(first)} was still running"
    counted = (await world.store.schedule("s")).skipped
    assert counted == Skipped(1, second, second, skipped.why, 1), "lists tell of it too"
    await world.end(running.execution or "", "failed")
    await next_round(world, third)
    assert await world.history() == [(first, "failed"), (second, "skipped"), (third, "running")]


async def test_a_queued_tick_starts_when_the_one_before_it_is_over(world: World) -> None:
    first, second, _ = await two_ticks(world, overlap="queue")
    assert await world.history() == [(first, "running"), (second, "queued")]
    assert len(world.asked) == 1
    await world.end((await world.book.schedule_ticks("s"))[1].execution or "")
    await world.book.fire_schedules()
    assert await world.history() == [(first, "completed"), (second, "running")]
    trigger = world.asked[1].trigger or {}
    assert (trigger["tick"], trigger["previous_tick"]) == (iso(second), iso(first))


async def test_a_tick_that_replaces_cancels_the_one_before_it(world: World) -> None:
    first, second, _ = await two_ticks(world, overlap="replace")
    await world.book.fire_schedules()
    assert await world.history() == [(first, "replaced"), (second, "running")]
    ((cancelled, wish),) = world.told
    assert cancelled == (await world.book.schedule_ticks("s"))[1].execution
    assert (wish.what, wish.by) == ("cancel", "schedule s")


async def test_ticks_overlap_where_that_is_allowed(world: World) -> None:
    first, second, _ = await two_ticks(world, overlap="allow")
    assert await world.history() == [(first, "running"), (second, "running")]


async def test_every_missed_tick_is_made_up_for_one_after_another(world: World) -> None:
    made = await world.put(catch_up="all", overlap="skip")
    first = made.next_at or 0
    world.clock.now = first + 4 * 60_000
    await world.book.fire_schedules()
    statuses = [status for _, status in await world.history()]
    assert statuses == ["running", "queued", "queued", "queued", "queued"], "also those that are not late"
    for _ in range(5):
        running = [tick for tick in await world.store.open_ticks() if tick.status == "running"]
        await world.end(running[0].execution or "")
        await world.book.fire_schedules()
    assert [(asked.trigger or {})["tick"] for asked in world.asked] == [
        iso(first + number * 60_000) for number in range(5)
    ]


async def test_hundreds_of_missed_ticks_are_each_made_up_for(world: World) -> None:
    made = await world.put(catch_up="all", overlap="skip", every_s=10)
    await next_round(world, (made.next_at or 0) + 2500 * 1000)
    for _ in range(2):
        await world.book.fire_schedules()
    assert [tick.status for tick in await world.store.open_ticks()] == ["running"] + ["queued"] * 250


async def test_a_tick_that_comes_while_missed_ones_are_made_up_for_is_skipped(world: World) -> None:
    made = await world.put(catch_up="all", overlap="skip")
    first = made.next_at or 0
    await next_round(world, first + 120_000)
    await next_round(world, first + 180_000)
    assert [status for _, status in await world.history()] == ["running", "queued", "queued", "skipped"]


async def test_a_paused_schedule_keeps_its_queue_until_it_goes_on(world: World) -> None:
    first, second, _ = await two_ticks(world, overlap="queue")
    await world.put(overlap="queue", enabled=False)
    await world.end((await world.book.schedule_ticks("s"))[1].execution or "")
    await world.book.fire_schedules()
    assert await world.history() == [(first, "completed"), (second, "queued")]
    await world.put(overlap="queue")
    await world.book.fire_schedules()
    assert await world.history() == [(first, "completed"), (second, "running")]


async def test_of_very_many_missed_ticks_the_newest_are_made_up_for(world: World) -> None:
    made = await world.put(catch_up="all", every_s=1)
    world.clock.now = (made.next_at or 0) + 5000 * 1000
    for _ in range(CATCH_UP_MOST // 100 + 1):
        await world.book.fire_schedules()
    after = await world.store.schedule("s")
    assert len(world.asked) == CATCH_UP_MOST
    assert after.skipped is not None
    assert after.skipped.total + len(world.asked) == 5001
    assert "more than" in after.skipped.why


async def test_the_history_is_bounded_and_read_in_pages(world: World) -> None:
    made = await world.put(every_s=1)
    for number in range(505):
        await next_round(world, (made.next_at or 0) + number * 1000)
        await world.end((await world.store.ticks("schedule/s", 1))[0].execution or "")
    page = await world.book.schedule_ticks("s", 2)
    more = await world.book.schedule_ticks("s", 1000, page[-1].tick)
    assert (page[0].tick - page[1].tick, len(more) + 2) == (1000, 500)


async def test_a_deleted_schedule_takes_its_history_along(world: World) -> None:
    await two_ticks(world, overlap="queue")
    await world.book.delete_schedule("s")
    await world.book.fire_schedules()
    assert await world.store.open_ticks() == []
    assert len(world.asked) == 1


async def test_who_hears_of_failures_is_told_of_a_tick_that_could_start_nothing(world: World) -> None:
    for name, more in (("ops", {}), ("other", {"path": "q"}), ("ends", {"occasions": ["completed"]})):
        told = Notification(name=name, **{"target": "slack", "path": "*", **more})  # type: ignore[arg-type]
        await world.store.put_notification(told)
    first = (await world.put()).next_at or 0
    reasons = ["there is no playbook", "there is no playbook", "it is not valid"]
    for number, why in enumerate(reasons):
        world.trouble.append(NotFound(why))
        await next_round(world, first + number * 60_000)
    again, once = await world.store.deliveries()
    assert (once.notification, once.occasion, once.path, once.execution_id) == ("ops", "failed", "p", None)
    message = await message_of(world.store, once, lambda execution_id: None)
    assert message.text == f"p was not started by schedule s at {iso(first)}: there is no playbook"
    assert message.error == {"kind": "not-started", "message": "there is no playbook"}
    assert "it is not valid" in (again.detail or ""), "another reason"


async def test_a_tick_that_cannot_be_started_says_why(world: World) -> None:
    await world.put()
    world.clock.now += 60_000
    world.trouble.append(NotFound("there is no playbook"))
    await world.book.fire_schedules()
    (tick,) = await world.book.schedule_ticks("s")
    assert (tick.status, tick.why, tick.execution) == ("refused", "there is no playbook", None)
