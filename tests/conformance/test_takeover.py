"""Thousands of open executions whose owner died, on PostgreSQL: taken over in few steps, each by one survivor."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.postgres import store as postgres_store
from noetl.adapters.postgres.database import Database
from noetl.adapters.postgres.statements import SQL
from noetl.adapters.postgres.store import PostgresStore
from noetl.control import takeover
from noetl.control.ownership import WARY_DECISIONS
from noetl.control.stuck_executions import StuckError
from noetl.errors import BackendError, Conflict
from noetl.ports.store import Append, Claimed, Find, StoredLog
from noetl.settings import load
from noetl.wiring.embedded import Embedded, assemble
from tests.conformance.copies import COPY
from tests.conformance.stores import Ground, emptied, row
from tests.conformance.stores import begin as stored
from tests.conformance.test_postgres import MANY as FULL
from tests.engine.harness import begin, control, playbook, until
from tests.planted import caught

WAITS = playbook("- {step: start, tool: {kind: wait, input: {signal: go}}}")
MANY = 3_000
DEAD = "update noetl.executions set owner = 'dead', owned_until = 0"


@asynccontextmanager
async def server(folder: Path, dsn: str) -> AsyncIterator[Embedded]:
    """An engine of its own over the database, as a server has one."""
    store = await PostgresStore.open(dsn, patience_s=60.0)
    settings = load({"store": dsn, "home": str(folder)}, environ={}, folder=folder)
    made = assemble(settings, store, MemoryResults(now_ms), served=True)
    try:
        yield made
    finally:
        await made.close()


def database(made: Embedded) -> Database:
    assert isinstance(made.store, PostgresStore)
    return made.store.database


def count_statements(made: Embedded) -> Counter[str]:
    """How often each statement is sent from now on, by its first words."""
    counted: Counter[str] = Counter()
    fetch = database(made).fetch

    async def counting(statement: str, *values: Any, **more: Any) -> Any:
        counted[statement[:60]] += 1
        return await fetch(statement, *values, **more)

    database(made).fetch = counting  # type: ignore[method-assign]
    return counted


@pytest.fixture
async def left(tmp_path: Path, ground: Ground) -> str:
    """A database with many executions that wait for a signal, and whose owner is dead; its DSN."""
    dsn = ground.database()
    store = await emptied(await PostgresStore.open(dsn))
    async with server(tmp_path, dsn) as made:
        execution_id = await begin(made, WAITS)
        state = made.engine.live_state(execution_id)
        assert state is not None
        await until(made, lambda: any(run.parked for run in state.runs.values()))
    await store.database.fetch(COPY, MANY - 1, execution_id)
    await store.database.fetch(DEAD)
    await store.close()
    return dsn


async def owners(made: Embedded) -> dict[str, int]:
    """How many executions each owner has."""
    rows = await database(made).fetch("select owner, count(*) from executions group by owner")
    return dict(rows)


async def test_thousands_are_taken_over_in_a_few_statements_each_for_many(left: str, tmp_path: Path) -> None:
    async with server(tmp_path, left) as made:
        sent = count_statements(made)
        assert await made.engine.pick_up_due() == MANY
        batches = MANY // takeover.BATCH + takeover.BATCHES_AT_ONCE
        assert max(sent.values()) <= batches, sent
        assert sent.total() <= 6 * batches, sent
        assert len(made.engine.running()) == MANY
        sent.clear()
        await made.engine.heartbeat()
        assert sent.total() <= 2
        rest = await database(made).fetch("select 1 from executions where in_hand is not null")
        assert rest == []
        one = made.engine.running()[17]
        await control(made, one, "signal", name="go")
        await asyncio.wait_for(made.engine.until_quiet(one), 60)
        assert (await made.store.summary(one)).status == "completed"


async def test_what_is_decided_at_once_is_noted_at_once(few: None, left: str, tmp_path: Path) -> None:
    async with server(tmp_path, left) as made:
        assert await made.engine.pick_up_due() == MANY
        sent = count_statements(made)
        running = made.engine.running()
        await asyncio.gather(*(control(made, one, "pause") for one in running))
        assert sent.total() <= 10, sent
        wary = [live.wary for one in running if (live := made.engine.in_memory(one)) is not None]
        assert wary == [WARY_DECISIONS - 1] * MANY
        rest = await database(made).fetch("select 1 from executions where in_hand is not null")
        assert rest == []


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches are enough."""
    monkeypatch.setattr(f"{__name__}.MANY", 2 * takeover.BATCH)


