"""Running a playbook from its text to the exit code, going on with one, running it again: here or there.

What runs in this process is run_embedded.py's, what runs on a server is run_remote.py's.
"""

import os
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from noetl.cli.connection import connection, embedded_engine
from noetl.cli.connection.caller import caller
from noetl.cli.connection.connection import Reached
from noetl.cli.playbooks.sources import STDIN, SUFFIXES, Source, read_one
from noetl.cli.running.follower import Heard
from noetl.cli.terminal import note
from noetl.errors import NotFound, PlaybookError
from noetl.ports.front import Ask
from noetl.settings import Settings

EXIT_OF = {
    "completed": 0, "failed": 1, "cancelled": 4, "paused": 5, "stuck": 70, "timeout": 124, "interrupted": 130,
}  # fmt: skip
REJECTED = 1


class Watch(Heard, Protocol):
    """What a run shows while it goes on and when it is over."""

    fails_on_errors: bool  # whether failed iterations of a run that completed count as its failure

    def rejected(self, source: Source, error: PlaybookError) -> None:
        """The playbook has errors and is not run."""
        ...

    def began(self, execution_id: str, path: str, page: str | None = None) -> None:
        """The run begins."""
        ...

    def ended(self, result: dict[str, Any]) -> None:
        """The run is over, paused or interrupted."""
        ...

    def detached(self, result: dict[str, Any]) -> None:
        """Another process goes on with the run."""
        ...


@dataclass(frozen=True, slots=True)
class Wish:
    """How a playbook is to be run."""

    payload: dict[str, Any]
    timeout_s: float | None = None
    until: str | None = None
    idempotency_key: str | None = None
    detach: bool = False


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
        return await _run(settings, source, _asked(name, source, wish), wish, watch)
    except PlaybookError as error:
        watch.rejected(source or Source(name, b""), error)
        return REJECTED
    except NotFound as error:
        raise (_no_playbook(name, error) if source is None else error) from None


async def _run(settings: Settings, source: Source | None, ask: Ask, wish: Wish, watch: Watch) -> int:
    if settings.server is not None:
        from noetl.cli.running import run_remote

        async with connection.server(settings) as reached:
            return await run_remote.run(reached, source, ask, wish, watch)
    from noetl.cli.running import run_embedded

    async with embedded_engine.opened(settings) as made:
        return await run_embedded.run(made, ask, wish, watch)


def _asked(name: str, source: Source | None, wish: Wish) -> Ask:
    ask = Ask(workload=wish.payload, idempotency_key=wish.idempotency_key, until=wish.until, by=caller())
    if source is None:
        ask.path = name
    else:
        ask.text, ask.file = text_of(source), file_of(source)
    return ask


async def resume(settings: Settings, name: str, watch: Watch, timeout_s: float | None) -> int:
    """Go on with an execution that was interrupted, crashed or paused; the exit code."""
    if settings.server is not None:
        from noetl.cli.running import run_remote

        async with connection.server(settings) as reached:
            return await run_remote.resume(
                reached, await connection.find(reached.front, name), watch, timeout_s
            )
    from noetl.cli.running import run_embedded

    async with embedded_engine.opened(settings, make=False) as made:
        return await run_embedded.resume(made, await connection.find(made.front, name), watch, timeout_s)


async def retry(
    settings: Settings, name: str, step: str | None, watch: Watch, timeout_s: float | None
) -> int:
    """Run an ended execution again from what failed; the exit code."""
    if settings.server is not None:
        from noetl.cli.running import run_remote

        async with connection.server(settings) as reached:
            started = await reached.front.retry(await connection.find(reached.front, name), step, caller())
            return await run_remote.follow(reached, started.execution_id, started.path, watch, timeout_s)
    from noetl.cli.running import run_embedded

    async with embedded_engine.opened(settings, make=False) as made:
        execution_id = await connection.find(made.front, name)
        return await run_embedded.begin(
            made, lambda: made.front.retry(execution_id, step, caller()), watch, timeout_s
        )


@dataclass(frozen=True, slots=True)
class Again:
    """An execution to run again, from which step, perhaps with a changed playbook."""

    name: str
    start: str
    source: Source | None = None


async def rerun(settings: Settings, again: Again, watch: Watch, timeout_s: float | None) -> int:
    """Run an ended execution again from a step; the exit code."""
    try:
        return await _rerun(settings, again, watch, timeout_s)
    except PlaybookError as error:
        if again.source is None:
            raise
        watch.rejected(again.source, error)
        return REJECTED


async def _rerun(settings: Settings, again: Again, watch: Watch, timeout_s: float | None) -> int:
    text = text_of(again.source) if again.source is not None else None
    if settings.server is not None:
        from noetl.cli.playbooks.bundle import bundled
        from noetl.cli.running import run_remote

        async with connection.server(settings) as reached:
            execution_id = await connection.find(reached.front, again.name)
            if again.source is not None and text is not None:
                text = await bundled(reached.front, again.source, text)
            started = await reached.front.rerun(execution_id, again.start, text, caller())
            return await run_remote.follow(reached, started.execution_id, started.path, watch, timeout_s)
    from noetl.cli.running import run_embedded

    async with embedded_engine.opened(settings, make=False) as made:
        execution_id = await connection.find(made.front, again.name)
        return await run_embedded.begin(
            made, lambda: made.front.rerun(execution_id, again.start, text, caller()), watch, timeout_s
        )


async def watch_other(settings: Settings, name: str, watch: Watch) -> int:
    """Show an execution that a server or another process runs, or how it went; the exit code."""
    from noetl.cli.running import run_remote

    async with connection.reached(settings) as reached:
        execution_id = await connection.find(reached.front, name)
        path = (await reached.front.execution(execution_id))["playbook"]["path"]
        return await run_remote.follow(reached, execution_id, path, watch)


async def end(reached: Reached, result: dict[str, Any], watch: Watch) -> int:
    """Say how a run stands; the exit code."""
    watch.ended(result)
    if watch.fails_on_errors and result["status"] == "completed" and result["counts"]["failed_iterations"]:
        note(f"--fail-on-errors: iterations failed, so the exit code is {EXIT_OF['failed']}")
        return EXIT_OF["failed"]
    return EXIT_OF.get(result["status"], 0)


# Which playbook


def is_file(name: str) -> bool:
    """Whether a playbook is named by its file."""
    return name == STDIN or name.endswith(SUFFIXES) or (os.path.exists(name) and not os.path.isdir(name))


def _no_playbook(name: str, error: NotFound) -> NotFound:
    if os.path.isdir(name):
        return NotFound(f"'{name}' is a folder, and no playbook has that path", hint="name one file of it")
    near = error.hint if error.hint is not None and error.hint.startswith("did you mean") else None
    told = f"there is no file '{name}', and no playbook with that path"
    return NotFound(told, hint=near or "noetl catalog list shows what is registered")


def text_of(source: Source) -> str:
    """The text of a playbook; raises PlaybookError when its bytes are no text."""
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        from noetl.cli.playbooks.validation import check

        raise PlaybookError(check(source).diagnostics) from None


def file_of(source: Source) -> str | None:
    """Where a playbook's file is; None when its text has no file."""
    return os.path.abspath(source.name) if os.path.exists(source.name) else None
