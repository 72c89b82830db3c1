"""A snapshot that is not wholly understood is not used: the log says the same."""

import pytest

from noetl.core.formats import SNAPSHOT_FORMAT
from noetl.core.snapshot import holds, opened, saved
from noetl.core.state import Run, State, snapshot_of

STATE = State("e1", status="running", seq=7, ctx={"b": 1, "a": 2}, runs={"s.1": Run("s.1", "s")})


def test_a_snapshot_of_this_format_is_the_state() -> None:
    assert opened(saved(STATE)) == STATE
    assert holds(saved(STATE), snapshot_of(STATE))
    assert not holds(saved(State("e1")), snapshot_of(STATE))


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(saved(STATE).replace(b":%d," % SNAPSHOT_FORMAT, b":99,", 1), id="newer"),
        pytest.param(snapshot_of(STATE), id="from before there were numbers"),
        pytest.param(saved(STATE).replace(b'"seq":7', b'"seq":7,"quota":1'), id="unknown field"),
        pytest.param(saved(STATE).replace(b'"step":"s"', b'"step":"s","lane":1'), id="unknown field inside"),
        pytest.param(saved(STATE).replace(b'"running"', b'"dreaming"'), id="unknown value"),
    ],
)
def test_what_is_not_wholly_understood_is_no_snapshot(snapshot: bytes) -> None:
    assert opened(snapshot) is None


def test_only_a_snapshot_of_this_format_can_differ_from_the_log() -> None:
    assert holds(b'{"format":99,"state":{}}', snapshot_of(STATE))
    assert not holds(b"{", snapshot_of(STATE))
