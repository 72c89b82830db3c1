"""What a playbook's newest run in the store of this project had, for the editor. No server is asked.

It is looked up in a thread of its own: reading a long log must not keep findings from being told.
"""

import asyncio
from contextlib import suppress

from noetl.cli.connection.embedded_engine import open_reader, store_exists
from noetl.errors import NoetlError
from noetl.lsp.last_value import LastValue
from noetl.ports.front import execution_row
from noetl.ports.store import Find
from noetl.settings import load

PATIENCE_S = 5.0
_ONE_AT_A_TIME = asyncio.Lock()


async def last_value(path: str, expression: str) -> LastValue | None:
    """The value of an expression at the end of the newest run; None where there is none, or not in time."""
    with suppress(NoetlError, TimeoutError):
        async with _ONE_AT_A_TIME, asyncio.timeout(PATIENCE_S):
            return await asyncio.to_thread(lambda: asyncio.run(_look(path, expression)))
    return None


async def _look(path: str, expression: str) -> LastValue | None:
    settings = load()
    if not store_exists(settings):
        return None
    async with open_reader(settings) as engine:
        newest = (await engine.front.executions(Find(path=path, limit=1))).items
        if not newest:
            return None
        row = execution_row(newest[0], newest[0].requested_at)
        value = await engine.front.evaluate(row["execution_id"], f"{{{{ {expression} }}}}")
    return LastValue(value, row["execution_id"], row["status"], row["requested_at"])
