"""What a live run goes on reading although others have overwritten it: the scopes of its scheduling.

Kept the other way round: a run remembers only what has changed since, so nothing is kept for a run beside
which nothing happens. Values are shared, never copied.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from noetl.core.values.patch import assign_kept

Then = dict[str, list[Any]]  # by key: the one value that was there, or none


def remember(then: Then, before: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Keep what stood under keys that someone else is about to write."""
    for key in keys:
        if key not in then:
            then[key] = [before[key]] if key in before else []


def written(then: Then, patch: Iterable[Sequence[Any]]) -> None:
    """A run's own writes are there for it, also below what it remembers."""
    for (key, *below), value in patch:
        known = then.get(key)
        if known is not None and below:
            then[key] = [assign_kept({key: known[0]} if known else {}, [key, *below], value)[key]]
        elif known is not None:
            del then[key]  # what stands there now is its own


def seen(current: dict[str, Any], then: Then) -> dict[str, Any]:
    """A scope as a run reads it."""
    if not then:
        return current
    kept = {key: value for key, value in current.items() if key not in then}
    return kept | {key: known[0] for key, known in then.items() if known}
