"""Arrow batches on their way: named anew, made to fit their target, counted, and stopped with the call.

Where they come from and where they go is said in `transfer_arrow_sources` and `transfer_arrow_targets`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.ports.envelope import Failed
from noetl.ports.values import to_json
from noetl.tools.parts.sql import columns_of

if TYPE_CHECKING:
    from arro3.core import DataType, RecordBatch, RecordBatchReader, Schema

    from noetl.tools.parts.transfer_arrow_sources import Giver

Way = Callable[[Any], Any]  # a column as another column
Fit = Callable[[Any], "tuple[DataType, Way] | None"]  # None: the target has this type
EXACT_DIGITS, INTEGER_DIGITS = 15, 18  # of a decimal that a double, a 64 bit integer holds
DIGITS_MAX = 38  # of a decimal in a lake
DECIMAL = re.compile(r"Decimal\d+\((\d+), (-?\d+)\)")


class Flow:
    """The batches of one transfer. They are taken in threads of drivers, one after the other."""

    def __init__(self, giver: "Giver", mapping: dict[str, str] | None, fit: Fit) -> None:
        given = giver.reader
        self.moved = 0
        self.stopped = False
        self.problem: Failed | None = None
        names = columns_of([str(name) for name in given.schema.names])
        if unknown := [source for source in (mapping or {}).values() if source not in names]:
            raise Failed("input", f"the source has no column {unknown[0]!r}; it has {', '.join(names)}")
        chosen = mapping or {name: name for name in names}
        self._given, self._cancel, self._failed = given, giver.cancel, giver.failed
        self._places = [names.index(source) for source in chosen.values()]
        fields = [given.schema.field(place) for place in self._places]
        self._ways = [fit(field.type) for field in fields]
        self.columns = [*chosen]
        self.schema = self._schema(fields)

    def _schema(self, fields: list[Any]) -> "Schema":
        from arro3.core import Schema

        named = [field.with_name(name) for field, name in zip(fields, self.columns, strict=True)]
        return Schema(
            [
                field if way is None else field.with_type(way[0])
                for field, way in zip(named, self._ways, strict=True)
            ]
        )

    def reader(self) -> "RecordBatchReader":
        """What a target takes, once."""
        from arro3.core import RecordBatchReader

        return RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> "Iterator[RecordBatch]":
        try:
            for batch in self._given:
                if self.stopped:
                    raise Failed("cancelled", "the call was cancelled")
                yield self._fitted(batch)
                self.moved += batch.num_rows
        except Failed as problem:
            self.problem = problem
            raise
        except Exception as problem:
            self.problem = self._failed(problem)
            raise

    def _fitted(self, batch: "RecordBatch") -> "RecordBatch":
        from arro3.core import RecordBatch

        columns = [batch.column(place) for place in self._places]
        arrays = [
            column if way is None else way[1](column) for column, way in zip(columns, self._ways, strict=True)
        ]
        return RecordBatch.from_arrays(arrays, schema=self.schema)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """What stopped the batches is told, not what their target says when no more come."""
        try:
            yield
        finally:
            if self.problem is not None:
                raise self.problem

    def stop(self) -> None:
        """Let no batch more come."""
        self.stopped = True
        self._cancel()


def as_given(kind: Any) -> None:
    """The fit of a target that has every type."""


def with_plain_lists(kind: Any) -> "tuple[DataType, Way] | None":
    """The fit of a target with lists of plain values, whose other nested values become JSON text."""
    while _is(kind, "list", "large_list", "fixed_size_list"):
        kind = kind.value_type
    return _as_json() if _is(kind, "nested") else None


def without_nested(kind: Any) -> "tuple[DataType, Way] | None":
    """The fit of a target with plain values alone: nested ones become JSON text, decimals and times too.

    A decimal becomes a number where that number is the same.
    """
    from arro3.core import DataType

    if _is(kind, "nested"):
        return _as_json()
    if _is(kind, "decimal"):
        digits, scale = map(int, DECIMAL.findall(str(kind))[0])
        if scale == 0 and digits <= INTEGER_DIGITS:
            return _cast(DataType.int64())
        return _cast(DataType.float64() if digits <= EXACT_DIGITS else DataType.utf8())
    return _cast(DataType.utf8()) if _is(kind, "time") else None


def for_iceberg(kind: Any) -> "tuple[DataType, Way] | None":
    """The fit of a table in a lake: signed integers, times to the microsecond, one zone."""
    from arro3.core import DataType

    if _is(kind, "timestamp"):
        instant = DataType.timestamp("us", tz="UTC") if kind.tz else DataType.timestamp("us")
        return None if kind == instant else _cast(instant)
    if _is(kind, "unsigned_integer"):
        return _cast(DataType.decimal128(20, 0) if _is(kind, "uint64") else DataType.int64())
    if _is(kind, "dictionary"):
        return _cast(kind.value_type)
    found = DECIMAL.findall(str(kind)) if _is(kind, "decimal") else []
    if found and not _is(kind, "decimal128"):
        digits, scale = map(int, found[0])
        return _cast(DataType.decimal128(digits, scale) if digits <= DIGITS_MAX else DataType.utf8())
    named = (("time", DataType.time64("us")), ("date64", DataType.date32()), ("float16", DataType.float32()))
    other = next((meant for name, meant in named if _is(kind, name)), None)
    if other is None and _is(kind, "duration", "interval", "null"):
        other = DataType.utf8()
    return None if other is None or kind == other else _cast(other)


def for_delta(kind: Any) -> "tuple[DataType, Way] | None":
    """The same, without times of day."""
    from arro3.core import DataType

    return _cast(DataType.utf8()) if _is(kind, "time") else for_iceberg(kind)


def _is(kind: Any, *names: str) -> bool:
    from arro3.core import DataType

    return any(getattr(DataType, f"is_{name}")(kind) for name in names)


def _as_json() -> "tuple[DataType, Way]":
    from arro3.core import DataType

    return DataType.utf8(), _json_text


def _cast(kind: "DataType") -> "tuple[DataType, Way]":
    return kind, lambda column: column.cast(kind)


def _json_text(column: Any) -> Any:
    """The values as rows would have them; a map is a mapping."""
    from arro3.core import Array, DataType

    is_map = _is(column.type, "map")
    given = (dict(value) if is_map and value is not None else value for value in column.to_pylist())
    texts = [None if value is None else msgspec.json.encode(to_json(value)).decode() for value in given]
    return Array(texts, type=DataType.utf8())
