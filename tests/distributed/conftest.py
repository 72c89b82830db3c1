"""Clusters for tests: a store of their own, and a bus where one is used, so that they may be broken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.distributed.cluster import Cluster
from tests.engine.web import Web
from tests.servers import NatsServer


@pytest.fixture
def web() -> Iterator[Web]:
    service = Web()
    yield service
    service.close()


@pytest.fixture
def own_nats(tmp_path: Path) -> Iterator[NatsServer]:
    """A bus that only this test uses, and may kill."""
    with NatsServer.start(tmp_path) as server:
        yield server


@pytest.fixture
def link() -> str:
    """How servers and workers are joined; tests of what both links promise are given each."""
    return "direct"


@pytest.fixture
def cluster(tmp_path: Path, link: str, database: str, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    bus = request.getfixturevalue("own_nats") if link == "nats" else None
    made = Cluster(tmp_path, database, bus and bus.url)
    yield made
    made.close()
