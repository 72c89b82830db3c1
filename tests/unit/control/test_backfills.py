"""Backfills: which ticks they make up for, how many at a time, and that each starts once."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from noetl.control.backfills import BackfillBook
from noetl.core.event import iso
from noetl.errors import Conflict, NotFound, RequestError
from noetl.ports.tick import Backfill, BackfillAsk
from tests.unit.control.test_schedules import World

DAY_MS = 24 * 3600 * 1000


class Past(World):
    """The same with backfills, some days after the beginning of what they make up for."""

    def __init__(self) -> None:
        super().__init__()
        self.clock.now = int(datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp() * 1000)
        self.backfills = BackfillBook(self.store, self.find, self.new_id)
        self.made = 0

    def new_id(self) -> str:
        self.made += 1
        return f"{self.made:032x}"

    async def add(self, **more: Any) -> Backfill:
        return (await self.backfills.add_backfill(BackfillAsk(**{**SPAN, **more}))).backfill

    async def round(self) -> None:
        await self.book.fire_schedules()

    async def running(self) -> list[str]:
        return [tick.execution or "" for tick in await self.store.open_ticks() if tick.status == "running"]


SPAN: dict[str, Any] = {"from_": "2026-11-01", "to": "2026-11-05", "path": "p", "every_s": 24 * 3600}


@pytest.fixture
def past() -> Past:
    return Past()


async def test_ticks_are_started_so_many_at_a_time_each_for_its_own_tick(past: Past) -> None:
    backfill = await past.add(parallel=2, workload={"n": 1})
    assert (backfill.total, backfill.counts) == (5, {"planned": 5})
    for done in range(5):
        await past.round()
        running = await past.running()
        assert len(running) == min(2, 5 - done)
        await past.end(running[0])
    await past.round()
    await past.round()
    after = await past.backfills.backfill(backfill.id)
    assert (after.status, after.counts) == ("done", {"completed": 5})
    triggers = [asked.trigger or {} for asked in past.asked]
    assert [one["tick"] for one in triggers] == [f"2026-11-0{day}T00:00:00.000Z" for day in range(1, 6)]
    assert {(one["kind"], one["name"]) for one in triggers} == {("backfill", backfill.id)}
    assert triggers[0]["previous_tick"] == "2026-10-31T00:00:00.000Z"
    assert past.asked[0].workload == {"n": 1}


async def test_a_tick_that_the_schedule_has_run_is_not_run_again(past: Past) -> None:
    made = await past.put(cron="0 0 * * *", every_s=None)
    past.clock.now = made.next_at or 0
    await past.round()
    span = {"schedule": "s", "path": None, "every_s": None, "from_": "2026-11-16", "to": "2026-11-17"}
    backfill = await past.add(**span, parallel=5)
    await past.round()
    ticks = await past.backfills.backfill_ticks(backfill.id)
    (own,) = await past.book.schedule_ticks("s")
    assert [tick.status for tick in ticks] == ["running", "running"]
    assert ticks[0].execution == own.execution
    assert len(past.asked) == 2, "one by the schedule, one for the day before it"
    assert (past.asked[1].trigger or {})["kind"] == "backfill"
    assert (past.asked[1].trigger or {})["name"] == "s"


async def test_servers_that_look_at_once_start_each_tick_once_and_no_more_than_allowed(past: Past) -> None:
    await past.add(parallel=2)
    servers = [past.server() for _ in range(4)]
    for _ in range(6):
        await asyncio.gather(*(server.fire_schedules() for server in servers))
        running = await past.running()
        assert len(running) <= 2
        for execution in running:
            await past.end(execution)
    keys = [asked.idempotency_key for asked in past.asked]
    assert len(keys) == len(set(keys)) == 5


class Interrupted:
    """A store in which something happens before the call of that number."""

    def __init__(self, store: Any, number: int, work: Callable[[], Awaitable[None]]) -> None:
        self._store, self._left, self._work = store, number, work

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._store, name)

        async def interrupted(*values: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                await self._work()
            return await inner(*values)

        return interrupted


@pytest.mark.parametrize("number", range(1, 14))
@pytest.mark.parametrize("first", [0, 4], ids=["at the beginning", "at the end"])
async def test_no_more_than_allowed_run_whenever_another_server_looks(number: int, first: int) -> None:
    """One server looks between any two questions of another: neither starts too many, nor ends it too early."""
    past = Past()
    backfill = await past.add(parallel=1)
    for _ in range(first):
        await past.round()
        await past.end((await past.running())[0])
    one, other = past.server(), past.server()
    one._runner._store = Interrupted(past.store, number, other.fire_schedules)
    await one.fire_schedules()
    assert len(await past.running()) == 1
    assert (await past.backfills.backfill(backfill.id)).status == "running"


async def test_a_pause_that_comes_while_a_server_looks_starts_nothing_after_it(past: Past) -> None:
    for number in range(1, 8):
        past = Past()
        backfill = await past.add()
        started: list[int] = []

        async def pause(past: Past = past, wanted: str = backfill.id, started: list[int] = started) -> None:
            await past.backfills.control_backfill(wanted, "pause")
            started.append(len(await past.store.open_ticks()))

        server = past.server()
        server._runner._store = Interrupted(past.store, number, pause)
        await server.fire_schedules()
        assert not started or len(await past.store.open_ticks()) == started[0]


async def test_a_server_that_is_killed_before_it_started_a_tick_loses_nothing(past: Past) -> None:
    backfill = await past.add()
    planned = (await past.store.planned_ticks(f"backfill/{backfill.id}", 1))[0]
    planned.status = "starting"
    assert await past.store.move_tick(planned, "planned")  # and the process is gone
    await past.server().fire_schedules()
    assert [asked.idempotency_key for asked in past.asked] == [f"backfill/p/{iso(planned.tick)}"]


async def test_a_paused_backfill_starts_nothing_until_it_is_resumed(past: Past) -> None:
    backfill = await past.add()
    await past.round()
    assert (await past.backfills.control_backfill(backfill.id, "pause")).status == "paused"
    await past.end((await past.running())[0])
    await past.round()
    assert (await past.running(), len(past.asked)) == ([], 1)
    await past.backfills.control_backfill(backfill.id, "resume")
    await past.round()
    assert len(past.asked) == 2


async def test_a_cancelled_backfill_starts_nothing_more_and_lets_go_on_what_has_begun(past: Past) -> None:
    backfill = await past.add()
    await past.round()
    after = await past.backfills.control_backfill(backfill.id, "cancel")
    assert (after.status, after.counts) == ("cancelled", {"running": 1, "cancelled": 4})
    await past.end((await past.running())[0])
    await past.round()
    assert (await past.backfills.backfill(backfill.id)).counts == {"completed": 1, "cancelled": 4}
    assert len(past.asked) == 1
    with pytest.raises(Conflict, match="is cancelled: there is nothing to resume"):
        await past.backfills.control_backfill(backfill.id, "resume")


async def test_a_tick_that_cannot_start_does_not_hold_up_the_others(past: Past) -> None:
    backfill = await past.add()
    past.trouble.append(NotFound("the playbook is gone"))
    await past.round()
    await past.round()
    counts = (await past.backfills.backfill(backfill.id)).counts
    assert counts == {"refused": 1, "running": 1, "planned": 3}


async def test_a_dry_run_tells_the_ticks_and_keeps_nothing(past: Past) -> None:
    planned = await past.backfills.add_backfill(BackfillAsk(**SPAN, dry_run=True))
    assert [iso(tick)[:10] for tick in planned.ticks] == [f"2026-11-0{day}" for day in range(1, 6)]
    assert await past.backfills.backfills() == []


async def test_moments_without_a_zone_are_in_that_of_the_schedule(past: Past) -> None:
    await past.put(cron="0 3 * * *", every_s=None, timezone="Europe/Berlin")
    ask = BackfillAsk(schedule="s", from_="2026-10-24", to="2026-10-26T04:00", dry_run=True)
    ticks = (await past.backfills.add_backfill(ask)).ticks
    assert [iso(tick)[:16] for tick in ticks] == ["2026-10-24T01:00", "2026-10-25T02:00", "2026-10-26T02:00"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"from_": "yesterday"}, "from is 'yesterday', which is no moment"),
        ({"from_": "0001-01-01", "every_s": None, "cron": "0 0 1 1 *"}, "from is '0001-01-01'"),
        ({"from_": "2026-11-06"}, "from 2026-11-06T00:00:00.000Z is after to"),
        ({"to": "2027-01-01"}, "to lies in the future"),
        ({"every_s": 1}, "there are more than 10000 ticks"),
        ({"every_s": None, "cron": "0 0 1 1 *"}, "there is no tick from"),
        ({"every_s": None}, "either a cron expression or an interval"),
        ({"path": None}, "names a schedule, or a playbook"),
        ({"schedule": "s"}, "has its playbook and its times"),
        ({"parallel": 0}, "parallel is 0"),
    ],
)
async def test_a_backfill_that_makes_no_sense_is_refused_with_what_is_wrong(
    past: Past, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(RequestError, match=told):
        await past.add(**given)


async def test_unknown_backfills_schedules_and_playbooks_are_told_as_such(past: Past) -> None:
    with pytest.raises(NotFound, match="there is no backfill 'x'"):
        await past.backfills.control_backfill("x", "pause")
    with pytest.raises(NotFound, match="there is no schedule 'no'"):
        await past.add(path=None, every_s=None, schedule="no")
    with pytest.raises(NotFound, match="'missing'"):
        await past.add(path="missing")
