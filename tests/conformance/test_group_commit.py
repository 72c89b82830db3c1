"""PostgreSQL: what is appended at one moment shares a commit, and what is much does not wait for its end."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from noetl.adapters.postgres.store import PostgresStore
from noetl.adapters.postgres.writer import ENOUGH
from noetl.ports.store import Append
from tests.conformance.stores import Ground, begin, emptied, row


@pytest.fixture
async def direct(ground: Ground) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(ground.database(), patience_s=30.0)
    yield await emptied(store)
    await store.close()


async def test_appends_that_wait_together_are_one_transaction(direct: PostgresStore) -> None:
    ids = await asyncio.gather(*(begin(direct, number) for number in range(100)))
    before = direct._writer.transactions
    await asyncio.gather(*(direct.commit(Append(one, 1, [row(2)])) for one in ids))
    assert direct._writer.transactions - before <= 3


async def test_of_many_appends_at_one_moment_the_first_are_committed_while_the_others_are_made(
    direct: PostgresStore,
) -> None:
    ids = await asyncio.gather(*(begin(direct, number) for number in range(2 * ENOUGH)))
    writer = direct._writer
    before, begun = writer.transactions, list[int]()

    async def commit(one: str) -> None:
        begun.append(writer.transactions - before)
        await direct.commit(Append(one, 1, [row(2)]))

    await asyncio.gather(*map(commit, ids))
    assert begun == [0] * ENOUGH + [1] * ENOUGH
    assert writer.transactions - before == 2
