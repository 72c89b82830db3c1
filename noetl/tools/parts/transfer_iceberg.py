"""An Iceberg table that a transfer fills: one commit that says whose it is; a repeated call adds nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from noetl.errors import MissingExtra
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.guard import reachable
from noetl.tools.parts.paths import inside
from noetl.tools.parts.transfer_batches import for_iceberg
from noetl.tools.parts.transfer_lake import LakeWriter
from noetl.tools.parts.transfer_places import Target, in_thread, require

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction

CALL, ROWS = "noetl.call", "noetl.rows"  # properties of a snapshot
CATALOG = "default"  # a SQL catalog keeps tables under it
# What is read is what is written on: a commit that meets another one must look again whose that was.
ONCE = {"commit.retry.num-retries": "0"}
# Properties by which a catalog would use files or code of the worker.
CODE, PLACES, HERE = ("py-catalog-impl", "py-io-impl"), ("uri", "warehouse"), ("sqlite", "file:", "duckdb")
CONFLICTS = ("CommitFailedException", "TableAlreadyExistsError", "WaitingForLockException")
AWAY = ("ServiceUnavailableError", "ServerError", "TooManyRequestsError", "CommitStateUnknownException")
REFUSED = ("UnauthorizedError", "ForbiddenError", "OAuthError", "AuthorizationExpiredError")


class IcebergPlace:
    """Which table of which catalog, and the key of the call that writes to it."""

    def __init__(self, target: Target, call: Call) -> None:
        self.key = call.idempotency_key
        self.name = require(target.table, "table", "iceberg")
        if "." not in self.name.strip("."):
            raise Failed("input", f"an iceberg table is named namespace.table; {self.name!r} is not")
        self.properties = {name: str(value) for name, value in (call.auth or {}).items()}
        if target.path is not None:
            folder = inside(call, target.path)
            file = os.path.join(folder, "catalog.db")
            self.properties = {"type": "sql", "uri": f"sqlite:///{file}", "warehouse": f"file://{folder}"}
            os.makedirs(folder, exist_ok=True)
        elif not self.properties:
            raise Failed("input", "an iceberg place needs 'path', or auth with the catalog's properties")
        else:
            _keep_outside(self.properties)

    def catalog(self) -> "Catalog":
        from pyiceberg.catalog import load_catalog

        return load_catalog(CATALOG, **self.properties)

    def table(self, catalog: "Catalog") -> "Table | None":
        """The table as it is now; None when there is none."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return catalog.load_table(self.name)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def moved_before(self) -> int | None:
        """How many rows this call has written, if it has."""
        with naming_failures():
            table = self.table(self.catalog())
            return None if table is None else self.rows_of_call(table)

    def rows_of_call(self, table: "Table") -> int | None:
        """What the snapshot of this call says, if the table has one."""
        summaries = (each.summary for each in reversed(table.metadata.snapshots) if each.summary)
        own = (each for each in summaries if each.additional_properties.get(CALL) == self.key)
        return next((int(each.additional_properties[ROWS]) for each in own), None)


def _keep_outside(properties: dict[str, str]) -> None:
    """Files of the worker are reached with `path` alone, which keeps to the allowed folders."""
    has_server = properties.get("uri", "").startswith(("http://", "https://"))
    warehouse = properties.get("warehouse", "")
    is_name = has_server and "://" not in warehouse and not warehouse.startswith(("/", "."))
    wrong = [name for name in CODE if name in properties]
    wrong += [name for name in PLACES if properties.get(name, "").startswith(HERE)]
    if warehouse and "://" not in warehouse and not is_name:
        wrong.append("warehouse")
    if wrong:
        hint = "a catalog in a folder is named with path"
        raise Failed("path", f"{wrong[0]!r} of an iceberg catalog would use the worker's own files; {hint}")


async def catalog_of(target: Target, call: Call) -> IcebergPlace:
    """The place of a target; its driver is there, and its address may be reached."""
    try:
        for module in ("arro3.io", "pyarrow", "pyiceberg", "sqlalchemy"):
            import_module(module)
    except ModuleNotFoundError as problem:
        raise MissingExtra(str(problem.name).partition(".")[0], "iceberg") from None
    place = IcebergPlace(target, call)
    for name in ("uri", "s3.endpoint"):
        if place.properties.get(name, "").startswith(("http://", "https://")):
            await reachable(place.properties[name], call.network)
    return place


