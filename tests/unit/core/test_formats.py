"""What is stored says in which format it is written: the oldest that can say it."""

import hashlib
from typing import Any

import msgspec
import pytest

from noetl.core import formats
from noetl.core.event import CATALOGUE, Event
from noetl.core.formats import (
    OLDEST_LETTER_FORMAT,
    OLDEST_ROW_FORMAT,
    ROW_FORMAT,
    SNAPSHOT_FORMAT,
    check_events,
    check_row_format,
    format_of_letter,
    format_of_row,
)
from noetl.core.state import State
from noetl.errors import NewerFormat

# The shape of a state by the format of snapshots. A shape that changed is a new line, never another digest.
STATE_SHAPES = {1: "33b93f60466c3651", 2: "913b499d11c526c2", 3: "df4cba9021f36b38"}
# The fields of an event are its places in an array: one more is a new format of rows.
EVENT_FIELDS = ("name", "ts", "by", "run", "at", "label", "visit", "attempt", "data")


def test_a_row_is_written_in_the_oldest_format_that_says_what_happened(monkeypatch) -> None:
    events = [Event("a", 1, data={"n": 1}), Event("b", 1), Event("c", 1, data={"m": 1, "n": 1})]
    assert format_of_row(events) == OLDEST_ROW_FORMAT
    monkeypatch.setitem(formats.EVENTS_SINCE, "b", 7)
    assert format_of_row(events[:1]) == OLDEST_ROW_FORMAT
    assert format_of_row(events) == 7
    monkeypatch.setitem(formats.FIELDS_SINCE, "c", {"n": 8})
    assert format_of_row(events[:2]) == 7
    assert format_of_row(events) == 8
    assert format_of_row(events, program=9) == 9


def test_a_letter_is_written_in_the_oldest_format_that_says_its_message(monkeypatch) -> None:
    assert format_of_letter("tick") == OLDEST_LETTER_FORMAT
    monkeypatch.setitem(formats.MESSAGES_SINCE, "tick", 5)
    assert format_of_letter("tick") == 5


def test_a_newer_row_is_named_and_not_read() -> None:
    check_row_format(4, ROW_FORMAT)
    with pytest.raises(NewerFormat, match=f"event 4 has format {ROW_FORMAT + 1}; .* up to {ROW_FORMAT}"):
        check_row_format(4, ROW_FORMAT + 1)


def test_an_event_that_is_not_known_is_named_and_not_guessed_at() -> None:
    check_events(1, [Event("step.done", 1)])
    with pytest.raises(NewerFormat, match=r"event 8 is called 'step.exploded'"):
        check_events(7, [Event("step.done", 1), Event("step.exploded", 1)])


def test_whatever_is_said_to_need_a_format_needs_one_that_this_release_reads() -> None:
    since = [
        *formats.EVENTS_SINCE.values(),
        *(n for of in formats.FIELDS_SINCE.values() for n in of.values()),
    ]
    assert all(OLDEST_ROW_FORMAT < number <= ROW_FORMAT for number in since)
    assert set(formats.EVENTS_SINCE) <= set(CATALOGUE)
    assert all(OLDEST_LETTER_FORMAT < n <= formats.LETTER_FORMAT for n in formats.MESSAGES_SINCE.values())


def bare(schema: Any) -> Any:
    """A schema without what only describes: words, and the names that the OpenAPI document has for its parts."""
    if isinstance(schema, list):
        return [bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    described = str(schema.get("$ref", "")).startswith("#/components/")
    left_out = {"description", "title", *(["$ref"] if described else [])}
    return {key: bare(value) for key, value in schema.items() if key not in left_out}


def test_a_state_of_another_shape_has_another_format_of_snapshots() -> None:
    shape = msgspec.json.encode(bare(msgspec.json.schema(State)), order="sorted")
    described = hashlib.sha256(shape).hexdigest()[:16]
    assert STATE_SHAPES.get(SNAPSHOT_FORMAT) == described, (
        "the shape of the state has changed: raise SNAPSHOT_FORMAT in noetl/core/formats.py "
        f"and add the line {SNAPSHOT_FORMAT + 1}: {described!r}"
    )


def test_an_event_with_another_place_in_its_array_is_another_format_of_rows() -> None:
    assert Event.__struct_fields__ == EVENT_FIELDS
