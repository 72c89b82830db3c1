"""Connections to one PostgreSQL database, what can go wrong with them, and how long that is borne with."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

from noetl.errors import BackendError, DamagedData, MissingExtra, NoetlError, RequestError
from noetl.ports.shown_address import without_password

try:
    import asyncpg
except ImportError as error:
    raise MissingExtra("asyncpg", "postgres") from error

SCHEMA = "noetl"
POOL = 8
PATIENCE_S = 10.0  # how long an operation bears with a database that is away
RETRY_S = 0.05
# The connection is gone or nothing came back in time: what was sent may have been done or not.
LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.ReadOnlySQLTransactionError,  # what was the primary server is one no longer, or never was
)
_HINTS: tuple[tuple[type[BaseException], str], ...] = (
    (asyncpg.DiskFullError, "free some space on the database server and try again"),
    (asyncpg.InvalidAuthorizationSpecificationError, "check the user and the password in NOETL_STORE"),
    (asyncpg.InvalidCatalogNameError, "make the database, or name another one in NOETL_STORE"),
    (asyncpg.InsufficientPrivilegeError, "give the user of NOETL_STORE the rights of an owner there"),
    (asyncpg.ReadOnlySQLTransactionError, "name the primary server in NOETL_STORE, not a replica"),
    (asyncpg.UndefinedTableError, "noetl db migrate"),
    (OSError, "check that PostgreSQL runs there, and that NOETL_STORE names it; the same may work later"),
)


def _where(dsn: str) -> dict[str, str]:
    """Of several servers the one that can be written to, unless the address says otherwise."""
    parts = urlsplit(dsn)
    if "," not in parts.netloc or "target_session_attrs" in parts.query:
        return {}
    return {"target_session_attrs": "read-write"}


def trouble(what: str, error: BaseException) -> NoetlError:
    """An error of the database, with what to do about it."""
    if isinstance(error, asyncpg.DataError):
        return RequestError(f"{what}: {error}", hint="correct the value; text cannot contain a NUL character")
    if isinstance(error, asyncpg.DataCorruptedError | asyncpg.IndexCorruptedError):
        return DamagedData(f"{what}: {error}", hint="restore it from a backup of the database")
    hint = next((text for kind, text in _HINTS if isinstance(error, kind)), None)
    return BackendError(f"{what}: {str(error) or type(error).__name__}", hint=hint)


class Database:
    """A small pool for whatever is not an append, and the making of other connections."""

    def __init__(self, dsn: str, patience_s: float = PATIENCE_S) -> None:
        self._dsn, self.patience_s = dsn, patience_s
        self.shown = without_password(dsn)
        self.session = secrets.randbits(62)
        """By this number the connections of one process are known; the statements read it from their name."""
        self._pool: asyncpg.Pool

    async def connect(self, **settings: str) -> asyncpg.Connection:
        """A connection of its own, with settings of its own."""
        server_settings = self._settings() | settings
        return await asyncpg.connect(
            self._dsn, timeout=self.patience_s, server_settings=server_settings, **_where(self._dsn)
        )

    def _settings(self) -> dict[str, str]:
        return {"search_path": SCHEMA, "jit": "off", "application_name": f"noetl {self.session:x}"}

    async def open(self) -> None:
        """Be ready for work; raises BackendError when the database cannot be reached."""
        self._pool = asyncpg.create_pool(
            self._dsn,
            min_size=0,
            max_size=POOL,
            timeout=self.patience_s,
            command_timeout=max(30.0, self.patience_s),
            max_inactive_connection_lifetime=300.0,
            reset=_leave,
            # what is asked for is rare or not from one time to the next: no plan serves both
            server_settings=self._settings() | {"plan_cache_mode": "force_custom_plan"},
            **_where(self._dsn),
        )
        await self._pool
        await self.fetch("select 1")

    async def close(self) -> None:
        """Let go of every connection."""
        try:
            await asyncio.wait_for(self._pool.close(), self.patience_s)
        except LOST:
            self._pool.terminate()

    async def fetch(self, statement: str, *values: object, again: bool = True) -> list[asyncpg.Record]:
        """The rows of a statement; with `again` it is repeated when the answer was lost on the way."""
        until = asyncio.get_running_loop().time() + self.patience_s
        while True:
            sent = False
            try:
                async with self._pool.acquire(timeout=self.patience_s) as connection:
                    sent = True
                    rows: list[asyncpg.Record] = await connection.fetch(statement, *values)
                    return rows
            except LOST as error:
                over = asyncio.get_running_loop().time() > until
                if over or (sent and not again) or self._pool.is_closing():
                    raise trouble(f"the database {self.shown} does not answer", error) from error
                if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                    await self._pool.expire_connections()  # they lead to a server that cannot be written to
            except asyncpg.PostgresError as error:
                raise trouble(f"the database {self.shown} refused", error) from error
            await asyncio.sleep(RETRY_S)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection inside a transaction, which is undone when anything goes wrong."""
        try:
            async with AsyncExitStack() as stack:
                yield await self._begun(stack)
        except LOST as error:
            raise trouble(f"the database {self.shown} does not answer", error) from error
        except asyncpg.PostgresError as error:
            raise trouble(f"the database {self.shown} refused", error) from error

    async def _begun(self, stack: AsyncExitStack) -> asyncpg.Connection:
        """A connection that has just begun a transaction, and so is alive."""
        until = asyncio.get_running_loop().time() + self.patience_s
        while True:
            async with AsyncExitStack() as attempt:
                try:
                    acquired = self._pool.acquire(timeout=self.patience_s)
                    connection = await attempt.enter_async_context(acquired)
                    await attempt.enter_async_context(connection.transaction())
                except LOST:
                    if asyncio.get_running_loop().time() > until:
                        raise
                else:
                    await stack.enter_async_context(attempt.pop_all())
                    return connection
            await asyncio.sleep(RETRY_S)


async def _leave(connection: asyncpg.Connection) -> None:
    """Nothing is changed on a connection that would have to be put back, so that costs no round trip."""
