"""Executions that nobody alive owns, taken over in batches: claimed, read and gone on with, many at a time.

How one of them is read and kept is in ownership.py. What cannot be read harms itself alone; what could not be
read for now stays ours and is tried again in the next round.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from noetl.control.execution_host import ExecutionHost
from noetl.control.loaded_execution import LoadedExecution
from noetl.control.ownership import FAILURES_MOST, Ownership
from noetl.control.recovery import folded
from noetl.control.stuck_executions import FatalDecision, StuckExecutions
from noetl.errors import BackendError, NewerFormat, NoetlError
from noetl.ports.store import Claimed, StoredLog, reading

_LOG = logging.getLogger("noetl.engine")
BATCH = 200  # executions that are claimed by one statement, and read by two
BATCH_BYTES = 16 * 1024 * 1024  # about as much is read at once
BATCHES_AT_ONCE = 2  # one comes from the store while another is folded
TAKEN_IN_AT_ONCE = 8  # of a batch; whatever else this process does gets its turn in between


class Takeover:
    """The rounds in which one engine looks for executions to go on with."""

    def __init__(self, host: ExecutionHost, stuck: StuckExecutions, owned: Ownership) -> None:
        self._host, self._stuck, self._owned = host, stuck, owned
        self._again: list[str] = []  # of our own, those that this round has not come to yet
        self._taken: list[str] = []  # those that this round has in memory
        self._failures: list[BackendError] = []

    async def round(self) -> int:
        """Take over whatever nobody alive owns; how many there were. Raises BackendError."""
        await self._stuck.mark()
        self._again, self._failures, self._taken = sorted(self._owned.dropped), [], []
        lanes = [asyncio.create_task(self._lane()) for _ in range(BATCHES_AT_ONCE)]
        try:
            taken = sum(await asyncio.gather(*lanes))
        finally:
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)
            if self._taken:
                _LOG.info("open executions taken over from servers that are gone: %d", len(self._taken))
        if self._failures:
            raise self._failures[0]
        return taken

    async def _lane(self) -> int:
        """One batch after the other, until nothing is left or too much fails."""
        count = 0
        while True:
            batch = await self._claimed()
            count += len(batch)
            for part in _parts(batch):
                await _Batch(self._host, self._owned, self._failures, self._taken).take_in(part)
            if len(batch) < BATCH or len(self._failures) >= FAILURES_MOST:
                return count

    async def _claimed(self) -> Sequence[Claimed]:
        """The next batch. What it does not have of our own is not ours any more."""
        host, owned = self._host, self._owned
        again, self._again = self._again[:BATCH], self._again[BATCH:]
        again = [execution_id for execution_id in again if owned.is_away(execution_id)]
        batch = await host.store.take_over(host.owner, host.lease_ms, again, owned.left.now(), BATCH)
        owned.dropped.difference_update(again)
        for claimed in batch:
            if claimed.summary.execution_id not in again:
                host.forget(claimed.summary.execution_id)  # it is here from before another owned it
        ids = (claimed.summary.execution_id for claimed in batch)
        owned.dropped.update(execution_id for execution_id in ids if owned.is_away(execution_id))
        return batch


class _Batch:
    """Executions that were claimed together; each is taken in by itself, once all their logs are there."""

    def __init__(
        self, host: ExecutionHost, owned: Ownership, failures: list[BackendError], taken: list[str]
    ) -> None:
        self._host, self._owned, self._failures, self._taken = host, owned, failures, taken
        self._turns, self._read = asyncio.Semaphore(TAKEN_IN_AT_ONCE), asyncio.Event()
        self._logs: Mapping[str, StoredLog] = {}
        self._harmless = False

    async def take_in(self, batch: Sequence[Claimed]) -> None:
        """Have them in memory; whoever asks for one meanwhile waits for it."""
        begun = {}
        for claimed in batch:
            loading = self._owned.begin(claimed.summary.execution_id, partial(self._one, claimed))
            if loading is not None:  # nobody else is about it
                begun[claimed.summary.execution_id] = claimed, loading
        try:
            await self._read_logs([claimed for claimed, _ in begun.values()])
            self._read.set()
            ended = await asyncio.gather(*(loading for _, loading in begun.values()), return_exceptions=True)
        finally:
            for _, loading in begun.values():
                loading.cancel()
        for error in ended:
            if isinstance(error, BaseException) and not isinstance(error, NoetlError):
                raise error
        noted = [key for key, (claimed, _) in begun.items() if claimed.in_hand is not None]
        noted = [execution_id for execution_id in noted if execution_id not in self._owned.dropped]
        if noted:
            # What is decided on by now has another note, which stays until that is done.
            await self._host.store.put_down(noted, reading(self._host.owner))

    async def _read_logs(self, batch: Sequence[Claimed]) -> None:
        """Read all logs at once; when the store fails on one of them, each is read by itself."""
        doubtful = {one.summary.execution_id for one in batch if self._owned.doubtful(one)}
        try:
            self._logs = await self._host.store.logs([one.summary.execution_id for one in batch])
            if doubtful:  # apart from this process, all in one copy of it
                tried = [(key, self._logs[key]) for key in doubtful & self._logs.keys()]
                await self._host.check(partial(_fold_all, tried))
            self._harmless = doubtful <= self._logs.keys()
        except (BackendError, FatalDecision):
            return

    async def _one(self, claimed: Claimed) -> LoadedExecution:
        await self._read.wait()
        async with self._turns:
            if len(self._failures) >= FAILURES_MOST:
                raise BackendError("too much could not be read; it is tried again in a while")
            try:
                log = self._logs.get(claimed.summary.execution_id)
                execution = await self._owned.take_in(claimed, log, harmless=self._harmless)
                await self._owned.go_on(execution)
                self._taken.append(claimed.summary.execution_id)
            except NewerFormat:
                raise
            except BackendError as error:
                self._failures.append(error)
                raise
            await asyncio.sleep(0)
            return execution


def _parts(batch: Sequence[Claimed]) -> Iterator[list[Claimed]]:
    """A batch in parts that can be read at once."""
    part: list[Claimed] = []
    size = 0
    for claimed in batch:
        if part and size + claimed.size > BATCH_BYTES:
            yield part
            part, size = [], 0
        part.append(claimed)
        size += claimed.size
    if part:
        yield part


def _fold_all(logs: Sequence[tuple[str, StoredLog]]) -> None:
    for execution_id, log in logs:
        folded(execution_id, log)
