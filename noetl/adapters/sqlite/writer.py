"""The one that writes: what is asked for at one moment, or during another commit, is one transaction.

Short jobs are done where they are asked for, as long as the disk is about as quick as waking a thread and
being woken by it. The thread has the others, and whatever has to wait for another process.

A job that fails is undone alone; the others of its transaction are committed all the same. Few do, so a group
is tried without savepoints, and once more with one for each when something in it fails.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

import apsw

from noetl.adapters.sqlite.connection import begins_at_once, trouble
from noetl.errors import BackendError, NoetlError

QUICK_S = 0.001  # a commit that takes longer is not one to hold up an event loop for
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
        self._gate = threading.Lock()  # whoever has it says what the thread does next
        self._moment: list[_Waiting] = []  # short jobs that one event loop has asked for in this turn
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()  # None: nothing more comes
        self._queued = 0  # jobs that the thread has not answered
        self._quick = True  # the last commit was
        self._closing = False
        self.transactions = 0
        self._thread = threading.Thread(target=self._work, name="noetl-sqlite-writer", daemon=True)
        self._thread.start()

    async def run(self, job: Callable[[apsw.Connection], T], *, short: bool = False) -> T:
        """Run a job in the next transaction; returns when it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._gate:
            if self._closing:
                raise BackendError("the store is closed")
            self._take(_Waiting(job, loop, future), short=short)
        return await future

    def _take(self, waiting: _Waiting, *, short: bool) -> None:
        here = short and self._quick and not self._queued
        if here and not self._moment:
            waiting.loop.call_soon(self._end_moment)
        elif not here or self._moment[0].loop is not waiting.loop:
            self._hand_over([*self._moment, waiting])
            self._moment = []
            return
        self._moment.append(waiting)

    def _hand_over(self, jobs: list[_Waiting]) -> None:
        self._queued += len(jobs)
        for job in jobs:
            self._queue.put(job)

    def _end_moment(self) -> None:
        """Do here what the last turn of this loop asked for; what would have to wait is for the thread."""
        with self._gate:  # the thread has nothing, and is given nothing meanwhile
            jobs, self._moment = self._moment, []
            if not jobs:
                return
            if not begins_at_once(self._connection):
                self._hand_over(jobs)
                return
            try:
                settled = self._do([job.job for job in jobs])
            except BaseException:  # an interrupt leaves nothing half done
                self._undo()
                raise
        _settle([(job.future, answer) for job, answer in zip(jobs, settled, strict=True)])

    def close(self) -> None:
        """Finish what is queued, then end the thread."""
        with self._gate:
            if not self._closing:
                self._closing = True
                self._hand_over(self._moment)
                self._moment = []
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
                settled = self._transact([job.job for job in jobs])
                with self._gate:
                    self._queued -= len(jobs)
                _answer(jobs, settled)

    def _transact(self, jobs: list[Job]) -> list[Settled]:
        """One transaction, for which other processes are waited for."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            return [(None, self._write_error(error))] * len(jobs)
        return self._do(jobs)

    def _do(self, jobs: list[Job]) -> list[Settled]:
        """What was begun, and its end. When it fails as a whole, nothing of it is known to have happened."""
        self.transactions += 1
        try:
            if len(jobs) == 1:
                settled = [self._only(jobs[0])]
            else:
                settled = self._all(jobs) or [self._one_of_many(job) for job in jobs]
            if self._connection.in_transaction:
                self._commit()
        except apsw.Error as error:
            self._undo()
            return [(None, self._write_error(error))] * len(jobs)
        return settled

    def _commit(self) -> None:
        began = time.perf_counter()
        self._connection.execute("COMMIT")
        self._quick = time.perf_counter() - began < QUICK_S

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
