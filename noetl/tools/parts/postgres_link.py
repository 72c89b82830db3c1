"""Connections to PostgreSQL, pooled per credential, and what its errors mean."""

import hashlib
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.errors import MissingExtra
from noetl.json_value import Json
from noetl.ports.call import Call, Secret
from noetl.ports.envelope import Failed
from noetl.tools.parts.auth import POSTGRES_FIELDS
from noetl.tools.parts.postgres_moments import understand
from noetl.tools.parts.postgres_sessions import Sessions
from noetl.tools.parts.postgres_together import Together
from noetl.tools.parts.statements import TEXT_CHARS

if TYPE_CHECKING:
    from asyncpg import Connection, PostgresError

CONNECT_S = 10.0
IDLE_S = 60.0
JSONB_VERSION = b"\x01"
POOLS_MAX = 64
STATEMENTS_MAX = 500
UNSENT = "query argument"  # what the driver says of a value that it cannot encode
RETRYABLE = ("08", "40", "53", "57", "55P03")  # connection, rollback, resources, operator, lock not available
LOST = "08"  # the connection was lost, as the driver or the server puts it
# The server ended while the statement was under way, or says itself that it does not know: the work may be
# done and committed.
UNKNOWN = (LOST, "40003", "57P", "58", "XX")
CLOSED = "underlying connection is closed"
BROKEN = "cannot switch to state"  # what the driver says of a connection that broke while it was used


class Pools:
    """The connection pools of a worker. An idle connection closes by itself after a minute."""

    def __init__(self) -> None:
        self._pools: OrderedDict[str, Sessions] = OrderedDict()
        self._types: OrderedDict[str, Types] = OrderedDict()
        self._together: OrderedDict[str, Together] = OrderedDict()
        self._keys: dict[int, tuple[Secret, str]] = {}

    def get(self, call: Call, size: int) -> Sessions:
        key = f"{self._key(call.auth)} {size}"
        if key not in self._pools:
            asyncpg = driver()
            pool = asyncpg.create_pool(
                **_options(call.auth),
                min_size=0,
                max_size=size,
                max_inactive_connection_lifetime=IDLE_S,
                timeout=CONNECT_S,
                init=_prepare,
                reset=_tidy,
            )
            broken = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
            self._forget_idle()
            self._pools[key] = Sessions(pool, size, broken)
        self._pools.move_to_end(key)
        return self._pools[key]

    def types(self, call: Call) -> "Types":
        """The types of statements that were run with the call's credential."""
        key = self._key(call.auth)
        entry = self._types.setdefault(key, Types())
        self._types.move_to_end(key)
        if len(self._types) > POOLS_MAX:
            self._types.popitem(last=False)
        return entry

    def together(self, call: Call, size: int, purpose: str) -> Together:
        """The calls of one purpose on connections of one credential."""
        key = f"{self._key(call.auth)} {size} {purpose}"
        if key not in self._together:
            self._together[key] = Together(self.get(call, size))
            if len(self._together) > STATEMENTS_MAX:
                self._together.popitem(last=False)
        return self._together[key]

    def _key(self, secret: Secret | None) -> str:
        """What tells credentials apart; tasks that were given the same one are not digested again."""
        kept = self._keys.get(id(secret))
        if kept is not None and kept[0] is secret:
            return kept[1]
        key = _digest(sorted(_options(secret).items()))
        if secret is not None:
            if len(self._keys) >= POOLS_MAX:
                self._keys.clear()
            self._keys[id(secret)] = (secret, key)
        return key

    def _forget_idle(self) -> None:
        """Make room for another pool: close those not used for the longest time; one that is in use stays."""
        idle = [key for key, sessions in self._pools.items() if sessions.idle]
        for key in idle[: max(len(self._pools) + 1 - POOLS_MAX, 0)]:
            self._pools.pop(key).terminate()

    async def close(self) -> None:
        for sessions in self._pools.values():
            sessions.terminate()
        self._pools.clear()
        self._together.clear()
        self._keys.clear()


class Types:
    """The parameter types of statements that answer no rows, as they were when last asked for."""

    def __init__(self) -> None:
        self._types: OrderedDict[str, Sequence[object]] = OrderedDict()

    def get(self, text: str) -> Sequence[object] | None:
        return self._types.get(text)

    def keep(self, text: str, types: Sequence[object]) -> None:
        if len(text) > TEXT_CHARS:
            return
        self._types[text] = types
        if len(self._types) > STATEMENTS_MAX:
            self._types.popitem(last=False)

    def forget(self, text: str) -> None:
        self._types.pop(text, None)


def types_of(call: Call) -> Types:
    return call.resource("postgres", Pools).types(call)


def together_of(call: Call, size: int, purpose: str) -> Together:
    return call.resource("postgres", Pools).together(call, size, purpose)


def _digest(secret: object) -> str:
    """Secrets are not kept as keys."""
    return hashlib.sha256(repr(secret).encode()).hexdigest()


