"""Iteration outputs too many to keep inline: those of one report rest together as one payload.

An output in a pack is known by the pack's key and its place in it. `budget` keeps what a loop holds inline,
in events and in memory, bounded whatever the number of its iterations.
"""

import msgspec

from noetl.core.event import Event
from noetl.core.fold import outer_index
from noetl.core.message import Payload
from noetl.core.shapes import Reference
from noetl.core.values.output import JSON, refer, size_of
from noetl.json_value import Json

INLINE_BYTES = 16 * 1024 * 1024
_SMALLEST = 128


def budget(total: int, most: int) -> int:
    """How many bytes one iteration of a loop may keep inline."""
    return max(_SMALLEST, min(most, INLINE_BYTES // max(total, 1)))


def packed(execution_id: str, events: list[Event], limit: int) -> tuple[list[Event], Payload | None]:
    """The events with larger iteration outputs taken out, and the payload that holds them."""
    values: list[Json] = []
    places: dict[int, int] = {}
    for place, event in enumerate(events):
        if event.name == "loop.iteration.done" and outer_index(event.at) is not None:
            data = ((event.data or {}).get("output") or {}).get("data")
            if not _small(data, limit):
                places[place] = len(values)
                values.append(data)
    if not values:
        return events, None
    ref, payload = refer(execution_id, msgspec.json.encode(values), JSON)
    taken = list(events)
    for place, item in places.items():
        taken[place] = _without_data(events[place], ref, item)
    return taken, payload


def _small(data: Json, limit: int) -> bool:
    if data is None or isinstance(data, bool | int | float):
        return True
    return size_of(data) <= limit


def _without_data(event: Event, ref: Reference, item: int) -> Event:
    data = dict(event.data or {})
    output = {key: value for key, value in data["output"].items() if key != "data"}
    data["output"] = {**output, "part": [ref["locator"]["key"], item]}
    return msgspec.structs.replace(event, data=data)
