"""The engine of this process over the project's own store: opened to run executions, or to look things up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from noetl.cli.options import chosen_server
from noetl.errors import NotFound
from noetl.settings import Settings, load
from noetl.wiring.embedded import MEMORY, Embedded, embedded, store_path, swept


def current_settings() -> Settings:
    return load({"server": chosen_server()})


@asynccontextmanager
async def open_engine(settings: Settings, *, make: bool = True) -> AsyncIterator[Embedded]:
    """The embedded engine with its clockwork; `make`: also a store where there is none."""
    if not make:
        _require_store(settings)
    async with embedded(settings) as engine, swept(engine):
        yield engine


@asynccontextmanager
async def open_reader(preset: Settings | None = None) -> AsyncIterator[Embedded]:
    """The store for looking things up: nothing runs, and no store is made where there is none."""
    settings = preset or current_settings()
    _require_store(settings)
    async with embedded(settings) as engine:
        await engine.pool.drain()  # what follows from a message is done by whoever goes on with the execution
        yield engine


def _require_store(settings: Settings) -> None:
    if not store_exists(settings):
        message = f"nothing has been run here yet: there is no '{store_path(settings)}'"
        raise NotFound(message, hint="noetl run FILE")


def store_exists(settings: Settings) -> bool:
    """Whether anything has been kept here yet."""
    return settings.store == MEMORY or Path(store_path(settings)).exists()
