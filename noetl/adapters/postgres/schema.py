"""The schema of a database: how far it is, and bringing it up to date."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import asyncpg

from noetl import __version__
from noetl.adapters.postgres.database import LOST, RETRY_S, SCHEMA, Database, trouble
from noetl.adapters.postgres.statements import SCHEMAS
from noetl.adapters.sql.migrations import Later, check_reader, oldest_reader
from noetl.core.formats import ROW_FORMAT
from noetl.errors import BackendError

T = TypeVar("T")
_LOCK = 0x6E6F65746C  # whoever migrates holds it


async def version(connection: asyncpg.Connection) -> int:
    """How far the schema is; 0 when there is none."""
    if await connection.fetchval("select to_regclass($1)", f"{SCHEMA}.migrations") is None:
        return 0
    return int(await connection.fetchval(f"select coalesce(max(version), 0) from {SCHEMA}.migrations"))


def newest_version() -> int:
    """The schema this version of noetl works with."""
    return len(SCHEMAS)


async def version_of(database: Database) -> int:
    """How far the schema of a database is, which stays as it is; raises NewerFormat if it is not for us."""
    return (await _with_connection(database, partial(_migrate, database.shown, change=False)))[0]


async def migrate(database: Database) -> tuple[int, int]:
    """Bring a schema up to date; how far it was and is. Another process doing the same is waited for."""
    return await _with_connection(database, partial(_migrate, database.shown, change=True))


async def size_of(database: Database) -> int:
    """The bytes that a database takes, with whatever else is in it."""
    return await _with_connection(database, _size)


async def newer_executions(database: Database) -> list[str]:
    """Open executions that a newer release wrote, of a schema that is up to date."""
    return await _with_connection(database, _newer)


async def _newer(connection: asyncpg.Connection) -> list[str]:
    wanted = "select execution_id from noetl.executions where ended_at is null and format > $1 order by id"
    return [row[0] for row in await connection.fetch(wanted, ROW_FORMAT)]


async def sealed_credentials(database: Database) -> list[tuple[str, bytes]]:
    """Credentials by name as they rest in a database whose schema is up to date."""
    return await _with_connection(database, _sealed)


async def _sealed(connection: asyncpg.Connection) -> list[tuple[str, bytes]]:
    wanted = "select name, sealed from noetl.credentials order by name"
    return [(row[0], row[1]) for row in await connection.fetch(wanted)]


async def check(database: Database) -> None:
    """Raises BackendError unless the schema is the one this version of noetl works with."""
    at = await version_of(database)
    if at < newest_version():
        message = (
            f"the database {database.shown} has schema {at}, this version of noetl needs {newest_version()}"
        )
        raise BackendError(message, hint="noetl db migrate" if at else "noetl db init")


async def _with_connection(database: Database, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    """A database that is only just starting is waited for, as long as patience lasts."""
    until = asyncio.get_running_loop().time() + database.patience_s
    while True:
        try:
            connection = await database.connect()
            try:
                return await work(connection)
            finally:
                await connection.close()
        except (*LOST, asyncpg.PostgresError) as error:
            if not isinstance(error, LOST) or asyncio.get_running_loop().time() > until:
                message = f"the schema of {database.shown} could not be read or changed"
                raise trouble(message, error) from error
        await asyncio.sleep(RETRY_S)


async def _size(connection: asyncpg.Connection) -> int:
    return int(await connection.fetchval("select pg_database_size(current_database())"))


async def _later(connection: asyncpg.Connection, at: int) -> Later:
    """What was done to a schema that is newer than this release knows."""
    record = await connection.fetchrow(
        "select max(coalesce(oldest_reader, version)) as oldest_reader, "
        "(array_agg(release order by version desc))[1] as release from migrations where version > $1",
        newest_version(),
    )
    return Later(at, record["oldest_reader"], record["release"] or "of a newer release")


async def _migrate(shown: str, connection: asyncpg.Connection, change: bool) -> tuple[int, int]:
    at = await version(connection)
    if at > newest_version():
        check_reader(shown, newest_version(), await _later(connection, at))
    if not change or at >= newest_version():
        return at, at
    # Before the transaction, not in it: only its start makes what another did meanwhile known to the session.
    await connection.execute(f"select pg_advisory_lock({_LOCK})")
    async with connection.transaction():
        at = await version(connection)
        if at == 0:
            await connection.execute(f"create schema if not exists {SCHEMA}")
            await connection.execute(
                "create table migrations (version integer primary key, applied_at timestamptz default now())"
            )
        later = list(enumerate(SCHEMAS[at:], at + 1))
        for _, text in later:
            await connection.execute(text)
        await connection.executemany(
            "insert into migrations (version, oldest_reader, release) values ($1, $2, $3)",
            [(number, oldest_reader(number, text), __version__) for number, text in later],
        )
    return at, max(at, newest_version())
