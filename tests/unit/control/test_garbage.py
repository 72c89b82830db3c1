"""What is garbage and what is not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noetl.adapters.directory.results import DirectoryResults
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.control import garbage
from noetl.control.catalog import Catalog
from noetl.control.garbage import Collected, Terms, collect
from noetl.core.message import Payload
from noetl.errors import NotFound
from noetl.ports.results import Footprint
from noetl.tools import kinds
from tests.conformance.stores import NOW, Clock, begin, eid, end
from tests.planted import caught

HOUR = 3_600_000
DAY = 24 * HOUR


class World:
    """A store and a result store that share a clock."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store, self.results = MemoryStore(self.clock), MemoryResults(self.clock)

    async def run(self, number: int, *, ended: int | None, **more: Any) -> None:
        """An execution with one payload of ten bytes; `ended` is how long ago, None for one that runs."""
        await begin(self.store, number, **more)
        if ended is not None:
            await end(self.store, eid(number), NOW - ended, **more)
        await self.results.write(Payload(f"{eid(number)}/{'d' * 32}", b"0123456789"))

    async def collect(
        self, *, ttl: int = DAY, retention: int | None = None, dry_run: bool = False
    ) -> Collected:
        """Collect now."""
        now = self.clock.now
        terms = Terms(now - ttl, None if retention is None else now - retention, dry_run)
        return await collect(self.store, self.results, Catalog(self.store, kinds(), "noetl test"), terms)

    async def held(self) -> list[int]:
        """Whose payloads are there."""
        return [int(one.execution_id, 16) for one in await self.results.footprints()]

    async def known(self) -> list[int]:
        """Which executions are there."""
        return sorted(int(one.execution_id, 16) for one in (await self.store.executions()).items)


@pytest.fixture
def world() -> World:
    return World()


async def test_payloads_live_as_long_as_their_execution_and_a_day(world: World) -> None:
    await world.run(1, ended=None)
    await world.run(2, ended=DAY - 1)
    await world.run(3, ended=DAY)
    found = await world.collect()
    assert (found.payloads, found.bytes, found.executions) == (1, 10, 0)
    assert await world.held() == [1, 2]
    assert await world.known() == [1, 2, 3]


async def test_another_time_to_live_can_be_asked_for(world: World) -> None:
    await world.run(1, ended=HOUR)
    assert (await world.collect(ttl=2 * HOUR)).payloads == 0
    assert (await world.collect(ttl=HOUR)).payloads == 1


@pytest.mark.parametrize(
    ("live", "links"),
    [
        pytest.param(1, {2: {"parent": eid(1)}}, id="of a child, while its parent runs"),
        pytest.param(2, {2: {"parent": eid(1)}}, id="of a parent, while its child runs"),
        pytest.param(
            3, {2: {"parent": eid(1)}, 3: {"parent": eid(1)}}, id="of a child, while another one runs"
        ),
        pytest.param(3, {2: {"parent": eid(1)}, 3: {"parent": eid(2)}}, id="of a grandparent"),
        pytest.param(2, {2: {"retry_of": eid(1)}}, id="of an execution, while its retry runs"),
        pytest.param(
            3, {2: {"parent": eid(1)}, 3: {"retry_of": eid(1)}}, id="of a child, while the retry runs"
        ),
    ],
)
async def test_nothing_of_a_family_is_taken_while_one_of_it_lives(
    world: World, live: int, links: dict[int, dict[str, str]]
) -> None:
    for number in (1, *links):
        await world.run(number, ended=None if number == live else 99 * DAY, **links.get(number, {}))
    found = await world.collect(retention=0)
    assert (found.payloads, found.executions) == (0, 0)
    assert await world.held() == await world.known() == [1, *links]


async def test_the_time_of_a_family_starts_when_its_last_member_ends(world: World) -> None:
    await world.run(1, ended=HOUR)
    await world.run(2, ended=5 * DAY, parent=eid(1))
    assert (await world.collect()).payloads == 0
    world.clock.now += DAY
    assert (await world.collect()).payloads == 2


async def test_payloads_that_no_execution_knows_go_when_they_are_old(world: World) -> None:
    """A payload is written before the execution that names it is committed."""
    await world.results.write(Payload(f"{eid(1)}/{'d' * 32}", b"x"))
    assert (await world.collect()).payloads == 0
    world.clock.now += DAY
    assert (await world.collect()).payloads == 1


