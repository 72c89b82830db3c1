"""Running a playbook in this process, from its text to the exit code; going on with one; running it again."""

import asyncio
import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from noetl.cli import closing, following, local
from noetl.cli.following import Feed, Heard
from noetl.cli.main import EXIT_CLOSED_PIPE
from noetl.cli.sources import STDIN, SUFFIXES, Source, read_one
from noetl.control.rows import encode_message
from noetl.core.message import Control, Start
from noetl.core.program import Program
from noetl.errors import BackendError, Conflict, NotFound, PlaybookError
from noetl.ports.store import Summary
from noetl.settings import Settings
from noetl.wiring.embedded import Embedded, new_execution_id

EXIT_OF = {"completed": 0, "failed": 1, "cancelled": 4, "paused": 5, "timeout": 124, "interrupted": 130}
REJECTED = 1


class Watch(Heard, Protocol):
    """What a run shows while it goes on and when it is over."""

    explains: bool  # whether a failure is to be looked into for it

    def rejected(self, source: Source, error: PlaybookError) -> None:
        """The playbook has errors and is not run."""
        ...

    def began(self, execution_id: str, path: str) -> None:
        """The run begins."""
        ...

    def ended(self, result: dict[str, Any], failure: closing.Failure | None) -> None:
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
    from noetl.cli.watches import EventWatch, JsonWatch, TextWatch

    if as_json:
        return JsonWatch()
    if as_events:
        return EventWatch()
    if quiet or not _on_terminal():
        return TextWatch(quiet=quiet)
    from noetl.cli.tree import TreeWatch

    return TreeWatch()


def _on_terminal() -> bool:
    from noetl.settings import cursor_allowed

    return sys.stderr.isatty() and cursor_allowed()


async def run(settings: Settings, name: str, wish: Wish, watch: Watch) -> int:
    """Run a playbook; the exit code."""
    async with local.opened(settings) as made:
        source = await _source(made, name)
        try:
            entry, program = await made.catalog.register(text_of(source), file_of(source))
        except PlaybookError as error:
            watch.rejected(source, error)
            return REJECTED
        request = hashlib.sha256(entry.hash.encode() + msgspec.json.encode(wish.payload)).hexdigest()
        known = await _known(made, wish, request)
        if known is not None:
            return await _attach(made, known, watch)
        if wish.until is not None and wish.until not in program.steps:
            raise NotFound(
                f"--until: the playbook has no step '{wish.until}'",
                hint=f"its steps: {', '.join(program.steps)}",
            )
        start = await made.catalog.request(
            entry, program, wish.payload, until=wish.until, idempotency_key=wish.idempotency_key
        )
        try:
            return await _begin(made, start, program, wish, watch, request)
        except Conflict:
            known = await _known(made, wish, request)
            if known is None:
                raise
        return await _attach(made, known, watch)  # another process was quicker with the same key


async def again(made: Embedded, request: tuple[Start, Program], watch: Watch, timeout_s: float | None) -> int:
    """Run what a retry or rerun asks for; the exit code."""
    return await _begin(made, *request, Wish({}, timeout_s), watch, None)


async def _begin(
    made: Embedded, start: Start, program: Program, wish: Wish, watch: Watch, request: str | None
) -> int:
    start = await made.checked(start, program)
    execution_id = new_execution_id()
    if wish.detach:
        await made.pool.drain()  # no task begins here: the process that goes on with it runs them all
        await made.engine.start(execution_id, start, request)
        return await _detach(made, execution_id, wish, watch)
    watch.began(execution_id, start.path)
    feed = Feed(made, execution_id, watch)
    await made.engine.start(execution_id, start, request)
    return await _follow(made, feed, wish.timeout_s)


async def resume(settings: Settings, name: str, watch: Watch, timeout_s: float | None) -> int:
    """Go on with an execution that was interrupted, crashed or paused; the exit code."""
    async with local.opened(settings) as made:
        execution_id = await local.find(made, name)
        summary = await made.store.summary(execution_id)
        if summary.ended_at is not None:
            told = f"execution {execution_id} is already {summary.status}"
            raise Conflict(told, hint="noetl execution retry ID, or rerun ID --from STEP")
        if await made.store.owned(execution_id):
            return await _resume_elsewhere(made, summary, watch)
        return await _resume_here(made, summary, watch, timeout_s)


async def _resume_here(made: Embedded, summary: Summary, watch: Watch, timeout_s: float | None) -> int:
    execution_id = summary.execution_id
    watch.began(execution_id, summary.path)
    await following.recall(made, execution_id, watch)
    feed = Feed(made, execution_id, watch)
    await made.engine.resume(execution_id)
    return await _follow(made, feed, timeout_s)


