"""Garbage: payloads and executions whose time is over, and detail that a playbook does not want kept.

An execution may hold references to payloads of its parent, of its children and of the one it is a retry of.
So nothing of a family is taken while one of it lives, and its time starts when the last one ends.
"""

from dataclasses import dataclass

from noetl.control.catalog import Catalog
from noetl.control.trim import trim
from noetl.errors import NoetlError
from noetl.ports.results import Footprint, Results
from noetl.ports.store import Outline, Store

PAGE = 200


@dataclass(frozen=True, slots=True)
class Terms:
    """What may go: whatever was over at these moments."""

    payloads: int
    executions: int | None = None
    dry_run: bool = False


@dataclass(slots=True)
class Collected:
    """What went, or would go."""

    payloads: int = 0
    bytes: int = 0
    executions: int = 0
    trimmed: int = 0  # executions that lost detail

    def add(self, footprint: Footprint) -> None:
        """Count the payloads of an execution."""
        self.payloads += footprint.payloads
        self.bytes += footprint.bytes


class Families:
    """When the families of executions ended, each asked for once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ends: dict[str, int | None] = {}

    async def over(self, execution_id: str, moment: int) -> bool | None:
        """Whether everyone of an execution's family had ended at a moment; None for an unknown one."""
        if execution_id not in self._ends:
            members = await self._store.family(execution_id)
            self._ends |= dict.fromkeys([one.execution_id for one in members], _last_end(list(members)))
        if execution_id not in self._ends:
            return None
        end = self._ends[execution_id]
        return end is not None and end <= moment


def _last_end(members: list[Outline]) -> int | None:
    ends = [one.ended_at for one in members if one.ended_at is not None]
    return max(ends) if ends and len(ends) == len(members) else None


async def collect(store: Store, results: Results, catalog: Catalog, terms: Terms) -> Collected:
    """Take away what the terms allow, or only count it."""
    found, families = Collected(), Families(store)
    old = await _old_executions(store, families, terms.executions) if terms.executions is not None else set()
    found.executions = len(old)
    await _trim_others(store, catalog, old, found, terms)
    if not terms.dry_run:
        await store.delete(sorted(old))
    for footprint in await results.footprints():
        if footprint.execution_id in old or await _expired(families, footprint, terms.payloads):
            found.add(footprint)
            if not terms.dry_run:
                await results.discard(footprint.execution_id)
    return found


async def _old_executions(store: Store, families: Families, moment: int) -> set[str]:
    old, after = set(), ""
    while page := await store.ended(moment, after=after, limit=PAGE):
        old |= {one.execution_id for one in page if await families.over(one.execution_id, moment)}
        after = page[-1].execution_id
    return old


async def _expired(families: Families, footprint: Footprint, moment: int) -> bool:
    """Payloads that no execution knows may be those of one that is about to begin: they need an age too."""
    over = await families.over(footprint.execution_id, moment)
    return footprint.written_at <= moment if over is None else over


async def _trim_others(store: Store, catalog: Catalog, old: set[str], found: Collected, terms: Terms) -> None:
    """What has ended and stays loses the detail that its playbook does not want kept."""
    traces: dict[str, str] = {"": "full"}
    after, newest = "", 2**62
    while page := await store.ended(newest, after=after, limit=PAGE):
        for one in page:
            if one.hash not in traces:
                traces[one.hash] = await _trace(catalog, one.hash)
            if one.trimmed or one.execution_id in old or traces[one.hash] == "full":
                continue
            found.trimmed += 1
            if not terms.dry_run:
                await trim(store, one.execution_id, traces[one.hash])
        after = page[-1].execution_id


async def _trace(catalog: Catalog, digest: str) -> str:
    """A playbook that cannot be read any more says nothing, so everything is kept."""
    try:
        return (await catalog.program(digest)).playbook.executor.trace
    except NoetlError:
        return "full"
