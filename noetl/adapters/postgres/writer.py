"""The one connection that appends: whatever is queued when the last commit returns goes into the next one.

When a connection is lost in the middle of a commit, nobody knows whether it happened. Then the next
connection first waits until the old one is really gone from the server, and looks which appends are in the
log. Those that are not there are known not to come any more, and only they are sent again.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import asyncpg

from noetl.adapters.eager_task import eager_task
from noetl.adapters.postgres.batch import alone, begins, columns, key_of, weight
from noetl.adapters.postgres.database import LOST, RETRY_S, Database, trouble
from noetl.adapters.postgres.statements import APPEND, SQL
from noetl.adapters.quick_wait import QuickWait
from noetl.errors import BackendError, Conflict, NoetlError
from noetl.ports.notification import notice_values
from noetl.ports.store import ANEW, Append, check_kept

MOST_APPENDS, MOST_BYTES = 500, 8 * 1024 * 1024  # of one commit
ENOUGH = 16  # appends of one moment to begin a commit with: the database does it while the others are made
# One plan for all, over the indexes, also while the tables are so small that reading all of them looks cheap.
# No bitmaps either: statistics of a table that was just emptied make one look cheap for a single row.
SETTINGS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
}
# The statements of one append.
ALONE = ("begin_one", "advance_one", "change_one", "end_one", "advance")
Settled = bool | NoetlError  # applied, refused because the log was not as expected, or failed


class _Unapplied(Exception):
    """An append did not find what it expected: nothing of what goes with it is applied."""


class _Waiting(NamedTuple):
    append: Append
    future: asyncio.Future[bool]


class Writer:
    """Appends in groups; made inside a running loop."""

    def __init__(self, database: Database, now: Callable[[], int | None]) -> None:
        self._database, self._now, self._loop = database, now, asyncio.get_running_loop()
        self._queue: deque[_Waiting] = deque()
        self._group: list[_Waiting] = []  # what is being committed
        self._closing = False
        self._connection: asyncpg.Connection | None = None
        self._statements: dict[str, asyncpg.prepared_stmt.PreparedStatement] = {}
        self.transactions = 0
        self._task: asyncio.Future[None] | None = None  # while something is being committed
        self._broken: BackendError | None = None
        self._beginning = False  # a commit is about to begin
        self._answer = QuickWait(self._loop)

    async def write(self, append: Append) -> bool:
        """Whether an append was applied; durable then. Raises BackendError when it cannot be known."""
        if self._closing:
            raise BackendError("the store is closed")
        if self._broken is not None:
            raise self._broken
        future: asyncio.Future[bool] = self._loop.create_future()
        self._queue.append(_Waiting(append, future))
        if self._is_idle():
            if len(self._queue) >= ENOUGH:
                self._begin()
            elif not self._beginning:
                self._beginning = True  # with all else that is written at this moment
                self._loop.call_soon(self._begin_late)
        return await future

    def _is_idle(self) -> bool:
        return self._task is None or self._task.done()

    def _begin_late(self) -> None:
        self._beginning = False
        if self._queue and self._is_idle():
            self._begin()

    def _begin(self) -> None:
        self._task = eager_task(self._work(), self._loop)
        if self._task.done():
            self._ended(self._task)
        else:
            self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        """Finish what is queued, then let go of the connection."""
        self._closing = True
        if self._beginning:
            await asyncio.sleep(0)
        if self._task is not None:
            await asyncio.wait({self._task})
        if self._connection is not None:
            with suppress(*LOST):
                await self._connection.close(timeout=self._database.patience_s)

    async def _work(self) -> None:
        while self._queue:
            group = self._group = self._next_group()
            try:
                settled: list[Settled] = await self._commit([waiting.append for waiting in group])
            except NoetlError as error:  # the database is away: whoever waits behind would only wait longer
                group += self._queue
                self._queue.clear()
                settled = [error] * len(group)
            for waiting, answer in zip(group, settled, strict=True):
                _answer(waiting.future, answer)

    def _ended(self, task: "asyncio.Future[None]") -> None:
        """Nobody waits for a writer that is gone."""
        if not task.cancelled() and task.exception() is None:
            return
        self._broken = _broken(task)
        for waiting in (*self._group, *self._queue):
            _answer(waiting.future, self._broken)
        self._queue.clear()

    def _next_group(self) -> list[_Waiting]:
        """As many as may go together: of one execution or one idempotency key only the first.

        An execution that goes on as another goes alone, one that somebody is told of by name, and a retry.
        """
        if len(self._queue) == 1:
            return [self._queue.popleft()]
        group: list[_Waiting] = []
        later: list[_Waiting] = []
        keys: set[str | None] = set()
        size = 0
        while self._queue and len(group) < MOST_APPENDS and size < MOST_BYTES:
            if _goes_alone(self._queue[0].append):
                if not group and not later:
                    group.append(self._queue.popleft())
                break
            waiting = self._queue.popleft()
            key = key_of(waiting.append)
            if waiting.append.execution_id in keys or (key is not None and f"key {key}" in keys):
                later.append(waiting)
                keys.add(waiting.append.execution_id)
                continue
            keys |= {waiting.append.execution_id} | ({f"key {key}"} if key is not None else set())
            group.append(waiting)
            size += weight(waiting.append)
        self._queue.extendleft(reversed(later))
        return group

    async def _commit(self, appends: list[Append]) -> list[Settled]:
        """One transaction; raises BackendError when its outcome cannot be found out in time."""
        settled: dict[int, Settled] = {}
        until = self._loop.time() + 2 * self._database.patience_s
        unknown = False
        while missing := [n for n in range(len(appends)) if n not in settled]:
            connection = await self._connected()
            left = [appends[n] for n in missing]
            try:
                if unknown:
                    settled |= {missing[n]: True for n in await self._landed(connection, left)}
                    unknown = False
                else:
                    settled |= dict(zip(missing, await self._transact(left), strict=True))
            except LOST as error:
                self._drop()
                unknown = True
                if self._loop.time() > until:
                    message = f"the database {self._database.shown} was lost in the middle of a commit"
                    raise trouble(message, error) from error
            except asyncpg.PostgresError as error:
                message = f"the database {self._database.shown} does not tell whether a commit happened"
                raise trouble(message, error) from error
        return [settled[n] for n in range(len(appends))]

    async def _transact(self, appends: list[Append]) -> list[Settled]:
        """Send appends; when the database refuses them as a whole, nothing of them was done."""
        self.transactions += 1
        if appends[0].successor is not None:
            return [await self._continue(appends[0], appends[0].successor)]
        if _goes_alone(appends[0]):
            return [await self._tell(appends[0])]
        single = alone(appends[0], self._now()) if len(appends) == 1 else None
        name, values = single or ("append", columns(appends, self._now()))
        self._answer.begin()
        try:
            rows = await self._statements[name].fetch(*values, timeout=self._database.patience_s)
            self._answer.end()
        except LOST:
            raise
        except asyncpg.PostgresError as error:
            if len(appends) > 1:  # find out whose fault it is
                return [(await self._transact([append]))[0] for append in appends]
            return [_refused(appends[0], error)]
        applied = {row[0] for row in rows}
        return [n in applied for n in range(len(appends))]

    async def _continue(self, append: Append, successor: Append) -> Settled:
        """End one execution and begin the one that goes on, with its mail; or nothing of it."""
        assert self._connection is not None
        patience, ids = self._database.patience_s, (append.execution_id, successor.execution_id)
        add, run = self._statements["append"], self._connection.execute
        first = successor.summary.chain if successor.summary is not None else None
        try:
            async with self._connection.transaction():
                if not await add.fetch(*columns([successor], self._now()), timeout=patience):
                    raise _Unapplied
                await run(SQL["link_successor"], ids[1], ids[0], first, timeout=patience)
                await run(SQL["mark_continued"], *ids, timeout=patience)  # so that its end drops no letter
                if not await add.fetch(*columns([append], self._now()), timeout=patience):
                    raise _Unapplied
                await run(SQL["move_mail"], *ids, timeout=patience)
                await self._tell_notices(append)
        except _Unapplied:
            return False
        except LOST:
            raise
        except asyncpg.PostgresError as error:
            return _refused(append, error)
        return True

    async def _tell(self, append: Append) -> Settled:
        """Append with what somebody may want to know, while what it keeps stays there; or nothing of it."""
        assert self._connection is not None
        patience = self._database.patience_s
        try:
            async with self._connection.transaction():
                await self._hold_kept(append)
                add = self._statements["append"]
                if not await add.fetch(*columns([append], self._now()), timeout=patience):
                    raise _Unapplied
                await self._tell_notices(append)
        except _Unapplied:
            return False
        except Conflict as error:
            return error
        except asyncpg.LockNotAvailableError:
            return Conflict("what would be kept is being removed at this moment", hint=ANEW)
        except LOST:
            raise
        except asyncpg.PostgresError as error:
            return _refused(append, error)
        return True

    async def _hold_kept(self, append: Append) -> None:
        assert self._connection is not None
        if append.keeps is not None and append.summary is not None:
            named = [append.summary.retry_of, *append.keeps]
            rows = await self._connection.fetch(SQL["hold_kept"], named, timeout=self._database.patience_s)
            check_kept(append, dict(map(tuple, rows)))

    async def _tell_notices(self, append: Append) -> None:
        assert self._connection is not None
        for notice in append.notices:
            values = notice_values(append.execution_id, notice)
            await self._connection.execute(SQL["tell"], *values, timeout=self._database.patience_s)

    async def _landed(self, connection: asyncpg.Connection, appends: list[Append]) -> set[int]:
        named = [(n, append.execution_id, append.rows[0]) for n, append in enumerate(appends) if append.rows]
        rows = await connection.fetch(
            SQL["landed"],
            [n for n, _, _ in named],
            [execution_id for _, execution_id, _ in named],
            [row.first for _, _, row in named],
            [row.hash for _, _, row in named],
            timeout=self._database.patience_s,
        )
        return {row[0] for row in rows}

    # The connection

    async def _connected(self) -> asyncpg.Connection:
        """The connection, made after the end of the one before; raises BackendError when there is none."""
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        until = self._loop.time() + self._database.patience_s
        while True:
            try:
                return await self._connect()
            except LOST as error:
                self._drop()
                if self._loop.time() > until:
                    message = f"the database {self._database.shown} cannot be reached"
                    raise trouble(message, error) from error
            except asyncpg.PostgresError as error:
                self._drop()
                raise trouble(f"the database {self._database.shown} refused", error) from error
            await asyncio.sleep(RETRY_S)

    async def _connect(self) -> asyncpg.Connection:
        session = self._database.session
        name = f"noetl {session:x} writer"
        self._connection = connection = await self._database.connect(application_name=name, **SETTINGS)
        patience = self._database.patience_s
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            f"where application_name = '{name}' and pid <> pg_backend_pid()",
            timeout=patience,
        )
        # Held until the session ends: who has it knows that nothing of the session before can still come.
        await connection.execute(f"select pg_advisory_lock({session})", timeout=patience)
        await connection.execute(
            "select set_config('synchronous_commit', 'on', false) "
            "where current_setting('synchronous_commit') = 'off'",
            timeout=patience,
        )
        texts = {"append": APPEND, **{name: SQL[name] for name in ALONE}}
        self._statements = {
            name: await connection.prepare(text, timeout=patience) for name, text in texts.items()
        }
        return connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
        self._connection, self._statements = None, {}


def _refused(append: Append, error: asyncpg.PostgresError) -> NoetlError:
    if isinstance(error, asyncpg.UniqueViolationError):
        what = "the execution" if begins(append) else "the log of"
        noetl_error: NoetlError = Conflict(
            f"{what} {append.execution_id} has that already: {error.detail or error}"
        )
    else:
        noetl_error = trouble(f"the append to {append.execution_id} failed", error)
    noetl_error.__cause__ = error
    return noetl_error


def _goes_alone(append: Append) -> bool:
    return append.successor is not None or bool(append.notices) or append.keeps is not None


def _broken(task: "asyncio.Future[None]") -> BackendError:
    cause = None if task.cancelled() else task.exception()
    backend_error = BackendError(
        f"nothing is written any more: {cause or 'it was stopped'}", hint="start it again"
    )
    backend_error.__cause__ = cause
    return backend_error


def _answer(future: asyncio.Future[bool], settled: Settled) -> None:
    if future.done():
        return
    if isinstance(settled, NoetlError):
        future.set_exception(settled)
    else:
        future.set_result(settled)
