"""Databases behind DB-API drivers, through SQLAlchemy: its dialects, its pools, what it knows of lost links.

Only its engine is used. SQL is the author's and goes to the driver as it is.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from noetl.dsl.nearest import did_you_mean
from noetl.errors import MissingExtra
from noetl.json_value import Json
from noetl.ports.call import Call, Secret
from noetl.ports.envelope import Failed
from noetl.tools.parts.auth import POSTGRES_FIELDS
from noetl.tools.parts.paths import EVERYWHERE
from noetl.tools.parts.sql import columns_of
from noetl.tools.parts.sql_binding import Binding, Values
from noetl.tools.parts.sql_session import Answer, Drivers
from noetl.tools.parts.statements import first_word

if TYPE_CHECKING:
    from sqlalchemy import Connection, CursorResult, Engine
    from sqlalchemy.engine import URL
    from sqlalchemy.exc import DBAPIError

IDLE_CONNECTIONS = 4
RECYCLE_S = 900.0
READING = ("SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN")
# The dialect that a short name stands for; other names are SQLAlchemy's own, such as `mysql+mysqldb`.
NAMES = {"mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql", "postgresql": "postgresql+psycopg"}
MYSQL = ("mysql", "mariadb")
CLICKHOUSE = "clickhousedb"
ESCAPING = (*MYSQL, "bigquery", "clickhouse", CLICKHOUSE, "databricks", "snowflake", "hive", "awsathena")
CONFINED = {"sqlite": "sqlite", "duckdb": "duckdb"}  # kinds that keep SQL inside the allowed folders
# Deadlock, lock not to be had, too many connections, shutting down.
MYSQL_RETRYABLE = ("1040", "1053", "1203", "1205", "1213", "1226", "3572")
SQLSTATES_RETRYABLE = ("08", "40", "53", "57", "55P03", "HYT")


class DbapiSession:
    """A pooled connection of an engine."""

    def __init__(self, engine: "Engine") -> None:
        from sqlalchemy.exc import SQLAlchemyError

        self.engine = engine
        name = engine.dialect.name
        styles = {"numeric_dollar": "dollar"}
        style = str(engine.dialect.paramstyle)
        self.binding = Binding(styles.get(style, style), escapes=name in ESCAPING)
        self.connection: Connection | None = None
        self.answer: Answer | None = None
        self.commits_each = False
        dbapi: Any = engine.dialect.dbapi
        self.errors = (SQLAlchemyError, dbapi.Error, OSError, AttributeError)

    def quote(self, name: str) -> str:
        return ".".join(map(self.engine.dialect.identifier_preparer.quote_identifier, name.split(".")))

    def begin(self, transaction: bool) -> None:
        from sqlalchemy.exc import ArgumentError

        with naming_failures(self.engine, connecting=True):
            self.connection = self.engine.connect()
            if transaction:
                return
            try:
                self.connection.execution_options(isolation_level="AUTOCOMMIT")
            except (ArgumentError, NotImplementedError):
                self.commits_each = True  # a database that does not commit by itself is told to

    def execute(self, text: str, values: Values | None) -> Answer:
        assert self.connection is not None
        self._close_answer()
        given: Any = tuple(values) if isinstance(values, list) else values
        options = {"no_parameters": True, "stream_results": first_word(text) in READING}
        with naming_failures(self.engine):
            result = self.connection.exec_driver_sql(text, given, execution_options=options)
            if self.commits_each and not result.returns_rows:
                self.connection.commit()
        self.answer = DbapiAnswer(result, self.engine)
        return self.answer

    def commit(self) -> None:
        assert self.connection is not None
        self._close_answer()
        with naming_failures(self.engine):
            self.connection.commit()

    def cancel(self) -> None:
        if self.connection is None or self.connection.invalidated:
            return
        with suppress(
            *self.errors
        ):  # it ended by itself, or cannot be cancelled: it is waited for, then left
            driver_connection: Any = self.connection.connection.driver_connection
            if self.engine.dialect.name in MYSQL:
                self._kill(driver_connection)
            elif hasattr(driver_connection, "cancel"):
                driver_connection.cancel()

    def _kill(self, driver_connection: Any) -> None:
        """End a statement of MySQL over another connection, as its own clients do."""
        with self.engine.connect() as other:
            other.exec_driver_sql(f"kill query {int(driver_connection.thread_id())}")

    def close(self, broken: bool) -> None:
        if self.connection is None:
            return
        with suppress(*self.errors):  # what was to be said was said; a connection that fails here is dropped
            if broken:
                self.connection.invalidate()
            else:
                self._close_answer()
        with suppress(*self.errors):
            self.connection.close()
        self.connection = None

    def _close_answer(self) -> None:
        if self.answer is not None:
            self.answer.close()
        self.answer = None


class DbapiAnswer:
    """The rows of a statement, as its cursor gives them."""

    def __init__(self, result: "CursorResult[Any]", engine: "Engine") -> None:
        self._result, self._engine = result, engine
        self.columns = columns_of(map(str, result.keys())) if result.returns_rows else None
        self.changed = 0 if result.returns_rows else max(result.rowcount, 0)

    @property
    def cursor(self) -> Any:
        """The driver's own."""
        return self._result.cursor

    def fetch(self, size: int) -> list[list[object]]:
        with naming_failures(self._engine):
            return [list(row) for row in self._result.fetchmany(size)]

    def close(self) -> None:
        self._result.close()


