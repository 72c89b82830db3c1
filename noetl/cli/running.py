"""Running a playbook in this process, from its text to the exit code."""

import asyncio
import os
import sys
from typing import Any, Protocol

from noetl.cli import local
from noetl.cli.local import EXIT_OF, Wish
from noetl.cli.sources import Source, read_one
from noetl.control.engine import Listener
from noetl.errors import PlaybookError
from noetl.settings import Settings
from noetl.wiring.embedded import Embedded


class Watch(Protocol):
    """What a run shows while it goes on and when it is over."""

    def rejected(self, source: Source, error: PlaybookError) -> None:
        """The playbook has errors and is not run."""
        ...

    def began(self, made: Embedded, execution_id: str) -> Listener | None:
        """The run begins; what is to hear of its events."""
        ...

    def ended(self, result: dict[str, Any]) -> None:
        """The run is over, paused or interrupted."""
        ...


def watcher(*, as_json: bool, as_events: bool, quiet: bool) -> Watch:
    """What is shown: one object, a stream of events, or words for a person."""
    from noetl.cli.watches import EventWatch, JsonWatch, TextWatch

    if as_json:
        return JsonWatch()
    return EventWatch() if as_events else TextWatch(quiet=quiet)


async def run(settings: Settings, name: str, payload: dict[str, Any], watch: Watch, options: dict[str, Any]) -> int:
    """Run a playbook; the exit code."""
    wish = Wish(payload, options["timeout"], options["until"], options["idempotency_key"])
    async with local.opened(settings) as made:
        source = await _source(made, name)
        try:
            execution_id, new = await local.begin(made, source, wish)
        except PlaybookError as error:
            watch.rejected(source, error)
            return 1
        if not new:
            return await _attach(made, execution_id, watch)
        if options["detach"]:
            watch.began(made, execution_id)
        else:
            return await _follow(made, execution_id, watch, wish.timeout_s)
    await _continue_detached(execution_id)
    return 0


async def resume(settings: Settings, name: str, watch: Watch, timeout_s: float | None) -> int:
    """Go on with an execution that was interrupted, crashed or paused; the exit code."""
    async with local.opened(settings) as made:
        execution_id = await local.find(made, name)
        await made.engine.resume(execution_id)
        return await _follow(made, execution_id, watch, timeout_s)


async def _source(made: Embedded, name: str) -> Source:
    """A file, or the text of a registered path."""
    if name == "-" or os.path.exists(name) or name.endswith((".yaml", ".yml")):
        return read_one(name)
    entry = await made.catalog.find(name)
    return Source(entry.file or entry.path, entry.text.encode())


async def _follow(made: Embedded, execution_id: str, watch: Watch, timeout_s: float | None) -> int:
    listener = watch.began(made, execution_id)
    if listener is not None:
        made.engine.listeners.append(listener)
        await _catch_up(made, execution_id, listener)
    result = await local.follow(made, execution_id, timeout_s)
    watch.ended(result)
    return EXIT_OF.get(result["status"], 1)


async def _catch_up(made: Embedded, execution_id: str, listener: Listener) -> None:
    """Tell of what was committed before anyone listened."""
    from noetl.control.rows import events_of

    for row in await made.store.rows(execution_id):
        listener(execution_id, row.first, events_of(row))


async def _attach(made: Embedded, execution_id: str, watch: Watch) -> int:
    """The key was used before: show that execution, waiting for it when it still runs elsewhere."""
    watch.began(made, execution_id)
    while (await made.store.summary(execution_id)).status in ("pending", "running"):
        await asyncio.sleep(local.POLL_S)
    result = await local.outcome(made, execution_id)
    watch.ended(result)
    return EXIT_OF.get(result["status"], 1)


async def _continue_detached(execution_id: str) -> None:
    """Another process goes on with the execution; this one has let go of it."""
    await asyncio.create_subprocess_exec(
        sys.executable, "-m", "noetl.cli", "execution", "resume", execution_id, "--quiet",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
