"""What only SQLite has to promise: durable settings, group commit, migrations, and clear words in trouble."""

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import apsw.ext
import pytest

from noetl.adapters.sql.migrations import oldest_reader
from noetl.adapters.sqlite import connection as opening
from noetl.adapters.sqlite import statements
from noetl.adapters.sqlite.connection import (
    connect,
    fetch,
    migrations,
    newest_version,
    open_database,
    version_of,
)
from noetl.adapters.sqlite.reader import Reader
from noetl.adapters.sqlite.store import SqliteStore
from noetl.adapters.sqlite.writer import Writer
from noetl.errors import BackendError, Conflict, NewerFormat
from noetl.ports.store import Append
from tests.conformance.stores import begin, eid, row, used, widened


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "noetl.db")


@pytest.fixture
async def store(path: str) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(path)
    yield made
    await made.close()


class Held(Writer):
    """A writer whose thread waits at the gate, so that jobs queue."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.gate = threading.Event()
        super().__init__(connection)

    async def pause(self) -> None:
        entered = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait(_: apsw.Connection) -> None:
            loop.call_soon_threadsafe(entered.set)
            self.gate.wait()

        self.first = asyncio.create_task(self.run(wait))
        await entered.wait()


@pytest.fixture
async def writer(path: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Held]:
    monkeypatch.setattr("noetl.adapters.sqlite.writer.QUICK_S", 1_000.0)  # however busy the disk is
    made = Held(open_database(path))
    yield made
    made.gate.set()
    await asyncio.to_thread(made.close)


def put(name: str) -> Any:
    return lambda connection: fetch(connection, statements.PUT_CREDENTIAL, (name, b"x", 1))


def names(path: str) -> list[str]:
    connection = connect(path)
    try:
        return [name for name, _ in fetch(connection, statements.CREDENTIALS)]
    finally:
        connection.close()


# Durable


async def test_every_connection_keeps_a_write_ahead_log_and_syncs_each_commit(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[apsw.Connection] = []

    class Seen(apsw.Connection):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            opened.append(self)

    monkeypatch.setattr("noetl.adapters.sqlite.connection.apsw.Connection", Seen)
    made = SqliteStore(path)
    assert len(opened) == 2
    for connection in opened:
        found = [
            fetch(connection, f"PRAGMA {name}") for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
        assert found == [[("wal",)], [(2,)], [(1,)]]
        assert fetch(connection, "PRAGMA busy_timeout") == [(opening.BUSY_MS,)]
    await made.close()


def test_statements_behind_one_that_gives_rows_are_run_when_it_is_fetched(path: str) -> None:
    """apsw hands over at the first row; `fetch` goes on to the end."""
    connection = connect(path)
    fetch(connection, "SELECT 1; CREATE TABLE behind (a)")
    assert fetch(connection, "SELECT * FROM behind") == []
    connection.close()


VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
STATEMENTS = [
    name
    for name, text in vars(statements).items()
    if isinstance(text, str) and text.strip().startswith(VERBS)
]


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_stands_alone_and_fits_the_schema(path: str, name: str) -> None:
    connection = open_database(path)
    assert apsw.ext.query_info(connection, getattr(statements, name)).query_remaining is None
    connection.close()


def test_relatives_are_found_by_indexes(path: str) -> None:
    connection = open_database(path)
    plan = [line[3] for line in fetch(connection, f"EXPLAIN QUERY PLAN {statements.FAMILY}", (eid(1),))]
    assert not [line for line in plan if line.startswith("SCAN") and line not in ("SCAN f", "SCAN family")]
    connection.close()


@pytest.mark.parametrize("lead", sorted(statements.EXECUTIONS.keys() - {""}))
def test_what_is_rare_is_listed_by_an_index_in_order(path: str, lead: str) -> None:
    connection = open_database(path)
    names = ("prefix", "parent", "status", "path", "exact", "by", "since", "until", "start", "text")
    values = dict.fromkeys((*names, "paths", "children", "continued", "limit"))
    statement = f"EXPLAIN QUERY PLAN {statements.EXECUTIONS[lead]}"
    plan = [line[3] for line in fetch(connection, statement, values)]
    assert plan[0].startswith("SEARCH executions USING INDEX")
    assert not [line for line in plan if line.startswith("SCAN executions")]
    sorts = [line for line in plan if line.endswith("FOR ORDER BY")]
    assert sorts == (["USE TEMP B-TREE FOR ORDER BY"] if lead == "prefix" else [])
    connection.close()


# Group commit


async def test_jobs_that_wait_together_are_one_transaction(writer: Held, path: str) -> None:
    await writer.pause()
    waiting = [asyncio.create_task(writer.run(put(f"{number:02}"))) for number in range(20)]
    await asyncio.sleep(0)
    before = writer.transactions
    writer.gate.set()
    await asyncio.gather(*waiting)
    assert writer.transactions == before + 1
    assert names(path) == [f"{number:02}" for number in range(20)]


def conflict(connection: apsw.Connection) -> None:
    put("left by a refused job")(connection)
    raise Conflict("no")


def wrong_sql(connection: apsw.Connection) -> None:
    put("left by a broken job")(connection)
    fetch(connection, "SELECT * FROM nowhere")


def bug(connection: apsw.Connection) -> None:
    put("left by a bug")(connection)
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("broken", "error"), [(conflict, Conflict), (wrong_sql, BackendError), (bug, ZeroDivisionError)]
)
async def test_a_job_that_fails_is_undone_alone(
    writer: Held, path: str, broken: Any, error: type[Exception]
) -> None:
    await writer.pause()
    jobs = [put("a"), broken, put("b")]
    waiting = [asyncio.create_task(writer.run(job)) for job in jobs]
    await asyncio.sleep(0)
    writer.gate.set()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [list, error, list]
    assert names(path) == ["a", "b"]


@pytest.mark.parametrize(
    ("broken", "error"), [(conflict, Conflict), (wrong_sql, BackendError), (bug, ZeroDivisionError)]
)
async def test_a_job_that_fails_with_nothing_beside_it_is_undone_too(
    writer: Held, path: str, broken: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await writer.run(broken)
    await writer.run(put("after"))
    assert names(path) == ["after"]


async def test_a_job_nobody_waits_for_any_more_is_still_done(writer: Held, path: str) -> None:
    await writer.pause()
    given_up = asyncio.create_task(writer.run(put("a")))
    await asyncio.sleep(0)
    given_up.cancel()
    writer.gate.set()
    await writer.run(put("b"))
    assert names(path) == ["a", "b"]


async def test_closing_finishes_what_is_queued_and_refuses_more(path: str) -> None:
    made = Held(open_database(path))
    await made.pause()
    waiting = [asyncio.create_task(made.run(put(name))) for name in "abc"]
    await asyncio.sleep(0)
    closing = asyncio.create_task(asyncio.to_thread(made.close))
    made.gate.set()
    await asyncio.gather(*waiting, closing)
    assert names(path) == ["a", "b", "c"]
    with pytest.raises(BackendError, match="closed"):
        await made.run(put("d"))
    await asyncio.to_thread(made.close)


# Short jobs


def where(connection: apsw.Connection) -> str:
    put(threading.current_thread().name)(connection)
    return threading.current_thread().name


WRITES = "noetl-sqlite-writer"


async def test_short_jobs_of_one_moment_are_one_transaction_of_the_loop_itself(
    writer: Held, path: str
) -> None:
    before = writer.transactions
    jobs = [writer.run(put(name), short=True) for name in "abc"]
    found = await asyncio.gather(*jobs, writer.run(where, short=True))
    assert found[-1] == threading.current_thread().name
    assert writer.transactions == before + 1
    assert names(path) == [threading.current_thread().name, "a", "b", "c"]


async def test_other_jobs_are_for_the_thread_with_the_short_ones_that_came_before_them(
    writer: Held, path: str
) -> None:
    found = await asyncio.gather(writer.run(where, short=True), writer.run(where))
    assert [*found] == [WRITES, WRITES]
    assert await writer.run(where, short=True) == threading.current_thread().name


async def test_short_jobs_wait_behind_those_that_the_thread_has(writer: Held) -> None:
    await writer.pause()
    short = asyncio.create_task(writer.run(where, short=True))
    await asyncio.sleep(0)
    writer.gate.set()
    assert await short == WRITES


async def test_a_slow_disk_is_left_to_the_thread(writer: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.adapters.sqlite.writer.QUICK_S", 0.0)
    assert await writer.run(where, short=True) == threading.current_thread().name
    monkeypatch.setattr("noetl.adapters.sqlite.writer.QUICK_S", 1_000.0)
    assert await writer.run(where, short=True) == WRITES  # which finds that it is quick again
    assert await writer.run(where, short=True) == threading.current_thread().name


async def test_the_loop_does_not_wait_for_another_process(writer: Held, path: str) -> None:
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    short = asyncio.create_task(writer.run(where, short=True))
    for _ in range(2):  # it is asked for in this turn, and tried when the turn is over
        await asyncio.sleep(0)
    assert not short.done()
    other.execute("ROLLBACK")
    assert await short == WRITES
    other.close()


@pytest.mark.parametrize(
    ("broken", "error"), [(conflict, Conflict), (wrong_sql, BackendError), (bug, ZeroDivisionError)]
)
@pytest.mark.parametrize("beside", [(), ("a", "b")])
async def test_a_short_job_that_fails_is_undone_alone(
    writer: Held, path: str, broken: Any, error: type[Exception], beside: tuple[str, ...]
) -> None:
    jobs = [writer.run(put(name), short=True) for name in beside]
    outcomes = await asyncio.gather(writer.run(broken, short=True), *jobs, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [error, *(list for _ in beside)]
    assert names(path) == [*beside]


async def test_a_short_job_that_is_interrupted_leaves_nothing(writer: Held, path: str) -> None:
    def interrupted(connection: apsw.Connection) -> None:
        put("half")(connection)
        raise KeyboardInterrupt

    given_up = asyncio.create_task(writer.run(interrupted, short=True))
    await asyncio.sleep(0)  # asked for, and not done before this turn is over
    with pytest.raises(KeyboardInterrupt):
        writer._end_moment()
    given_up.cancel()
    await writer.run(put("after"), short=True)
    assert names(path) == ["after"]


async def test_jobs_of_another_loop_are_answered_there(writer: Held, path: str) -> None:
    here = asyncio.create_task(writer.run(where, short=True))
    await asyncio.sleep(0)
    found: list[str] = []
    there = threading.Thread(target=lambda: found.append(asyncio.run(writer.run(where, short=True))))
    there.start()
    there.join()  # this loop's turn goes on until the other has its answer
    assert [await here, *found] == [WRITES, WRITES]


async def test_closing_finishes_what_this_moment_asked_for(path: str) -> None:
    made = Held(open_database(path))
    short = asyncio.create_task(made.run(put("a"), short=True))
    await asyncio.sleep(0)
    made.close()
    await short
    assert names(path) == ["a"]


async def test_a_closed_store_says_so(path: str) -> None:
    made = SqliteStore(path)
    await made.close()
    for question in (made.executions(), made.post(eid(1), b"m")):
        with pytest.raises(BackendError, match="closed"):
            await question


async def test_a_read_that_was_given_up_does_not_disturb_the_next(path: str) -> None:
    open_database(path).close()
    reader, gate = Reader(path), threading.Event()
    slow = asyncio.create_task(reader.run(lambda connection: gate.wait()))
    await asyncio.sleep(0)
    slow.cancel()
    following = asyncio.create_task(reader.rows("SELECT 1"))
    await asyncio.sleep(0)
    gate.set()
    assert await following == [(1,)]
    await reader.close()


# Migrations


def test_a_new_file_has_the_newest_schema(path: str) -> None:
    open_database(path).close()
    assert version_of(path) == newest_version() == len(migrations())
    files = Path(opening.__file__).parent.glob("schema_*.sql")
    assert sorted(file.name for file in files) == list(opening.SCHEMAS)


@pytest.mark.parametrize("version", range(1, len(migrations())))
async def test_a_database_of_an_older_schema_is_brought_forward_with_what_is_in_it(
    path: str, version: int
) -> None:
    older = connect(path)
    for number, text in migrations()[:version]:
        fetch(older, text)
        fetch(older, f"PRAGMA user_version={number}")
    fetch(
        older,
        "INSERT INTO executions (execution_id, status, path, hash, requested_at) VALUES (?, 'running', 'p', 'h', 1)",
        (eid(1),),
    )
    fetch(
        older,
        "INSERT INTO log (execution, first, last, ts, cause, body, hash) VALUES (1, 1, 1, 1, x'00', x'01', x'02')",
    )
    if version >= 6:  # from there on each commit left the end of the log beside it
        fetch(older, "UPDATE executions SET seq = 1, head = x'02'")
    older.close()
    made = SqliteStore(path)
    assert (await made.rows(eid(1)))[0].body == b"\x01"
    await made.commit(Append(eid(1), 1, [row(2)]))
    await made.close()
    assert version_of(path) == newest_version()


def test_opening_again_changes_nothing(path: str) -> None:
    for _ in range(2):
        open_database(path).close()
    assert version_of(path) == newest_version()


def test_a_migration_that_breaks_leaves_the_schema_before_it(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_database(path).close()
    broken = [*migrations(), (newest_version() + 1, "CREATE TABLE half (a); CREATE TABLE half (a);")]
    monkeypatch.setattr(opening, "migrations", lambda: broken)
    monkeypatch.setattr(opening, "SCHEMAS", [*opening.SCHEMAS, "broken"])
    with pytest.raises(BackendError, match="half"):
        open_database(path)
    monkeypatch.undo()
    connection = open_database(path)
    assert fetch(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'half'") == []
    connection.close()


# Trouble: what happened, where, and what to do


def of_a_newer_noetl(path: str, *oldest_readers: int) -> int:
    """A database that a newer release has brought further; how far."""
    connection = open_database(path)
    at = newest_version()
    for reader in oldest_readers:
        at += 1
        fetch(connection, f"PRAGMA user_version={at}")
        fetch(connection, "INSERT INTO migrations VALUES (?, ?, '9.1.0')", (at, reader))
        fetch(connection, f"ALTER TABLE executions ADD COLUMN newer_{at} TEXT")
    connection.close()
    return at


def test_a_database_of_a_newer_noetl_that_asks_for_more_is_left_alone(path: str) -> None:
    newest = newest_version()
    at = of_a_newer_noetl(path, newest + 1, newest)
    for attempt in (lambda: SqliteStore(path), lambda: version_of(path)):
        with pytest.raises(
            NewerFormat, match=rf"schema {at} by noetl 9\.1\.0; .* knows up to {newest}"
        ) as raised:
            attempt()
        assert "upgrade" in str(raised.value.hint)


async def test_a_database_of_a_newer_noetl_that_older_ones_can_read_is_worked_with(path: str) -> None:
    at = of_a_newer_noetl(path, newest_version(), newest_version() - 1)
    store = SqliteStore(path)
    await begin(store)
    assert (await store.extent()).schema == version_of(path) == at
    await store.close()


async def test_tables_that_a_newer_release_made_wider_are_read_by_the_names_of_their_columns(
    path: str,
) -> None:
    store = SqliteStore(path)

    async def run(statement: str) -> list[tuple[str, ...]]:
        return await store._writer.run(lambda connection: fetch(connection, statement))

    await widened(run, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    await used(store)
    await store.close()


def test_every_migration_says_who_can_work_with_what_it_leaves(path: str) -> None:
    connection = open_database(path)
    noted: dict[int, int] = dict(fetch(connection, "SELECT version, oldest_reader FROM migrations"))
    connection.close()
    told = {number: oldest_reader(number, text) for number, text in migrations()}
    assert noted == {number: reader for number, reader in told.items() if number >= opening.NOTED_SINCE}
    assert all(1 <= reader <= number for number, reader in told.items())


def test_a_file_that_is_no_database_is_refused(path: str) -> None:
    Path(path).write_bytes(b"this is no database, it is a letter" * 100)
    for attempt in (lambda: SqliteStore(path), lambda: version_of(path)):
        with pytest.raises(BackendError, match="not a database") as raised:
            attempt()
        assert "move this one away" in str(raised.value.hint)


@pytest.mark.parametrize("made", ["folder", "file in the way"])
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path: Path, made: str) -> None:
    path = tmp_path / "there"
    if made == "folder":
        path.mkdir()
    else:
        path.write_text("x")
        path = path / "noetl.db"
    with pytest.raises(BackendError, match="there") as raised:
        SqliteStore(str(path))
    assert "NOETL_STORE" in str(raised.value.hint)


def test_a_file_that_may_not_be_written_is_refused() -> None:
    """Root may write everything, so the question is put by somebody else."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "noetl.db")
        open_database(path).close()
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)
        asked = (
            "import os, sys\n"
            "from noetl.adapters.sqlite.store import SqliteStore\n"
            "from noetl.errors import BackendError\n"
            "os.geteuid() or os.setuid(65534)\n"
            "try:\n    SqliteStore(sys.argv[1])\n"
            "except BackendError as error:\n    sys.exit(f'{error.message} | {error.hint}')\n"
        )
        told = subprocess.run(
            [sys.executable, "-c", asked, path], capture_output=True, text=True, check=False
        )
        os.chmod(folder, 0o755)
    assert f"cannot open the database {path}" in told.stderr
    assert "NOETL_STORE" in told.stderr


