"""Bugs put into the stores on purpose, each of which a test of theirs notices."""

import pytest

from noetl.adapters.postgres import store as postgres_store
from noetl.adapters.postgres.statements import SQL
from noetl.adapters.postgres.store import PostgresStore
from tests.conformance.stores import Ground, emptied
from tests.conformance.test_postgres import (
    connected,
)
from tests.conformance.test_postgres import (
    test_an_execution_whose_owner_nobody_knows_is_not_forgotten as unknown_owner,
)
from tests.planted import caught


async def test_owners_that_only_their_own_table_names_are_noticed(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What belongs to an owner that nobody has heard of is never due."""
    wrong = SQL["due"].replace("left join owners", "join owners")
    assert wrong != SQL["due"]
    async with connected(ground.database()) as store:
        direct: PostgresStore = await emptied(store)
        monkeypatch.setattr(postgres_store, "SQL", {**SQL, "due": wrong})
        await caught("owners without a row", unknown_owner(direct))
