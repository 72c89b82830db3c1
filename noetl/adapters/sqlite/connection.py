"""Opening a database file: WAL, durable commits, and the schema brought up to date."""

from importlib import resources
from pathlib import Path

import apsw

from noetl.errors import BackendError

BUSY_MS = 10_000


def connect(path: str) -> apsw.Connection:
    """A connection with the settings every connection has."""
    try:
        connection = apsw.Connection(path)
        connection.set_busy_timeout(BUSY_MS)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except apsw.Error as error:
        hint = "check that the folder exists and can be written, or set NOETL_STORE"
        raise BackendError(f"cannot open the database {path}: {error}", hint=hint) from error
    return connection


def open_database(path: str) -> apsw.Connection:
    """A connection to a database with the newest schema; makes the file when there is none."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    connection = connect(path)
    migrate(connection)
    return connection


def schema_version(connection: apsw.Connection) -> int:
    """How far the schema of a database is."""
    return int(next(iter(connection.execute("PRAGMA user_version")))[0])


def migrations() -> list[tuple[int, str]]:
    """The numbered schema files, in order."""
    folder = resources.files("noetl.adapters.sqlite")
    found = [
        file for file in folder.iterdir() if file.name.startswith("schema_") and file.name.endswith(".sql")
    ]
    return sorted((int(file.name[7:10]), file.read_text()) for file in found)


def migrate(connection: apsw.Connection) -> None:
    """Bring the schema up to date, one transaction per file; another process doing the same is waited for."""
    known = migrations()
    if schema_version(connection) == known[-1][0]:
        return
    for version, text in known:
        connection.execute("BEGIN IMMEDIATE")
        if schema_version(connection) < version:
            connection.execute(text)
            connection.execute(f"PRAGMA user_version={version}")
        connection.execute("COMMIT")
    if schema_version(connection) > known[-1][0]:
        raise BackendError("the database was written by a newer version of noetl", hint="upgrade noetl")
