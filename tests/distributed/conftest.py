"""Clusters for tests: a bus and a store of their own, so that they may be broken."""

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
def cluster(tmp_path: Path, own_nats: NatsServer, database: str) -> Iterator[Cluster]:
    made = Cluster(tmp_path, database, own_nats.url)
    yield made
    made.close()
