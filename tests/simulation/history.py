"""One seed from beginning to end: the world is made, runs until everything is over, and is judged."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from noetl.control import log_rows
from noetl.core.event import Event
from noetl.core.message import Control, Start
from noetl.ports.store import Find, PlaybookText
from noetl.worker import toolbox
from tests.simulation.clock import Stuck, VirtualLoop
from tests.simulation.faults import Faults
from tests.simulation.inspector import Inspector
from tests.simulation.playbooks import PATH, Sample, sample
from tests.simulation.world import WATCH_S, World

VARIANTS = 4  # seeds that share a playbook; the first of them is calm
LAST = {0: "rounds", 2: "claims"}  # of each five playbooks
PATIENCE_S = 600.0  # virtual seconds from the last fault to the end of everything


@dataclass(slots=True)
class History:
    """What came of a world."""

    sample: Sample
    violations: list[str]
    lines: list[str]
    trace: str
    seen: Counter[str]  # faults and events
    ended: bool
    comparable: bool  # faults may not have changed what it amounts to
    results: dict[str, dict[str, Any]] = field(default_factory=dict)  # by execution
    logs: dict[str, list[Event]] = field(default_factory=dict)


def execution_of(seed: int) -> str:
    """The id of a seed's execution: the same for all seeds that share its playbook."""
    return f"{seed // VARIANTS:032x}"


@lru_cache(maxsize=2)
def playbook_of(number: int) -> Sample:
    """The playbook that some seeds share."""
    return sample(Random(f"playbook {number}"), LAST.get(number % 5, ""))


@lru_cache(maxsize=2)
def calm(number: int) -> History:
    """How a playbook runs when nothing goes wrong."""
    return play(number * VARIANTS)


def forget() -> None:
    """Drop what is remembered of earlier seeds."""
    calm.cache_clear()


def play(seed: int) -> History:
    """Run a seed."""
    faults = Faults.of(seed, calm=seed % VARIANTS == 0)
    history = run(playbook_of(seed // VARIANTS), faults, execution_of(seed))
    if history.comparable and not faults.calm:
        undisturbed = calm(seed // VARIANTS)
        if undisturbed.ended:
            ours, theirs = history.results[execution_of(seed)], undisturbed.results[execution_of(seed)]
            history.violations += differences(ours, theirs)
    return history


def run(playbook: Sample, faults: Faults, execution_id: str = "0" * 32) -> History:
    """Run a playbook under faults."""
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    world = World(loop, playbook, faults)
    inspector = Inspector(world)
    ended = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_rows, "SNAPSHOT_BYTES", faults.rng.choice((500, 4_000, log_rows.SNAPSHOT_BYTES)))
        patch.setattr(toolbox, "time", SimpleNamespace(perf_counter=loop.time))
        ended = _ends(loop, world, inspector, execution_id)
    for problem in loop.problems:
        world.violate(problem)
    return History(
        sample=playbook,
        violations=world.violations,
        lines=world.lines,
        trace=world.trace.hexdigest(),
        seen=Counter(faults.seen) + inspector.seen,
        ended=ended,
        comparable=ended and not (playbook.racy or faults.seen.get("cancel") or inspector.lost_workers),
        results=inspector.results,
        logs=inspector.logs,
    )


def _ends(loop: VirtualLoop, world: World, inspector: Inspector, execution_id: str) -> bool:
    """Whether everything in a world came to its end; it is judged then."""
    try:
        ended = loop.run_until_complete(_executions(world, execution_id))
        if ended:
            loop.run_until_complete(inspector.end())
        return ended
    except Stuck as stuck:
        world.violate(str(stuck))
        return False
    finally:
        loop.finish()
        asyncio.set_event_loop(None)


async def _executions(world: World, execution_id: str) -> bool:
    """Let a world run until every execution in it is over; False when one never is."""
    for path, program in world.sample.programs.items():
        world.store._playbooks.append(PlaybookText(path, 1, program.hash, ""))
    entry = await world.store.playbook(path=PATH)
    start = await world.catalog.request(entry, world.sample.programs[PATH], None)
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


async def _begin(world: World, execution_id: str, start: Start) -> None:
    """Ask for the execution until it is there."""
    while True:
        known = (await world.store.executions(Find(limit=1000))).items
        if any(one.execution_id == execution_id for one in known):
            return
        if world.server is not None:
            asked = msgspec.json.decode(msgspec.json.encode(start), type=Start)
            await world.quietly(world.server.start(execution_id, asked))
        await asyncio.sleep(0.1)


def _happen(world: World, execution_id: str, what: Any) -> None:
    if what not in ("pause", "resume", "cancel"):
        world.strike(what)
        return
    world.note(f"operator: {what}")
    world.faults.count(what)
    world.asked.append(asyncio.ensure_future(_wish(world, execution_id, what)))


async def _wish(world: World, execution_id: str, what: Any) -> None:
    """What an operator asks for; whoever paused an execution goes on asking until it is resumed."""
    while await world.tell(execution_id, Control(what)) is None and what == "resume":
        await asyncio.sleep(1.0)
        if execution_id not in await world.unfinished():
            return


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """What faults changed although they may not have."""
    if ours["status"] != theirs["status"]:
        return [f"ended {ours['status']}, without faults {theirs['status']}"]
    if ours["status"] != "completed":
        return []
    changed = [key for key in ("ctx", "steps") if ours[key] != theirs[key]]
    return [f"{key}: {ours[key]}, without faults {theirs[key]}" for key in changed]
