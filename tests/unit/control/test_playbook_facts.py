"""What lists and pages tell of a playbook beside each of its executions: labels, and whether one is late."""

from typing import Any

import pytest
from msgspec.structs import replace

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.http.moment import ms
from noetl.adapters.memory.store import MemoryStore
from noetl.control.catalog import Catalog
from noetl.control.descriptions import Descriptions, said_by
from noetl.control.front.playbook_facts import PlaybookFacts
from noetl.ports.front import execution_row
from noetl.wiring.tool_kinds import kinds
from tests.conformance.stores import NOW, begin

TEXT = """
metadata: {name: p, path: p, labels: {team: shop}}
executor: {spec: {policy: {sla: {expected: 10m}}}}
"""
EXPECTED = 10 * 60 * 1000


class World:
    """A store with one playbook, and what is told of its executions."""

    def __init__(self) -> None:
        self.store = MemoryStore(now_ms)
        catalog = Catalog(self.store, kinds(), "e1")
        self.facts = PlaybookFacts(self.store, catalog, Descriptions())

    async def execution(self, number: int, **more: Any) -> Any:
        await self.store.register("p", "h", TEXT, None, None, 1)
        execution_id = await begin(self.store, number, **{"hash": "h", "requested_at": NOW, **more})
        return await self.store.summary(execution_id)


@pytest.fixture
def world() -> World:
    return World()


async def test_a_row_has_the_labels_of_its_playbook_and_says_when_it_is_late(world: World) -> None:
    row = execution_row(await world.facts.of_summary(await world.execution(1)), NOW)
    assert (row["labels"], row["expected_ms"]) == ({"team": "shop"}, EXPECTED)
    assert ms(row["late_at"] or "") == NOW + EXPECTED


async def test_one_that_goes_on_from_another_is_late_when_the_first_would_have_been(world: World) -> None:
    first = await world.execution(1)
    second = await world.execution(2, requested_at=NOW + EXPECTED)
    gone_on = replace(second, continued_from=first.execution_id, chain=first.execution_id)
    assert (await world.facts.of_summary(gone_on)).late_at == NOW + EXPECTED
    assert (await world.facts.of_summary(replace(gone_on, chain="forgotten"))).late_at == NOW + 2 * EXPECTED


async def test_what_has_no_playbook_any_more_has_no_labels_and_is_never_late(world: World) -> None:
    gone = await world.execution(1, hash="pruned")
    assert await world.facts.of_summary(gone) == gone


@pytest.mark.parametrize(
    "sla, expected_ms", [("{expected: 90}", 90_000), ("{expected: 2h}", 7_200_000), ("{expected: soon}", None), ("{}", None), ("[]", None)]
)  # fmt: skip
def test_how_long_one_should_take_is_read_from_the_text(sla: str, expected_ms: int | None) -> None:
    text = f"executor: {{spec: {{policy: {{sla: {sla}}}}}}}\n"
    assert said_by(text).expected_ms == expected_ms
