"""Inserts of one statement that meet go to the server together: one round trip and one commit for all.

Each is told how many rows were its own. When the server refuses them together nothing was done: each of them
goes alone then, as do some that come later, and hears what is wrong with itself.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from noetl.core.values.output import ANSWERED
from noetl.ports.envelope import Failed
from noetl.tools.parts.postgres_sessions import types_in

if TYPE_CHECKING:
    from asyncpg import Connection, Type

    from noetl.tools.parts.postgres_sessions import Sessions

T = TypeVar("T")
CALLS_MOST = 100  # that go together
ALONE = 100  # calls that go alone after some were refused together
Borrow = Callable[[], AbstractAsyncContextManager["Connection"]]


class Bound(NamedTuple):
    """A statement, and values made for its parameters."""

    text: str
    values: list[object]
    types: Sequence["Type"]  # of the parameters, as they were when last asked for


class Group:
    """Calls that go together: what each binds, and how many rows it is told to have inserted."""

    def __init__(self, types: Sequence["Type"]) -> None:
        self.types = types  # that the values were made for
        self.calls: list[tuple[list[object], asyncio.Future[int | None]]] = []
        self.task: asyncio.Task[None] | None = None
        self.given_up = False  # by all that were in it: who comes now goes with another

    def takes(self, bound: Bound) -> bool:
        """Whether a call may join."""
        return not self.given_up and len(self.calls) < CALLS_MOST and self.types == bound.types

    async def join(self, values: list[object]) -> int | None:
        """How many rows a call has inserted; None: nothing was done."""
        told: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self.calls.append((values, told))
        try:
            return await told
        except asyncio.CancelledError:
            if self.task is not None and not self.waiting():
                self.given_up = True
                self.task.cancel()  # the statement ends on the server too
            raise

    def waiting(self) -> list[tuple[int, list[object]]]:
        """The calls that somebody waits for, by their places."""
        return [(place, values) for place, (values, told) in enumerate(self.calls) if not told.done()]

    def tell(self, counts: Counter[int] | None) -> None:
        """Tell each call how many rows are its own, or that nothing was done."""
        for place, (_, told) in enumerate(self.calls):
            if not told.done():
                told.set_result(None if counts is None else counts[place])

    def fail(self, failure: Failed) -> None:
        """Nobody knows what became of the calls."""
        for _, told in self.calls:
            if not told.done():
                told.set_exception(Failed.again({**failure.output}))

    def over(self, task: "asyncio.Task[None]") -> None:
        """Whatever it ended with, nobody waits for ever."""
        problem = None if task.cancelled() else task.exception()
        for _, told in self.calls:
            if not told.done():
                told.set_exception(problem) if problem is not None else told.cancel()


class Together:
    """The calls that run one statement for one execution."""

    def __init__(self, sessions: "Sessions") -> None:
        self._sessions = sessions
        self._under_way = 0  # calls and groups of them
        self._alone = 0  # calls that are to go alone
        self._group: Group | None = None  # which others may join

    @property
    def meet(self) -> bool:
        """Whether a call that comes now may go with others."""
        return self._under_way > 0 and self._alone == 0

    async def go(self, bound: Bound, borrow: Borrow) -> int | None:
        """How many rows a call has inserted with others; None: nothing was done, it has to go alone."""
        group = self._group
        if group is None or not group.takes(bound):
            group = self._group = Group(bound.types)
            group.task = asyncio.create_task(self._send(group, bound.text, borrow))
            group.task.add_done_callback(group.over)
        return await group.join(bound.values)

    async def go_alone(self, work: Callable[[], Awaitable[T]]) -> T:
        """What a call by itself comes to."""
        self._under_way += 1
        self._alone = max(self._alone - 1, 0)
        try:
            return await work()
        finally:
            self._under_way -= 1

    async def _send(self, group: Group, text: str, borrow: Borrow) -> None:
        self._under_way += 1
        try:
            if len(group.calls) == 1 and self._sessions.room:
                group.tell(None)
                return
            async with borrow() as connection:
                self._close(group)
                returning = f"{text} returning ${len(group.types) + 1}::int4"  # whose row it is
                *types, _ = await types_in(connection, returning)
                counts = await _inserted(connection, returning, group) if types == [*group.types] else None
                group.tell(counts)
        except Failed as failure:
            if not failure.output.get(ANSWERED):
                group.fail(failure)
            self._alone = ALONE
            group.tell(None)
        finally:
            self._under_way -= 1
            self._close(group)

    def _close(self, group: Group) -> None:
        if self._group is group:
            self._group = None


async def _inserted(connection: "Connection", returning: str, group: Group) -> Counter[int]:
    """How many rows each call has inserted."""
    rows = await connection.fetchmany(returning, [(*values, place) for place, values in group.waiting()])
    return Counter(row[0] for row in rows)
