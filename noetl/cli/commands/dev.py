"""`noetl dev`: server, worker, store and UI in one process, over the playbooks of a folder."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noetl.cli.connection.caller import caller
from noetl.cli.playbooks.playbook_text import file_of, text_of
from noetl.cli.playbooks.sources import find, read
from noetl.cli.terminal import emit, note
from noetl.errors import BackendError, NoetlError, PlaybookError
from noetl.settings import Settings, load

if TYPE_CHECKING:
    from noetl.cli.playbooks.sources import Source
    from noetl.ports.front import Front

LOOK_S = 1.0  # how often the folder is looked at

EPILOG = """\b
Examples:
  noetl dev
  noetl dev examples/ --port 0

The store is the project's own, so `noetl execution list` shows the same executions.
"""


@click.command("dev", epilog=EPILOG)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(exists=True, file_okay=False))
@click.option("--host", metavar="ADDRESS", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", metavar="N", help="The port; 0 takes a free one.  [default: 8080]")
def command(folder: str, host: str | None, port: str | None) -> int:
    """Serve the playbooks of a folder: API, web page, worker and store in one process.

    Playbooks are registered when it starts and again whenever a file changes. Ctrl-C lets running tasks come
    to their end, and leaves executions so that the next start goes on with them.
    """
    from noetl.cli.processes.lifecycle import run_fast

    settings = replace(
        load({"host": host, "port": port}), bus=None, own_worker=True
    )  # one process: there are no others to reach
    return run_fast(lambda: _serve(Path(folder), settings))


async def _serve(folder: Path, settings: Settings) -> int:
    from noetl.cli.processes.process_log import set_up
    from noetl.cli.processes.serving import options_for, stopped_by_signals, tracing
    from noetl.server.app import create_app
    from noetl.server.listen import bind, reachable_url, serve, url_of
    from noetl.wiring.distributed import serving

    set_up("dev")
    bound = bind(settings.host, settings.port, guarded=settings.guarded)
    with stopped_by_signals() as stopping:
        async with serving(settings, url=reachable_url(bound), files=True) as served:
            watcher = FolderWatcher(served.front, folder)
            await watcher.look()
            app = create_app(served.front, options_for(settings, served.plane.engine))
            emit(url_of(bound))
            with tracing(settings, served.plane.engine), _background(watcher.keep_looking()):
                await serve(app, bound, stopping)
            note("stopping: tasks that run have 10 seconds to end")
    return 0


@contextmanager
def _background(work: Coroutine[None, None, None]) -> Iterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()


class FolderWatcher:
    """The playbooks of a folder, kept registered as they change."""

    def __init__(self, front: "Front", folder: Path) -> None:
        self.front, self.folder = front, folder
        self._changed_at: dict[str, float] = {}
        self._texts: dict[str, str] = {}  # as registered last, or refused

    async def keep_looking(self) -> None:
        """Look again and again."""
        while True:
            await asyncio.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Register every playbook that is new or has changed."""
        for source in await asyncio.to_thread(self._changed):
            await self._register(source)

    def _changed(self) -> "list[Source]":
        changed = []
        with suppress(NoetlError):  # an empty folder is fine: playbooks may come
            for name in find([str(self.folder)]):
                with suppress(OSError):
                    moment = Path(name).stat().st_mtime
                    if self._changed_at.get(name) != moment:
                        self._changed_at[name] = moment
                        changed.append(read(name))
        return changed

    async def _register(self, source: "Source") -> None:
        from noetl.cli.running.watches import print_findings

        text = text_of(source)
        if self._texts.get(source.name) == text:  # it was only touched: what was registered elsewhere stays
            return
        self._texts[source.name] = text
        try:
            entry = await self.front.register(text, file_of(source), caller())
        except PlaybookError:
            print_findings(source)
        except BackendError as error:
            del self._changed_at[source.name], self._texts[source.name]  # the next look tries it again
            note(f"cannot register {source.name}: {error.message}")
        else:
            note(f"registered {entry.path} v{entry.version}  {source.name}")
