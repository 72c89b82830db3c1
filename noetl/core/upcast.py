"""Events of older formats, brought up to today's: pure functions, one per event and format.

A row says in which format its events were written. Where the data of an event change their shape, the format
of rows goes up by one and the function that brings the event up gets its line here; none is ever taken out.
What an older release left out is no change of shape: the fold reads it with a default.
"""

from collections.abc import Callable, Mapping, Sequence

from noetl.core.event import Event

Upcaster = Callable[[Event], Event]

# By the format that an event was written in: what makes it one of the next format.
UPCASTERS: dict[int, Mapping[str, Upcaster]] = {}


def upcast(events: list[Event], written_in: int) -> list[Event]:
    """Events as they would be written today."""
    for upcasters in later(written_in):
        events = [upcasters[event.name](event) if event.name in upcasters else event for event in events]
    return events


def later(written_in: int) -> Sequence[Mapping[str, Upcaster]]:
    """The changes that came since a format, oldest first."""
    return [UPCASTERS[number] for number in sorted(UPCASTERS) if number >= written_in] if UPCASTERS else ()
