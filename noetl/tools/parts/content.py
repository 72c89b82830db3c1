"""Values as the bytes of a file or object, and back: JSON, JSON lines, CSV, Parquet, text and plain bytes.

Where the bytes lie is the kinds' business.
"""

import base64
import binascii
import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, Literal, TextIO, get_args

import msgspec

from noetl.errors import MissingExtra
from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.values import to_json

Format = Literal["json", "jsonl", "csv", "parquet", "text", "bytes"]
FORMATS: tuple[Format, ...] = get_args(Format)
Row = dict[str, Json]

CELL_CHARS = 64 * 1024**2  # the longest cell of a CSV file that is read
PARQUET = b"PAR1"  # how a Parquet file begins and ends
MEDIA = {
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "text": "text/plain",
    "bytes": "application/octet-stream",
}
_BY_SUFFIX: dict[str, Format] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}


def format_of(name: str, chosen: Json) -> Format:
    """The format that was asked for, else the one the name stands for."""
    usual = _BY_SUFFIX.get(os.path.splitext(name)[1].lower(), "text")
    return next((form for form in FORMATS if form == chosen), usual)


def decode(raw: bytes, form: Format) -> Json:
    """Bytes as a value; Failed (kind `format`) when they are not what they should be."""
    try:
        return _DECODERS[form](raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError) as problem:
        hint = "; read it with format: bytes" if form == "text" else ""
        raise Failed("format", f"the content is not {form}: {problem}{hint}") from None


def encode(content: Json, form: Format) -> bytes:
    """A value as bytes; Failed (kind `format`) when it has no such form."""
    return _ENCODERS[form](content)


# ---- reading --------------------------------------------------------------------------------------------


def csv_rows(file: TextIO) -> Iterator[Row]:
    """The rows of a CSV file, one after the other; a cell may be as long as we ourselves write one."""
    csv.field_size_limit(CELL_CHARS)
    reader = csv.DictReader(file, strict=True)
    try:
        for row in reader:
            if None in row:
                raise Failed("format", f"line {reader.line_num} has more cells than there are names")
            yield to_json(row)
    except csv.Error as problem:
        raise Failed("format", f"line {reader.line_num} is not CSV: {problem}") from None
    except UnicodeDecodeError as problem:
        told = f"after line {reader.line_num} the file is not UTF-8: {problem}"
        raise Failed("format", told) from None


def parquet_rows(file: BinaryIO, size: int) -> Iterator[Row]:
    """The rows of a Parquet file, read a batch at a time."""
    for batch in parquet_batches(file, size):
        columns = {field.name: batch.column(field.name).to_pylist() for field in batch.schema}
        for cells in zip(*columns.values(), strict=True):
            yield to_json(dict(zip(columns, cells, strict=True)))


def parquet_batches(file: BinaryIO, size: int) -> Any:
    """A Parquet file as Arrow batches of at most so many rows, read when they are taken."""
    end = file.seek(0, os.SEEK_END) - len(PARQUET)
    ends = b"" if end < 0 else _bytes_at(file, 0) + _bytes_at(file, end)
    if ends != PARQUET * 2:
        raise Failed("format", "the content is not parquet: its first and last bytes are not PAR1")
    file.seek(0)
    return _arrow().read_parquet(file, batch_size=size)


def _bytes_at(file: BinaryIO, place: int) -> bytes:
    file.seek(place)
    return file.read(len(PARQUET))


_DECODERS: dict[Format, Callable[[bytes], Json]] = {
    "json": lambda raw: to_json(msgspec.json.decode(raw)),
    "jsonl": lambda raw: to_json(msgspec.json.Decoder().decode_lines(raw)),
    "csv": lambda raw: [*csv_rows(io.StringIO(raw.decode("utf-8-sig"), newline=""))],
    "parquet": lambda raw: [*parquet_rows(io.BytesIO(raw), 1024)],
    "text": lambda raw: to_json(raw.decode()),
    "bytes": lambda raw: base64.b64encode(raw).decode(),
}

# ---- writing --------------------------------------------------------------------------------------------


def rows_of(content: Json, form: str) -> list[Row]:
    """A value as rows; Failed when it is not a list of mappings."""
    rows = content.get("rows") if isinstance(content, dict) else content
    mappings = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if not isinstance(rows, list) or len(mappings) < len(rows):
        raise Failed("format", f"{form} needs a list of mappings; the content is a {type(content).__name__}")
    return mappings


