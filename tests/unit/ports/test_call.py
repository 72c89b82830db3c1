"""What the calls of a worker share is made once and closed together."""

import pytest

from noetl.errors import InvariantViolation
from noetl.ports.call import Resources


class Thing:
    """Notes when it is closed."""

    closed: list[str]

    def __init__(self, name: str, closed: list[str], fails: bool = False) -> None:
        self.name, self.closed, self.fails = name, closed, fails

    async def close(self) -> None:
        self.closed.append(self.name)
        if self.fails:
            raise OSError(self.name)


async def test_a_resource_is_made_once():
    shared, closed = Resources(), list[str]()
    first = shared.get("a", lambda: Thing("a", closed))
    assert shared.get("a", lambda: Thing("b", closed)) is first
    await shared.close()
    assert closed == ["a"]


async def test_what_was_made_last_is_closed_first_whatever_fails():
    shared, closed = Resources(), list[str]()
    for name in ("a", "b", "c"):
        shared.give(name, Thing(name, closed, fails=name == "b"))
    with pytest.raises(OSError, match="b"):
        await shared.close()
    assert closed == ["c", "b", "a"]


def test_a_name_is_given_once():
    shared = Resources()
    shared.give("a", Thing("a", []))
    with pytest.raises(InvariantViolation):
        shared.give("a", Thing("a", []))
