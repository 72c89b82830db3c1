"""What a live run goes on reading although others have overwritten it: the scopes of its scheduling.

Kept the other way round: a run remembers only what has changed since, so nothing is kept for a run beside
which nothing happens. Values are shared, never copied.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from noetl.core.shapes import Patch
from noetl.core.values.patch import assign_kept
from noetl.json_value import Json

V = TypeVar("V")

Then = dict[str, list[V]]  # by key: the one value that was there, or none


def remember(then: Then[V], before: Mapping[str, V], keys: Iterable[str]) -> None:
    """Keep what stood under keys that someone else is about to write."""
    for key in keys:
        if key not in then:
            then[key] = [before[key]] if key in before else []


def written(then: Then[Json], patch: Patch) -> None:
    """A run's own writes are there for it, also below what it remembers."""
    for (key, *below), value in patch:
        before = then.get(key)
        if before is not None and below:
            then[key] = [assign_kept({key: before[0]} if before else {}, [key, *below], value)[key]]
        elif before is not None:
            del then[key]  # what stands there now is its own


def seen(current: dict[str, V], then: Then[V]) -> dict[str, V]:
    """A scope as a run reads it."""
    if not then:
        return current
    unchanged = {key: value for key, value in current.items() if key not in then}
    return unchanged | {key: before[0] for key, before in then.items() if before}
