"""Settings every test shares. Fixtures of one room live in that room's own conftest."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.servers import MariadbServer, NatsServer, PostgresServer, S3Server

ROOT = Path(__file__).resolve().parent.parent

# Local work wants an answer in seconds; CI wants the same thorough answer every time: some thirty properties
# together see about ten thousand examples there.
_SLOW_MACHINE = (HealthCheck.too_slow,)
settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=_SLOW_MACHINE)
settings.register_profile(
    "ci",
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=_SLOW_MACHINE,
)
_CI = os.environ.get("CI") == "true"
settings.load_profile("ci" if _CI else "default")

PROPERTY_TIMEOUT_SECONDS = 900
WAITING_ROOMS = ("distributed", "ui")  # their tests wait for other processes more than they compute


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give property tests the time that the CI number of examples needs; let waiting begin first."""
    items.sort(key=lambda item: item.path.relative_to(ROOT / "tests").parts[0] not in WAITING_ROOMS)
    for item in items:
        if _CI and item.path.is_relative_to(ROOT / "tests" / "property"):
            item.add_marker(pytest.mark.timeout(PROPERTY_TIMEOUT_SECONDS))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's folder."""
    return ROOT


# Real servers: one of each per process of tests, started when a test first wants it.


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """PostgreSQL; `new_database()` gives a DSN."""
    url = os.environ.get("NOETL_TEST_PG")
    with PostgresServer.at(url) if url else PostgresServer.start() as server:
        yield server


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[str]:
    """The DSN of an empty PostgreSQL database that goes with the test."""
    dsn = postgres_server.new_database()
    yield dsn
    postgres_server.drop_database(dsn)


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariadbServer]:
    """MariaDB; `new_database()` gives an address."""
    with MariadbServer.start() as server:
        yield server


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServer]:
    """NATS with JetStream."""
    url = os.environ.get("NOETL_TEST_NATS")
    with NatsServer.at(url) if url else NatsServer.start() as server:
        yield server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """An S3 store; `new_bucket()` gives a name, `environment` the keys."""
    url = os.environ.get("NOETL_TEST_S3")
    with S3Server.at(url) if url else S3Server.start() as server:
        yield server
