"""Garbage: payloads and executions whose time is over, and detail that a playbook does not want kept.

An execution may hold references to payloads of its parent, of its children and of the one it is a retry of.
So nothing of a family is taken while one of it lives, and its time starts when the last one ends.
"""

from dataclasses import dataclass

from noetl.control.catalog import Catalog
from noetl.control.trace_retention import trim
from noetl.errors import NoetlError
from noetl.ports.results import Footprint, Results
from noetl.ports.store import Store, family_over

PAGE = 200
UNBORN_MS = 3_600_000  # far longer than from the first payload of an execution to its first commit


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


async def collect(store: Store, results: Results, catalog: Catalog, terms: Terms) -> Collected:
    """Take away what the terms allow, or only count it."""
    collected = Collected()
    old = await _old_executions(store, terms.executions) if terms.executions is not None else set()
    await _trim_others(store, catalog, old, collected, terms)
    if terms.executions is not None and not terms.dry_run:
        old = set(await store.delete(sorted(old), terms.executions))
    collected.executions = len(old)
    for footprint in await results.footprints():
        if footprint.execution_id in old or await _expired(store, footprint, terms):
            collected.add(footprint)
            if not terms.dry_run:
                await results.discard(footprint.execution_id)
    return collected


async def _old_executions(store: Store, moment: int) -> set[str]:
    """What may go, each family asked for once; whoever deletes looks again."""
    over: dict[str, bool] = {}
    after = ""
    while page := await store.ended(moment, after=after, limit=PAGE):
        for outline in page:
            if outline.execution_id not in over:
                family = await store.family(outline.execution_id)
                over |= dict.fromkeys([each.execution_id for each in family], family_over(family, moment))
        after = page[-1].execution_id
    return {execution_id for execution_id, ended in over.items() if ended}


async def _expired(store: Store, footprint: Footprint, terms: Terms) -> bool:
    """Whether payloads may go: once the store has given them up, no retry can begin that refers to them.

    Those that no execution knows may be of one that is about to begin: they need an age too.
    """
    family = await store.family(footprint.execution_id)
    if not family:
        return footprint.written_at <= min(terms.payloads, await store.clock() - UNBORN_MS)
    over = family_over(family, terms.payloads)
    if terms.dry_run or not over:
        return over
    return bool(await store.expire([footprint.execution_id], terms.payloads))


async def _trim_others(
    store: Store, catalog: Catalog, old: set[str], collected: Collected, terms: Terms
) -> None:
    """What has ended and stays loses the detail that its playbook does not want kept."""
    traces: dict[str, str] = {"": "full"}
    after, newest = "", 2**62
    while page := await store.ended(newest, after=after, limit=PAGE):
        for outline in page:
            if outline.hash not in traces:
                traces[outline.hash] = await _trace(catalog, outline.hash)
            if outline.trimmed or outline.execution_id in old or traces[outline.hash] == "full":
                continue
            collected.trimmed += 1
            if not terms.dry_run:
                await trim(store, outline.execution_id, traces[outline.hash])
        after = page[-1].execution_id


async def _trace(catalog: Catalog, digest: str) -> str:
    """A playbook that cannot be read any more says nothing, so everything is kept."""
    try:
        return (await catalog.program(digest)).playbook.executor.trace
    except NoetlError:
        return "full"
