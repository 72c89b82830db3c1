"""After everything in a world has ended: it is run again, in part, while all that is over is removed.

Whatever the order in which that happens: a retry that is in the log can read every payload it may ask for.
"""

import asyncio
from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

from noetl.control import rerun_request
from noetl.control.catalog import Catalog
from noetl.control.engine import Engine
from noetl.control.garbage import Terms, collect
from noetl.control.retention import Retention
from noetl.core.reading.kept_payloads import payloads_read
from noetl.errors import Conflict, NotFound
from noetl.ports.store import Find
from noetl.wiring.payloads import StoredPayloads
from tests.simulation.clock import Process
from tests.simulation.playbooks import CHILD, PATH, PAYLOAD_LIMIT, Sample, Tree, compiled
from tests.simulation.tools import KINDS
from tests.simulation.world import ENGINE

RETRIES, LOOKS = 6, 2
RETRY_S = 12.0  # how long after the end the last of them may come: about as long as all is collected in
READS = "{{ [ctx.kept | length, one.data | length, two.data | length] }}"
LIMITED = {"spec": {"limits": {"max_payload_bytes": PAYLOAD_LIMIT}}}
AHEAD_MS = 120_000  # clocks of servers may have jumped


def large() -> Sample:
    """A playbook, and a child, whose results rest in the result store."""
    rows = {"kind": "act", "input": {"rows": 300}}
    call = {"kind": "playbook", "path": CHILD, "input": {"n": 1}}
    head = {"apiVersion": "noetl.io/v2", "kind": "Playbook", "executor": LIMITED}
    steps: list[Tree] = [
        {"step": "one", "tool": {**rows, "name": "a"}, "set": {"ctx.kept": "{{ output.data }}"}},
        {"step": "two", "tool": {**call, "name": "b"}},
        {"step": "three", "tool": {"name": "c", "kind": "act", "input": {"say": READS}}},
    ]
    for step, following in pairwise(steps):
        step["next"] = {"arcs": [{"step": following["step"]}]}
    child = {"step": "only", "tool": {**rows, "name": "d"}}
    trees: dict[str, Tree] = {
        PATH: {**head, "metadata": {"name": "main", "path": PATH}, "workflow": steps},
        CHILD: {**head, "metadata": {"name": "child", "path": CHILD}, "workflow": [child]},
    }
    programs = {path: compiled(path, tree) for path, tree in trees.items()}
    return Sample(programs, trees, Counter(), racy=False)


class Slow:
    """A store or a result store, each call of which takes its time."""

    def __init__(self, inner: Any, rng: Random) -> None:
        self._inner, self._rng = inner, rng

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._inner, name)
        if not asyncio.iscoroutinefunction(inner):
            return inner

        async def slow(*values: Any, **options: Any) -> Any:
            await asyncio.sleep(self._rng.random() ** 3)
            answer = await inner(*values, **options)
            await asyncio.sleep(self._rng.random() ** 3)
            return answer

        return slow


class NoWorkers:
    """Whoever would do the work of what is run again: nobody."""

    def __getattr__(self, name: str) -> Any:
        return lambda *values, **options: None


async def aftermath(world: Any) -> None:
    """Retry and collect at once, then look at what the retries refer to."""
    rng = Random(f"aftermath {world.execution_id}")
    store, results = Slow(world.store, rng), Slow(world.results, rng)
    if not await world.results.footprints():
        return
    process = Process("aftermath")
    catalog = Catalog(store, KINDS, ENGINE)
    catalog._programs.update(world.programs_by_hash)
    engine = Engine(store, world.results, StoredPayloads(world.results), catalog, "late", world.loop.now_ms)
    engine.workers = NoWorkers()
    retries = [process.spawn(_retry(world, engine, catalog, rng, number)) for number in range(RETRIES)]
    await asyncio.wait([*retries, process.spawn(_remove(world, store, results, catalog))])
    for key in sorted({key for retried in retries for key in retried.result()}):
        world.inspector.seen["kept payload"] += 1
        if key not in world.results._payloads:
            world.violate(f"a retry may read {key}, which was removed")
    process.kill()


async def _retry(world: Any, engine: Engine, catalog: Catalog, rng: Random, number: int) -> list[str]:
    """Have something run again, from some step of it; the payloads that it may read."""
    ended = [one.execution_id for one in (await world.store.executions(Find(limit=1000))).items]
    execution_id = rng.choice([world.execution_id, *ended])
    await asyncio.sleep(rng.random() ** 2 * RETRY_S)
    try:
        program = await catalog.program((await catalog.store.summary(execution_id)).hash)
        step = rng.choice(sorted(program.steps))
        start, program = await rerun_request.rerun(catalog, engine.payloads, execution_id, step)
        await engine.start(f"{number:032d}"[::-1].replace("0", "f"), start)
    except (Conflict, NotFound):
        world.inspector.seen["retry refused"] += 1
        return []
    world.inspector.seen["retry begun"] += 1
    return payloads_read(start.kept, program) if start.kept is not None else []


async def _remove(world: Any, store: Any, results: Any, catalog: Catalog) -> None:
    """Remove payloads and then all that is over, as an operator does, or all at once, as servers do."""
    if int(world.execution_id, 16) % 2:
        await Retention(store, results, -AHEAD_MS).look(world.loop.now_ms())
        return
    for look in range(LOOKS):
        moment = world.loop.now_ms() + AHEAD_MS
        await collect(store, results, catalog, Terms(moment, moment if look else None))