async def test_a_full_disk_fails_the_commit_and_keeps_what_was_there(store: SqliteStore) -> None:
    execution_id = await begin(store)
    large = row(2)
    large.body = b"x" * 10_000_000
    await store._writer.run(lambda connection: fetch(connection, "PRAGMA max_page_count=200"))
    with pytest.raises(BackendError, match="full") as raised:
        await store.commit(Append(execution_id, 1, [large]))
    assert "free some space" in str(raised.value.hint)
    await store.commit(Append(execution_id, 1, [row(2)]))
    assert [one.first for one in await store.rows(execution_id)] == [1, 2]


async def test_when_the_disk_is_full_nothing_of_a_shared_transaction_is_half_done(
    writer: Held, path: str
) -> None:
    await writer.run(lambda connection: fetch(connection, "PRAGMA max_page_count=200"))
    await writer.pause()
    huge = lambda connection: fetch(connection, statements.PUT_CREDENTIAL, ("huge", b"x" * 10_000_000, 1))  # noqa: E731
    waiting = [asyncio.create_task(writer.run(job)) for job in (put("a"), huge, put("b"))]
    await asyncio.sleep(0)
    writer.gate.set()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(outcomes[1], BackendError)
    answered = [
        name for name, outcome in zip("a_b", outcomes, strict=True) if not isinstance(outcome, Exception)
    ]
    assert names(path) == answered


