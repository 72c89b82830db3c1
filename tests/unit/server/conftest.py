"""Fixtures of the HTTP face."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.server.serving import Served, served


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    """A server that asks nobody who they are."""
    async with served(tmp_path) as made:
        yield made
