"""One seed from beginning to end: the world is made, runs until everything is over, and is judged."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any

import msgspec

from noetl.control import engine as engine_module
from noetl.core.message import Control
from noetl.ports.store import PlaybookText
from tests.simulation.clock import Stuck, VirtualLoop
from tests.simulation.faults import Faults
from tests.simulation.inspector import Inspector
from tests.simulation.playbooks import PATH, Sample, sample
from tests.simulation.world import WATCH_S, World

VARIANTS = 8  # seeds that share a playbook; the first of them is calm
PATIENCE_S = 600.0  # virtual seconds from the last fault to the end of everything


@dataclass(slots=True)
class History:
    """What came of a seed."""

    seed: int
    sample: Sample
    violations: list[str]
    lines: list[str]
    trace: str
    seen: Counter[str]
    ended: bool
    results: dict[str, dict[str, Any]] = field(default_factory=dict)  # by execution

    @property
    def main(self) -> dict[str, Any]:
        """The result of the execution that the others are children of."""
        return self.results[execution_of(self.seed)]


def execution_of(seed: int) -> str:
    """The id of a seed's execution: the same for all seeds that share its playbook."""
    return f"{seed // VARIANTS:032x}"


@lru_cache(maxsize=2)
def playbook_of(number: int) -> Sample:
    """The playbook that some seeds share."""
    return sample(Random(f"playbook {number}"))


@lru_cache(maxsize=2)
def calm(number: int) -> History:
    """How a playbook runs when nothing goes wrong."""
    return play(number * VARIANTS)


def play(seed: int) -> History:
    """Run a seed."""
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    faults = Faults.of(seed, calm=seed % VARIANTS == 0)
    world = World(loop, playbook_of(seed // VARIANTS), faults)
    inspector = Inspector(world)
    snapshot_events = engine_module.SNAPSHOT_EVENTS
    engine_module.SNAPSHOT_EVENTS = faults.rng.choice((5, 40, 5_000))
    try:
        ended = loop.run_until_complete(_live(world, execution_of(seed)))
        if ended:
            loop.run_until_complete(inspector.end())
    except Stuck as stuck:
        world.violate(str(stuck))
        ended = False
    finally:
        engine_module.SNAPSHOT_EVENTS = snapshot_events
        loop.finish()
        asyncio.set_event_loop(None)
    for problem in loop.problems:
        world.violate(problem)
    history = History(
        seed=seed,
        sample=world.sample,
        violations=world.violations,
        lines=world.lines,
        trace=world.trace.hexdigest(),
        seen=Counter(faults.seen),
        ended=ended,
        results=inspector.results,
    )
    comparable = ended and not (world.sample.racy or faults.seen.get("cancel") or inspector.lost_workers)
    if comparable and seed % VARIANTS:
        history.violations += differences(calm(seed // VARIANTS), history)
    return history


async def _live(world: World, execution_id: str) -> bool:
    """Let a world run until every execution in it is over; False when one never is."""
    for path, program in world.sample.programs.items():
        world.store._playbooks.append(PlaybookText(path, 1, program.hash, ""))
    program = world.sample.programs[PATH]
    entry = await world.store.playbook(path=PATH)
    start = await world.catalog.request(entry, program, None)
    world.boot()
    beginning = asyncio.ensure_future(_begin(world, execution_id, start))
    for moment, what in world.faults.strikes:
        world.loop.call_at(moment, _happen, world, execution_id, what)
    last = max([world.faults.until, *(moment for moment, _ in world.faults.strikes)])
    while world.now < last + PATIENCE_S and not world.violations:
        await asyncio.sleep(WATCH_S)
        await world.watch()
        if beginning.done() and not await world.unfinished():
            return True
    if not world.violations:
        world.violate(f"not over {PATIENCE_S:g} s after the last fault: {await world.unfinished()}")
    return False


async def _begin(world: World, execution_id: str, start: Any) -> None:
    """Ask for the execution until it is there."""
    while True:
        known = {one.execution_id for one in (await world.store.executions(limit=1000)).items}
        if execution_id in known:
            return
        server = world.server
        if server is not None:
            fresh = msgspec.json.decode(msgspec.json.encode(start), type=type(start))
            await world._quietly(server.start(execution_id, fresh))
        await asyncio.sleep(0.1)


def _happen(world: World, execution_id: str, what: str) -> None:
    if what not in ("pause", "resume", "cancel"):
        world.strike(what)
        return
    world.note(f"operator: {what}")
    world.faults.count(what)
    order: Any = what
    world.tasks.append(asyncio.ensure_future(world.tell(execution_id, Control(order))))


def differences(calm: History, other: History) -> list[str]:
    """What faults changed although they may not have."""
    if not calm.ended:
        return []
    ours, theirs = other.main, calm.main
    found = [] if ours["status"] == theirs["status"] else [f"ended {ours['status']}, without faults {theirs['status']}"]
    if ours["status"] == theirs["status"] == "completed":
        found += [f"{key}: {ours[key]}, without faults {theirs[key]}" for key in ("ctx", "steps") if ours[key] != theirs[key]]
    return found
