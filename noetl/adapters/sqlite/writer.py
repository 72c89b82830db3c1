"""The one thread that writes: whatever is queued when the last commit returns goes into the next one.

A job that fails is undone alone (a savepoint); the others of its transaction are committed all the same.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import apsw

from noetl.errors import BackendError, NoetlError

T = TypeVar("T")
Job = Callable[[apsw.Connection], Any]


class Writer:
    """Runs jobs on one connection, many to a transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._queue: deque[tuple[Job, asyncio.AbstractEventLoop, asyncio.Future[Any]]] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="noetl-sqlite-writer", daemon=True)
        self._thread.start()

    async def run(self, job: Callable[[apsw.Connection], T]) -> T:
        """Run a job in the next transaction; returns when it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._wake:
            if self._closing:
                raise BackendError("the store is closed")
            self._queue.append((job, loop, future))
            self._wake.notify()
        return await future

    def close(self) -> None:
        """Finish what is queued, then end the thread."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closing:
                    self._wake.wait()
                jobs, self._queue = self._queue, deque()
            if not jobs:
                return
            self._transact(list(jobs))

    def _transact(self, jobs: list[tuple[Job, asyncio.AbstractEventLoop, asyncio.Future[Any]]]) -> None:
        outcomes: list[tuple[bool, Any]] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job, _, _ in jobs:
                outcomes.append(self._attempt(job, alone=len(jobs) == 1))
            self._connection.execute("COMMIT")
        except apsw.Error as error:
            outcomes = [(False, BackendError(f"the database could not be written: {error}"))] * len(jobs)
            if not self._connection.get_autocommit():
                self._connection.execute("ROLLBACK")
        self._answer(jobs, outcomes)

    def _attempt(self, job: Job, *, alone: bool) -> tuple[bool, Any]:
        if not alone:
            self._connection.execute("SAVEPOINT job")
        try:
            result = job(self._connection)
        except NoetlError as error:
            if not alone:
                self._connection.execute("ROLLBACK TO job; RELEASE job")
            return False, error
        if not alone:
            self._connection.execute("RELEASE job")
        return True, result

    def _answer(
        self,
        jobs: list[tuple[Job, asyncio.AbstractEventLoop, asyncio.Future[Any]]],
        outcomes: list[tuple[bool, Any]],
    ) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], bool, Any]]] = {}
        for (_, loop, future), (well, value) in zip(jobs, outcomes, strict=True):
            by_loop.setdefault(loop, []).append((future, well, value))
        for loop, answers in by_loop.items():
            try:
                loop.call_soon_threadsafe(_settle, answers)
            except RuntimeError:  # the loop is gone, and with it whoever waited
                continue


def _settle(answers: list[tuple[asyncio.Future[Any], bool, Any]]) -> None:
    for future, well, value in answers:
        if future.done():
            continue
        if well:
            future.set_result(value)
        else:
            future.set_exception(value)
