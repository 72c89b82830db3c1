"""Running a playbook from its text to the exit code, going on with one, running it again, watching one."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from noetl.cli.connection import connection, embedded_engine
from noetl.cli.connection.caller import caller
from noetl.cli.playbooks.playbook_text import file_of, is_file, text_of
from noetl.cli.playbooks.sources import Source, read_one
from noetl.cli.running.run_embedded import EmbeddedRunner
from noetl.cli.running.run_remote import RemoteRunner, show_other
from noetl.cli.running.runner import Runner, Watch
from noetl.errors import NotFound, PlaybookError
from noetl.ports.front import Ask
from noetl.ports.schedule import unknown_schedule
from noetl.settings import Settings

REJECTED = 1


@dataclass(frozen=True, slots=True)
class Wish:
    """How a playbook is to be run."""

    payload: dict[str, Any]
    timeout_s: float | None = None
    until: str | None = None
    idempotency_key: str | None = None
    detach: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """An execution to run again, from which step, perhaps with a changed playbook."""

    name: str
    start: str
    source: Source | None = None


@asynccontextmanager
async def runner(settings: Settings, *, make: bool = False) -> AsyncIterator[Runner]:
    """Whoever runs executions: the server that the settings name, else this process.

    `make`: also a store where there is none.
    """
    if settings.server is not None:
        async with connection.server(settings) as reached:
            yield RemoteRunner(reached)
        return
    async with embedded_engine.opened(settings, make=make) as made:
        yield EmbeddedRunner(made)


def watcher(*, as_json: bool, as_events: bool, quiet: bool) -> Watch:
    """What is shown: one object, a stream of events, or words for a person."""
    from noetl.cli.running.watches import EventWatch, JsonWatch, TextWatch

    if as_json:
        return JsonWatch()
    if as_events:
        return EventWatch()
    if quiet or not _on_terminal():
        return TextWatch(quiet=quiet)
    from noetl.cli.running.progress_tree import TreeWatch

    return TreeWatch()


def _on_terminal() -> bool:
    from noetl.settings import cursor_allowed

    return sys.stderr.isatty() and cursor_allowed()


async def run(settings: Settings, name: str, wish: Wish, watch: Watch) -> int:
    """Run a playbook; the exit code."""
    source = read_one(name) if is_file(name) else None
    try:
        ask = _ask(name, source, wish)
        async with runner(settings, make=True) as running:
            begin = running.detach if wish.detach else running.follow
            return await begin(lambda: running.start(ask, source), watch, wish.timeout_s)
    except PlaybookError as error:
        watch.rejected(source or Source(name, b""), error)
        return REJECTED
    except NotFound as error:
        raise (_no_playbook(name, error) if source is None else error) from None


def _ask(name: str, source: Source | None, wish: Wish) -> Ask:
    ask = Ask(workload=wish.payload, idempotency_key=wish.idempotency_key, until=wish.until, by=caller())
    if source is None:
        ask.path = name
    else:
        ask.text, ask.file = text_of(source), file_of(source)
    return ask


def _no_playbook(name: str, error: NotFound) -> NotFound:
    if os.path.isdir(name):
        return NotFound(f"'{name}' is a folder, and no playbook has that path", hint="name one file of it")
    near = error.hint if error.hint is not None and error.hint.startswith("did you mean") else None
    message = f"there is no file '{name}', and no playbook with that path"
    return NotFound(message, hint=near or "noetl catalog list shows what is registered")


async def run_schedule(settings: Settings, name: str, watch: Watch, timeout_s: float | None) -> int:
    """Start at once what a schedule starts; the exit code."""
    if not connection.anything(settings):
        raise unknown_schedule(name)
    async with runner(settings) as running:
        return await running.follow(lambda: running.front.run_schedule(name, caller()), watch, timeout_s)


async def resume(settings: Settings, name: str, watch: Watch, timeout_s: float | None) -> int:
    """Go on with an execution that was interrupted, crashed or paused; the exit code."""
    async with runner(settings) as running:
        return await running.resume(await connection.find(running.front, name), watch, timeout_s)


async def retry(
    settings: Settings, name: str, step: str | None, watch: Watch, timeout_s: float | None
) -> int:
    """Run an ended execution again from what failed; the exit code."""
    async with runner(settings) as running:
        execution_id = await connection.find(running.front, name)
        return await running.follow(
            lambda: running.front.retry(execution_id, step, caller()), watch, timeout_s
        )


async def rerun(settings: Settings, again: Again, watch: Watch, timeout_s: float | None) -> int:
    """Run an ended execution again from a step; the exit code."""
    try:
        async with runner(settings) as running:
            execution_id = await connection.find(running.front, again.name)
            text = await running.text(again.source) if again.source is not None else None
            return await running.follow(
                lambda: running.front.rerun(execution_id, again.start, text, caller()), watch, timeout_s
            )
    except PlaybookError as error:
        if again.source is None:
            raise
        watch.rejected(again.source, error)
        return REJECTED


async def watch_other(settings: Settings, name: str, watch: Watch) -> int:
    """Show an execution that a server or another process runs, or how it went; the exit code."""
    async with connection.reached(settings) as reached:
        execution_id = await connection.find(reached.front, name)
        path = (await reached.front.execution(execution_id))["playbook"]["path"]
        return await show_other(reached, execution_id, path, watch)
