"""Events of older formats."""

import msgspec
import pytest

from noetl.core.event import Event
from noetl.core.upcast import UPCASTERS, upcast


def add(event: Event) -> Event:
    return msgspec.structs.replace(event, visit=(event.visit or 0) + 1)


def test_an_event_passes_every_change_that_came_since_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UPCASTERS, 2, {"a": add})
    monkeypatch.setitem(UPCASTERS, 3, {"a": add, "b": add})
    events = [Event("a", 1), Event("b", 1), Event("c", 1)]
    assert [event.visit for event in upcast(events, 1)] == [2, 1, None]
    assert [event.visit for event in upcast(events, 3)] == [1, 1, None]
    assert [event.visit for event in upcast(events, 4)] == [None, None, None]


def test_without_a_change_events_are_as_they_were_written() -> None:
    events = [Event("a", 1)]
    assert upcast(events, 1) is events
