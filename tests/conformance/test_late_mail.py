"""Letters that cross with the commit that continues their execution, on PostgreSQL, where they can."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from noetl.adapters.postgres.store import PostgresStore
from tests.conformance.stores import Ground, begin, continuing, eid, emptied


async def test_a_letter_that_crossed_with_a_continuation_follows_it(ground: Ground) -> None:
    direct = await emptied(await PostgresStore.open(ground.database(), now=ground.clock))
    before = await begin(direct, 1, owner="a")
    after = await begin(direct, 2, owner="a")
    await direct.post(before, b"late")
    await direct.database.fetch(
        "update executions set ended_at = 5, continued_as = $2 where execution_id = $1", before, after
    )
    await direct.heartbeat("a", 30_000)
    assert [(letter.execution_id, letter.body) for letter in await direct.mail("a")] == [(after, b"late")]
    await direct.close()


class Crossed:
    """A statement that something comes before, the second time that it is sent."""

    def __init__(self, right: Any, before: Callable[[], Awaitable[object]]) -> None:
        self.right, self.before, self.sent = right, before, 0

    async def fetch(self, *values: object, **more: Any) -> Any:
        self.sent += 1
        if self.sent == 2:
            await self.before()
        return await self.right.fetch(*values, **more)


async def test_a_letter_that_comes_in_the_midst_of_a_continuation_is_not_dropped_with_the_end(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = await emptied(await PostgresStore.open(ground.database(), now=ground.clock))
    before = await begin(direct, 1, owner="a")
    posted: list[int | None] = []

    async def post() -> None:
        posted.append(await direct.post(before, b"in the midst"))

    statements = direct._writer._statements
    monkeypatch.setitem(statements, "append", Crossed(statements["append"], post))
    await direct.commit(continuing(1, 1, 2))
    await direct.heartbeat("a", 30_000)
    kept = [(letter.id, letter.execution_id, letter.body) for letter in await direct.mail("a")]
    assert kept == [(posted[0], eid(2), b"in the midst")]
    await direct.close()
