"""The sessions of one credential, lent to calls: one that repeats its statement gets the same one as it is.

A session is tidied before another statement, or another execution, has it. The pool connects and tidies.
"""

import re
from collections import OrderedDict, deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from noetl.tools.parts.statements import TEXT_CHARS, first_word, remembered

if TYPE_CHECKING:
    import asyncio

    from asyncpg import Connection, Pool, Type

TIDY_S = 5.0  # a session whose server does not answer for so long is closed
KEPT_S = 1.0  # how long a session waits for its statement to come again
_UNTIDY = frozenset({"DEALLOCATE", "DISCARD", "LOAD", "PREPARE"})
_NAME = r"""(?:[\w.]|"[^"]*")+"""
_COLUMNS = rf"\(\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\)"
_VALUE = r"(?:\$\d+|:[a-z]\w*)(?:::\w+)?"
_ROW = rf"\(\s*{_VALUE}(?:\s*,\s*{_VALUE})*\s*\)"
_INSERT = re.compile(
    rf"\s*insert\s+into\s+{_NAME}\s*(?:{_COLUMNS}\s*)?values\s*{_ROW}(?:\s*,\s*{_ROW})*"
    rf"(?:\s*on\s+conflict\s*(?:{_COLUMNS}\s*)?do\s+nothing)?\s*;?\s*",
    re.IGNORECASE,
)


@remembered
def leaves_session_alone(text: str) -> bool:
    """Whether SQL is known to change nothing of its session: it inserts values, and calls nothing."""
    return len(text) <= TEXT_CHARS and _INSERT.fullmatch(text) is not None


async def types_in(connection: "Connection", text: str) -> Sequence["Type"]:
    """The parameter types of a statement as a session knows it, which asks the server once."""
    statement = await connection._get_statement(text, None)
    types: Sequence[Type] = statement._get_parameters()
    return types


def ends_session(statements: Sequence[str]) -> bool:
    """Whether statements leave what nobody tidies, or take from the driver what it has prepared."""
    return not _UNTIDY.isdisjoint(map(first_word, statements))


class Sessions:
    """At most so many sessions, each lent to one call at a time; who waits is served in turn."""

    def __init__(self, pool: "Pool", size: int, broken: tuple[type[Exception], ...]) -> None:
        self.pool, self._size, self._broken = pool, size, broken
        self._taken = 0  # from the pool: lent, or kept
        self._kept: OrderedDict[Connection, tuple[str, float]] = OrderedDict()  # for what, and since when
        self._waiting: deque[tuple[str, asyncio.Future[Connection | None]]] = deque()  # while none is kept
        self._sweeping: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Whether nobody uses a session."""
        return self._taken == len(self._kept)

    @property
    def room(self) -> bool:
        """Whether whoever asks for a session need not wait until another has done with it."""
        return bool(self._kept) or self._taken < self._size

    async def lend(self, purpose: str) -> "Connection":
        """A session for a purpose: one that was kept for it, if there is one. Without one, a tidy session."""
        if (kept := self._take_kept(purpose)) is not None:
            return kept
        other = None
        if self._taken < self._size:
            self._taken += 1
        elif self._kept:
            other = self._kept.popitem(last=False)[0]
        elif (handed := await self._wait(purpose)) is not None:
            return handed
        connection = None
        try:
            if other is not None:
                await self._release(other)
            await self.pool  # connects nothing; it must be awaited once
            connection = await self.pool.acquire()
        finally:
            if connection is None:
                self._leave()
        return connection

    def _take_kept(self, purpose: str) -> "Connection | None":
        for connection, (kept_for, _) in reversed(self._kept.items()) if purpose else ():
            if kept_for == purpose and self._is_open(connection):
                del self._kept[connection]
                return connection
        return None

    async def _wait(self, purpose: str) -> "Connection | None":
        """A session that is handed on for the same purpose; None: there is room for one from the pool."""
        import asyncio

        turn: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((purpose, turn))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                await self._pass_on(turn.result())
            raise

    async def _pass_on(self, handed: "Connection | None") -> None:
        """What came to somebody who does not want it any more."""
        if handed is None:
            self._leave()
        else:
            await self.give_back(handed, "")

    async def give_back(self, connection: "Connection", purpose: str) -> None:
        """The call is over; with a purpose, its session is as it was and may serve that again as it is."""
        waiting = self._next()
        if purpose and self._is_open(connection):
            if waiting is None:
                self._keep(connection, purpose)
                return
            if waiting[0] == purpose:
                self._waiting.popleft()[1].set_result(connection)
                return
        try:
            await self._release(connection)
        finally:
            self._leave()

    def _is_open(self, connection: "Connection") -> bool:
        try:
            return not connection.is_closed()
        except self._broken:  # the pool has taken it back, since its server ended it
            return False

    def _next(self) -> "tuple[str, asyncio.Future[Connection | None]] | None":
        """Who waits longest."""
        while self._waiting and self._waiting[0][1].done():
            self._waiting.popleft()  # it was cancelled
        return self._waiting[0] if self._waiting else None

    def _leave(self) -> None:
        """There is room for another."""
        if self._next() is None:
            self._taken -= 1
        else:
            self._waiting.popleft()[1].set_result(None)

    async def _release(self, connection: "Connection") -> None:
        """Tidy a session. One that breaks now is dropped by the pool: its call has its answer already."""
        with suppress(*self._broken, OSError, TimeoutError):
            await self.pool.release(connection, timeout=TIDY_S)

    # Keeping

    def _keep(self, connection: "Connection", purpose: str) -> None:
        import asyncio

        self._kept[connection] = (purpose, asyncio.get_running_loop().time())
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep())

    async def _sweep(self) -> None:
        """Tidy what waits for its statement in vain."""
        import asyncio

        now = asyncio.get_running_loop().time
        while self._kept:
            await asyncio.sleep(KEPT_S)
            while self._kept and next(iter(self._kept.values()))[1] + KEPT_S <= now():
                await self.give_back(self._kept.popitem(last=False)[0], "")
        self._sweeping = None

    def terminate(self) -> None:
        """Close every session at once."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        self.pool.terminate()
