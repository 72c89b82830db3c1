"""A server that is asked and says nothing: what it waits for, told once to whoever wants to know.

Whether it lives and is ready is asked beside the question that has no answer yet; the question is left alone.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import aiohttp

from noetl.adapters.http.problem import problem_words

SILENT_S = 1.5  # what most answers take, many times over
PROBE_S = 1.0
READY = 200


class Silence:
    """Watches over the questions to one server."""

    def __init__(
        self, url: str, session: Callable[[], aiohttp.ClientSession], tell: Callable[[str], None]
    ) -> None:
        self._url, self._session, self._tell = url, session, tell
        self._told = False

    @asynccontextmanager
    async def watched(self) -> AsyncGenerator[Callable[[], object]]:
        """A question while it waits for its answer; what is given is called when that comes."""
        watch = asyncio.get_running_loop().create_task(self._watch())
        try:
            yield watch.cancel
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        await asyncio.sleep(SILENT_S)
        words = await self._trouble()
        if words is not None and not self._told:
            self._told = True
            self._tell(f"waiting for the server at {self._url}: {words}")

    async def _trouble(self) -> str | None:
        """Why there is no answer; None for a server that is well, and takes its time."""
        ready = await self._probe("/health/ready")
        if ready is None and await self._probe("/health/live") is not None:
            return "its store does not answer"
        if ready is None:
            return "it does not answer"
        status, content = ready
        return None if status == READY else problem_words(content) or f"it says {status}"

    async def _probe(self, path: str) -> tuple[int, bytes] | None:
        try:
            async with asyncio.timeout(PROBE_S), self._session().get(f"{self._url}{path}") as answer:
                return answer.status, await answer.read()
        except (aiohttp.ClientError, TimeoutError):
            return None
