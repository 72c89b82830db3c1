"""The state is JSON: a snapshot reads back as the state, order included."""

import msgspec
import pytest

from noetl.core.state import LoopState, Run, State, Token, canonical, restore, snapshot_of


def full():
    loop = LoopState(total=2, marks=bytearray(b"pd"), outputs={"1": "x"})
    return State(
        "e1",
        status="running",
        tokens={"t2": Token("t2", "b"), "t1": Token("t1", "a", held=True)},
        runs={"s.1": Run("s.1", "s", loop=loop)},
        ctx={"b": 1, "a": [1, {"c": None}]},
    )


def test_a_snapshot_reads_back_as_the_state_with_its_order():
    state = full()
    again = restore(snapshot_of(state))
    assert again == state
    assert list(again.tokens) == ["t2", "t1"]
    assert again.runs["s.1"].loop is not None
    assert isinstance(again.runs["s.1"].loop.marks, bytearray)


def test_two_equal_states_have_equal_canonical_bytes():
    one, two = full(), full()
    two.ctx = {"a": [1, {"c": None}], "b": 1}
    assert canonical(one) == canonical(two)
    assert snapshot_of(one) != snapshot_of(two)
    assert msgspec.json.decode(canonical(one), type=State) == one


@pytest.mark.parametrize(
    "status, ended",
    [
        ("pending", False),
        ("running", False),
        ("paused", False),
        ("completed", True),
        ("failed", True),
        ("cancelled", True),
    ],
)
def test_an_execution_is_over_when_it_completed_failed_or_was_cancelled(status, ended):
    assert State("e1", status=status).ended is ended