@asynccontextmanager
async def borrow(call: Call, size: int = 8, purpose: str = "") -> AsyncIterator["Connection"]:
    """A connection for one call; what goes wrong on it becomes the call's failure.

    Calls of one purpose leave a session as it was, and may have it one after the other.
    """
    asyncpg = driver()
    sessions = call.resource("postgres", Pools).get(call, size)
    try:
        connection, unchanged = await sessions.lend(purpose), False
        try:
            yield connection
            unchanged = True
        finally:
            await sessions.give_back(connection, purpose if unchanged else "")
    except asyncpg.DataError as problem:
        if UNSENT not in str(problem):
            raise failed(problem) from None
        # The driver could not encode it: the server has not seen it.
        raise Failed("value", f"a value cannot be bound: {problem}", answered=True) from None
    except asyncpg.PostgresError as problem:
        raise failed(problem) from None
    except asyncpg.InternalClientError as problem:
        if BROKEN in str(problem):
            raise _unreachable(problem, call) from None
        raise Failed("value", f"a value cannot be sent to its column: {problem}", answered=True) from None
    except (asyncpg.InterfaceError, OSError, TimeoutError) as problem:
        raise _unreachable(problem, call) from None


def _unreachable(problem: Exception, call: Call) -> Failed:
    """No answer: the statement may have been carried out."""
    message = f"the database {_place(call.auth)} cannot be reached: {_words(problem)}"
    return Failed("connect", message, retryable=True)


def _words(problem: Exception) -> str:
    if CLOSED in str(problem):  # what the driver says of what it was to do on a connection that broke
        return "the connection was lost"
    number = getattr(problem, "errno", None)
    return os.strerror(number) if number and number > 0 else str(problem) or type(problem).__name__


def _place(secret: Secret | None) -> str:
    """Where a database is, without who is let in."""
    options = _options(secret)
    if "dsn" in options:
        return f"at {str(options['dsn']).rpartition('@')[2].partition('?')[0].rpartition('://')[2]}"
    return f"at {options.get('host', 'localhost')}:{options.get('port', 5432)}"


def driver() -> Any:
    try:
        import asyncpg
    except ModuleNotFoundError:
        raise MissingExtra("asyncpg", "postgres") from None
    return asyncpg


async def _prepare(connection: "Connection") -> None:
    """JSON columns are values, not texts; in binary, because COPY speaks nothing else. Days are days."""
    decode, encode = msgspec.json.decode, msgspec.json.encode
    await connection.set_type_codec(
        "json", schema="pg_catalog", encoder=encode, decoder=decode, format="binary"
    )
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        encoder=lambda value: JSONB_VERSION + encode(value),
        decoder=lambda raw: decode(raw[len(JSONB_VERSION) :]),
        format="binary",
    )
    await understand(connection)


async def _tidy(connection: "Connection") -> None:
    """Leave a connection as the next call wants it: its own user, and no temporary tables too."""
    user = "set session authorization default; reset role;"
    await connection.execute(f"{user}\n{connection.get_reset_query()}\ndiscard temp;")


def _options(secret: Secret | None) -> dict[str, Json]:
    """What the driver needs, out of a secret with fields or with a whole address."""
    if not secret:
        raise Failed("auth", "postgres needs auth: a secret with host, user, password and database, or a dsn")
    address = secret.get("dsn") or secret.get("value")  # a single secret may be the whole address
    if address and "host" not in secret and "://" in str(address):
        return {"dsn": str(address), **_which(str(address))}
    names = {**POSTGRES_FIELDS, "sslmode": "ssl"}
    options = {ours: secret[name] for name, ours in names.items() if secret.get(name) is not None}
    if "host" not in options:
        raise Failed("auth", f"the credential says neither host nor dsn; its fields are: {', '.join(secret)}")
    if "port" in options:
        options["port"] = int(str(options["port"]))
    return options


def _which(address: str) -> dict[str, Json]:
    """Of several servers the one that can be written to, unless the address says otherwise."""
    servers = address.partition("://")[2].partition("/")[0].rpartition("@")[2]
    if "," not in servers or "target_session_attrs" in address:
        return {}
    return {"target_session_attrs": "read-write"}


def failed(problem: "PostgresError", place: Mapping[str, object] | None = None) -> Failed:
    """An error of the server as the failure of a call; `place` is where in the SQL it is."""
    state = str(problem.sqlstate or "")
    message = str(problem.args[0]) if problem.args else type(problem).__name__
    names = ("detail", "hint", "context", "table_name", "constraint_name")
    fields = {name: getattr(problem, name, None) for name in names}
    details = {name: value for name, value in fields.items() if value} | dict(place or {})
    pg = {"code": state, "sqlstate": state, "message": message}
    retryable = state.startswith(RETRYABLE)
    was_answered = not state.startswith(UNKNOWN)
    kind = "connect" if state.startswith(LOST) else "postgres"
    return Failed(
        kind, message, code=state, retryable=retryable, answered=was_answered, details=details, pg=pg
    )
