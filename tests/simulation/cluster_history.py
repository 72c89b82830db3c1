"""One seed of a cluster from beginning to end: `python -m tests.simulation.cluster_history SEED [LAST]`."""

import asyncio
import logging
import sys
from collections import Counter
from random import Random
from types import SimpleNamespace

import pytest

from noetl.adapters.link import requests
from noetl.control import log_rows, sweep
from noetl.ports.store import PlaybookText
from noetl.worker import pool, toolbox
from tests.simulation import __main__ as command
from tests.simulation import older_release
from tests.simulation.aftermath import aftermath
from tests.simulation.clock import Stuck, VirtualLoop
from tests.simulation.cluster import FAULTS, OLDER, PLANNED, Cluster, clock_of
from tests.simulation.cluster_rules import ClusterInspector
from tests.simulation.faults import Faults
from tests.simulation.history import VARIANTS, History, calm, differences, execution_of, playbook_of
from tests.simulation.playbooks import PATH, Sample

LOOK_S = 1.0
MIXED = 3  # one seed of so many has a server of an older release
PATIENCE_S = 3_600.0  # virtual seconds from the last fault to the end of everything


def seeds_of(block: int, size: int) -> range:
    """The seeds of one block."""
    return range(block * size, (block + 1) * size)


def faults_of(seed: int) -> Faults:
    """What goes wrong in a seed; nothing in a few of them."""
    rng = Random(f"cluster {seed}")
    if seed % 20 == 0:
        return Faults(rng)
    on = frozenset(fault for fault in FAULTS if rng.random() < 0.2) or frozenset({rng.choice(FAULTS)})
    faults = Faults(rng, on, until=rng.choice((4.0, 12.0, 25.0)))
    for fault in PLANNED:
        if fault in on:
            faults.strikes += [(faults.moment(), fault) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.2:
        start = faults.moment()
        faults.strikes += [(start, "pause"), (start + rng.choice((0.1, 1.0, 10.0)), "resume")]
    if rng.random() < 0.05:
        faults.strikes.append((faults.moment(), "cancel"))
    faults.strikes.sort()
    if seed % MIXED == 1:
        faults.on |= {OLDER}
        faults.count(OLDER)
    return faults


def play(seed: int) -> History:
    """Run a seed."""
    number, execution_id = seed // VARIANTS, execution_of(seed)
    faults = faults_of(seed)
    history = run(playbook_of(number), faults, execution_id)
    if history.comparable and (undisturbed := calm(number)).ended:
        ours, theirs = history.results[execution_id], undisturbed.results[execution_id]
        history.violations += differences(ours, theirs)
    return history


def run(playbook: Sample, faults: Faults, execution_id: str) -> History:
    """Run a playbook on a cluster under faults."""
    loop = VirtualLoop()
    logging.disable(logging.CRITICAL)
    asyncio.set_event_loop(loop)
    world = Cluster(loop, playbook, faults, execution_id)
    inspector = ClusterInspector(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_rows, "SNAPSHOT_BYTES", faults.rng.choice((500, 4_000, log_rows.SNAPSHOT_BYTES)))
        patch.setattr(toolbox, "time", SimpleNamespace(perf_counter=loop.time))
        patch.setattr(requests, "now_ms", clock_of(loop))
        patch.setattr(pool, "_end_orphans", lambda: None)
        patch.setattr(sweep, "MAIL_S", 0.5)
        older_release.plant(patch)
        ended = _ends(loop, world, inspector)
    logging.disable(logging.NOTSET)
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


def _ends(loop: VirtualLoop, world: Cluster, inspector: ClusterInspector) -> bool:
    try:
        ended = loop.run_until_complete(_executions(world))
        if ended:
            loop.run_until_complete(inspector.end())
            loop.run_until_complete(aftermath(world))
        return ended
    except Stuck as stuck:
        world.violate(str(stuck))
        return False
    finally:
        loop.finish()
        asyncio.set_event_loop(None)


async def _executions(world: Cluster) -> bool:
    for path, program in world.sample.programs.items():
        world.store._playbooks.append(PlaybookText(path, 1, program.hash, ""))
    entry = await world.store.playbook(path=PATH)
    start = await world.catalog.request(entry, world.sample.programs[PATH], None)
    beginning = asyncio.ensure_future(world.begin(start))
    for moment, what in world.faults.strikes:
        world.loop.call_at(max(moment, 0.01), _happen, world, what)
    last = max([world.faults.until, *(moment for moment, _ in world.faults.strikes)])
    while world.now < last + PATIENCE_S and not world.violations:
        await asyncio.sleep(LOOK_S)
        if beginning.done():
            if not world.damaged and not await world.unfinished():
                return True
            world.go(world.signal())
            world.go(world.release())
            world.go(world.resume())
    if not world.violations:
        world.violate(f"not over {PATIENCE_S:g} s after the last fault: {await world.unfinished()}")
    return False


def _happen(world: Cluster, what: str) -> None:
    if what in ("pause", "resume", "cancel"):
        world.go(world.wish(what))
    else:
        world.strike(what)


if __name__ == "__main__":
    sys.exit(command.main(sys.argv[1:], play))
