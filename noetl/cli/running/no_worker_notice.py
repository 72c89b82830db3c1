"""Telling who follows an execution that it waits for a worker, when nobody is there who may take its work."""

import asyncio

import msgspec

from noetl.cli.running.follower import EventListener
from noetl.errors import NoetlError
from noetl.ports.front import Front, Worker

FIRST_S = 3.0
MOST_S = 30.0
NEWEST = 1000


class _GraphKinds(msgspec.Struct):
    """What is read of a step of a graph."""

    step: str
    kinds: list[str]


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
            watch.announce(unserved)
            return


async def unserved_lines(front: Front, execution_id: str) -> list[str]:
    """The same for who looks at an execution once; nothing for those who may not see workers."""
    try:
        unserved = await _unserved_step(front, execution_id)
    except NoetlError:
        return []
    return [] if unserved is None else [unserved]


async def _unserved_step(front: Front, execution_id: str) -> str | None:
    """A step that is due and that no worker can do, in words."""
    workers = [worker for worker in await front.workers() if not worker.draining]
    state = await front.state(execution_id)
    for run in state["runs"]:
        if run["status"] == "running" and run["started_at"] is None:
            step = run["step"]
            pool = await _pool(front, execution_id, step)
            there = [worker for worker in workers if worker.pool == pool]
            start = "noetl worker start" + ("" if pool == "default" else f" --pool {pool}")
            if pool is not None and not there:
                return f"step '{step}' waits for a worker of the pool '{pool}'; start one with: {start}"
            kind = await _missing_kind(front, execution_id, step, there)
            if pool is not None and kind is not None:
                where = "name it under 'tools' where the worker runs, or install its package there"
                return (
                    f"step '{step}' waits for a worker of the pool '{pool}' with the kind '{kind}': {where}"
                )
    return None


async def _missing_kind(front: Front, execution_id: str, step: str, there: list[Worker]) -> str | None:
    """A kind of a step that its workers lack; those of older releases do not say which they have."""
    if not there or not all(worker.kinds for worker in there):
        return None
    graph = msgspec.convert((await front.graph(execution_id))["steps"], list[_GraphKinds])
    needed = {kind for node in graph if node.step == step for kind in node.kinds}
    lacking = min((needed.difference(worker.kinds) for worker in there), key=len)
    return min(lacking, default=None)


async def _pool(front: Front, execution_id: str, step: str) -> str | None:
    """The pool that the newest run of a step is for."""
    events = await front.events(execution_id, name="step.scheduled", step=step, limit=NEWEST)
    return events[-1]["data"].get("pool") if events else None
