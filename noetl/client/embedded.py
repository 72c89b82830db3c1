"""A playbook run in the caller's own process: a script, a notebook, a test, a web application.

As durable as `noetl run`: the log is in the project's store, and what was interrupted is resumed by its id.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from noetl import settings
from noetl.client.async_client import name_playbook, workload_of
from noetl.client.execution import GOING_ON, result_of
from noetl.client.loop_thread import LoopThread
from noetl.client.result import Result
from noetl.core.message import Control
from noetl.errors import BackendError, Conflict
from noetl.ports.answers import ExecutionAnswer
from noetl.ports.front import Ask
from noetl.wiring.embedded import Embedded, guest, swept

BY = "python"
CHECK_S = 0.5  # trouble of work that nobody waits for is looked for so often


async def arun(
    playbook: str | Path,
    /,
    workload: Mapping[str, object] | None = None,
    *,
    store: str | Path | None = None,
    idempotency_key: str | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - an execution that is out of time is cancelled in its log
    check: bool = True,
    **values: object,
) -> Result:
    """Run a playbook to its end in this process, in the running event loop; as `run` otherwise."""
    ask = Ask(workload=workload_of(workload, values), idempotency_key=idempotency_key, by=BY)
    name_playbook(ask, playbook)
    async with _engine(store) as engine:
        started = await engine.front.start(ask)
        if started.existed:
            await _take_up(engine, started.execution_id)
        return await _finished(engine, started.execution_id, timeout, check)


async def aresume(
    execution_id: str,
    *,
    store: str | Path | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - as above
    check: bool = True,
) -> Result:
    """Go on, in the running event loop, with an execution that was interrupted; as `resume` otherwise."""
    async with _engine(store) as engine:
        await _take_up(engine, execution_id)
        return await _finished(engine, execution_id, timeout, check)


def run(
    playbook: str | Path,
    /,
    workload: Mapping[str, object] | None = None,
    *,
    store: str | Path | None = None,
    idempotency_key: str | None = None,
    timeout: float | None = None,
    check: bool = True,
    **values: object,
) -> Result:
    """Run a playbook, by its file or its path in the catalog, to its end in this process.

    What it works on is `workload`, with `values` over it. Its log is in the project's store, as that of
    `noetl run`, or in `store`: a SQLite file, or `memory://`. An execution that fails raises ExecutionFailed
    unless `check` is off. After `timeout` seconds it is cancelled, and TimeoutError raised. One that was
    interrupted goes on with `resume`, or when it is run again under the same idempotency key.
    """
    whole = {**(workload or {}), **values}
    return _apart(
        arun(playbook, whole, store=store, idempotency_key=idempotency_key, timeout=timeout, check=check)
    )


def resume(
    execution_id: str, *, store: str | Path | None = None, timeout: float | None = None, check: bool = True
) -> Result:
    """Go on with an execution whose process was interrupted, or that is paused, to its end."""
    return _apart(aresume(execution_id, store=store, timeout=timeout, check=check))


def _apart(work: Coroutine[Any, Any, Result]) -> Result:
    """In a thread of its own, since the caller's may have a loop that runs."""
    thread = LoopThread("noetl")
    try:
        return thread.run(work)
    finally:
        thread.close()


@asynccontextmanager
async def _engine(store: str | Path | None) -> AsyncIterator[Embedded]:
    given = None if store is None else str(store)
    chosen = settings.load({"store": given}, named={"store": "argument store"})
    async with guest(chosen) as engine, swept(engine):
        yield engine


async def _take_up(engine: Embedded, execution_id: str) -> None:
    """Go on with an execution that nobody runs; one that is over stays so."""
    summary = await engine.store.summary(execution_id)
    if summary.ended_at is not None:
        return
    if await engine.store.owned(execution_id):
        message = f"execution {execution_id} is {summary.status}, and another process runs it"
        raise Conflict(message, hint=f"noetl execution watch {execution_id}")
    await engine.engine.resume(execution_id, BY)


async def _finished(engine: Embedded, execution_id: str, seconds: float | None, check: bool) -> Result:
    try:
        async with asyncio.timeout(seconds):
            fields = await _over(engine, execution_id)
    except TimeoutError:
        await engine.engine.send(execution_id, Control("cancel", BY, f"timeout of {seconds:g} s reached"))
        message = f"execution {execution_id} was not over after {seconds:g} s and was cancelled"
        raise TimeoutError(message) from None
    result = await result_of(engine.front, fields)
    result = replace(result, graph=await engine.front.graph(execution_id))
    return result.check() if check else result


async def _over(engine: Embedded, execution_id: str) -> ExecutionAnswer:
    """How an execution stands once it is over or paused, and what it started without waiting is over too."""
    fields = await _resting(engine, execution_id)
    for other in engine.engine.running():
        if other != execution_id:
            await _resting(engine, other)
    return fields


async def _resting(engine: Embedded, execution_id: str) -> ExecutionAnswer:
    while True:
        fields = await engine.front.execution(execution_id, wait_s=CHECK_S)
        if fields["status"] not in GOING_ON:
            return fields
        if engine.trouble is not None:
            message = f"execution {execution_id} was interrupted: {engine.trouble}"
            raise BackendError(message, hint=f"noetl.resume('{execution_id}')") from engine.trouble