# ---- which database -------------------------------------------------------------------------------------


def engine_of(driver: str, call: Call, drivers: Drivers) -> "Engine":
    """The connections to the database of the call's credential."""
    url = _url(NAMES.get(driver, driver), call.auth)
    kind = CONFINED.get(url.get_backend_name())
    if kind is not None:
        raise Failed(
            "input", f"kind: {kind} is the way to files of {driver}: it keeps to the allowed folders"
        )
    if _is_inside(url) and EVERYWHERE not in call.roots:
        told = "this worker keeps to its folders, which SQL of chDB does not"
        raise Failed("path", f"{told}: use kind: sqlite or kind: duckdb")
    key = hashlib.sha256(repr((str(url.drivername), url.render_as_string(False))).encode()).hexdigest()
    return drivers.engine(key, lambda: _engine(url))


def _engine(url: "URL") -> "Engine":
    from sqlalchemy import create_engine
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    from sqlalchemy.pool import QueuePool

    try:
        return create_engine(
            url,
            poolclass=QueuePool,
            pool_size=IDLE_CONNECTIONS,
            max_overflow=-1,  # the number of threads is the bound
            pool_pre_ping=True,
            pool_recycle=RECYCLE_S,
            connect_args=_more(url),
        )
    except NoSuchModuleError:
        message = f"there is no SQL driver {url.drivername!r} here"
        hint = did_you_mean(url.drivername, NAMES, "install its SQLAlchemy dialect")
        raise Failed("missing_extra", f"{message}; {hint}") from None
    except ModuleNotFoundError as problem:
        raise _not_installed(problem, url) from None
    except (ArgumentError, TypeError, ValueError) as problem:
        raise Failed("auth", f"the credential does not fit {url.drivername}: {problem}") from None


def _is_inside(url: "URL") -> bool:
    """Whether ClickHouse itself runs in the worker, whose SQL can open any of its files."""
    asked = (url.query.get("interface"), url.query.get("dsn"))
    return url.get_backend_name() == CLICKHOUSE and any(str(each).startswith("chdb") for each in asked)


def _more(url: "URL") -> dict[str, object]:
    """What a connection is made with beside what the credential says."""
    if url.get_backend_name() in MYSQL:
        # A server could otherwise ask for files of the worker.
        more: dict[str, object] = {"local_infile": False}
        return more | {"conv": _times_as_text()} if url.get_driver_name() == "pymysql" else more
    if url.get_backend_name() == CLICKHOUSE and "tz_mode" not in url.query:
        return {"tz_mode": "schema"}  # times of a column with a zone have it
    return {}


def _times_as_text() -> dict[object, object]:
    """What becomes of MySQL's values; its times are durations, which it takes as it writes them."""
    from pymysql.constants import FIELD_TYPE
    from pymysql.converters import conversions

    return {**conversions, FIELD_TYPE.TIME: str}


def _not_installed(problem: ModuleNotFoundError, url: "URL") -> Failed | MissingExtra:
    if problem.name == "pymysql":
        return MissingExtra("pymysql", "sql")
    message = f"the driver {url.drivername} needs the module {problem.name!r}, which is not installed here"
    return Failed("missing_extra", f"{message}; pip install {problem.name}")


