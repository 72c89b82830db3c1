"""Rows on their way into a table of a lake: they wait in a file until all are there, then are one commit."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from noetl.ports.envelope import Failed
from noetl.tools.parts import content
from noetl.tools.parts.transfer_batches import Fit
from noetl.tools.parts.transfer_places import Row
from noetl.tools.parts.transfer_types import Types, schema, untyped, written

if TYPE_CHECKING:
    from arro3.core import RecordBatch, RecordBatchReader, Schema

BATCH_ROWS = 65_536
OPAQUE = ("arrow.opaque", "arrow.json")


class LakeWriter:
    """What the writers of tables in a lake have in common; each says how it commits."""

    fit: Fit  # what becomes of types that the table cannot have

    def __init__(self, mode: str, keys: list[str]) -> None:
        self.mode, self.keys = mode, keys if mode == "upsert" else []
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="noetl-transfer-"))
        self.path = os.path.join(folder, "rows.jsonl")
        self.batches_path = os.path.join(folder, "rows.parquet")
        self.typed = False  # whether they are Arrow batches, which say their types
        self.columns: list[str] = []
        self.column_types: dict[str, str] = {}
        self.types: Types = {}  # what is known of rows
        self.written = 0

    def begin(self, columns: list[str], rows: list[Row], types: Types) -> None:
        self.columns, self.types = columns, types
        open(self.path, "ab").close()
        if missing := [key for key in self.keys if columns and key not in columns]:
            raise Failed("input", f"the key {missing[0]!r} is not among the columns {', '.join(columns)}")

    def write(self, rows: list[Row]) -> None:
        content.check_columns(untyped(rows, self.types), self.column_types)
        with open(self.path, "ab") as file:
            file.write(content.encode([*written(rows, self.types)], "jsonl"))
        self.written += len(rows)

    @property
    def knows_types(self) -> bool:
        """Whether the source has said what its columns are."""
        return self.typed or bool(self.types)

    def take(self, given: "RecordBatchReader") -> None:
        """Batches, instead of rows."""
        from arro3.core import RecordBatchReader

        self.typed, self.columns = True, [str(name) for name in given.schema.names]
        plain = _without_opaque(given.schema)
        counted = RecordBatchReader.from_batches(plain, self._counted(given, plain))
        content.write_batches(counted, self.batches_path)

    def _counted(self, given: "RecordBatchReader", plain: "Schema") -> "Iterator[RecordBatch]":
        from arro3.core import RecordBatch

        for batch in given:
            yield RecordBatch.from_arrays(batch.columns, schema=plain)
            self.written += batch.num_rows

    @contextmanager
    def spooled(self, wanted: "Schema | None" = None) -> "Iterator[RecordBatchReader]":
        """What waits, of the types that a table has, or that were found."""
        if self.typed:
            with open(self.batches_path, "rb") as file:
                yield content.parquet_batches(file, BATCH_ROWS)
            return
        with open(self.path, "rb") as first, open(self.path, "rb") as second:
            yield batches(second, wanted or self._found(first))

    def _found(self, lines: Any) -> "Schema":
        """The types that the source says, or that were found in the rows, as the table can have them."""
        from arro3.core import Schema
        from arro3.io import infer_json_schema

        wanted: Any = schema(infer_json_schema(lines), self.columns, self.types)
        fields = [wanted.field(place) for place in range(len(self.columns))]
        fits = zip(fields, (self.fit(each.type) for each in fields), strict=True)
        return Schema([field if fit is None else field.with_type(fit[0]) for field, fit in fits])

    def check_columns(self, names: list[str]) -> None:
        """A column that a table does not have is named."""
        if unknown := [name for name in self.columns if name not in names]:
            raise Failed("format", f"the table has no column {unknown[0]!r}; it has {', '.join(names)}")

    def commit(self) -> None:
        """Write everything, unless a call with this key has done so meanwhile."""
        raise NotImplementedError

    def close(self) -> None:
        self.stack.close()

    def ref(self) -> None:
        """`resolve` does not read tables of a lake."""


def _without_opaque(given: "Schema") -> "Schema":
    """Columns of types that their database alone knows are what holds them: over ADBC, decimals are text."""
    from arro3.core import Schema

    fields = [given.field(place) for place in range(len(given.names))]
    names = [str(each.metadata_str.get("ARROW:extension:name")) for each in fields]
    return Schema([f.with_metadata({}) if n in OPAQUE else f for f, n in zip(fields, names, strict=True)])


def batches(lines: Any, schema: "Schema") -> "RecordBatchReader":
    """The rows of a file of JSON lines, a batch at a time."""
    from arro3.io import read_json

    return read_json(lines, schema, batch_size=4096)