async def test_a_dry_run_counts_and_takes_nothing(world: World) -> None:
    await world.run(1, ended=40 * DAY)
    await world.run(2, ended=2 * DAY)
    dry = await world.collect(retention=30 * DAY, dry_run=True)
    assert (dry.payloads, dry.executions) == (2, 1)
    assert await world.held() == await world.known() == [1, 2]
    assert await world.collect(retention=30 * DAY) == dry


async def test_executions_go_with_their_payloads_when_they_are_older_than_asked(world: World) -> None:
    await world.run(1, ended=None)
    await world.run(2, ended=29 * DAY)
    await world.run(3, ended=30 * DAY)
    assert (await world.collect(retention=30 * DAY)).executions == 1
    assert await world.known() == [1, 2]
    assert await world.held() == [1]
    with pytest.raises(NotFound):
        await world.store.log(eid(3))


async def test_executions_stay_when_nobody_asks(world: World) -> None:
    await world.run(1, ended=9999 * DAY)
    assert (await world.collect()).executions == 0
    assert await world.known() == [1]


async def test_more_executions_than_a_page_are_all_looked_at(world: World) -> None:
    for number in range(450):
        await begin(world.store, number)
        await end(world.store, eid(number), 1)
    assert (await world.collect(retention=DAY)).executions == 450
    assert await world.known() == []


async def test_a_folder_of_files_is_collected_like_any_other(tmp_path: Path) -> None:
    clock = Clock()
    store, results = MemoryStore(clock), DirectoryResults(str(tmp_path))
    await end(store, await begin(store, 1), 5)
    for number in (1, 2):
        await results.write(Payload(f"{eid(number)}/{'d' * 32}", b"x"))
    catalog = Catalog(store, kinds(), "noetl test")
    found = await collect(store, results, catalog, Terms(payloads=10))
    assert (found.payloads, [one.execution_id for one in await results.footprints()]) == (1, [eid(2)])


async def test_a_retry_that_begins_while_garbage_is_collected_keeps_what_it_refers_to(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at what is old and the deletion of it, and of payloads, minutes may pass."""
    for number in (1, 2, 3):
        await world.run(number, ended=99 * DAY)
    delete, footprints = world.store.delete, world.results.footprints

    async def late_delete(execution_ids: Any, before: int) -> Any:
        await begin(world.store, 4, retry_of=eid(1))
        return await delete(execution_ids, before)

    async def late_footprints() -> Any:
        found = await footprints()
        await begin(world.store, 6, retry_of=eid(5))
        return found

    monkeypatch.setattr(world.store, "delete", late_delete)
    found = await world.collect(retention=30 * DAY)
    assert (found.executions, await world.known(), await world.held()) == (2, [1, 4], [1])

    monkeypatch.undo()
    monkeypatch.setattr(world.results, "footprints", late_footprints)
    await world.run(5, ended=99 * DAY)
    await world.collect()
    monkeypatch.undo()
    assert await world.held() == [1, 5]


async def test_a_deletion_that_does_not_look_again_is_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: whether a family is over is asked once, before everything else."""

    async def wrong(self: MemoryStore, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        for key in execution_ids:
            del self._executions[key]
        return execution_ids

    monkeypatch.setattr(MemoryStore, "delete", wrong)
    test = test_a_retry_that_begins_while_garbage_is_collected_keeps_what_it_refers_to
    with pytest.MonkeyPatch.context() as inner:
        await caught("a deletion that does not look again", test(world, inner))


async def test_payloads_of_a_family_that_was_over_a_while_ago_are_noticed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: the end of an execution counts, whoever of its family has begun since."""

    async def wrong(store: MemoryStore, footprint: Footprint, moment: int) -> bool:
        return (await store.summary(footprint.execution_id)).ended_at is not None

    monkeypatch.setattr(garbage, "_expired", wrong)
    test = test_a_retry_that_begins_while_garbage_is_collected_keeps_what_it_refers_to
    with pytest.MonkeyPatch.context() as inner:
        await caught("payloads of a family that was over", test(world, inner))
