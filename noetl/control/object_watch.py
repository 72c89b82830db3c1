"""Looking for objects that arrive: listed by one server at a time and compared with what was seen.

What was seen and what arrived are one transaction: each object arrives once, whoever is killed. An object
whose content changed arrives again; one that is gone is forgotten.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from noetl.control.deliveries import Credentials
from noetl.errors import BackendError, NoetlError, NotFound, RequestError
from noetl.json_value import Json
from noetl.ports.arrival import PENDING_MOST, ListedObject, Listing
from noetl.ports.schedule import Trigger, span_ms
from noetl.ports.store import Store

_LOG = logging.getLogger("noetl.triggers")
LISTED_MOST = 20_000  # objects of one place
ARRIVED_MOST = 1000  # of one look; the others arrive with the next
LIST_S, LEASE_MS = 30.0, 40_000  # how long a listing may take, and somewhat longer

# The objects of a place, in the order of their keys, at most so many; raises RequestError.
ListObjects = Callable[[str, Mapping[str, Json], int], Awaitable[Sequence[ListedObject]]]


async def _nowhere(source: str, material: Mapping[str, Json], most: int) -> Sequence[ListedObject]:
    raise RequestError(f"this noetl cannot list {source}")


class ObjectWatch:
    """What one server does for the triggers on objects of a store."""

    def __init__(self, store: Store, credentials: Credentials, holder: str) -> None:
        self._store, self._credentials, self._holder = store, credentials, holder
        self.list_objects: ListObjects = _nowhere

    async def round(self) -> None:
        """Look wherever it is time to."""
        for name in await self._store.due_listings():
            if not await self._store.hold_trigger(name, self._holder, LEASE_MS):
                continue
            try:
                await self._look(await self._store.trigger(name))
            except NotFound:  # it was deleted a moment ago
                continue
            await self._store.let_go_of_trigger(name, self._holder)

    async def _look(self, trigger: Trigger) -> None:
        source, now = trigger.source or "", await self._store.clock()
        looked, seen = await self._store.seen_objects(trigger.name)
        listing = Listing(source=looked or "", next_look=now + span_ms(trigger.every))
        try:
            found = await self._listed(trigger, source)
            listing.source = source
            compare(listing, found, seen, arrive=trigger.existing or looked == source)
            listing.arrived = listing.arrived[: max(0, min(ARRIVED_MOST, PENDING_MOST - trigger.pending))]
        except BackendError:
            raise
        except NoetlError as error:
            if error.message != trigger.last_error:
                _LOG.warning("trigger %s could not look at %s: %s", trigger.name, source, error.message)
            await self._store.note_firing(trigger.name, None, error.message)
        await self._store.note_listing(trigger.name, self._holder, listing)

    async def _listed(self, trigger: Trigger, source: str) -> Sequence[ListedObject]:
        material = {} if trigger.auth is None else await self._credentials.credential(trigger.auth)
        try:
            async with asyncio.timeout(LIST_S):
                found = await self.list_objects(source, material, LISTED_MOST + 1)
        except TimeoutError:
            raise RequestError(f"{source} could not be listed within {LIST_S:g} s") from None
        if len(found) > LISTED_MOST:
            message = f"{source} has more than {LISTED_MOST} objects, which is too many to compare"
            raise RequestError(message, hint="look at a prefix with fewer, or move away what is done with")
        return found


def compare(
    listing: Listing, found: Sequence[ListedObject], seen: Mapping[str, str], *, arrive: bool
) -> None:
    """Say what is new among what was found, and what is gone; `arrive`: unless it is only to be known."""
    new = [one for one in found if one.whole and seen.get(one.key) != one.tag]
    listing.arrived, listing.kept = (new, []) if arrive else ([], new)
    listing.gone = sorted(set(seen) - {one.key for one in found})
