"""How people name an execution: by its id, by the beginning of that, or as the newest."""

import re
from collections.abc import Callable
from typing import Protocol

from noetl.errors import NotFound
from noetl.ports.front import ME
from noetl.ports.store import Find, Listed

LAST = "@last"
SOME = 5
_BEGINNING = re.compile("[0-9a-f]{1,32}")


class Listing(Protocol):
    """Whoever can list executions."""

    async def executions(self, find: Find) -> Listed:
        """Those that are wanted, the newest first."""


async def find_execution(front: Listing, name: str, server_flag: Callable[[], str] = str) -> str:
    """The id of an execution: as given, by its beginning, `@last` or `@last:PATH`.

    `@last` is the newest that is nobody's child, on a server of those that the caller started;
    `@last:PATH` the newest of a playbook, whoever started it. `server_flag` is how hints name the server.
    """
    if name == LAST or name.startswith(f"{LAST}:"):
        return await _newest(front, name.partition(":")[2], server_flag)
    beginning = name.lower()
    is_prefix = _BEGINNING.fullmatch(beginning) is not None
    matches = (await front.executions(Find(prefix=beginning, limit=SOME))).items if is_prefix else []
    if not matches:
        raise NotFound(f"there is no execution '{name}'", hint=f"noetl execution list{server_flag()}")
    if len(matches) == 1:
        return matches[0].execution_id
    some = ", ".join(item.execution_id for item in matches)
    raise NotFound(f"'{name}' is the beginning of several executions: {some}", hint="give more of the id")


async def _newest(front: Listing, path: str, server_flag: Callable[[], str]) -> str:
    find = Find(path=path, limit=1) if path else Find(by=ME, children=False, limit=1)
    newest = await front.executions(find)
    if newest.items:
        return newest.items[0].execution_id
    if path:
        raise NotFound(f"there is no execution of '{path}' yet", hint=f"noetl run {path}{server_flag()}")
    if (await front.executions(Find(limit=1))).items:
        message = "none of the executions there was started by you"
        raise NotFound(
            message, hint=f"noetl execution list{server_flag()}, or @last:PATH for the newest of a playbook"
        )
    raise NotFound("there is no execution yet", hint="noetl run FILE")
