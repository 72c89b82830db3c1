"""Executions of this project in this process: opening the store, naming an execution, showing its state."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from noetl.control.history import state_at
from noetl.control.rows import shown
from noetl.control.sweep import sweep
from noetl.errors import NotFound, RequestError
from noetl.settings import Settings, load
from noetl.wiring.embedded import Embedded, embedded, store_path

LAST = "@last"
SOME = 5


def settings(server: str | None = None) -> Settings:
    """The settings in force; refused when they name a server, which this version cannot talk to."""
    found = load({"server": server})
    if found.server is not None:
        told = f"this version runs playbooks in its own process; it cannot talk to the server {found.server}"
        raise RequestError(told, hint=f"leave it out to run here (it comes from {found.origins['server']})")
    return found


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


@asynccontextmanager
async def consulted() -> AsyncIterator[Embedded]:
    """The store for looking things up: nothing runs, and no store is made where there is none."""
    found = settings()
    if not store_exists():
        told = f"nothing has been run here yet: there is no '{store_path(found)}'"
        raise NotFound(told, hint="noetl run FILE")
    async with embedded(found) as made:
        yield made


def store_exists() -> bool:
    """Whether anything has been kept here yet."""
    return Path(store_path(settings())).exists()


async def find(made: Embedded, name: str) -> str:
    """The id of an execution: as given, by its beginning, or `@last`: the newest that is nobody's child."""
    if name == LAST:
        newest = await made.store.executions(children=False, limit=1)
        if not newest.items:
            raise NotFound("there is no execution yet", hint="noetl run FILE")
        return newest.items[0].execution_id
    found = (await made.store.executions(prefix=name.lower(), limit=SOME)).items if name else []
    exact = [item.execution_id for item in found if item.execution_id == name]
    if exact or len(found) == 1:
        return exact[0] if exact else found[0].execution_id
    if not found:
        raise NotFound(f"there is no execution '{name}'", hint="noetl execution list")
    some = ", ".join(item.execution_id for item in found)
    raise NotFound(f"'{name}' is the beginning of several executions: {some}", hint="give more of the id")


async def outcome(made: Embedded, execution_id: str) -> dict[str, Any]:
    """The execution as `--json` shows it."""
    state = made.engine.live_state(execution_id)
    if state is None:
        summary = await made.store.summary(execution_id)
        if summary.result:
            return {**msgspec.json.decode(summary.result), "log": made.store.path}
        state = await state_at(made.store, execution_id)
    result = {**shown(state), "log": made.store.path}
    if state.ended_at is None:
        until = state.paused_at or time.time_ns() // 1_000_000
        result["duration_ms"] = until - state.requested_at
    return result
