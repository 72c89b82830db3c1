"""The types that PostgreSQL and MySQL say columns have, and what they are where a table or file is made.

Their rows come as values of JSON, in which a date is a text and a decimal may be a number or a text. A type
is a word of DuckDB's SQL; `numeric` has digits without end, and is text elsewhere.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from noetl.tools.parts.transfer_places import Row

if TYPE_CHECKING:
    from arro3.core import DataType, Schema

Types = dict[str, str]  # by column; one that is not there has the type of its values
EXACT = ("decimal", "numeric")
DIGITS_MAX = 38
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_POSTGRES = {
    "bool": "boolean", "int2": "smallint", "int4": "integer", "int8": "bigint", "oid": "bigint",
    "float4": "real", "float8": "double", "numeric": "numeric", "date": "date", "time": "time",
    "timestamp": "timestamp", "timestamptz": "timestamptz",
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext", "uuid", "interval", "bytea"), "varchar"),
}  # fmt: skip
# Modifiers of its numeric columns, which its driver keeps for itself.
POSTGRES_DIGITS = (
    "select attname, atttypmod - 4 from pg_attribute "
    "where attrelid = to_regclass($1) and atttypid = 'numeric'::regtype and atttypmod > 3 and attnum > 0"
)


@dataclass(slots=True)
class Columns:
    """What a source says of its columns once it is asked for rows; a source that says nothing has none."""

    names: list[str] = field(default_factory=list)
    types: Types = field(default_factory=dict)

    def renamed(self, mapping: Mapping[str, str] | None) -> "Columns":
        """The same under the names of the target."""
        if mapping is None or not self.names:
            return self
        types = {target: self.types[source] for target, source in mapping.items() if source in self.types}
        return Columns([*mapping], types)


def of_postgres(attributes: Sequence[Any], names: Sequence[str], digits: Mapping[str, int]) -> Types:
    """The types of a prepared statement's answer; `digits` are the modifiers of a table's columns."""
    kinds = zip(names, (_POSTGRES.get(each.type.name) for each in attributes), strict=True)
    types = {name: kind for name, kind in kinds if kind is not None}
    for name, kind in types.items():
        if kind == "numeric" and name in digits:
            scale = ((digits[name] & 0x7FF) ^ 1024) - 1024  # eleven bits with a sign
            types[name] = exact(digits[name] >> 16 & 0xFFFF, scale)
    return types


def of_mysql(names: Sequence[str], fields: Sequence[Any]) -> Types:
    """The types of an answer of PyMySQL, whose fields know what a cursor's description leaves out."""
    from pymysql.constants import FIELD_TYPE as T
    from pymysql.constants import FLAG

    plain = {
        **dict.fromkeys((T.TINY, T.SHORT, T.INT24, T.YEAR), "integer"),
        **dict.fromkeys((T.DATETIME, T.TIMESTAMP), "timestamp"),
        T.LONG: "bigint", T.LONGLONG: "bigint", T.FLOAT: "real", T.DOUBLE: "double", T.DATE: "date",
    }  # fmt: skip
    types: Types = {}
    for name, each in zip(names, fields, strict=True):
        unsigned = bool(each.flags & FLAG.UNSIGNED)
        if each.type_code in (T.DECIMAL, T.NEWDECIMAL):
            types[name] = exact(each.length - (each.scale > 0) - (not unsigned), each.scale)
        elif each.type_code == T.LONGLONG and unsigned:
            types[name] = "decimal(20,0)"
        else:
            types[name] = plain.get(each.type_code, "varchar")
    return types


def exact(digits: int, scale: int) -> str:
    """The type of decimals."""
    return f"decimal({digits},{scale})" if 0 <= scale <= digits <= DIGITS_MAX else "numeric"


def in_duckdb(kind: str) -> str:
    """A type as DuckDB calls it."""
    return "varchar" if kind == "numeric" else kind


def written(rows: list[Row], types: Types) -> list[Row]:
    """Rows whose decimals are text, as numbers of any length must be."""
    names = [name for name, kind in types.items() if kind.startswith(EXACT)]
    if not names:
        return rows
    return [{**row, **{name: _text(row.get(name)) for name in names if name in row}} for row in rows]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def untyped(rows: list[Row], types: Types) -> list[Row]:
    """What of rows has the type of its values."""
    return (
        [{name: value for name, value in row.items() if name not in types} for row in rows] if types else rows
    )


def schema(inferred: "Schema", columns: Sequence[str], types: Types) -> "Schema":
    """The columns in their order, with the types that are known, then those of their values; else text."""
    from arro3.core import DataType, Field, Schema

    given: Any = inferred
    values = {each.name: each.type for each in _fields(given)}
    text, null = DataType.utf8(), DataType.null()
    kinds = (_in_arrow(types[name]) if name in types else values.get(name, text) for name in columns)
    return Schema(
        [Field(n, text if k == null else k, nullable=True) for n, k in zip(columns, kinds, strict=True)]
    )


def _fields(given: Any) -> Iterator[Any]:
    return (given.field(place) for place in range(len(given.names)))


def _in_arrow(kind: str) -> "DataType":
    from arro3.core import DataType as D

    if found := _DECIMAL.fullmatch(kind):
        return D.decimal128(int(found[1]), int(found[2]))
    plain = {
        "boolean": D.bool, "smallint": D.int16, "integer": D.int32, "bigint": D.int64, "real": D.float32,
        "double": D.float64, "date": D.date32,
    }  # fmt: skip
    timed = {
        "time": D.time64("us"),
        "timestamp": D.timestamp("us"),
        "timestamptz": D.timestamp("us", tz="UTC"),
    }
    return plain[kind]() if kind in plain else timed.get(kind, D.utf8())
