"""The store port, on every product: formats that stand beside a log, and executions that are left to others."""

import asyncio
from typing import Any

import pytest

from noetl.ports.store import Append, Store
from tests.conformance.stores import LEASE_MS, begin, eid, row, summary


@pytest.mark.parametrize("together", [1, 2])
async def test_the_newest_format_of_a_log_is_kept_beside_it(store: Store, together: int) -> None:
    """However it is appended: alone, several rows at once, several executions at once."""

    async def each(expected: int, formats: list[int], shown: dict[str, Any] | None) -> list[int]:
        appends = []
        for number in range(1, together + 1):
            added = [row(expected + n, format=f) for n, f in enumerate(formats, 1)]
            changed = None if shown is None else summary(eid(number), **shown)
            appends.append(store.commit(Append(eid(number), expected, added, changed)))
        await asyncio.gather(*appends)
        return [(await store.summary(eid(number))).format for number in range(1, together + 1)]

    assert await each(0, [2], {}) == [2] * together
    assert await each(1, [5], None) == [5] * together
    assert await each(2, [3], {"status": "paused"}) == [5] * together
    assert await each(3, [2, 6, 2], None) == [6] * together
    assert await each(6, [7], {"status": "completed", "ended_at": 3, "result": b"{}"}) == [7] * together
    await store.commit(Append(eid(9), 0, [row(1, format=4)], summary(eid(9))))
    assert (await store.summary(eid(9))).format == (await store.projection(eid(9))).summary.format == 4


async def test_a_playbook_keeps_the_language_that_it_was_accepted_in(store: Store) -> None:
    for version, language in ((1, 1), (2, 3)):
        entry = await store.register("p", f"h{version}", "text", "f", "me", language)
        assert (entry.version, entry.language, entry.by) == (version, language, "me")
        assert await store.playbook(digest=f"h{version}") == entry
        assert await store.register("p", f"h{version}", "text", "f", None, 7) == entry
    assert [entry.language for entry in await store.playbooks("p")] == [3, 1]


async def test_one_claim_is_given_up_and_others_stay(store: Store) -> None:
    for number in (1, 2):
        await begin(store, number, owner="a")
    await store.let_go(eid(1), "b")
    assert await store.owned(eid(1))
    await store.let_go(eid(1), "a")
    assert [await store.owned(eid(number)) for number in (1, 2)] == [False, True]
    assert await store.claim(eid(1), "b", LEASE_MS)
