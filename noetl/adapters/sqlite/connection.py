"""Opening a database file: WAL, durable commits, the schema brought up to date, and what can go wrong.

apsw runs a text of several statements up to the first that gives rows, and the rest while those are fetched:
so everything that may give rows goes through `fetch`.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib import resources
from pathlib import Path

import apsw

from noetl import __version__
from noetl.adapters.sql.migrations import Later, check_reader, oldest_reader
from noetl.adapters.sql.schedules import Record
from noetl.core.formats import ROW_FORMAT
from noetl.errors import BackendError

Values = Sequence[object] | Mapping[str, object]  # what a statement is given, by place or by name
SCHEMAS = (
    "schema_001.sql", "schema_002.sql", "schema_003.sql", "schema_004.sql", "schema_005.sql",
    "schema_006.sql", "schema_007.sql", "schema_008.sql", "schema_009.sql", "schema_010.sql",
    "schema_011.sql", "schema_012.sql", "schema_013.sql", "schema_014.sql", "schema_015.sql",
    "schema_016.sql", "schema_017.sql", "schema_018.sql", "schema_019.sql",
)  # fmt: skip
NOTED_SINCE = 10  # migrations before this one left no note of themselves
BUSY_MS = 10_000
PRAGMAS = ("synchronous=FULL", "foreign_keys=ON")
_RETRY_S = 0.02
_HINTS: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "free some space on the disk and try again"),
    (apsw.ReadOnlyError, "make the file and its folder writable, or set NOETL_STORE"),
    (apsw.BusyError, f"another process has held the database for {BUSY_MS // 1000} s; try again"),
    (apsw.NotADBError, "set NOETL_STORE to another file, or move this one away"),
    (apsw.CorruptError, "the file is damaged; put a copy in its place"),
    (apsw.CantOpenError, "check that the folder exists and can be written, or set NOETL_STORE"),
)


def fetch(connection: apsw.Connection, statement: str, values: Values = ()) -> list[Record]:
    """Run one statement to its end; its rows."""
    return connection.execute(statement, values).fetchall()


def trouble(what: str, error: apsw.Error) -> BackendError:
    """An error of the database, with what to do about it."""
    hint = next((text for kind, text in _HINTS if isinstance(error, kind)), None)
    return BackendError(f"{what}: {error}", hint=hint)


def connect(path: str) -> apsw.Connection:
    """A connection with the settings every connection has."""
    try:
        connection = apsw.Connection(path)
        connection.set_busy_timeout(BUSY_MS)
        _use_wal(connection)
        for pragma in PRAGMAS:
            fetch(connection, f"PRAGMA {pragma}")
        read_only = connection.readonly("main")
    except apsw.Error as error:
        raise trouble(f"cannot open the database {path}", error) from error
    if read_only:
        raise trouble(f"cannot open the database {path}", apsw.ReadOnlyError("it cannot be written"))
    return connection


def begins_at_once(connection: apsw.Connection) -> bool:
    """Begin to write, where that is possible without waiting for anyone."""
    connection.set_busy_timeout(0)
    try:
        connection.execute("BEGIN IMMEDIATE")
    except apsw.Error:
        return False
    finally:
        connection.set_busy_timeout(BUSY_MS)
    return True


def _use_wal(connection: apsw.Connection) -> None:
    """The change to WAL needs the file alone, and does not wait for that by itself."""
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            mode = fetch(connection, "PRAGMA journal_mode=WAL")[0][0]
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
            continue
        if mode != "wal":
            raise apsw.CantOpenError(f"a write-ahead log cannot be kept there, only {mode}")
        return


def open_database(path: str) -> apsw.Connection:
    """A connection to a database with the newest schema; makes the file when there is none."""
    try:
        _make_folder(Path(path).absolute().parent)
    except OSError as error:
        hint = "check that the folder can be made and written, or set NOETL_STORE"
        raise BackendError(f"cannot open the database {path}: {error}", hint=hint) from error
    connection = connect(path)
    try:
        migrate(connection, path)
    except apsw.Error as error:
        raise trouble(f"the schema of {path} could not be brought up to date", error) from error
    return connection


def _make_folder(folder: Path) -> None:
    if folder.exists():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def schema_version(connection: apsw.Connection) -> int:
    """How far the schema of a database is."""
    return int(fetch(connection, "PRAGMA user_version")[0][0])


def version_of(path: str) -> int:
    """How far the schema of a file is, which stays as it is; raises NewerFormat if it is not for us."""
    try:
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(BUSY_MS)
            _check_newer(connection, path)
            return schema_version(connection)
    except apsw.Error as error:
        raise trouble(f"cannot open the database {path}", error) from error


def newer_executions(path: str) -> list[str]:
    """Open executions that a newer release wrote, in a file whose schema is up to date."""
    wanted = "select execution_id from executions where ended_at is null and format > ? order by rowid"
    return [str(execution_id) for (execution_id,) in _read(path, wanted, (ROW_FORMAT,))]


def sealed_credentials(path: str) -> list[tuple[str, bytes]]:
    """Credentials by name as they rest in a file whose schema is up to date."""
    return [
        (name, sealed) for name, sealed in _read(path, "select name, sealed from credentials order by name")
    ]


def _read(path: str, statement: str, values: Values = ()) -> list[Record]:
    """The rows of a file that is there, which stays as it is."""
    try:
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(BUSY_MS)
            return fetch(connection, statement, values)
    except apsw.Error as error:
        raise trouble(f"cannot read the database {path}", error) from error


def newest_version() -> int:
    """The schema this version of noetl works with."""
    return len(SCHEMAS)


def migrations() -> list[tuple[int, str]]:
    """The numbered schema files, in order."""
    folder = resources.files("noetl.adapters.sqlite")
    return [(number, (folder / name).read_text()) for number, name in enumerate(SCHEMAS, 1)]


def _check_newer(connection: apsw.Connection, path: str) -> None:
    at, newest = schema_version(connection), newest_version()
    if at > newest:
        rows = fetch(
            connection,
            "SELECT max(oldest_reader), (SELECT release FROM migrations ORDER BY version DESC LIMIT 1) "
            "FROM migrations WHERE version > ?",
            (newest,),
        )
        check_reader(path, newest, Later(at, rows[0][0] or at, rows[0][1]))


def migrate(connection: apsw.Connection, path: str) -> None:
    """Bring the schema up to date, one transaction per file; another process doing the same is waited for."""
    _check_newer(connection, path)
    at, newest = schema_version(connection), newest_version()
    for version, text in migrations() if at < newest else ():
        if version > at:
            _apply(connection, version, text)


def _apply(connection: apsw.Connection, version: int, text: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if schema_version(connection) < version:
            fetch(connection, text)
            fetch(connection, f"PRAGMA user_version={version}")
            if version >= NOTED_SINCE:
                note = (version, oldest_reader(version, text), __version__)
                fetch(
                    connection,
                    "INSERT INTO migrations (version, oldest_reader, release) VALUES (?, ?, ?)",
                    note,
                )
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
