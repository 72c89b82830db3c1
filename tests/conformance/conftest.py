"""The store under test, once per product."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noetl.ports.store import Store
from tests.conformance.stores import STORES, Clock, opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=sorted(STORES))
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    async with opened(request.param, tmp_path, clock) as made:
        yield made
