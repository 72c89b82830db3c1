"""How an event stays within its bound, whatever it is made of: which of its values go to the result store.

The data of an event takes at most `limits.max_payload_bytes` for the values in it, all together, and
ENVELOPE_BYTES for what stands around them: errors, references, values seen, lines that a task printed.
Nothing is put aside here; whoever builds an event asks what is to be.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from noetl.core.shapes import ErrorObject, IterationError
from noetl.core.values.output import bounded, size_of
from noetl.core.values.patch import rests_elsewhere
from noetl.json_value import Json

K = TypeVar("K")
V = TypeVar("V")

ENVELOPE_BYTES = 64 * 1024
RIDES_BYTES = 8 * 1024  # values that are no larger together ride in the envelope
MARKER_BYTES = 1024  # about what the marker or reference of a payload takes
ERRORS_BYTES = 16 * 1024  # of a loop's errors, of which a token carries two copies
_SHORT_BYTES = 120  # about what an error in short takes
_SHORT_CHARS = 50


def largest(sizes: Sequence[int], room: int) -> list[int]:
    """The places of those values that have to go so that the rest fits, the largest first."""
    over = sum(sizes) - room
    chosen: list[int] = []
    if over <= 0:
        return chosen
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        if over <= 0 or sizes[place] <= MARKER_BYTES:
            break
        over -= sizes[place] - MARKER_BYTES
        chosen.append(place)
    return chosen


def portions(pairs: Iterable[tuple[K, V]], room: int) -> Iterator[list[tuple[K, V]]]:
    """Names with their values in order, as many together as there is room for in one event; at least one."""
    portion: list[tuple[K, V]] = []
    used = 0
    for name, value in pairs:
        size = size_of(value) + size_of(name)
        if portion and used + size > room:
            yield portion
            portion, used = [], 0
        portion.append((name, value))
        used += size
    if portion:
        yield portion


def leaves(
    scope: Mapping[str, Json], room: int, path: tuple[str, ...] = ()
) -> Iterator[tuple[list[str], Json]]:
    """The parts of a scope by path: mappings that have no room in one event are taken apart."""
    for key, value in scope.items():
        here = (*path, key)
        if isinstance(value, dict) and value and not rests_elsewhere(value) and size_of(value) > room:
            yield from leaves(value, room, here)
        else:
            yield list(here), value


def bounded_errors(errors: Sequence[tuple[int, ErrorObject | None]]) -> list[IterationError]:
    """The errors of a loop by index: the first of them whole, the others in short when there is no room."""
    listed: list[IterationError] = []
    room = ERRORS_BYTES - _SHORT_BYTES * len(errors)
    for index, error in errors:
        whole: IterationError = {"index": index, "error": error}
        size = size_of(whole)
        if size > _SHORT_BYTES and size - _SHORT_BYTES > room:
            whole = {"index": index, "error": _in_short(error or {})}
        else:
            room -= max(0, size - _SHORT_BYTES)
        listed.append(whole)
    return listed


def _in_short(error: ErrorObject) -> ErrorObject:
    message = bounded(str(error.get("message")), _SHORT_CHARS)
    return {"kind": bounded(error.get("kind", "failed"), _SHORT_CHARS), "message": message, "shortened": True}
