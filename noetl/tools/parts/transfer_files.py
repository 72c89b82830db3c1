"""Files that a transfer writes: beside their place, and put there when everything has arrived."""

import os
from typing import TYPE_CHECKING

from noetl.ports.call import Call
from noetl.ports.envelope import Failed, Reference, reference
from noetl.tools.parts.paths import beside, inside
from noetl.tools.parts.transfer_sources import Row, needed

if TYPE_CHECKING:
    from noetl.tools.transfer import Target


class FileWriter:
    """A file, written beside its place and put there at the end."""

    def __init__(self, target: "Target", mode: str, keys: list[str], call: Call) -> None:
        from noetl.tools.parts.content import format_of

        if mode == "upsert":
            raise Failed("input", "a file cannot be upserted; use append or replace")
        self.path = inside(call, needed(target.path, "path", "file"))
        self.form = format_of(self.path, target.format)
        if self.form not in ("csv", "jsonl", "json", "parquet"):
            raise Failed(
                "input", f"{target.path!r} is {self.form}; a transfer writes csv, jsonl, json and parquet"
            )
        self.appends = mode == "append" and os.path.exists(self.path) and os.path.getsize(self.path) > 0
        if self.appends and self.form in ("json", "parquet"):
            raise Failed("input", f"{self.form} cannot be appended to; use jsonl or csv, or mode: replace")
        self.part = ""
        self.held: list[Row] = []  # formats that are written whole

    def begin(self, columns: list[str], rows: list[Row]) -> None:
        """Start with what is there, when appending, or with the names."""
        import shutil

        from noetl.tools.parts.content import csv_text

        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.part = beside(self.path)
        if self.appends:
            shutil.copyfile(self.path, self.part)
        self.columns = self._header() or columns
        if self.form == "csv" and columns and not self.appends:
            self._add(csv_text([], columns))

    def _header(self) -> list[str]:
        import csv

        if self.form != "csv" or not self.appends:
            return []
        with open(self.path, encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file))

    def write(self, rows: list[Row]) -> None:
        """Add rows."""
        from noetl.tools.parts.content import csv_text, encode

        if self.form == "csv":
            if unknown := sorted({key for row in rows for key in row} - set(self.columns)):
                raise Failed(
                    "format", f"the file has no column {unknown[0]!r}; it has {', '.join(self.columns)}"
                )
            self._add(csv_text(rows, self.columns, header=False))
        elif self.form == "jsonl":
            self._add(encode(rows, "jsonl"))
        else:
            self.held += rows

    def _add(self, raw: bytes) -> None:
        with open(self.part, "ab") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())

    def commit(self) -> None:
        """Put the file in place."""
        from noetl.tools.parts.content import encode

        self._add(encode(self.held, self.form) if self.form in ("json", "parquet") else b"")
        os.replace(self.part, self.path)

    def close(self) -> None:
        """Remove what was not put in place."""
        if self.part and os.path.exists(self.part):
            os.unlink(self.part)

    def ref(self) -> Reference:
        """Where the rows are."""
        from noetl.tools.parts.content import MEDIA

        meta = {"content_type": MEDIA[self.form], "bytes": os.path.getsize(self.path), "format": self.form}
        return reference("blob", {"store": "file", "key": self.path, "tool": "file"}, meta=meta)
