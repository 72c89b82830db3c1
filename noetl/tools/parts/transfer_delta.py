"""A Delta table that a transfer fills: one commit, which says whose it is; a repeated call adds nothing."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from noetl.errors import MissingExtra
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.guard import reachable
from noetl.tools.parts.paths import inside
from noetl.tools.parts.sql import quote
from noetl.tools.parts.transfer_batches import for_delta
from noetl.tools.parts.transfer_lake import LakeWriter
from noetl.tools.parts.transfer_places import Target, in_thread, require

if TYPE_CHECKING:
    from arro3.core import Array, Field, RecordBatch, RecordBatchReader
    from deltalake import CommitProperties, DeltaTable

SETTINGS = "access_key_id secret_access_key session_token region endpoint virtual_hosted_style_request"
COLOUR = re.compile(r"\x1b\[\d+m")
# How long a table knows which calls have written to it.
MADE_WITH = {"delta.setTransactionRetentionDuration": "interval 30 days"}


class DeltaPlace:
    """Where a table is, and how it is opened."""

    def __init__(self, target: Target, call: Call) -> None:
        self.key = f"noetl:{call.idempotency_key}"
        self.options: dict[str, str] = {}
        if target.store is None:
            self.uri = inside(call, require(target.path, "path", "delta"))
            return
        self.uri = f"{target.store.rstrip('/')}/{require(target.key, 'key', 'delta')}"
        if not self.uri.startswith("s3://"):
            raise Failed("input", f"{target.store!r} is no place for a Delta table; use path, or s3://BUCKET")
        secret = call.auth or {}
        given = {f"aws_{name}": str(secret[name]) for name in SETTINGS.split() if name in secret}
        # Without a secret, nothing of the machine's own is used.
        self.options = given or {"aws_skip_signature": "true"}
        self.options |= {"aws_conditional_put": "etag", "allow_http": "true", "timeout": "60s"}

    def table(self) -> "DeltaTable | None":
        """The table as it is now; None when there is none."""
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(self.uri, self.options):
            return None
        return DeltaTable(self.uri, storage_options=self.options)

    def moved_before(self) -> int | None:
        """How many rows this call has written, if it has."""
        with naming_failures(self.uri):
            table = self.table()
            return None if table is None else table.transaction_version(self.key)


async def place_of(target: Target, call: Call) -> DeltaPlace:
    """The table of a target; its driver is there, and its address may be reached."""
    try:
        for module in ("arro3.io", "deltalake"):
            import_module(module)
    except ModuleNotFoundError as problem:
        raise MissingExtra(str(problem.name).partition(".")[0], "delta") from None
    place = DeltaPlace(target, call)
    if "aws_endpoint" in place.options:
        await reachable(place.options["aws_endpoint"], call.network)
    return place


async def moved_before(target: Target, call: Call) -> int | None:
    """How many rows an earlier call with this key has moved, if one has."""
    place = await place_of(target, call)
    return await in_thread(place.moved_before)


class DeltaWriter(LakeWriter):
    """A Delta table."""

    fit = staticmethod(for_delta)

    def __init__(self, place: DeltaPlace, mode: str, keys: list[str]) -> None:
        super().__init__(mode, keys)
        self.place = place

    def commit(self) -> None:
        """Write everything, unless a call with this key has done so meanwhile."""
        with naming_failures(self.place.uri):
            table = self.place.table()
            if table is not None and table.transaction_version(self.place.key) is not None:
                return
            if table is not None:
                self.check_columns([field.name for field in table.schema().fields])
            if not self.written and (table is not None or not self.columns):
                if table is not None and self.mode == "replace":
                    table.delete(commit_properties=self._properties())
                return
            with self.spooled() as given:
                fits = table is None or not self.knows_types
                self._write(table, given if fits or table is None else _as_there(given, table))

    def _write(self, table: "DeltaTable | None", batches: "RecordBatchReader") -> None:
        from deltalake import write_deltalake

        if table is not None and self.keys:
            self._merge(table, batches)
            return
        write_deltalake(
            self.place.uri if table is None else table,
            batches,
            mode="overwrite" if self.mode == "replace" else "append",
            schema_mode=None if table is None else "merge",
            configuration=MADE_WITH if table is None else None,
            storage_options=self.place.options if table is None else None,
            commit_properties=self._properties(),
        )

    def _merge(self, table: "DeltaTable", batches: "RecordBatchReader") -> None:
        same = " and ".join(f"t.{quote_part(key)} = s.{quote_part(key)}" for key in self.keys)
        given = {quote_part(name): f"s.{quote_part(name)}" for name in self.columns}
        changed = {quote_part(n): f"s.{quote_part(n)}" for n in self.columns if n not in self.keys}
        merger = table.merge(
            batches,
            predicate=same,
            source_alias="s",
            target_alias="t",
            commit_properties=self._properties(),
        ).when_not_matched_insert(given)
        (merger.when_matched_update(changed) if changed else merger).execute()

    def _properties(self) -> "CommitProperties":
        """What makes the commit known as this call's; two of one key cannot both be made."""
        from deltalake import CommitProperties, Transaction

        return CommitProperties(app_transactions=[Transaction(self.place.key, self.written)])


