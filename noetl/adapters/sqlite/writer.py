"""The one thread that writes: whatever is queued when the last commit returns goes into the next one.

A job that fails is undone alone; the others of its transaction are committed all the same. Few do, so a group
is tried without savepoints, and once more with one for each when something in it fails.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

import apsw

from noetl.adapters.sqlite.connection import trouble
from noetl.errors import BackendError, NoetlError

T = TypeVar("T")
Job = Callable[[apsw.Connection], object]
Waiter = asyncio.Future[Any]  # of whatever its job gives
Settled = tuple[object, Exception | None]  # a result, or why there is none


class _Waiting(NamedTuple):
    job: Job
    loop: asyncio.AbstractEventLoop
    future: Waiter


class Writer:
    """Runs jobs on one connection, many to a transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()  # None: nothing more comes
        self._gate = threading.Lock()
        self._closing = False
        self.transactions = 0
        self._thread = threading.Thread(target=self._work, name="noetl-sqlite-writer", daemon=True)
        self._thread.start()

    async def run(self, job: Callable[[apsw.Connection], T]) -> T:
        """Run a job in the next transaction; returns when it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._gate:
            if self._closing:
                raise BackendError("the store is closed")
            self._queue.put(_Waiting(job, loop, future))
        return await future

    def close(self) -> None:
        """Finish what is queued, then end the thread."""
        with self._gate:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        more = True
        while more:
            waiting = [self._queue.get()]
            with suppress(Empty):
                while waiting[-1] is not None:
                    waiting.append(self._queue.get_nowait())
            more = waiting[-1] is not None
            jobs = [job for job in waiting if job is not None]
            if jobs:
                _answer(jobs, self._transact([job.job for job in jobs]))

    def _transact(self, jobs: list[Job]) -> list[Settled]:
        """One transaction. When it fails as a whole, nothing of it is known to have happened."""
        self.transactions += 1
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            if len(jobs) == 1:
                settled = [self._only(jobs[0])]
            else:
                settled = self._all(jobs) or [self._one_of_many(job) for job in jobs]
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")
        except apsw.Error as error:
            self._undo()
            return [(None, self._write_error(error))] * len(jobs)
        return settled

    def _only(self, job: Job) -> Settled:
        """The only job needs no savepoint: when it fails, there is nothing to commit."""
        try:
            return job(self._connection), None
        except Exception as error:
            self._undo()
            return None, self._named(error)

    def _all(self, jobs: list[Job]) -> list[Settled]:
        """Every job of a group, or nothing of it."""
        try:
            return [(job(self._connection), None) for job in jobs]
        except Exception:  # which one it was, and why, comes out when each is tried by itself
            self._undo()
            self._connection.execute("BEGIN IMMEDIATE")
            return []

    def _one_of_many(self, job: Job) -> Settled:
        self._connection.execute("SAVEPOINT job")
        try:
            settled: Settled = (job(self._connection), None)
        except Exception as error:
            if (
                not self._connection.in_transaction
            ):  # the database gave up the transaction and all that is in it
                raise error if isinstance(error, apsw.Error) else apsw.AbortError(str(error)) from error
            self._connection.execute("ROLLBACK TO job")
            settled = (None, self._named(error))
        self._connection.execute("RELEASE job")
        return settled

    def _undo(self) -> None:
        with suppress(apsw.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _named(self, error: Exception) -> Exception:
        return self._write_error(error) if isinstance(error, apsw.Error) else error

    def _write_error(self, error: apsw.Error) -> NoetlError:
        backend_error = trouble(f"the database {self._connection.filename} could not be written", error)
        backend_error.__cause__ = error
        return backend_error


def _answer(jobs: list[_Waiting], settled: list[Settled]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Waiter, Settled]]] = {}
    for waiting, answer in zip(jobs, settled, strict=True):
        by_loop.setdefault(waiting.loop, []).append((waiting.future, answer))
    for loop, answers in by_loop.items():
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            loop.call_soon_threadsafe(_settle, answers)


def _settle(answers: list[tuple[Waiter, Settled]]) -> None:
    for future, (result, error) in answers:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
