"""Python and SQL values as JSON values: what converts, and how. Reading JSON text is others' work.

Whatever leaves a tool passes through `to_json` once, so that the log, the templates and the next task see
the same value: null, booleans, numbers, text, lists and mappings with text keys.
"""

import base64
import datetime
import decimal
import math
from collections.abc import Iterable, Mapping
from typing import Any, overload

import msgspec

from noetl.core.values.nesting import NESTED_MOST
from noetl.errors import NoetlError
from noetl.json_value import Json, JsonObject

_KEPT = (bytes, bytearray, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)
_SAY_IT = (
    "to_pylist",
    "to_dicts",
    "tolist",
    "model_dump",
    "__fspath__",
)  # of libraries; of paths
# Classes of others whose values are what their text says; their modules are not imported for that.
TEXTS = {
    ("uuid", "UUID"),
    *(
        ("ipaddress", f"IPv{number}{what}")
        for number in (4, 6)
        for what in ("Address", "Network", "Interface")
    ),
}
_INT_EXPONENT_MAX = 40  # a numeric like 1E+100000 stays text instead of becoming a huge integer


class ValueProblem(NoetlError):
    """A value cannot be kept as JSON."""

    code = "value"


@overload
def to_json(value: Mapping[str, object], path: str = "$") -> JsonObject: ...
@overload
def to_json(value: str, path: str = "$") -> str: ...
@overload
def to_json(value: object, path: str = "$") -> Json: ...
def to_json(value: object, path: str = "$") -> Json:
    """The value as plain JSON; raises ValueProblem naming the place of what cannot be one."""
    return _convert(value, path, 0)


def from_python(value: object, path: str = "$") -> Json:
    """A value of a program as plain JSON: also dataclasses, enums, arrays and frames of libraries."""
    try:
        plain: object = msgspec.to_builtins(value, builtin_types=_KEPT, enc_hook=_of_library)
    except TypeError as problem:
        hint = "make it mappings, lists, texts or numbers"
        raise ValueProblem(f"the value at {path} has no JSON form: {problem}", hint=hint) from None
    except RecursionError:
        raise ValueProblem(f"the value at {path} is nested too deep, or holds itself") from None
    return to_json(plain, path)


def _of_library(value: Any) -> object:
    """What a value of a class of its own says of itself; the libraries are not imported for that."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat() if value == value else None  # pandas has a moment that is none
    for plain in (str, int, float):
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "notna") and hasattr(value, "astype"):  # of pandas, where a gap is not a number
        value = value.astype(object).where(value.notna(), None)
        if hasattr(value, "columns"):
            return value.to_dict(orient="records")
    for name in _SAY_IT:
        if callable(said := getattr(value, name, None)):
            return said()
    raise TypeError(f"it is of the class {type(value).__name__}")


def _convert(value: object, path: str, depth: int) -> Json:
    if type(value) is str:
        return _text(value, path)
    if value is None or type(value) is int or type(value) is bool:
        return value
    if type(value) is float:
        return _number(value, path)
    if depth > NESTED_MOST:
        raise ValueProblem(f"the value at {path[:80]}… is nested deeper than {NESTED_MOST} levels")
    if isinstance(value, dict):
        return _mapping(value, path, depth)
    if isinstance(value, list | tuple):
        return [_convert(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    if isinstance(value, set | frozenset):
        return _in_order([_convert(item, f"{path}{{}}", depth + 1) for item in value])
    return _scalar(value, path)


def _mapping(value: dict[object, object], path: str, depth: int) -> Json:
    converted: JsonObject = {}
    for key, item in value.items():
        name = _text(key, path) if type(key) is str else _key(key, path)
        if name in converted:
            raise ValueProblem(f"the mapping at {path} has two keys that both become {name!r}")
        converted[name] = _convert(item, f"{path}.{name}", depth + 1)
    return converted


def _key(key: object, path: str) -> str:
    if isinstance(key, bool | float) or key is None:
        raise ValueProblem(f"the mapping at {path} has the key {key!r}, not a text", hint="use str(key)")
    name = _scalar(key, path)
    return name if isinstance(name, str) else str(name)


def _text(value: str, path: str) -> str:
    if value.isascii():
        if "\0" in value:
            raise ValueProblem(f"the text at {path} contains a NUL character")
        return value
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueProblem(f"the text at {path} contains a NUL or half of a surrogate pair")
    return value


def _number(value: float, path: str) -> float:
    if not math.isfinite(value):
        raise ValueProblem(f"the number at {path} is {value}, which JSON cannot hold", hint="use null")
    return value


def _decimal(value: decimal.Decimal, path: str) -> int | float | str:
    """A number when nothing is lost, else text."""
    if not value.is_finite():
        raise ValueProblem(f"the number at {path} is {value}, which JSON cannot hold", hint="use null")
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and 0 <= exponent <= _INT_EXPONENT_MAX:
        return int(value)
    nearest = float(value)
    exact = math.isfinite(nearest) and decimal.Decimal(repr(nearest)) == value
    return nearest if exact else str(value)


def _scalar(value: object, path: str) -> Json:
    """A value of one of the types that have one obvious JSON form."""
    if isinstance(value, str):
        return _text(str.__str__(value), path)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(float(value), path)
    if isinstance(value, decimal.Decimal):
        return _decimal(value, path)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return str(msgspec.to_builtins(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if any((base.__module__, base.__name__) in TEXTS for base in type(value).__mro__):
        return str(value)
    hint = "wrap it in list(...)" if isinstance(value, Iterable) else "make it a mapping, list or text"
    raise ValueProblem(f"the value at {path} is a {type(value).__name__}, which has no JSON form", hint=hint)


def _in_order(items: list[Json]) -> list[Json]:
    """The items of a set in an order that does not depend on hashing."""
    return sorted(items, key=_rank)


def _rank(item: Json) -> tuple[str, str | float]:
    if isinstance(item, str | int | float):
        return type(item).__name__, item
    return "~", msgspec.json.encode(item, order="sorted").decode()