def _url(name: str, secret: Secret | None) -> "URL":
    try:
        from sqlalchemy.engine import URL, make_url
        from sqlalchemy.exc import ArgumentError
    except ModuleNotFoundError:
        raise MissingExtra("sqlalchemy", "sql") from None

    if not secret:
        raise Failed("auth", "sql needs auth: a secret with url, or with host, user, password and database")
    address = secret.get("url") or secret.get("dsn") or secret.get("value")
    try:
        if address:
            return make_url(str(address)).set(drivername=name)
        return URL.create(name, **_fields(secret))
    except (ArgumentError, ValueError):  # whose words would have the password
        raise Failed(
            "auth", "the url of the credential is none; write driver://user:password@host/db"
        ) from None


def _fields(secret: Secret) -> Mapping[str, Any]:
    ours = {"user": "username"}
    found: dict[str, Json] = {}
    for field, name in POSTGRES_FIELDS.items():
        if secret.get(field) is not None:
            found[ours.get(name, name)] = secret[field]
    if "host" not in found:
        raise Failed("auth", f"the credential says neither url nor host; its fields are: {', '.join(secret)}")
    port = found.pop("port", None)
    return {name: str(value) for name, value in found.items()} | ({"port": int(str(port))} if port else {})


# ---- what errors mean -----------------------------------------------------------------------------------


@contextmanager
def naming_failures(engine: "Engine", connecting: bool = False) -> Iterator[None]:
    """Errors of the driver inside become the failure of the call."""
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    try:
        yield
    except DBAPIError as problem:
        raise _failed(problem, engine, connecting) from None
    except SQLAlchemyError as problem:
        raise Failed("sql", _words(problem)) from None
    except (OSError, TimeoutError) as problem:
        raise Failed("connect", _unreachable(engine, problem), retryable=True) from None
    except (TypeError, ValueError, ArithmeticError) as problem:
        raise Failed("input", f"params do not fit the SQL: {problem}") from None


def _failed(problem: "DBAPIError", engine: "Engine", connecting: bool) -> Failed:
    origin = problem.orig
    state, code = _codes(origin)
    if _is_lost(problem, code, engine) or (connecting and not _was_answered(state, code, problem)):
        return Failed("connect", _unreachable(engine, origin), code=code or state, retryable=True)
    again = code in MYSQL_RETRYABLE if engine.dialect.name in MYSQL else False
    again = again or bool(state and state.startswith(SQLSTATES_RETRYABLE))
    details = {"sqlstate": state} if state and state != code else {}
    return Failed("sql", _words(origin), code=code or state, retryable=again, answered=True, details=details)


def _is_lost(problem: "DBAPIError", code: str | None, engine: "Engine") -> bool:
    """Whether nobody is there any more; ClickHouse's driver, which speaks HTTP, then has no number."""
    from sqlalchemy.exc import OperationalError

    unnumbered = code is None and isinstance(problem, OperationalError)
    return problem.connection_invalidated or (engine.dialect.name == CLICKHOUSE and unnumbered)


def _was_answered(state: str | None, code: str | None, problem: "DBAPIError") -> bool:
    """Whether a server said no, as it does to a wrong password; MySQL's clients count from 2000 to 2999."""
    from sqlalchemy.exc import InterfaceError, OperationalError

    if state:
        return not state.startswith(("08", "57", "HY"))
    if code and code.isdigit():
        return not 2000 <= int(code) < 3000
    return not isinstance(problem, InterfaceError | OperationalError)


def _codes(origin: object) -> tuple[str | None, str | None]:
    """The SQLSTATE and the number of an error, wherever its driver has them."""
    state = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    number = getattr(origin, "errno", None) or getattr(origin, "code", None)
    args = getattr(origin, "args", ())
    if number is None and args and isinstance(args[0], int):
        number = args[0]
    return (str(state) if state else None, None if number is None else str(number))


def _words(origin: object) -> str:
    """What a driver says, without its number."""
    args = getattr(origin, "args", ())
    texts = [each for each in args if isinstance(each, str) and each]
    return texts[-1] if texts else str(origin) or type(origin).__name__


def _unreachable(engine: "Engine", problem: object) -> str:
    url = engine.url
    place = f"{url.host or 'localhost'}{f':{url.port}' if url.port else ''}"
    return f"the database at {place} cannot be reached: {_words(problem)}"
