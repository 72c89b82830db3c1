"""Which arrivals of a trigger start an execution together, and how long the others wait. Pure."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from noetl.ports.arrival import Arrival
from noetl.ports.schedule import Trigger
from noetl.ports.store import glob_of


class FiringPlan(msgspec.Struct):
    """What becomes of what waits for a trigger."""

    together: list[list[Arrival]] = msgspec.field(default_factory=list)  # each starts one execution
    superseded: list[Arrival] = msgspec.field(default_factory=list)  # something newer counts in their place
    waiting: list[Arrival] = msgspec.field(default_factory=list)
    look_at: int | None = None  # when those that wait are to be looked at; None: when something arrives


def plan(trigger: Trigger, arrivals: Sequence[Arrival]) -> FiringPlan:
    """What to do with arrivals of which nothing was decided yet, the oldest first."""
    if trigger.match == "all":
        return _all_of(trigger, arrivals)
    return FiringPlan(together=[[arrival] for arrival in arrivals])


def _all_of(trigger: Trigger, arrivals: Sequence[Arrival]) -> FiringPlan:
    """The newest end of each, once every one has ended; an older one of the same is superseded."""
    newest: dict[str, Arrival] = {}
    for arrival in arrivals:
        path = body_of(arrival).get("path", "")
        newest.update({pattern: arrival for pattern in trigger.after if fnmatchcase(path, glob_of(pattern))})
    kept = {newest[pattern].id: newest[pattern] for pattern in trigger.after if pattern in newest}
    superseded = [arrival for arrival in arrivals if arrival.id not in kept]
    if len(newest) == len(set(trigger.after)):
        return FiringPlan(together=[list(kept.values())], superseded=superseded)
    return FiringPlan(superseded=superseded, waiting=list(kept.values()))


def body_of(arrival: Arrival) -> dict[str, Any]:
    """What arrived, where that is an object."""
    body = msgspec.json.decode(arrival.body)
    return body if isinstance(body, dict) else {}
