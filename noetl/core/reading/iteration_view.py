"""One iteration of a loop: the item it was given, what it put out or why it failed. One pass over the log.

What rests in the result store is told as a place there: this reads no payload.
"""

from dataclasses import dataclass

from noetl.core.event import Event
from noetl.core.shapes import ErrorObject, Reference
from noetl.core.values.patch import STORED, is_marker
from noetl.json_value import Json


@dataclass(frozen=True, slots=True)
class Place:
    """An item of a list that rests in the result store."""

    key: str
    item: int


class IterationView:
    """The reader of one iteration's events."""

    def __init__(self, run: str, index: int) -> None:
        self._run, self._index, self._at = run, index, f"[{index}]"
        self._claimed = 0  # items of the batches so far
        self.item: Json | Place = None
        self.output: Json | Place = None
        self.ref: Reference | None = None
        self.error: ErrorObject | None = None

    def read(self, event: Event) -> None:
        """Take one more event in."""
        if event.run != self._run:
            return
        data = event.data or {}
        if event.name == "step.scheduled":
            self._begin(data.get("collection"))
        elif event.name == "loop.claimed":
            self._claim(data.get("rows"), data["count"])
        elif event.at == self._at and event.name == "loop.iteration.done":
            self._done(data.get("output") or {})
        elif event.at == self._at and event.name == "loop.iteration.failed":
            self.error = data.get("error")

    def _begin(self, items: Json) -> None:
        self.item = _nth(items, self._index)

    def _claim(self, rows: Json, count: int) -> None:
        place = self._index - self._claimed
        if 0 <= place < count:
            self.item = _nth(rows, place)
        self._claimed += count

    def _done(self, output: dict[str, Json]) -> None:
        part, ref = output.get("part"), output.get("ref")
        self.output = Place(str(part[0]), int(str(part[1]))) if isinstance(part, list) else output.get("data")
        self.ref = ref if isinstance(ref, dict) else None  # type: ignore[assignment]


def _nth(items: Json, place: int) -> Json | Place:
    """An item of a list, or where it rests."""
    if isinstance(items, list):
        return items[place] if place < len(items) else None
    return Place(items[STORED]["locator"]["key"], place) if is_marker(items) else None
