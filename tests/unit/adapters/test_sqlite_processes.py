"""SQLite with more than one process on one file, and with one that dies."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import apsw
import pytest

from noetl.adapters.sqlite.connection import connect
from noetl.adapters.sqlite.store import SqliteStore
from tests.conformance.stores import begin, eid

ROOT = Path(__file__).resolve().parents[3]


@asynccontextmanager
async def process(*arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process on the file, killed when it is no longer needed."""
    script = str(Path(__file__).with_name("sqlite_process.py"))
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        script,
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        yield started
    finally:
        with suppress(ProcessLookupError):
            started.kill()
        await started.communicate()


async def said(started: asyncio.subprocess.Process) -> list[tuple[int, int]]:
    """What a process was promised, to its end."""
    output, _ = await started.communicate()
    lines = [line.split() for line in output.decode().split("\n")[:-1]]
    return [(int(number), int(seq)) for number, seq in lines]


async def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """Both begin with an empty folder, so they also make the file and its schema at once."""
    path, count = str(tmp_path / "new" / "noetl.db"), 60
    async with process(path, "grow", 10, count) as one, process(path, "grow", 20, count) as other:
        promised = await said(one) + await said(other)
    assert len(promised) == 2 * 4 * (count - 1)
    assert (one.returncode, other.returncode) == (0, 0)
    store = SqliteStore(path)
    for number in (*range(10, 14), *range(20, 24)):
        assert [row.first for row in await store.rows(eid(number))] == list(range(1, count + 1))
    await store.close()


async def test_two_processes_after_one_event_exactly_one_wins(tmp_path: Path) -> None:
    path, count = str(tmp_path / "noetl.db"), 80
    store = SqliteStore(path)
    await begin(store, 1)
    async with process(path, "contend", 1, count) as one, process(path, "contend", 1, count) as other:
        won = await said(one) + await said(other)
    assert len(won) == len(set(won))
    end = max(seq for _, seq in won)
    assert sorted(seq for _, seq in won) == list(range(2, end + 1))
    assert [row.first for row in await store.rows(eid(1))] == list(range(1, end + 1))
    await store.close()


@pytest.mark.parametrize("seed", range(4))
async def test_a_process_that_is_killed_keeps_every_promise_it_made(tmp_path: Path, seed: int) -> None:
    path = str(tmp_path / "noetl.db")
    lines = random.Random(seed).randrange(20, 400)
    async with process(path, "grow", 1, 100_000) as writer:
        assert writer.stdout is not None
        promised = [(await writer.stdout.readline()).split() for _ in range(lines)]
        writer.send_signal(signal.SIGKILL)
        rest = (await writer.communicate())[0].split(b"\n")[:-1]
    promised += [line.split() for line in rest]
    store = SqliteStore(path)
    for number in range(1, 5):
        answered = max((int(seq) for who, seq in promised if int(who) == number), default=0)
        kept = [row.first for row in await store.rows(eid(number))]
        assert kept == list(range(1, len(kept) + 1))
        assert len(kept) >= answered > 0
    await store.close()
    checked = connect(path)
    assert checked.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    checked.close()


async def test_the_executions_of_a_killed_process_can_be_claimed_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "noetl.db")
    store = SqliteStore(path)
    await begin(store, 1)
    async with process(path, "own", 1, 0) as owner:
        assert owner.stdout is not None
        assert await owner.stdout.readline() == b"True\n"
        assert await store.owned(eid(1))
        assert not await store.claim(eid(1), "other", 1000)
    assert not await store.owned(eid(1))
    assert await store.claim(eid(1), "other", 1000)
    await store.close()


async def test_a_writer_waits_for_another_process(tmp_path: Path) -> None:
    path = str(tmp_path / "noetl.db")
    store = SqliteStore(path)
    other = apsw.Connection(path)
    other.execute("BEGIN IMMEDIATE")
    commit = asyncio.create_task(begin(store, 1))
    assert not (await asyncio.wait([commit], timeout=0.1))[0]
    other.execute("COMMIT")
    assert await commit == eid(1)
    other.close()
    await store.close()
