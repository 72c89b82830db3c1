"""Files that a transfer writes: beside their place, and put there when everything has arrived."""

import csv
import os
from typing import TYPE_CHECKING

import msgspec

from noetl.ports.call import Call
from noetl.ports.envelope import Failed, Reference, reference
from noetl.tools.parts import content
from noetl.tools.parts.paths import beside, inside
from noetl.tools.parts.transfer_places import Row, Target, require
from noetl.tools.parts.transfer_types import Types, schema, untyped, written

if TYPE_CHECKING:
    from arro3.core import RecordBatchReader, Schema


class FileWriter:
    """A file, written beside its place and put there at the end."""

    def __init__(self, target: Target, mode: str, call: Call) -> None:
        if mode == "upsert":
            raise Failed("input", "a file cannot be upserted; use append or replace")
        self._at(inside(call, require(target.path, "path", "file")), target.format, mode)

    @classmethod
    def at(cls, path: str, form: content.Format | None) -> "FileWriter":
        """A new file at a path that is nobody else's."""
        writer = cls.__new__(cls)
        writer._at(path, form, "replace")
        return writer

    def _at(self, path: str, form: content.Format | None, mode: str) -> None:
        self.path, self.form = path, content.format_of(path, form)
        if self.form not in ("csv", "jsonl", "json", "parquet"):
            raise Failed(
                "input", f"the target is {self.form}; a transfer writes csv, jsonl, json and parquet"
            )
        self.appends = mode == "append" and os.path.exists(path) and os.path.getsize(path) > 0
        if self.appends and self.form in ("json", "parquet"):
            raise Failed(
                "input",
                f"{path} is there; {self.form} cannot be appended to: jsonl or csv can, mode: replace does",
            )
        self.part = ""
        self.written = 0
        self.column_types: dict[str, str] = {}

    def begin(self, columns: list[str], rows: list[Row], types: Types) -> None:
        """Start with what is there, when appending, or with the names."""
        import shutil

        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.part = beside(self.path)
        if self.appends:
            shutil.copyfile(self.path, self.part)
        self.columns, self.types = self._header() or columns, types
        if self.form == "csv" and columns and not self.appends:
            self._add(content.csv_text([], columns))

    def _header(self) -> list[str]:

        if self.form != "csv" or not self.appends:
            return []
        with open(self.path, encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file))

    def write(self, rows: list[Row]) -> None:
        """Add rows; those of a Parquet file wait as JSON lines until all columns are known."""
        if self.form == "csv":
            if unknown := sorted({key for row in rows for key in row} - set(self.columns)):
                raise Failed(
                    "format", f"the file has no column {unknown[0]!r}; it has {', '.join(self.columns)}"
                )
            self._add(content.csv_text(rows, self.columns, header=False))
        elif self.form == "json":
            lines = b",\n".join(map(msgspec.json.encode, rows))
            self._add((b",\n" if self.written else b"[\n") + lines)
        else:
            if self.form == "parquet":
                content.check_columns(untyped(rows, self.types), self.column_types)
                rows = written(rows, self.types)
            self._add(content.encode([*rows], "jsonl"))
        self.written += len(rows)

    def _add(self, raw: bytes) -> None:
        with open(self.part, "ab") as file:
            file.write(raw)

    def commit(self) -> None:
        if self.form == "json":
            self._add(b"\n]\n" if self.written else b"[]\n")
        elif self.form == "parquet":
            self._add(b"")
            lines, self.part = self.part, beside(self.path)
            try:
                content.parquet_of_lines(lines, self.part, self._schema)
            finally:
                os.unlink(lines)
        else:
            self._add(b"")
        self.put()

    def _schema(self, inferred: "Schema") -> "Schema":
        """What a Parquet file has; of rows that do not say it, what was found in them."""
        return schema(inferred, self.columns, self.types) if self.types else inferred

    def take(self, batches: "RecordBatchReader") -> None:
        """Write a Parquet file of Arrow batches, which have their columns also when there are none."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.part = beside(self.path)
        content.write_batches(batches, self.part)

    def put(self) -> None:
        """What was written takes its place."""
        with open(self.part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(self.part, self.path)

    def close(self) -> None:
        """Remove what was not put in place."""
        if self.part and os.path.exists(self.part):
            os.unlink(self.part)

    def ref(self) -> Reference:
        meta = {
            "content_type": content.MEDIA[self.form],
            "bytes": os.path.getsize(self.path),
            "format": self.form,
        }
        return reference("blob", {"store": "file", "key": self.path, "tool": "file"}, meta=meta)
