"""The positioned tree: plain dicts and lists that remember where each key and value stands in the text.

Only the shapes live here; nothing is read, and nothing knows what the keys mean.
A Map equals a dict with the same entries and a Seq equals a list, so code that does not care
about positions treats them as ordinary values.
"""

from collections.abc import Iterable
from typing import Any

from noetl.dsl.diagnostic import NOWHERE, Mark

Value = Any  # a JSON value: None, bool, int, float, str, list[Value], dict[str, Value]


class Map(dict[str, Value]):
    """A mapping with the place of itself, of each key and of each value."""

    __slots__ = ("key_marks", "mark", "value_marks")

    def __init__(self, entries: Iterable[tuple[str, Value]] = (), mark: Mark = NOWHERE) -> None:
        super().__init__(entries)
        self.mark = mark
        self.key_marks: dict[str, Mark] = {}
        self.value_marks: dict[str, Mark] = {}

    def put(
        self, key: str, value: Value, *, key_mark: Mark | None = None, value_mark: Mark | None = None
    ) -> None:
        """Set an entry together with where it stands; without marks it stands where the map does."""
        self[key] = value
        self.key_marks[key] = key_mark or self.mark
        self.value_marks[key] = value_mark or key_mark or self.mark

    def at_key(self, key: str) -> Mark:
        """Where the key stands, or the map itself when the key is not there."""
        return self.key_marks.get(key, self.mark)

    def at(self, key: str) -> Mark:
        """Where the value of a key stands, or the map itself when the key is not there."""
        return self.value_marks.get(key, self.mark)


class Seq(list[Value]):
    """A list with the place of itself and of each item."""

    __slots__ = ("item_marks", "mark")

    def __init__(self, items: Iterable[Value] = (), mark: Mark = NOWHERE) -> None:
        super().__init__(items)
        self.mark = mark
        self.item_marks: list[Mark] = []

    def add(self, item: Value, mark: Mark | None = None) -> None:
        """Append an item together with where it stands."""
        self.append(item)
        self.item_marks.append(mark or self.mark)

    def at(self, index: int) -> Mark:
        """Where an item stands, or the list itself when there is no such item."""
        return self.item_marks[index] if index < len(self.item_marks) else self.mark


def plain(value: Value) -> Value:
    """The same value as ordinary dicts and lists, positions forgotten."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
