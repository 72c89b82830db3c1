"""Executions that ended long ago are forgotten by the servers, where these are told how long to keep them.

Each server looks now and then, a little at a time; what another one is just forgetting is left to it. What
may go the store decides as it deletes: nothing of a family while one of it lives.
"""

import asyncio

from noetl.ports.results import Results
from noetl.ports.store import Store

LOOK_S = 60.0
PAGE = 100  # in one go
PAUSE_S = 0.2  # behind each, for whoever has more urgent work for the store


class Retention:
    """How long what has ended is kept."""

    def __init__(self, store: Store, results: Results, keep_ms: int) -> None:
        self._store, self._results, self._keep_ms = store, results, keep_ms

    async def look(self, now: int) -> int:
        """Forget executions whose time is over, with logs, payloads and what they printed; how many.

        A payload that is left behind because we end in between is garbage, which `noetl db gc` finds.
        """
        moment, after, gone = now - self._keep_ms, "", 0
        while page := await self._store.ended(moment, after=after, limit=PAGE):
            forgotten = await self._store.delete([outline.execution_id for outline in page], moment)
            for execution_id in forgotten:
                await self._results.discard(execution_id)
            gone, after = gone + len(forgotten), page[-1].execution_id
            await asyncio.sleep(PAUSE_S)
        return gone
