"""What arrived for triggers and has not started its execution yet, or has: arrivals as they rest.

The end of an execution arrives with the commit that ends it. What may start together is decided by whoever
holds the trigger; a firing that was decided has a key of its own, under which it starts one execution however
often that is tried. Times are milliseconds since the epoch; the store's clock decides what is due.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from noetl.core.event import iso
from noetl.json_value import Json, JsonObject

PENDING = "pending"
PENDING_MOST = 10_000  # arrivals of one trigger that wait; more are not taken
KEY_PREFIX = "trigger/"  # of the idempotency keys of executions that a trigger starts


class Arrival(msgspec.Struct, kw_only=True):
    """Something that arrived for a trigger, until it has started an execution or turned out not to."""

    id: int
    trigger: str
    key: str  # tells a repeat from another
    at: int
    body: str  # JSON of what arrived
    state: str = PENDING  # pending | fired | filtered | superseded | failed
    firing: str | None = None  # of what was decided to start together
    attempts: int = 0
    next_at: int | None = 0  # when to look at it; None: when something else arrives
    execution: str | None = None  # that it started
    error: str | None = None
    settled_at: int | None = None


class ArrivalChange(msgspec.Struct, kw_only=True):
    """What becomes of arrivals."""

    state: str = PENDING
    firing: str | None = None
    attempts: int = 0
    next_at: int | None = None
    execution: str | None = None
    error: str | None = None
    settled_at: int | None = None


class ListedObject(msgspec.Struct):
    """An object of a listing; `tag` is another when its content is, `whole`: nobody writes it any more."""

    key: str
    tag: str
    whole: bool = True
    facts: JsonObject = {}


class Listing(msgspec.Struct, kw_only=True):
    """What is new of a place with objects, as it was listed, and what is gone."""

    source: str
    next_look: int
    arrived: list[ListedObject] = []
    kept: list[ListedObject] = []  # seen from now on, without arriving
    gone: list[str] = []


class Arrivals(Protocol):
    """What arrived for triggers."""

    async def arrivals(self, trigger: str, limit: int = 100, before: int | None = None) -> Sequence[Arrival]:
        """What arrived for a trigger, the newest first; `before`: those with a smaller number."""


class ArrivalStore(Arrivals, Protocol):
    """Arrivals, which a commit that ends an execution writes for the triggers that wait for it."""

    async def add_arrival(self, trigger: str, key: str, body: str) -> bool:
        """Keep something that arrived; False when the trigger has had that key."""

    async def waiting_triggers(self, limit: int = 100) -> Sequence[str]:
        """Triggers for which something is due that nobody holds, those that wait longest first."""

    async def hold_trigger(self, name: str, holder: str, lease_ms: int) -> bool:
        """Become the one who decides what a trigger fires, unless another is."""

    async def let_go_of_trigger(self, name: str, holder: str) -> None:
        """Let others decide."""

    async def pending_arrivals(self, trigger: str, limit: int = 1000) -> Sequence[Arrival]:
        """What waits, the oldest first; not what was decided and is to be tried again later."""

    async def change_arrivals(
        self, trigger: str, holder: str, numbers: Sequence[int], change: ArrivalChange
    ) -> int:
        """Change what waits, all at once, for whoever holds the trigger; how many, 0 for anybody else."""

    async def due_listings(self, limit: int = 100) -> Sequence[str]:
        """Triggers on objects that are to look again and that nobody holds."""

    async def seen_objects(self, trigger: str) -> tuple[str | None, Mapping[str, str]]:
        """Where a trigger looked last, and the tags of the objects that it has seen there, by key."""

    async def note_listing(self, trigger: str, holder: str, listing: Listing) -> bool:
        """Keep what arrived and what was seen, all at once, for whoever holds the trigger."""

    async def note_firing(self, trigger: str, execution: str | None, error: str | None) -> None:
        """Note what a trigger did last; of several within a second, the first and whatever failed."""

    async def prune_arrivals(self, before: int) -> int:
        """Forget what was settled before a moment; how many."""


def arrival_facts(arrival: Arrival) -> JsonObject:
    """An arrival as readers see it."""
    what: Json = msgspec.json.decode(arrival.body)
    settled_at = arrival.settled_at
    return {
        "id": arrival.id,
        "at": iso(arrival.at),
        "what": what,
        "state": arrival.state,
        "attempts": arrival.attempts,
        "next_at": iso(arrival.next_at) if arrival.next_at else None,
        "settled_at": iso(settled_at) if settled_at is not None else None,
        "execution_id": arrival.execution,
        "error": arrival.error,
    }