async def test_a_database_that_turned_read_only_fails_the_commit(store: SqliteStore) -> None:
    await store._writer.run(lambda connection: fetch(connection, "PRAGMA query_only=ON"))
    with pytest.raises(BackendError, match=r"could not be written.*readonly") as raised:
        await begin(store)
    assert "writable" in str(raised.value.hint)


async def test_a_database_that_stays_locked_fails_the_commit(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "BUSY_MS", 50)
    made = SqliteStore(path)
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BackendError, match="locked") as raised:
        await begin(made)
    assert "another process" in str(raised.value.hint)
    other.execute("ROLLBACK")
    other.close()
    await begin(made)
    await made.close()


async def test_a_damaged_file_is_reported_by_whoever_reads_it(path: str) -> None:
    made = SqliteStore(path)
    for number in range(50):
        await begin(made, number)
    await made.close()
    _damage(path)
    again = SqliteStore(path)
    with pytest.raises(BackendError, match="malformed") as raised:
        await again.executions()
    assert "put a copy in its place" in str(raised.value.hint)
    await again.close()


def _damage(path: str) -> None:
    """Spoil the first page of the executions; the schema, which may take several pages, stays."""
    connection = connect(path)
    [(root,)] = fetch(connection, "SELECT rootpage FROM sqlite_schema WHERE name = 'executions'")
    connection.close()
    content = bytearray(Path(path).read_bytes())
    content[(root - 1) * 4096 : root * 4096] = b"\xa5" * 4096
    Path(path).write_bytes(content)
