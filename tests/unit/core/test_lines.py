"""What tasks wrote to their output, read back from events."""

import pytest

from noetl.core.event import Event, envelope
from noetl.core.lines import lines_of


@pytest.mark.parametrize("at, place", [(None, None), ("[2]", "[2]"), ("[2]/call[0]", "[2]/call[0]")])
def test_a_line_says_where_it_comes_from(at, place):
    event = Event("task.done", 1_000, "w", "load.1", at, "fetch", 1, 2, {"logs": ["one", "two"]})
    first, second = lines_of(envelope("e1", 7, event))
    assert first == {
        "seq": 7,
        "ts": "1970-01-01T00:00:01.000Z",
        "step": "load",
        "task": "fetch",
        "iteration": place,
        "attempt": 2,
        "text": "one",
    }
    assert second["text"] == "two"


@pytest.mark.parametrize("data", [None, {"logs": None}, {"logs": []}])
def test_an_event_without_lines_has_none(data):
    assert list(lines_of(envelope("e1", 1, Event("task.done", 0, "w", "load.1", data=data)))) == []
