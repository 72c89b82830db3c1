"""Letters that cross with the commit that continues their execution, on PostgreSQL, where they can."""

from noetl.adapters.postgres.store import PostgresStore
from tests.conformance.stores import Ground, begin, emptied


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
