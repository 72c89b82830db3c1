"""What arrives for triggers, in the store in memory."""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

import msgspec
from msgspec.structs import asdict, replace

from noetl.ports.arrival import PENDING, Arrival, ArrivalChange, Listing
from noetl.ports.schedule import ENDS, Trigger
from noetl.ports.store import Summary, glob_of


class MemoryArrivals:
    """The part of the store in memory that keeps what arrives for triggers."""

    _now: Callable[[], int]
    _triggers: dict[str, Trigger]

    def __init__(self) -> None:
        self._arrivals: dict[int, Arrival] = {}
        self._arrived = 0
        self._looks: dict[str, tuple[str | None, int]] = {}  # where a trigger looked, and when it looks again
        self._seen: dict[str, dict[str, str]] = {}  # by trigger, the tags of objects by key
        self._holders: dict[str, tuple[str, int]] = {}  # trigger -> who decides what it fires, until when

    def _arrive(self, before: str | None, summary: Summary) -> None:
        """Write what the end of an execution is for triggers; one that goes on as another has not ended."""
        if summary.status == before or summary.status not in ENDS or summary.continued_as is not None:
            return
        body = {"execution_id": summary.execution_id, "path": summary.path, "status": summary.status}
        for trigger in self._triggers.values():
            if _waits_for(trigger, summary):
                text = msgspec.json.encode(body).decode()
                self._add_arrival(trigger.name, summary.execution_id, summary.ended_at or self._now(), text)

    def _add_arrival(self, trigger: str, key: str, at: int, body: str) -> bool:
        if any((one.trigger, one.key) == (trigger, key) for one in self._arrivals.values()):
            return False
        self._arrived += 1
        self._arrivals[self._arrived] = Arrival(id=self._arrived, trigger=trigger, key=key, at=at, body=body)
        return True

    def _forget_arrivals(self, trigger: str) -> None:
        for kept in (self._holders, self._looks, self._seen):
            kept.pop(trigger, None)
        for arrival in self._arrivals_of(trigger):
            del self._arrivals[arrival.id]

    def _arrivals_of(self, trigger: str) -> list[Arrival]:
        return [one for one in self._arrivals.values() if one.trigger == trigger]

    def _pending(self, trigger: str) -> list[Arrival]:
        return [one for one in self._arrivals_of(trigger) if one.state == PENDING]

    async def add_arrival(self, trigger: str, key: str, body: str) -> bool:
        return trigger in self._triggers and self._add_arrival(trigger, key, self._now(), body)

    async def arrivals(self, trigger: str, limit: int = 100, before: int | None = None) -> Sequence[Arrival]:
        own = [one for one in self._arrivals_of(trigger) if before is None or one.id < before]
        return [replace(one) for one in reversed(own)][:limit]

    async def waiting_triggers(self, limit: int = 100) -> Sequence[str]:
        now = self._now()
        due = [
            one.trigger
            for one in self._arrivals.values()
            if one.state == PENDING and one.next_at is not None and one.next_at <= now
        ]
        return [name for name in dict.fromkeys(due) if self._triggers[name].enabled and self._is_free(name)][
            :limit
        ]

    def _is_free(self, name: str) -> bool:
        return name not in self._holders or self._holders[name][1] <= self._now()

    async def hold_trigger(self, name: str, holder: str, lease_ms: int) -> bool:
        free = self._is_free(name) or self._holders[name][0] == holder
        if name not in self._triggers or not free:
            return False
        self._holders[name] = (holder, self._now() + lease_ms)
        return True

    async def let_go_of_trigger(self, name: str, holder: str) -> None:
        if self._holders.get(name, ("", 0))[0] == holder:
            del self._holders[name]

    async def pending_arrivals(self, trigger: str, limit: int = 1000) -> Sequence[Arrival]:
        own = [
            one
            for one in self._pending(trigger)
            if one.firing is None or (one.next_at is not None and one.next_at <= self._now())
        ]
        return [replace(one) for one in own[:limit]]

    async def change_arrivals(
        self, trigger: str, holder: str, numbers: Sequence[int], change: ArrivalChange
    ) -> int:
        if self._holders.get(trigger, ("", 0))[0] != holder:
            return 0
        changed = [one for one in self._pending(trigger) if one.id in numbers]
        for arrival in changed:
            for field, value in asdict(change).items():
                setattr(arrival, field, value)
        return len(changed)

    async def due_listings(self, limit: int = 100) -> Sequence[str]:
        now = self._now()
        return [
            name
            for name, trigger in sorted(self._triggers.items())
            if trigger.kind == "object"
            and trigger.enabled
            and self._looks.get(name, (None, 0))[1] <= now
            and self._is_free(name)
        ][:limit]

    async def seen_objects(self, trigger: str) -> tuple[str | None, Mapping[str, str]]:
        return self._looks.get(trigger, (None, 0))[0], dict(self._seen.get(trigger, {}))

    async def note_listing(self, trigger: str, holder: str, listing: Listing) -> bool:
        if self._holders.get(trigger, ("", 0))[0] != holder:
            return False
        self._looks[trigger] = (listing.source, listing.next_look)
        seen = self._seen.setdefault(trigger, {})
        for key in listing.gone:
            seen.pop(key, None)
        seen.update({one.key: one.tag for one in (*listing.arrived, *listing.kept)})
        now = self._now()
        for one in listing.arrived:
            self._add_arrival(trigger, f"{now}/{one.key}", now, msgspec.json.encode(one.facts).decode())
        return True

    async def note_firing(self, trigger: str, execution: str | None, error: str | None) -> None:
        fired, at = self._triggers.get(trigger), self._now()
        if fired is None:
            return
        soon = fired.last_at is not None and fired.last_at > at - 1000
        if not soon or error is not None or fired.last_error is not None:
            fired.last_at, fired.last_error = at, error
            fired.last_execution = execution or fired.last_execution

    async def prune_arrivals(self, before: int) -> int:
        old = [
            one.id
            for one in self._arrivals.values()
            if one.state != PENDING and one.settled_at is not None and one.settled_at < before
        ]
        for number in old:
            del self._arrivals[number]
        return len(old)


def _waits_for(trigger: Trigger, summary: Summary) -> bool:
    return (
        trigger.kind == "playbook"
        and trigger.enabled
        and summary.status in trigger.on
        and (trigger.children or summary.parent is None)
        and any(fnmatchcase(summary.path, glob_of(pattern)) for pattern in trigger.after)
    )
