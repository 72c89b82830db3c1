"""The store port, on every product: payloads are given up, or kept by a retry, and never both."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.adapters.postgres.results import PostgresResults
from noetl.adapters.postgres.store import PostgresStore
from noetl.control.garbage import Terms, collect
from noetl.errors import Conflict, NotFound
from noetl.ports.results import Results
from noetl.ports.store import Append, Store
from noetl.settings import load
from noetl.wiring.embedded import Embedded, assemble
from tests.conformance.stores import Clock, Ground, begin, eid, emptied, end, rows, summary
from tests.engine.harness import Ran, finish, playbook
from tests.engine.harness import begin as begin_playbook
from tests.planted import caught

GONE = "has expired|was removed|is being removed"
LARGE = playbook(
    """
    - step: load
      tool: {kind: python, input: {code: "result = 'x' * 200_000"}}
      next: {arcs: [{step: count}]}
    - step: count
      tool: {kind: python, input: {v: "{{ load.data }}", code: "result = 1 / (len(v) - 200_000)"}}
    """
)


async def retry(store: Store, number: int, of: int, *keeps: int) -> str:
    """A retry of an execution that refers to payloads of some."""
    execution_id = eid(number)
    kept = [eid(one) for one in keeps]
    beginning = summary(execution_id, retry_of=eid(of))
    await store.commit(Append(execution_id, 0, rows(1), beginning, claim=("o", 30_000), keeps=kept))
    return execution_id


async def family(store: Store) -> list[str]:
    """An execution, its child, and its retry, all over."""
    for number, more in ((1, {}), (2, {"parent": eid(1)}), (3, {"retry_of": eid(1)})):
        await end(store, await begin(store, number, **more), 5, **more)
    return [eid(1), eid(2), eid(3)]


async def test_payloads_of_a_family_are_given_up_at_once_and_only_when_all_of_it_is_over(
    store: Store,
) -> None:
    everyone = await family(store)
    await begin(store, 4)
    assert list(await store.expire([*everyone, eid(4), eid(9)], 4)) == []
    assert list(await store.expire([everyone[1], eid(4), eid(9)], 5)) == [everyone[1]]
    for number in (1, 2, 3):
        with pytest.raises(Conflict, match=GONE):
            await retry(store, 5, 1, number)
    assert sorted(await store.expire(everyone, 5)) == everyone


async def test_a_retry_that_was_quicker_keeps_what_it_refers_to(store: Store) -> None:
    everyone = await family(store)
    await retry(store, 4, 3, 1)
    assert list(await store.expire(everyone, 10)) == []
    assert list(await store.delete(everyone, 10)) == []
    await retry(store, 5, 2, 1, 2, 3)


async def test_a_retry_that_refers_to_nothing_begins_all_the_same_and_is_not_cut_off(store: Store) -> None:
    everyone = await family(store)
    assert list(await store.expire([eid(1)], 5)) == [eid(1)]
    again = await retry(store, 4, 1)
    assert list(await store.delete(everyone, 10)) == []
    await end(store, again, 20, retry_of=eid(1))
    assert sorted(await store.delete([*everyone, again], 20)) == [*everyone, again]


async def test_what_is_given_up_is_told_in_whatever_order_it_is_asked_for(store: Store) -> None:
    everyone = await family(store)
    assert sorted(await store.expire(everyone, 5)) == everyone
    again = await retry(store, 4, 1)
    assert list(await store.expire([again, eid(1)], 10)) == [eid(1)]
    assert list(await store.expire([eid(1), again], 10)) == [eid(1)]


async def test_what_was_removed_is_not_gone_on_from(store: Store) -> None:
    everyone = await family(store)
    assert sorted(await store.delete(everyone, 5)) == everyone
    with pytest.raises(Conflict, match="was removed"):
        await retry(store, 4, 1)
    assert (await store.executions()).items == []


async def test_of_a_retry_and_a_deletion_of_many_parts_exactly_one_wins(store: Store) -> None:
    """A family that does not fit in one transaction: its last member still counts when its first is gone."""
    children = [eid(number) for number in range(10, 240)]
    for turn in range(6):
        await end(store, await begin(store, 1), 5)
        for number in range(10, 240):
            await end(store, await begin(store, number, parent=eid(1)), 5, parent=eid(1))

        async def late(turns: int) -> bool:
            for _ in range(turns):
                await asyncio.sleep(0)
            try:
                await retry(store, 2, 1, 10, 239)
            except Conflict:
                return False
            return True

        gone, begun = await asyncio.gather(store.delete([eid(1), *children], 5), late(turn * 40))
        assert len(gone) == (0 if begun else 231)
        if begun:
            await end(store, eid(2), 5, retry_of=eid(1))
            assert len(await store.delete([eid(1), eid(2), *children], 5)) == 232


# With an engine, its payloads, and what collects them


@pytest.fixture
def results(store: Store, clock: Clock, tmp_path: Path) -> Results:
    clock.now = now_ms()
    return PostgresResults(store) if isinstance(store, PostgresStore) else MemoryResults(clock)


@pytest.fixture
def made(store: Store, results: Results, tmp_path: Path) -> Embedded:
    settings = load(
        {"store": str(tmp_path / "unused.db"), "home": str(tmp_path)}, environ={}, folder=tmp_path
    )
    return assemble(settings, store, results)


async def failed(made: Embedded) -> Ran:
    ran = await finish(made, await begin_playbook(made, LARGE))
    assert (ran.status, ran.error["kind"]) == ("failed", "python"), ran.error
    return ran


async def collected(made: Embedded, *, executions: bool) -> None:
    later = now_ms() + 60_000
    await collect(made.store, made.results, made.catalog, Terms(later, later if executions else None))


BOTH = pytest.mark.parametrize("executions", [False, True], ids=["payloads", "executions"])


@BOTH
async def test_a_retry_is_refused_when_all_was_collected_before_it_is_in_the_log(
    made: Embedded, monkeypatch: pytest.MonkeyPatch, executions: bool
) -> None:
    ran = await failed(made)
    commit = made.store.commit

    async def late(append: Append) -> None:
        if append.summary is not None and append.summary.retry_of is not None:
            await collected(made, executions=executions)
        await commit(append)

    monkeypatch.setattr(made.store, "commit", late)
    with pytest.raises(Conflict, match=GONE):
        await made.front.retry(ran.execution_id)
    assert len((await made.store.executions()).items) == (0 if executions else 1)
    await made.close()


@BOTH
async def test_a_retry_is_refused_between_the_look_and_the_removal(
    made: Embedded, monkeypatch: pytest.MonkeyPatch, executions: bool
) -> None:
    ran = await failed(made)
    discard, refused = made.results.discard, []

    async def late(execution_id: str) -> None:
        try:
            await made.front.retry(ran.execution_id)
        except (Conflict, NotFound) as error:
            refused.append(error)
        await discard(execution_id)

    monkeypatch.setattr(made.results, "discard", late)
    await collected(made, executions=executions)
    assert len(refused) == 1
    assert len((await made.store.executions()).items) == (0 if executions else 1)
    await made.close()


async def test_a_retry_that_reads_nothing_of_what_has_expired_begins(made: Embedded) -> None:
    text = playbook(
        """
        - step: load
          tool: {kind: python, input: {code: "result = 'x' * 200_000"}}
          set: {ctx.whole: "{{ output.data }}"}
          next: {arcs: [{step: count}]}
        - step: count
          tool: {kind: python, input: {v: "{{ load.data }}", code: "result = len(v)"}}
          next: {arcs: [{step: divide}]}
        - step: divide
          tool: {kind: python, input: {n: "{{ count.data }}", code: "result = 1 / (n - 200_000)"}}
        """
    )
    ran = await finish(made, await begin_playbook(made, text))
    assert ran.error["step"] == "divide"
    await collected(made, executions=False)
    assert await made.results.footprints() == []
    again = await finish(made, (await made.front.retry(ran.execution_id)).execution_id)
    assert (again.error["kind"], again.error["step"], again.runs("load")) == ("python", "divide", 1)
    with pytest.raises(Conflict, match=GONE):
        await made.front.rerun(ran.execution_id, "count")
    await made.close()


@BOTH
async def test_a_retry_that_began_a_moment_before_reads_what_it_kept(
    made: Embedded, monkeypatch: pytest.MonkeyPatch, executions: bool
) -> None:
    ran = await failed(made)
    name = "delete" if executions else "expire"
    take, begun = getattr(made.store, name), list[str]()

    async def late(execution_ids: Any, before: int) -> Any:
        if not begun:
            begun.append((await made.front.retry(ran.execution_id)).execution_id)
        return await take(execution_ids, before)

    with monkeypatch.context() as patch:
        patch.setattr(made.store, name, late)
        await collected(made, executions=executions)
    again = await finish(made, begun[0])
    assert (again.status, again.error["kind"], again.runs("load")) == ("failed", "python", 1), again.error
    await made.close()


# Real transactions of PostgreSQL, each held up in the middle


@pytest.fixture
async def postgres(ground: Ground) -> Any:
    store = await emptied(await PostgresStore.open(ground.database()))
    other = await asyncpg.connect(ground.database(), server_settings={"search_path": "noetl"})
    yield store, other
    await other.close()
    await store.close()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.01)


async def is_locked(other: asyncpg.Connection, number: int) -> bool:
    wanted = "select 1 from executions where execution_id = $1 for update skip locked"
    return not await other.fetch(wanted, eid(number))


async def waiting(other: asyncpg.Connection) -> int:
    return int(await other.fetchval("select count(*) from pg_locks where not granted"))


async def test_a_retry_does_not_wait_for_payloads_that_are_being_given_up(postgres: Any) -> None:
    store, other = postgres
    everyone = await family(store)
    async with other.transaction():
        await other.execute("select 1 from executions where execution_id = $1 for update", eid(3))
        expiring = asyncio.create_task(store.expire(everyone, 5))
        await until(lambda: _some(waiting(other)))
        with pytest.raises(Conflict, match="is being removed"):
            await asyncio.wait_for(retry(store, 4, 1, 1), 10)
    assert sorted(await expiring) == everyone


async def test_payloads_are_not_given_up_before_it_is_known_whether_a_retry_keeps_them(
    postgres: Any,
) -> None:
    store, other = postgres
    everyone = await family(store)
    transaction = other.transaction()
    await transaction.start()
    await other.execute(
        "insert into executions (execution_id, status, path, hash, requested_at, seq, owned_until) "
        "values ($1, 'running', 'p', '', 0, 0, 0)",
        eid(4),
    )
    retrying = asyncio.create_task(retry(store, 4, 1, 1, 2))  # waits: another begins the same
    await until(lambda: _some(waiting(other)))
    expiring = asyncio.create_task(store.expire(everyone, 5))
    await until(lambda: _two(waiting(other)))
    await transaction.rollback()
    await retrying
    assert list(await expiring) == []


async def _some(number: Awaitable[int]) -> bool:
    return await number >= 1


async def _two(number: Awaitable[int]) -> bool:
    return await number >= 2


async def test_a_retry_that_looks_at_nothing_is_noticed(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: whether what is kept is still there is not asked in the commit."""
    monkeypatch.setattr("noetl.ports.store.check_kept", lambda append, expired: None)
    test = test_payloads_of_a_family_are_given_up_at_once_and_only_when_all_of_it_is_over
    await caught("a retry that looks at nothing", test(MemoryStore(clock)))
