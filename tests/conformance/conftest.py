"""The store under test, once per product."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noetl.ports.store import Store
from tests.conformance.stores import STORES, Clock, Ground, opened
from tests.servers import PostgresServer


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def reused_database(postgres_server: PostgresServer) -> str:
    return postgres_server.new_database()


@pytest.fixture
def ground(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Ground:
    return Ground(tmp_path, clock, lambda: str(request.getfixturevalue("reused_database")))


@pytest.fixture(params=sorted(STORES))
async def store(request: pytest.FixtureRequest, ground: Ground) -> AsyncIterator[Store]:
    async with opened(request.param, ground) as made:
        yield made