def _as_there(given: "RecordBatchReader", table: "DeltaTable") -> "RecordBatchReader":
    """Batches with the types of a table; a value that has none there is told, not made null."""
    from arro3.core import DataType, RecordBatch, RecordBatchReader, Schema

    there = table.schema().to_arrow()
    fields = [given.schema.field(index) for index in range(len(given.schema.names))]
    # What is in lists and mappings is called differently there; the library knows how.
    is_nested: Any = DataType.is_nested
    fields = [each if is_nested(each.type) else there.field(each.name) for each in fields]
    schema = Schema(fields)

    def cast() -> "Iterator[RecordBatch]":
        for batch in given:
            columns = [_cast(*each) for each in zip(batch.columns, fields, strict=True)]
            yield RecordBatch.from_arrays(columns, schema=schema)

    return RecordBatchReader.from_batches(schema, cast())


def _cast(column: "Array", wanted: "Field") -> "Array":
    if column.type == wanted.type:
        return column
    try:
        found = column.cast(wanted.type)
    except Exception as problem:
        raise _misfit(wanted, str(problem)) from None
    if found.null_count > column.null_count:
        raise _misfit(wanted, f"a value of {column.type} has no place there")
    return found


def _misfit(wanted: "Field", why: str) -> Failed:
    return Failed(
        "delta", f"column {wanted.name!r} does not fit the table's {wanted.type}: {why}", answered=True
    )


def quote_part(name: str) -> str:
    """A column in the SQL of a merge; a dot in it separates nothing."""
    return quote(name.replace(".", "\0")).replace("\0", ".")


@contextmanager
def naming_failures(place: str) -> Iterator[None]:
    """Errors of the library inside become the failure of the call."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        yield
    except Failed:
        raise
    except OSError as problem:
        message = f"the table at {place} cannot be reached: {_cause(problem)}"
        raise Failed("connect", message, retryable=True) from None
    except CommitFailedError as problem:  # somebody else has written; perhaps it was this call
        raise Failed("delta", _line(problem), code="CommitFailedError", retryable=True) from None
    except DeltaError as problem:
        raise Failed("delta", _line(problem), code=type(problem).__name__, answered=True) from None
    except Exception as problem:
        if type(problem) not in (
            Exception,
            ValueError,
            RuntimeError,
        ):  # what the library raises beside its own
            raise
        raise Failed("delta", _line(problem), answered=True) from None


def _line(problem: BaseException) -> str:
    return str(problem).strip().partition("\n")[0]


def _cause(problem: BaseException) -> str:
    """What came first of the library's causes, a line each, and what came last."""
    lines = [COLOUR.sub("", line).strip(" ↳") for line in str(problem).strip().splitlines()]
    return ": ".join(dict.fromkeys([*lines[:1], *lines[-1:]]))
