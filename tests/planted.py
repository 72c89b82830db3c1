"""Bugs planted on purpose: each is found by a test that is there for its rule, and it is told how soon."""

import sys
import time
from collections.abc import Awaitable

import pytest


async def caught(name: str, test: Awaitable[None]) -> None:
    """Run a test in which a bug is planted; it must fail. `pytest -rP` shows what is told here."""
    began = time.perf_counter()
    with pytest.raises(BaseException):  # noqa: B017
        await test
    sys.stdout.write(f"{name}: found after {time.perf_counter() - began:.2f} s\n")
