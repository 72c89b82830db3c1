"""JSON values as PostgreSQL wants them bound, and PostgreSQL's values on their way to JSON."""

import base64
import binascii
import datetime
import decimal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.tools.parts.postgres_moments import INFINITIES

if TYPE_CHECKING:
    from asyncpg import Type


def bind(values: Sequence[Json], types: Sequence["Type"]) -> list[object]:
    """The values of a statement's parameters; Failed when there are too few of them."""
    if len(values) < len(types):
        raise Failed("input", f"the SQL takes {len(types)} values, but params has {len(values)}")
    pairs = zip(values, types, strict=False)  # a list may hold values that only other statements take
    return [to_pg(value, kind.name, number) for number, (value, kind) in enumerate(pairs, 1)]


def to_pg(value: Json, kind: str, number: int) -> object:
    """A value for a parameter of some type; Failed (kind `value`) names the parameter that does not fit."""
    if value is None:
        return None
    if kind.endswith("[]") and isinstance(value, list):
        return [to_pg(item, kind if _is_row(item, kind) else kind[:-2], number) for item in value]
    convert = _TO.get(kind)
    if convert is None:
        return value
    try:
        return convert(value)
    except (ValueError, TypeError, ArithmeticError, binascii.Error, msgspec.ValidationError):
        excerpt = repr(value)[:80]
        raise Failed("value", f"parameter {number} is {excerpt}, which is no {kind}") from None


def _is_row(item: Json, kind: str) -> bool:
    """Whether an item of an array is an array itself: one type stands for any number of dimensions."""
    return isinstance(item, list) and not kind.startswith("json")


def _string(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _moment(value: Json) -> datetime.datetime | str:
    """A moment in time; without a zone it is UTC."""
    if value in INFINITIES:
        return str(value)
    moment = datetime.datetime.fromisoformat(_string(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def _wall_clock(value: Json) -> datetime.datetime | str:
    """A date and time without a zone; one that has a zone is taken at UTC."""
    if value in INFINITIES:
        return str(value)
    moment = datetime.datetime.fromisoformat(_string(value))
    return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _date(value: Json) -> datetime.date | str:
    if value in INFINITIES:
        return str(value)
    return datetime.datetime.fromisoformat(_string(value)).date()


def _interval(value: Json) -> datetime.timedelta:
    if isinstance(value, int | float):
        return datetime.timedelta(seconds=value)
    return msgspec.convert(value, datetime.timedelta)


def _integer(value: Json) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError
    return int(value) if isinstance(value, int | float) else int(_string(value))


def _time(value: Json) -> datetime.time:
    return datetime.time.fromisoformat(_string(value))


def _float(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else float(_string(value))


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else str(value)


def _truth(value: Json) -> bool:
    words = {"true": True, "t": True, "false": False, "f": False}
    if isinstance(value, str):
        return words[value.lower()] if value.lower() in words else bool(int(value))
    return bool(value)


_TO: dict[str, Callable[[Json], object]] = {
    "timestamptz": _moment,
    "timestamp": _wall_clock,
    "date": _date,
    "time": _time,
    "timetz": _time,
    "interval": _interval,
    "numeric": lambda value: decimal.Decimal(str(value)),
    "bytea": lambda value: base64.b64decode(_string(value), validate=True),
    "bool": _truth,
    **dict.fromkeys(("int2", "int4", "int8", "oid"), _integer),
    **dict.fromkeys(("float4", "float8"), _float),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext"), _text),
}


def from_pg(value: Any) -> object:
    """What the driver made of a column, as something that has a JSON form."""
    kind = type(value)
    if kind in (int, str, float, bool, bytes, decimal.Decimal) or value is None:
        return value
    if kind is list:
        return [from_pg(item) for item in value]
    module = kind.__module__
    if module == "ipaddress":
        return str(value)
    if module.startswith("asyncpg"):
        return _own(value)
    return value


def _own(value: Any) -> object:
    """The driver's own types: composite rows, ranges, bit strings, points; its UUID is an ordinary one."""
    if hasattr(value, "items"):
        return {name: from_pg(item) for name, item in value.items()}
    if hasattr(value, "as_string"):
        return value.as_string().replace(" ", "")
    if hasattr(value, "lower_inc"):
        bounds = {"lower": from_pg(value.lower), "upper": from_pg(value.upper), "empty": value.isempty}
        return {**bounds, "lower_inc": value.lower_inc, "upper_inc": value.upper_inc}
    return tuple(value) if isinstance(value, tuple) else value
