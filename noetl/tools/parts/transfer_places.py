"""The places of a transfer as authors name them, and what reading and writing them share."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.tool import Input, doc

Row = dict[str, Json]
T = TypeVar("T")
Place = Literal["postgres", "sql", "sqlite", "duckdb", "file", "object", "http"]
TargetPlace = Literal["postgres", "sql", "sqlite", "duckdb", "file", "object", "http", "delta", "iceberg"]
Rows = Literal["json", "jsonl", "csv", "parquet"]


class Source(Input):
    """Where rows come from."""

    kind: Annotated[Place, doc("What kind of place it is.")]
    auth: Annotated[str | None, doc("The secret to connect with.")] = None
    driver: Annotated[str | None, doc("The driver of `sql`, as for the kind of that name.")] = None
    database: Annotated[str | None, doc("The database file of `sqlite` and `duckdb`.")] = None
    query: Annotated[str | None, doc("The rows to take, as SQL.")] = None
    params: Annotated[
        list[Any] | dict[str, Any] | None,
        doc("Values to bind in the query, or the parameters of an address."),
    ] = None
    table: Annotated[str | None, doc("The table to take, instead of a query.")] = None
    path: Annotated[str | None, doc("The file to read.")] = None
    store: Annotated[str | None, doc("The address of the bucket of an `object`.")] = None
    key: Annotated[str | None, doc("The key of an `object`.")] = None
    url: Annotated[str | None, doc("The address of `http`; the query takes `params`.")] = None
    headers: Annotated[dict[str, Any] | None, doc("Headers for `http`.")] = None
    format: Annotated[Rows | None, doc("How the rows are written; by default from the name or type.")] = None

    def query_params(self) -> dict[str, Any] | None:
        if isinstance(self.params, list):
            raise Failed("input", "an http source takes params as a mapping")
        return self.params


class Target(Input):
    """Where rows go."""

    kind: Annotated[TargetPlace, doc("What kind of place it is.")]
    auth: Annotated[str | None, doc("The secret to connect with.")] = None
    driver: Annotated[str | None, doc("The driver of `sql`, as for the kind of that name.")] = None
    database: Annotated[str | None, doc("The database file of `sqlite` and `duckdb`.")] = None
    table: Annotated[
        str | None,
        doc("The table, which all but `postgres` make; `namespace.table` for `iceberg`."),
    ] = None
    path: Annotated[
        str | None, doc("The file, the folder of a `delta` table, or that of an `iceberg` catalog.")
    ] = None
    store: Annotated[str | None, doc("The address of the bucket of an `object` or a `delta` table.")] = None
    key: Annotated[str | None, doc("The key of an `object`, or of a `delta` table in `store`.")] = None
    url: Annotated[str | None, doc("The address of `http`.")] = None
    headers: Annotated[dict[str, Any] | None, doc("Headers for `http`.")] = None
    format: Annotated[Rows | None, doc("How the rows are written; by default from the name.")] = None


def source_query(source: Source, quote: Callable[[str], str]) -> str:
    """What a database is asked for its rows."""
    if (source.query is None) == (source.table is None):
        raise Failed("input", f"a {source.kind} source needs exactly one of query, table")
    return source.query or f"select * from {quote(source.table or '')}"


async def in_thread(job: Callable[..., T], *args: object, stop: Callable[[], object] | None = None) -> T:
    """Do a job in a thread; cancelled, wait for its end, so that nothing is used by two at once.

    A job that is not short has a way to make it end.
    """
    import asyncio

    running = asyncio.get_running_loop().run_in_executor(None, job, *args)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while stop is not None and not running.done():  # it may not be where it can be stopped yet
            stop()
            await asyncio.wait([running], timeout=0.1)
        await asyncio.wait([running])
        running.exception()  # nobody is left to hear of it
        raise


def require(value: str | None, name: str, kind: str) -> str:
    """An input that this kind of place cannot do without."""
    if not value:
        raise Failed("input", f"a {kind} place needs {name!r}")
    return value
