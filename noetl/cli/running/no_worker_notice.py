"""Telling who follows an execution that it waits for a worker, when nobody is there who may take its work."""

import asyncio

from noetl.cli.running.follower import EventListener
from noetl.errors import NoetlError
from noetl.ports.front import Front

FIRST_S = 3.0
MOST_S = 30.0
NEWEST = 1000


async def watch_workers(front: Front, execution_id: str, watch: EventListener) -> None:
    """Look now and then, ever more rarely, until there is something to tell."""
    wait = FIRST_S
    while True:
        await asyncio.sleep(wait)
        wait = min(wait * 1.5, MOST_S)
        try:
            unserved = await _unserved_step(front, execution_id)
        except NoetlError:  # the stream tells of a server that is away, and who may not look is told nothing
            continue
        if unserved is not None:
            step, pool = unserved
            start = "noetl worker start" + ("" if pool == "default" else f" --pool {pool}")
            watch.announce(f"step '{step}' waits for a worker of the pool '{pool}'; start one with: {start}")
            return


async def _unserved_step(front: Front, execution_id: str) -> tuple[str, str] | None:
    """A step that is due, and its pool that no worker serves."""
    served = {worker.pool for worker in await front.workers() if not worker.draining}
    state = await front.state(execution_id)
    for run in state["runs"]:
        if run["status"] == "running" and run["started_at"] is None:
            pool = await _pool(front, execution_id, run["step"])
            if pool is not None and pool not in served:
                return run["step"], pool
    return None


async def _pool(front: Front, execution_id: str, step: str) -> str | None:
    """The pool that the newest run of a step is for."""
    events = await front.events(execution_id, name="step.scheduled", step=step, limit=NEWEST)
    return events[-1]["data"].get("pool") if events else None
