"""Rows on their way into a table of a lake: they wait in a file until all are there, then are one commit."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from noetl.ports.envelope import Failed
from noetl.tools.parts import content
from noetl.tools.parts.transfer_places import Row

if TYPE_CHECKING:
    from arro3.core import RecordBatch, RecordBatchReader, Schema

BATCH_ROWS = 65_536


class LakeWriter:
    """What the writers of tables in a lake have in common; each says how it commits."""

    def __init__(self, mode: str, keys: list[str]) -> None:
        self.mode, self.keys = mode, keys if mode == "upsert" else []
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="noetl-transfer-"))
        self.path = os.path.join(folder, "rows.jsonl")
        self.batches_path = os.path.join(folder, "rows.parquet")
        self.typed = False  # whether they are Arrow batches, which say their types
        self.columns: list[str] = []
        self.column_types: dict[str, str] = {}
        self.written = 0

    def begin(self, columns: list[str], rows: list[Row]) -> None:
        self.columns = columns
        if missing := [key for key in self.keys if columns and key not in columns]:
            raise Failed("input", f"the key {missing[0]!r} is not among the columns {', '.join(columns)}")

    def write(self, rows: list[Row]) -> None:
        content.check_columns(rows, self.column_types)
        with open(self.path, "ab") as file:
            file.write(content.encode([*rows], "jsonl"))
        self.written += len(rows)

    def take(self, given: "RecordBatchReader") -> None:
        """Batches, instead of rows."""
        from arro3.core import RecordBatchReader

        self.typed, self.columns = True, [str(name) for name in given.schema.names]
        counted = RecordBatchReader.from_batches(given.schema, self._counted(given))
        content.write_batches(counted, self.batches_path)

    def _counted(self, given: "RecordBatchReader") -> "Iterator[RecordBatch]":
        for batch in given:
            yield batch
            self.written += batch.num_rows

    @contextmanager
    def spooled(self, schema: "Schema | None" = None) -> "Iterator[RecordBatchReader]":
        """What waits, of the types that a table has, or that were found."""
        if self.typed:
            with open(self.batches_path, "rb") as file:
                yield content.parquet_batches(file, BATCH_ROWS)
            return
        with open(self.path, "rb") as first, open(self.path, "rb") as second:
            yield batches(second, schema or found_schema(first, self.columns))

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


def found_schema(lines: Any, columns: list[str]) -> "Schema":
    """The types of the columns, in their order; one that is always null is text."""
    from arro3.core import DataType, Field, Schema
    from arro3.io import infer_json_schema

    found: Any = infer_json_schema(lines)
    types = {field.name: field.type for field in (found.field(index) for index in range(len(found.names)))}
    text = DataType.utf8()
    given = {name: types.get(name, text) for name in columns}
    null = DataType.null()
    return Schema(
        [Field(name, text if kind == null else kind, nullable=True) for name, kind in given.items()]
    )


def batches(lines: Any, schema: "Schema") -> "RecordBatchReader":
    """The rows of a file of JSON lines, a batch at a time."""
    from arro3.io import read_json

    return read_json(lines, schema, batch_size=4096)
