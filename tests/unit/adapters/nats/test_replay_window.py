"""A numbered message counts once, also when messages overtake each other."""

from hypothesis import given
from hypothesis import strategies as st

from noetl.adapters.nats.replay_window import SENDERS_MOST, WINDOW, ReplayWindow


@given(st.lists(st.integers(1, 3 * WINDOW), max_size=200))
def test_a_number_is_accepted_at_most_once_and_when_it_is_recent(numbers: list[int]) -> None:
    window, heard, newest = ReplayWindow(), set[int](), 0
    for number in numbers:
        recent = number > newest - WINDOW
        assert window.accept(b"w", number) == (recent and number not in heard)
        heard.add(number)
        newest = max(newest, number)


def test_senders_do_not_know_each_other_and_the_longest_silent_one_is_forgotten() -> None:
    window = ReplayWindow()
    for number in range(SENDERS_MOST + 1):
        assert window.accept(b"%d" % number, 1)
    assert b"0" not in window
    assert b"1" in window
    assert not window.accept(b"1", 1)