def columns_of_rows(rows: Iterable[Row]) -> list[str]:
    """Every key, in the order in which the rows first use it."""
    return list(dict.fromkeys(key for row in rows for key in row))


def cell(value: Json) -> Json:
    """A value as a CSV cell: null is empty, booleans are lower-case, lists and mappings are JSON text."""
    if isinstance(value, bool):
        return str(value).lower()
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else value


def csv_text(rows: Iterable[Row], columns: list[str], *, header: bool = True) -> bytes:
    """Rows as CSV, with or without the line of names."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(columns)
    writer.writerows([cell(row.get(column)) for column in columns] for row in rows)
    return text.getvalue().encode()


def _write_lines(content: Json) -> bytes:
    if not isinstance(content, list):
        raise Failed("format", f"jsonl needs a list; the content is a {type(content).__name__}")
    return msgspec.json.Encoder().encode_lines(content)


def _write_csv(content: Json) -> bytes:
    rows = rows_of(content, "csv")
    return csv_text(rows, columns_of_rows(rows))


def _write_parquet(content: Json) -> bytes:
    rows = rows_of(content, "parquet")
    if not rows:
        raise Failed("format", "parquet needs at least one row, to know the columns")
    check_columns(rows, {})
    arrow, lines, target = _arrow(), msgspec.json.Encoder().encode_lines(rows), io.BytesIO()
    schema = arrow.infer_json_schema(io.BytesIO(lines))
    arrow.write_parquet(arrow.read_json(io.BytesIO(lines), schema), target)
    return target.getvalue()


def parquet_of_lines(lines: str, path: str, schema: Callable[[Any], Any]) -> None:
    """A Parquet file from a file of JSON lines, a batch at a time; `schema` makes one of what was found."""
    arrow = _arrow()
    with open(lines, "rb") as first, open(lines, "rb") as second:
        wanted = schema(arrow.infer_json_schema(first))
        if not wanted.names:
            raise Failed("format", "parquet needs at least one row, to know the columns")
        try:
            write_batches(arrow.read_json(second, wanted, batch_size=4096), path)
        except Exception as problem:
            if type(problem) is not Exception:  # what the library raises
                raise
            told = str(problem).rpartition("Json error: ")[2]
            raise Failed("format", f"the rows are not what their columns hold: {told}") from None


def write_batches(batches: Any, path: str) -> None:
    """Arrow batches as a Parquet file."""
    with open(path, "wb") as target:
        _arrow().write_parquet(batches, target, max_row_group_size=65536)


def check_columns(rows: list[Row], columns: dict[str, str]) -> None:
    """Refuse rows in which a column mixes types, which Parquet does not; `seen` is what earlier ones had."""
    for column in columns_of_rows(rows):
        _shape([row.get(column) for row in rows], column, columns)


def _shape(values: list[Json], place: str, columns: dict[str, str]) -> None:
    names = {_type_word(value) for value in values if value is not None}
    if place in columns:
        names.add(columns[place])
    if len(names) > 1:
        raise Failed("format", f"the column {place!r} mixes {' and '.join(sorted(names))}")
    if not names:
        return
    columns[place] = next(iter(names))
    if names == {"list"}:
        lists = [value for value in values if isinstance(value, list)]
        _shape([item for items in lists for item in items], f"{place}[]", columns)
    if names == {"mapping"}:
        maps = [value for value in values if isinstance(value, dict)]
        for key in columns_of_rows(maps):
            _shape([value.get(key) for value in maps], f"{place}.{key}", columns)


def _type_word(value: Json) -> str:
    words = {bool: "booleans", int: "numbers", float: "numbers", str: "text", list: "list", dict: "mapping"}
    return words[type(value)]


def _write_text(content: Json) -> bytes:
    if not isinstance(content, str):
        raise Failed("format", f"text needs a text; the content is a {type(content).__name__}")
    return content.encode()


def _write_bytes(content: Json) -> bytes:
    if not isinstance(content, str):
        raise Failed("format", f"bytes needs base64 text; the content is a {type(content).__name__}")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as problem:
        raise Failed("format", f"bytes needs base64 text: {problem}") from None


_ENCODERS: dict[Format, Callable[[Json], bytes]] = {
    "json": lambda content: msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n",
    "jsonl": _write_lines,
    "csv": _write_csv,
    "parquet": _write_parquet,
    "text": _write_text,
    "bytes": _write_bytes,
}


def _arrow() -> Any:
    try:
        import arro3.io
    except ModuleNotFoundError:
        raise MissingExtra("arro3-io", "parquet") from None
    return arro3.io