async def test_the_log_of_a_server_says_how_many_it_took_over(
    few: None, left: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "noetl.engine")
    async with server(tmp_path, left) as made:
        await made.engine.pick_up_due()
        await made.engine.pick_up_due()
    told = [record.message for record in caplog.records if "taken over" in record.message]
    assert told == [f"open executions taken over from servers that are gone: {MANY}"]


async def test_a_takeover_one_by_one_is_noticed(
    few: None, left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: the log of each execution is read by itself."""

    async def wrong(self: PostgresStore, execution_ids: Sequence[str]) -> Mapping[str, StoredLog]:
        return {execution_id: await self.log(execution_id) for execution_id in execution_ids}

    monkeypatch.setattr(PostgresStore, "logs", wrong)
    test = test_thousands_are_taken_over_in_a_few_statements_each_for_many
    await caught("a takeover one by one", test(left, tmp_path))


async def test_two_survivors_share_what_a_dead_server_left(left: str, tmp_path: Path) -> None:
    async with server(tmp_path, left) as one, server(tmp_path, left) as two:
        taken = await asyncio.gather(one.engine.pick_up_due(), two.engine.pick_up_due())
        assert sum(taken) == MANY
        assert min(taken) >= MANY // 10, "one of them got next to nothing"
        assert set(one.engine.running()) & set(two.engine.running()) == set()
        assert await owners(one) == {one.engine.owner: taken[0], two.engine.owner: taken[1]}


async def test_what_a_survivor_had_claimed_when_it_died_too_is_taken_over_by_the_next(
    left: str, tmp_path: Path
) -> None:
    async with server(tmp_path, left) as first, server(tmp_path, left) as second:
        claimed = await first.store.take_over(first.engine.owner, 60_000, (), (), 500)
        assert len(claimed) == 500  # and none of them was read before it died
        trials: list[Any] = []

        async def tried(work: Any) -> None:
            trials.append(work())

        second.engine.trial = tried
        await database(second).fetch("update owners set until = 0 where owner = $1", first.engine.owner)
        assert await second.engine.pick_up_due() == MANY
        assert await owners(second) == {second.engine.owner: MANY}
        assert 1 <= len(trials) <= 500 // takeover.BATCH + takeover.BATCHES_AT_ONCE  # of batches, not of each
        live = second.engine.in_memory(claimed[0].summary.execution_id)
        assert live is not None
        assert (live.wary, live.tried) == (8, False)


async def test_one_that_cannot_be_read_harms_itself_alone(left: str, tmp_path: Path) -> None:
    async with server(tmp_path, left) as made:
        broken = [f"{number:032x}" for number in (7, 1500)]
        await database(made).fetch(
            "update log set body = '[{' where execution in"
            " (select id from executions where execution_id = any ($1))",
            broken,
        )
        assert await made.engine.pick_up_due() == MANY
        assert len(made.engine.running()) == MANY - len(broken)
        await made.engine.stuck.mark()
        stuck = await made.front.executions(Find(status="stuck"))
        assert sorted(one.execution_id for one in stuck.items) == broken
        with pytest.raises(StuckError, match="cannot be read"):
            await made.engine.load(broken[0])
        assert await made.engine.pick_up_due() == 0


CORRUPTED = """
create or replace function corrupted() returns int language plpgsql as
$$ begin raise exception 'invalid page in block 7' using errcode = 'data_corrupted'; end $$
"""


async def test_one_whose_data_the_database_cannot_read_is_stuck_and_not_tried_for_ever(
    few: None, left: str, tmp_path: Path
) -> None:
    async with server(tmp_path, left) as made:
        broken, fetch = f"{7:032x}", database(made).fetch
        await fetch(CORRUPTED)
        number = (await fetch("select id from executions where execution_id = $1", broken))[0]["id"]

        async def disturbed(statement: str, *values: Any, **more: Any) -> Any:
            damaged = statement in (SQL["rows_behind"], SQL["rows_behind_each"])
            if damaged and (
                values[0] == number or number in (values[0] if isinstance(values[0], list) else ())
            ):
                return await fetch("select corrupted()")
            return await fetch(statement, *values, **more)

        database(made).fetch = disturbed  # type: ignore[method-assign]
        await made.engine.pick_up_due()
        await made.engine.pick_up_due()  # what is stuck is noted in the next round
        assert len(made.engine.running()) == MANY - 1
        summary = await made.store.summary(broken)
        assert (summary.status, "invalid page" in (summary.stuck or "")) == ("stuck", True)


async def test_what_cannot_be_read_for_now_stays_ours_and_is_read_in_the_next_round(
    left: str, tmp_path: Path
) -> None:
    async with server(tmp_path, left) as made:
        await away_once(made, f"{42:032x}")
        assert len(made.engine.running()) == MANY


async def away_once(made: Embedded, poor: str) -> None:
    """Two rounds, in the first of which a log cannot be read."""
    logs, log = made.store.logs, made.store.log

    async def away(execution_ids: Any) -> Any:
        if poor in execution_ids:
            raise BackendError("away")
        return await logs(execution_ids)

    async def away_alone(execution_id: str) -> Any:
        if execution_id == poor:
            raise BackendError("away")
        return await log(execution_id)

    made.store.logs, made.store.log = away, away_alone  # type: ignore[method-assign]
    with pytest.raises(BackendError, match="away"):
        await made.engine.pick_up_due()
    assert poor not in made.engine.running()
    made.store.logs, made.store.log = logs, log  # type: ignore[method-assign]
    await made.engine.pick_up_due()


async def test_a_batch_that_forgets_what_it_could_not_read_is_noticed(
    left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: what was claimed and not read is in nobody's hands."""
    right = takeover.Takeover._claimed

    async def wrong(self: Any) -> Any:
        batch = await right(self)
        self._owned.dropped.clear()
        return batch

    monkeypatch.setattr(takeover.Takeover, "_claimed", wrong)
    async with server(tmp_path, left) as made:
        await away_once(made, f"{42:032x}")
        assert len(made.engine.running()) == MANY - 1


async def test_whoever_asks_for_one_of_a_batch_waits_for_it_and_it_is_in_memory_once(
    left: str, tmp_path: Path
) -> None:
    async with server(tmp_path, left) as made:
        entered: Counter[str] = Counter()
        enter = made.engine._owned._enter

        def counting(execution: Any) -> Any:
            entered[execution.state.execution_id] += 1
            return enter(execution)

        made.engine._owned._enter = counting  # type: ignore[method-assign]
        asked = [f"{number:032x}" for number in range(1, MANY, 97)]
        round_ = asyncio.create_task(made.engine.pick_up_due())
        found = await asyncio.gather(*map(made.engine.load, asked))
        await round_
        assert [live.state.execution_id for live in found] == asked
        assert set(entered.values()) == {1}
        assert len(entered) == MANY


async def test_what_ended_between_its_claim_and_its_reading_is_not_entered(left: str, tmp_path: Path) -> None:
    async with server(tmp_path, left) as made, server(tmp_path, left) as other:
        (claimed,) = await made.store.take_over(made.engine.owner, 60_000, (), (), 1)
        execution_id = claimed.summary.execution_id
        await database(other).fetch(
            "update executions set owner = null where execution_id = $1", execution_id
        )
        await other.engine.pick_up(execution_id)
        await control(other, execution_id, "signal", name="go")
        await asyncio.wait_for(other.engine.until_quiet(execution_id), 60)

        offers = [[claimed]]

        async def stale(*args: Any) -> list[Claimed]:
            return offers.pop() if offers else []

        made.store.take_over = stale  # type: ignore[assignment, method-assign]
        assert await made.engine.pick_up_due() == 1
        assert made.engine.running() == ()
        assert made.engine._owned.dropped == set()


async def test_what_a_gone_owner_writes_late_is_refused_once_another_has_it(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = await emptied(await PostgresStore.open(ground.database()))
    other = await PostgresStore.open(ground.database())
    begun = [await stored(other, number, owner="a") for number in (1, 2)]
    await other.close()
    monkeypatch.setattr(postgres_store, "ABSENT_S", 0.0)
    assert await direct.due() == begun
    assert await direct.claim(begun[0], "b", 60_000)
    assert [one.summary.execution_id for one in await direct.take_over("c", 60_000)] == begun[1:]
    for execution_id, owner in zip(begun, "bc", strict=True):
        with pytest.raises(Conflict, match=f"run by {owner}"):
            await direct.commit(Append(execution_id, 1, [row(2)], owner="a"))
    await direct.close()


async def test_taking_over_does_not_read_every_execution(ground: Ground) -> None:
    direct = await emptied(await PostgresStore.open(ground.database()))
    await direct.database.fetch(FULL)
    await direct.heartbeat("a", 60_000)
    await direct.database.fetch("analyze executions")
    plan = await direct.database.fetch(f"explain {SQL['take_over']}", "b", 60_000, None, [], 100, "b", [])
    told = "\n".join(line[0] for line in plan)
    assert "Index Scan using executions_open" in told
    assert "Seq Scan on executions" not in told
    assert await direct.take_over("b", 60_000) == []
    await direct.close()
