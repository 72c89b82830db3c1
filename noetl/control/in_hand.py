"""Executions whose owner died, and which are being decided on: noted before, struck out when it went well.

What many of them say at one moment is one statement, as their commits are. How careful one has to be, and for
how long, is not known here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from noetl.ports.store import Store

MOST = 500  # executions of one statement
Call = Callable[[Sequence[str]], Awaitable[None]]


class InHand:
    """The notes of one engine."""

    def __init__(self, store: Store, owner: str) -> None:
        self._noted = _Together(lambda execution_ids: store.note_in_hand(execution_ids, owner))
        self._put_down = _Together(lambda execution_ids: store.put_down(execution_ids, owner))

    async def note(self, execution_id: str) -> None:
        """Note that an execution is about to be decided on; raises BackendError."""
        await self._noted.say(execution_id)

    async def put_down(self, execution_id: str) -> None:
        """It was decided on, and went well; raises BackendError."""
        await self._put_down.say(execution_id)


class _Together:
    """A call for many executions: those that came while another was under way go with the next."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def say(self, execution_id: str) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((execution_id, future))
        if self._task is None or self._task.done():  # what else is said at this moment comes before it begins
            self._task = asyncio.create_task(self._work())
        await future

    async def _work(self) -> None:
        while self._waiting:
            some, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            call = self._call([execution_id for execution_id, _ in some])
            [failure] = await asyncio.gather(call, return_exceptions=True)  # each of them hears of it
            for _, future in some:
                _settle(future, failure)


def _settle(future: "asyncio.Future[None]", failure: BaseException | None) -> None:
    if future.done():  # whoever asked is gone
        return
    if failure is None:
        future.set_result(None)
    else:
        future.set_exception(failure)