async def moved_before(target: Target, call: Call) -> int | None:
    """How many rows an earlier call with this key has moved, if one has."""
    place = await catalog_of(target, call)
    return await in_thread(place.moved_before)


class IcebergWriter(LakeWriter):
    """An Iceberg table."""

    fit = staticmethod(for_iceberg)

    def __init__(self, place: IcebergPlace, mode: str, keys: list[str]) -> None:
        super().__init__(mode, keys)
        self.place = place

    def commit(self) -> None:
        with naming_failures():
            catalog = self.place.catalog()
            table = self.place.table(catalog)
            if table is not None and self.place.rows_of_call(table) is not None:
                return
            if table is not None:
                self.check_columns(table.schema().column_names)
                self._change(table)
            elif self.columns:
                self._make(catalog)

    def _make(self, catalog: "Catalog") -> None:
        """The table and its first rows, in one commit."""
        with self.spooled() as given:
            reader = _reader(given)
            catalog.create_namespace_if_not_exists(self.place.name.rpartition(".")[0])
            making = catalog.create_table_transaction(self.place.name, reader.schema)
            making.append(reader, snapshot_properties=self._properties())
            making.commit_transaction()

    def _change(self, table: "Table") -> None:
        if not self.written and self.mode != "replace":
            return
        table.metadata = table.metadata.model_copy(
            update={"properties": {**table.metadata.properties, **ONCE}}
        )
        with table.transaction() as change:
            if not self.written:
                change.delete("true", snapshot_properties=self._properties())
                return
            wanted = self._schema_of(table)
            with self.spooled(wanted) as given:
                reader = _reader(given)
                self._write(change, _as_there(reader, wanted) if self.typed else reader)

    def _write(self, change: "Transaction", reader: "pyarrow.RecordBatchReader") -> None:
        properties = self._properties()
        if self.mode == "replace":
            change.overwrite(reader, snapshot_properties=properties)
        elif self.keys:
            change.upsert(reader.read_all(), self.keys, snapshot_properties=properties)
        else:
            change.append(reader, snapshot_properties=properties)

    def _schema_of(self, table: "Table") -> Any:
        """The columns that are written, with the types that they have in the table."""
        from arro3.core import Schema

        there = table.schema().as_arrow()
        import pyarrow

        return Schema.from_arrow(pyarrow.schema([there.field(name) for name in self.columns]))

    def _properties(self) -> dict[str, str]:
        return {CALL: self.place.key, ROWS: str(self.written)}


def _as_there(given: "pyarrow.RecordBatchReader", wanted: Any) -> "pyarrow.RecordBatchReader":
    """Batches with the types of a table; a value that has none there is told, not rounded."""
    import pyarrow

    schema = pyarrow.schema(wanted)

    def cast() -> "Iterator[pyarrow.RecordBatch]":
        for batch in given:
            yield batch.cast(schema)

    return pyarrow.RecordBatchReader.from_batches(schema, cast())


def _reader(given: Any) -> "pyarrow.RecordBatchReader":
    """Batches of one Arrow library as those of the other, without a copy."""
    import pyarrow

    return pyarrow.RecordBatchReader.from_stream(given)


@contextmanager
def naming_failures() -> Iterator[None]:
    """Errors of the library inside become the failure of the call."""
    try:
        yield
    except Failed:
        raise
    except Exception as problem:
        raise _failed(problem) from problem


def _failed(problem: Exception) -> Failed:
    """By the name of the error: those of the library have no class in common."""
    name, module = type(problem).__name__, type(problem).__module__.partition(".")[0]
    line = next((line for line in str(problem).splitlines() if line.strip()), name)
    if name in CONFLICTS:
        return Failed("iceberg", line, code=name, retryable=True)
    if name in AWAY or module == "requests" or isinstance(problem, OSError):
        return Failed("connect", f"the catalog or table cannot be reached: {line}", code=name, retryable=True)
    if name in REFUSED:
        return Failed("auth", f"the catalog refuses: {line}", code=name, answered=True)
    details = {"reason": str(problem)[:4000]}
    return Failed("iceberg", line, code=name, answered=True, details=details)
