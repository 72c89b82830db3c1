"""What servers forget by themselves, and what stays."""

import pytest

from noetl.control import retention
from noetl.control.retention import PAGE, Retention
from noetl.errors import BackendError
from tests.conformance.stores import NOW, begin, eid, end
from tests.unit.control.test_garbage import DAY, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(retention, "PAUSE_S", 0.0)
    return World()


async def test_what_ended_longer_ago_is_forgotten_with_its_payloads(world: World) -> None:
    await world.run(1, ended=None)
    await world.run(2, ended=29 * DAY)
    await world.run(3, ended=31 * DAY)
    keeps = Retention(world.store, world.results, 30 * DAY)
    assert await keeps.look(NOW) == 1
    assert await world.known() == await world.held() == [1, 2]
    assert await keeps.look(NOW + 2 * DAY) == 1
    assert await world.known() == await world.held() == [1]


async def test_nothing_of_a_family_is_forgotten_while_one_of_it_lives(world: World) -> None:
    await world.run(1, ended=None)
    await world.run(2, ended=99 * DAY, parent=eid(1))
    await world.run(3, ended=99 * DAY)
    await world.run(4, ended=1 * DAY, retry_of=eid(3))
    assert await Retention(world.store, world.results, 30 * DAY).look(NOW) == 0
    assert await world.known() == [1, 2, 3, 4]


async def test_more_than_fit_in_one_go_are_all_forgotten(world: World) -> None:
    for number in range(2 * PAGE + 5):
        await begin(world.store, number)
        await end(world.store, eid(number), 1)
    kept = await begin(world.store, 999)
    assert await Retention(world.store, world.results, DAY).look(NOW) == 2 * PAGE + 5
    assert [one.execution_id for one in (await world.store.executions()).items] == [kept]


async def test_what_could_not_be_forgotten_is_looked_at_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.run(1, ended=31 * DAY)
    keeps = Retention(world.store, world.results, 30 * DAY)

    async def away(execution_ids: object, before: int) -> list[str]:
        raise BackendError("the store is away")

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "delete", away)
        with pytest.raises(BackendError, match="away"):
            await keeps.look(NOW)
    assert await keeps.look(NOW) == 1
