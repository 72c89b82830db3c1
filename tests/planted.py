"""Bugs planted on purpose: each is found by a test that is there for its rule, and it is told how soon."""

import sys
import time
from collections.abc import Awaitable

import pytest


def is_stale(told: object) -> bool:
    """Whether a bug shows only because what it stands in for is called in another way by now."""
    return "positional argument" in str(told) or "unexpected keyword argument" in str(told)


async def caught(name: str, test: Awaitable[None]) -> None:
    """Run a test in which a bug is planted; it must fail. `pytest -rP` shows what is told here."""
    began = time.perf_counter()
    with pytest.raises(BaseException) as found:
        await test
    assert not is_stale(found.value), f"{name} does not fit the code any more: {found.value}"
    said = " ".join(str(found.value).split())[:150]
    sys.stdout.write(f"{name}: found after {time.perf_counter() - began:.2f} s: {said}\n")
