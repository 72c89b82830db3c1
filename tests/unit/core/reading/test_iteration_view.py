"""One iteration of a loop, read from the log."""

from typing import Any

from noetl.core.event import Event
from noetl.core.reading.iteration_view import IterationView, Place
from noetl.core.values.output import JSON, refer
from noetl.core.values.patch import marker


def read(index: int, *events: Event) -> IterationView:
    view = IterationView("each.1", index)
    for event in events:
        view.read(event)
    return view


def happened(name: str, at: str | None = None, run: str = "each.1", **data: Any) -> Event:
    return Event(name, 1, "w", run, at, data=data)


REF, _ = refer("0" * 32, b"[1, 2]", JSON)
STORED, KEY = marker(REF), REF["locator"]["key"]
ITEMS = happened("step.scheduled", collection=["a", "b"], total=2)


def test_an_iteration_has_its_item_and_its_output():
    ended = happened("loop.iteration.done", "[1]", output={"status": "ok", "data": 7, "ref": {"type": "ref"}})
    view = read(1, ITEMS, happened("loop.iteration.done", "[0]", output={"data": 3}), ended)
    assert (view.item, view.output, view.error) == ("b", 7, None)
    assert view.ref is not None


def test_an_iteration_that_failed_has_its_error():
    view = read(0, ITEMS, happened("loop.iteration.failed", "[0]", error={"kind": "http", "message": "no"}))
    assert (view.item, view.error) == ("a", {"kind": "http", "message": "no"})


def test_what_rests_in_the_store_is_told_by_its_place():
    view = read(
        5,
        happened("step.scheduled", collection=STORED, total=9),
        happened("loop.iteration.done", "[5]", output={"status": "ok", "part": ["x/z", 2]}),
    )
    assert (view.item, view.output) == (Place(KEY, 5), Place("x/z", 2))


def test_an_item_that_was_claimed_is_found_in_its_batch():
    claimed = [happened("step.scheduled", claim={}), happened("loop.claimed", count=2, rows=["a", "b"])]
    claimed += [happened("loop.claimed", count=1, rows=STORED), happened("loop.claimed", count=0)]
    assert read(1, *claimed).item == "b"
    assert read(2, *claimed).item == Place(KEY, 0)
    assert read(3, *claimed).item is None


def test_events_of_other_runs_and_items_beyond_the_end_are_nothing():
    other = happened("loop.iteration.done", "[0]", run="each.2", output={"data": 1})
    assert read(0, other).output is None
    assert read(2, ITEMS).item is None
