"""Executions of this project, run in this process: opening the store, following a run, leaving it in order."""

import asyncio
import hashlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from noetl.cli.sources import Source
from noetl.control.rows import encode_message, shown
from noetl.control.sweep import sweep
from noetl.core.message import Control, Message
from noetl.errors import Conflict, NotFound
from noetl.ports.store import Summary
from noetl.settings import Settings
from noetl.wiring.embedded import Embedded, embedded, new_execution_id

POLL_S = 0.1
EXIT_OF = {"completed": 0, "failed": 1, "cancelled": 4, "paused": 5, "timeout": 124, "interrupted": 130}


@dataclass(frozen=True, slots=True)
class Wish:
    """How a playbook is to be run."""

    payload: dict[str, Any]
    timeout_s: float | None = None
    until: str | None = None
    idempotency_key: str | None = None


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Embedded]:
    """The embedded engine with its clockwork."""
    async with embedded(settings) as made:
        clockwork = asyncio.create_task(sweep(made.engine))
        try:
            yield made
        finally:
            clockwork.cancel()
            with suppress(asyncio.CancelledError):
                await clockwork


async def begin(made: Embedded, source: Source, wish: Wish) -> tuple[str, bool]:
    """Start a playbook's text; the execution's id, and whether it is new."""
    text = source.data.decode("utf-8-sig")
    file = os.path.abspath(source.name) if os.path.exists(source.name) else None
    entry, program = await made.catalog.register(text, file)
    request = hashlib.sha256(entry.hash.encode() + msgspec.json.encode(wish.payload)).hexdigest()
    if wish.idempotency_key is not None:
        known = await made.store.by_key(wish.idempotency_key)
        if known is not None:
            return _repeated(known, request), False
    if wish.until is not None and wish.until not in program.steps:
        raise NotFound(f"--until names step {wish.until!r}, which the playbook does not have")
    start = await made.catalog.request(
        entry, program, wish.payload, until=wish.until, idempotency_key=wish.idempotency_key
    )
    start = await made.checked(start, program)
    execution_id = new_execution_id()
    await made.engine.start(execution_id, start, request)
    return execution_id, True


def _repeated(known: Summary, request: str) -> str:
    if known.request != request:
        told = f"the idempotency key belongs to execution {known.execution_id} of another playbook or payload"
        raise Conflict(told, hint="use another key")
    return known.execution_id


async def follow(made: Embedded, execution_id: str, timeout_s: float | None = None) -> dict[str, Any]:
    """Wait until an execution that runs here is over or paused; the first Ctrl-C drains, the second stops."""
    waiting = asyncio.ensure_future(made.engine.until_quiet(execution_id))
    interrupted = asyncio.Event()
    with _signals(interrupted.set, waiting.cancel):
        stop = asyncio.ensure_future(interrupted.wait())
        done, _ = await asyncio.wait({waiting, stop}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        try:
            if waiting in done:
                waiting.result()
                return await outcome(made, execution_id)
            if stop in done:
                await made.pool.drain()
                return {**await outcome(made, execution_id), "status": "interrupted"}
            why = f"--timeout {timeout_s:g} reached"
            await made.engine.send(execution_id, Control("cancel", why=why))
            return {**await outcome(made, execution_id), "status": "timeout"}
        finally:
            for task in (waiting, stop):
                task.cancel()
            await asyncio.gather(waiting, stop, return_exceptions=True)


class _signals:
    """First SIGINT or SIGTERM: drain. Second: stop at once."""

    def __init__(self, first: Callable[[], object], second: Callable[[], object]) -> None:
        self._actions = [first, second]

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._next)

    def _next(self) -> None:
        if self._actions:
            self._actions.pop(0)()

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def outcome(made: Embedded, execution_id: str) -> dict[str, Any]:
    """The execution as `--json` shows it."""
    state = made.engine.live_state(execution_id)
    if state is not None:
        result = shown(state)
    else:
        summary = await made.store.summary(execution_id)
        result = msgspec.json.decode(summary.result) if summary.result else await _folded(made, execution_id)
    result["log"] = made.store.path
    return result


async def _folded(made: Embedded, execution_id: str) -> dict[str, Any]:
    from noetl.control.history import state_at

    return shown(await state_at(made.store, execution_id))


async def find(made: Embedded, name: str) -> str:
    """The id of an execution: as given, its beginning, or `@last`."""
    if name == "@last":
        newest = await made.store.executions(limit=1)
        if not newest.items:
            raise NotFound("there is no execution yet", hint="noetl run FILE")
        return newest.items[0].execution_id
    return (await made.store.summary(name)).execution_id


async def tell(made: Embedded, execution_id: str, message: Message) -> None:
    """Have an execution's owner decide on a message: this process, or the one that runs it."""
    try:
        answer = await made.engine.send(execution_id, message)
    except Conflict:
        if (await made.store.summary(execution_id)).ended_at is not None:
            raise
    else:
        if not answer.accepted:
            raise Conflict(answer.why)
        return
    await made.store.post(execution_id, encode_message(message))
