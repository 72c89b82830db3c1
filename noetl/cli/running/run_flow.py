"""Running a playbook from its text to the exit code, going on with one, running it again, watching one."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import connect, connect_server, find_execution, has_data
from noetl.cli.connection.embedded_engine import current_settings, open_engine
from noetl.cli.options import OutputChoices, output_format
from noetl.cli.playbooks.playbook_text import file_of, is_file, text_of
from noetl.cli.playbooks.sources import Source, read_one
from noetl.cli.running.run_embedded import EmbeddedRunner
from noetl.cli.running.run_remote import RemoteRunner, follow_elsewhere
from noetl.cli.running.runner import Watch
from noetl.cli.terminal import note
from noetl.errors import NotFound, PlaybookError
from noetl.ports.front import Ask
from noetl.ports.schedule import unknown_schedule
from noetl.settings import Settings, cursor_allowed

REJECTED = 1
Runner = RemoteRunner | EmbeddedRunner


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
    for name, error in engine.front.sending.unsent.items():
        note(f"notification {name} was not delivered: {error}; a later noetl run or a server tries again")


class Viewer:
    """Whoever runs or follows an execution: the settings, what is shown, and how long it may take."""

    def __init__(self, choices: OutputChoices) -> None:
        self.watch = _watch(**output_format(choices))
        self.watch.raw = choices.get("raw", False)
        self.watch.verbose = choices.get("verbose", False)
        self.settings = current_settings()
        self.timeout_s = choices.get("timeout")


def _watch(*, as_json: bool, as_events: bool, quiet: bool) -> Watch:
    """What is shown: one object, a stream of events, or words for a person."""
    from noetl.cli.running.watches import EventWatch, JsonWatch, TextWatch

    if as_json:
        return JsonWatch()
    if as_events:
        return EventWatch()
    if quiet or not (sys.stderr.isatty() and cursor_allowed()):
        return TextWatch(quiet=quiet)
    from noetl.cli.running.progress_tree import TreeWatch

    return TreeWatch()


async def run(viewer: Viewer, name: str, ask: Ask, *, detach: bool = False) -> int:
    """Run a playbook; the exit code."""
    source = read_one(name) if is_file(name) else None
    try:
        if source is None:
            ask.path = name
        else:
            ask.text, ask.file = text_of(source), file_of(source)
        async with open_runner(viewer.settings, make=True) as runner:
            begin = runner.detach if detach else runner.follow
            return await begin(lambda: runner.start(ask, source), viewer.watch, viewer.timeout_s)
    except PlaybookError as error:
        viewer.watch.rejected(source or Source(name, b""), error)
        return REJECTED
    except NotFound as error:
        raise (_no_playbook(name, error) if source is None and ask.version is None else error) from None


def _no_playbook(name: str, error: NotFound) -> NotFound:
    if os.path.isdir(name):
        return NotFound(f"'{name}' is a folder, and no playbook has that path", hint="name one file of it")
    near = error.hint if error.hint is not None and error.hint.startswith("did you mean") else None
    message = f"there is no file '{name}', and no playbook with that path"
    return NotFound(message, hint=near or "noetl catalog list shows what is registered")


async def run_schedule(viewer: Viewer, name: str) -> int:
    """Start at once what a schedule starts; the exit code."""
    if not has_data(viewer.settings):
        raise unknown_schedule(name)
    async with open_runner(viewer.settings) as runner:
        start = partial(runner.front.run_schedule, name, caller())
        return await runner.follow(start, viewer.watch, viewer.timeout_s)


async def resume(viewer: Viewer, name: str) -> int:
    """Go on with an execution that was interrupted, crashed or paused; the exit code."""
    async with open_runner(viewer.settings) as runner:
        execution_id = await find_execution(runner.front, name)
        return await runner.resume(execution_id, viewer.watch, viewer.timeout_s)


async def retry(viewer: Viewer, name: str, step: str | None) -> int:
    """Run an ended execution again from what failed; the exit code."""
    async with open_runner(viewer.settings) as runner:
        start = partial(runner.front.retry, await find_execution(runner.front, name), step, caller())
        return await runner.follow(start, viewer.watch, viewer.timeout_s)


async def rerun(viewer: Viewer, name: str, step: str, source: Source | None) -> int:
    """Run an ended execution again from a step, perhaps with a changed playbook; the exit code."""
    try:
        async with open_runner(viewer.settings) as runner:
            execution_id = await find_execution(runner.front, name)
            text = await runner.text(source) if source is not None else None
            start = partial(runner.front.rerun, execution_id, step, text, caller())
            return await runner.follow(start, viewer.watch, viewer.timeout_s)
    except PlaybookError as error:
        if source is None:
            raise
        viewer.watch.rejected(source, error)
        return REJECTED


async def follow(viewer: Viewer, name: str) -> int:
    """Show an execution that a server or another process runs, or how it went; the exit code."""
    async with connect(viewer.settings) as connection:
        execution_id = await find_execution(connection.front, name)
        path = (await connection.front.execution(execution_id))["playbook"]["path"]
        return await follow_elsewhere(connection, execution_id, path, viewer.watch)
