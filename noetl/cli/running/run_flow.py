"""Running a playbook from its text to the exit code, going on with one, running it again, watching one."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import connect, connect_server, find_execution, has_data
from noetl.cli.connection.embedded_engine import open_engine
from noetl.cli.playbooks.playbook_text import file_of, is_file, text_of
from noetl.cli.playbooks.sources import Source, read_one
from noetl.cli.running.run_embedded import EmbeddedRunner
from noetl.cli.running.run_remote import RemoteRunner, follow_elsewhere
from noetl.cli.running.runner import Runner, Watch
from noetl.errors import NotFound, PlaybookError
from noetl.json_value import Json
from noetl.ports.front import Ask
from noetl.ports.schedule import unknown_schedule
from noetl.settings import Settings

REJECTED = 1


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a playbook is to be run."""

    payload: dict[str, Json]
    timeout_s: float | None = None
    until: str | None = None
    idempotency_key: str | None = None
    detach: bool = False


@dataclass(frozen=True, slots=True)
class RerunRequest:
    """An execution to run again, from which step, perhaps with a changed playbook."""

    name: str
    start: str
    source: Source | None = None


@asynccontextmanager
async def open_runner(settings: Settings, *, make: bool = False) -> AsyncIterator[Runner]:
    """Whoever runs executions: the server that the settings name, else this process.

    `make`: also a store where there is none.
    """
    if settings.server is not None:
        async with connect_server(settings) as connection:
            yield RemoteRunner(connection)
        return
    async with open_engine(settings, make=make) as engine:
        yield EmbeddedRunner(engine)


def make_watch(*, as_json: bool, as_events: bool, quiet: bool) -> Watch:
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


async def run(settings: Settings, name: str, options: RunOptions, watch: Watch) -> int:
    """Run a playbook; the exit code."""
    source = read_one(name) if is_file(name) else None
    try:
        ask = _ask(name, source, options)
        async with open_runner(settings, make=True) as runner:
            begin = runner.detach if options.detach else runner.follow
            return await begin(lambda: runner.start(ask, source), watch, options.timeout_s)
    except PlaybookError as error:
        watch.rejected(source or Source(name, b""), error)
        return REJECTED
    except NotFound as error:
        raise (_no_playbook(name, error) if source is None else error) from None


def _ask(name: str, source: Source | None, options: RunOptions) -> Ask:
    ask = Ask(
        workload=options.payload, idempotency_key=options.idempotency_key, until=options.until, by=caller()
    )
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
    if not has_data(settings):
        raise unknown_schedule(name)
    async with open_runner(settings) as runner:
        return await runner.follow(lambda: runner.front.run_schedule(name, caller()), watch, timeout_s)


async def resume(settings: Settings, name: str, watch: Watch, timeout_s: float | None) -> int:
    """Go on with an execution that was interrupted, crashed or paused; the exit code."""
    async with open_runner(settings) as runner:
        return await runner.resume(await find_execution(runner.front, name), watch, timeout_s)


async def retry(
    settings: Settings, name: str, step: str | None, watch: Watch, timeout_s: float | None
) -> int:
    """Run an ended execution again from what failed; the exit code."""
    async with open_runner(settings) as runner:
        execution_id = await find_execution(runner.front, name)
        return await runner.follow(lambda: runner.front.retry(execution_id, step, caller()), watch, timeout_s)


async def rerun(settings: Settings, request: RerunRequest, watch: Watch, timeout_s: float | None) -> int:
    """Run an ended execution again from a step; the exit code."""
    try:
        async with open_runner(settings) as runner:
            execution_id = await find_execution(runner.front, request.name)
            text = await runner.text(request.source) if request.source is not None else None
            return await runner.follow(
                lambda: runner.front.rerun(execution_id, request.start, text, caller()), watch, timeout_s
            )
    except PlaybookError as error:
        if request.source is None:
            raise
        watch.rejected(request.source, error)
        return REJECTED


async def follow(settings: Settings, name: str, watch: Watch) -> int:
    """Show an execution that a server or another process runs, or how it went; the exit code."""
    async with connect(settings) as connection:
        execution_id = await find_execution(connection.front, name)
        path = (await connection.front.execution(execution_id))["playbook"]["path"]
        return await follow_elsewhere(connection, execution_id, path, watch)
