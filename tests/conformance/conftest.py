"""The store under test, once per product."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from noetl.ports.store import Store
from tests.conformance.stores import STORES, Clock, Ground, opened
from tests.servers import NatsServer, PostgresServer, S3Server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def reused_database(postgres_server: PostgresServer) -> str:
    return postgres_server.new_database()


@pytest.fixture(scope="session")
def reused_bucket(s3_server: S3Server) -> str:
    return s3_server.new_bucket()


@pytest.fixture
def ground(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Ground:
    given = request.getfixturevalue
    return Ground(
        tmp_path,
        clock,
        bucket=lambda: (str(given("reused_bucket")), cast("S3Server", given("s3_server")).environment),
        nats=lambda: cast("NatsServer", given("nats_server")),
        database=lambda: str(given("reused_database")),
    )


@pytest.fixture(params=sorted(STORES))
async def store(request: pytest.FixtureRequest, ground: Ground) -> AsyncIterator[Store]:
    async with opened(request.param, ground) as made:
        yield made
