"""What the YAML scanner gives: events with their places. In its own types most of this may be missing."""

from typing import Protocol, TypeGuard


class Spot(Protocol):
    """A place in the text, counted from 0."""

    index: int
    line: int
    column: int


class Event(Protocol):
    """One event; each kind has those of these that it needs."""

    start_mark: Spot
    end_mark: Spot
    anchor: str | None
    tag: str | None
    value: str
    style: str | None
    flow_style: bool | None


def is_a(event: Event | None, *kinds: type[object]) -> TypeGuard[Event]:
    """Whether an event is of one of these kinds."""
    return isinstance(event, kinds)
