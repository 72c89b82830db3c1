"""Hosts of isolated processes for the worker's tests."""

import os
from pathlib import Path
from typing import Any

import pytest

from noetl.worker.python.host import PythonHost


@pytest.fixture
async def make():
    """Makes hosts that are closed when the test ends, however it ends."""
    made: list[PythonHost] = []

    def make(*arguments: Any, **options: Any) -> PythonHost:
        made.append(PythonHost(*arguments, **options))
        return made[-1]

    yield make
    for host in made:
        await host.close()


@pytest.fixture
def host(make):
    return make(2, grace_s=0.3)


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path
