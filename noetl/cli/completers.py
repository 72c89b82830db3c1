"""What a shell is offered for the word before the cursor: names that the server, or the store here, knows.

Whoever presses Tab waits: what is not known in time is not offered, and nothing is said of why. The command
itself says it.
"""

import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from noetl.ports.front import Front
    from noetl.settings import Settings

PATIENCE_S = 3.0
RECENT = 20  # executions
Names = Iterable[tuple[str, str]]  # each with what a shell may show beside it
Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def completer(ask: "Callable[[Front], Awaitable[Names]]", *, files: bool = False) -> Completer:
    """Offers names that begin with what was typed; `files`: those of files, too."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from noetl.cli.options import chosen_server

        with ctx.scope(cleanup=False):
            names = _in_time(ask, chosen_server())
        fitting = [(name, more) for name, more in names if name.startswith(incomplete)]
        offered = [CompletionItem(incomplete, type="file")] if files else []
        return offered + [CompletionItem(name, help=more or None) for name, more in fitting]

    return complete


def _in_time(ask: "Callable[[Front], Awaitable[Names]]", server: str | None) -> Names:
    """What is answered before patience ends; a thread of its own may wait longer for names of hosts."""
    from noetl.cli.connection.connection import has_data
    from noetl.errors import NoetlError
    from noetl.settings import load

    found: list[tuple[str, str]] = []
    with suppress(NoetlError):
        settings = load({"server": server})
        if has_data(settings):
            thread = threading.Thread(target=_look, args=(ask, settings, found), daemon=True)
            thread.start()
            thread.join(PATIENCE_S)
    return [*found]


def _look(
    ask: "Callable[[Front], Awaitable[Names]]", settings: "Settings", found: list[tuple[str, str]]
) -> None:
    import asyncio

    from noetl.cli.connection.connection import connect
    from noetl.errors import NoetlError

    async def look() -> None:
        async with connect(settings, notify=lambda text: None) as connection:
            found.extend(await ask(connection.front))

    with suppress(NoetlError):
        asyncio.run(look())


async def _schedules(front: "Front") -> Names:
    return [(schedule.name, schedule.path) for schedule in await front.schedules()]


async def _triggers(front: "Front") -> Names:
    return [(trigger.name, f"{trigger.kind}: {trigger.path}") for trigger in await front.triggers()]


async def _playbooks(front: "Front") -> Names:
    return [(entry.path, entry.description or "") for entry in await front.playbooks()]


async def _schedules_and_playbooks(front: "Front") -> Names:
    return [*await _schedules(front), *await _playbooks(front)]


async def _executions(front: "Front") -> Names:
    from noetl.core.event import iso
    from noetl.ports.store import Find

    listed = (await front.executions(Find(limit=RECENT))).items
    rows = [
        (item.execution_id, f"{iso(item.requested_at)[:19].replace('T', ' ')}  {item.status}  {item.path}")
        for item in listed
    ]
    return [*rows, ("@last", "the newest that you started")]


async def _credentials(front: "Front") -> Names:
    return [(name, "") for name, _ in await front.credentials()]


async def _notifications(front: "Front") -> Names:
    return [(entry.name, "") for entry in await front.notifications()]


async def _backfills(front: "Front") -> Names:
    return [(entry.id, entry.schedule or entry.path) for entry in await front.backfills()]


schedules = completer(_schedules)
triggers = completer(_triggers)
playbooks = completer(_playbooks)
playbooks_and_files = completer(_playbooks, files=True)
schedules_and_playbooks = completer(_schedules_and_playbooks)
executions = completer(_executions)
credentials = completer(_credentials)
notifications = completer(_notifications)
backfills = completer(_backfills)