async def _resume_elsewhere(made: Embedded, summary: Summary, watch: Watch) -> int:
    execution_id = summary.execution_id
    if summary.status != "paused":
        told = f"execution {execution_id} is {summary.status}, and another process runs it"
        raise Conflict(told, hint=f"noetl execution watch {execution_id}")
    watch.began(execution_id, summary.path)
    await made.store.post(execution_id, encode_message(Control("resume")))
    if not await following.changed(made, execution_id, "paused"):  # its process ended before it read this
        return await _resume_here(made, summary, watch, None)
    return await _end(made, await following.elsewhere(made, execution_id, watch), watch)


async def follow_other(made: Embedded, execution_id: str, watch: Watch) -> int:
    """Show an execution that another process runs, or how it went; the exit code."""
    watch.began(execution_id, (await made.store.summary(execution_id)).path)
    return await _end(made, await following.elsewhere(made, execution_id, watch), watch)


async def _follow(made: Embedded, feed: "Feed[Watch]", timeout_s: float | None) -> int:
    code = await _end(made, await following.here(made, feed, timeout_s), feed.watch)
    return EXIT_CLOSED_PIPE if feed.closed.is_set() else code


async def _end(made: Embedded, result: dict[str, Any], watch: Watch) -> int:
    failure = await closing.failure_of(made, result) if watch.explains and result["error"] else None
    watch.ended(result, failure)
    return EXIT_OF[result["status"]]


# Which playbook


async def _source(made: Embedded, name: str) -> Source:
    """A file, or the text of a registered path."""
    if _is_file(name):
        return read_one(name)
    try:
        entry = await made.catalog.find(name)
    except NotFound:
        raise _no_playbook(name, [entry.path for entry in await made.store.playbooks()]) from None
    return Source(entry.file or entry.path, entry.text.encode())


def _is_file(name: str) -> bool:
    return name == STDIN or name.endswith(SUFFIXES) or (os.path.exists(name) and not os.path.isdir(name))


def _no_playbook(name: str, known: list[str]) -> NotFound:
    from noetl.dsl.nearest import nearest

    near = nearest(name, known)
    if os.path.isdir(name):
        return NotFound(f"'{name}' is a folder, and no playbook has that path", hint="name one file of it")
    told = f"there is no file '{name}', and no playbook with that path"
    return NotFound(
        told, hint=f"did you mean '{near}'?" if near else "noetl catalog list shows what is registered"
    )


def text_of(source: Source) -> str:
    """The text of a playbook; raises PlaybookError when its bytes are no text."""
    try:
        return source.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        from noetl.cli.checked import check

        raise PlaybookError(check(source).diagnostics) from None


def file_of(source: Source) -> str | None:
    """Where a playbook's file is; None when its text has no file."""
    return os.path.abspath(source.name) if os.path.exists(source.name) else None


# Keys, and processes that go on


async def _known(made: Embedded, wish: Wish, request: str) -> Summary | None:
    """The execution that has the wish's key; raises Conflict when it was another request."""
    if wish.idempotency_key is None:
        return None
    known = await made.store.by_key(wish.idempotency_key)
    if known is not None and known.request != request:
        told = (
            f"the idempotency key '{wish.idempotency_key}' belongs to execution {known.execution_id}, "
            "which had another playbook or other input"
        )
        raise Conflict(told, hint="use another key, or the same playbook and input")
    return known


async def _attach(made: Embedded, known: Summary, watch: Watch) -> int:
    """The key was used before: show that execution; go on with it when its process is gone."""
    if known.ended_at is None and known.status != "paused" and not await made.store.owned(known.execution_id):
        return await _resume_here(made, known, watch, None)
    return await follow_other(made, known.execution_id, watch)


async def _detach(made: Embedded, execution_id: str, wish: Wish, watch: Watch) -> int:
    """Let go of the execution; another process goes on with it."""
    result = await local.outcome(made, execution_id)
    await made.engine.close()
    if result["status"] == "running":
        timeout = [] if wish.timeout_s is None else ["--timeout", f"{wish.timeout_s:g}"]
        other = _spawn(["execution", "resume", execution_id, "--quiet", *timeout])
        await _taken_over(made, execution_id, other)
    watch.detached(result)
    return EXIT_OF.get(result["status"], 0)


async def _taken_over(made: Embedded, execution_id: str, other: "subprocess.Popen[bytes]") -> None:
    """Wait until the other process has the execution in hand."""
    while True:
        gone = other.poll() is not None
        summary = await made.store.summary(execution_id)
        if summary.ended_at is not None or await made.store.owned(execution_id):
            return
        if gone and summary.status == "paused":
            return
        if gone:
            told = f"the process that was to go on with execution {execution_id} ended at once"
            raise BackendError(told, hint=f"noetl execution resume {execution_id}")
        await asyncio.sleep(following.POLL_S)


def _spawn(arguments: list[str]) -> "subprocess.Popen[bytes]":
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-m", "noetl.cli", *arguments],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=True,
    )
