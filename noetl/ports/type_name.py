"""A type of Python in the words of authors: what an input takes."""

import dataclasses
import datetime
import enum
from collections.abc import Collection, Mapping
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, is_typeddict

import msgspec

from noetl.ports.values import TEXTS


def type_name(annotation: Any) -> str:
    """A type as authors read it: `text`, `number`, `list of text`, `mapping {table, range}`."""
    annotation = getattr(annotation, "__supertype__", getattr(annotation, "__value__", annotation))
    if annotation in _NAMES:
        return _NAMES[annotation]
    if (getattr(annotation, "__module__", ""), getattr(annotation, "__name__", "")) in TEXTS:
        return "text"
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_name(args[0])
    if origin is Literal:
        return " | ".join(f"`{'null' if item is None else item}`" for item in args)
    shape = annotation if origin is None else origin
    if isinstance(shape, type) and issubclass(shape, enum.Enum):
        return " | ".join(f"`{each.value}`" for each in shape)
    if isinstance(shape, type) and issubclass(shape, Collection) and not issubclass(shape, Mapping):
        single = len(set(args) - {...}) == 1 and args[0] in (str, int)
        return f"list of {_NAMES[args[0]]}" if single else "list"
    names = dict.fromkeys(type_name(item) for item in args if item is not type(None))
    if origin in (Union, UnionType):
        return " | ".join(names)
    return f"mapping {{{', '.join(keys)}}}" if (keys := _keys(annotation)) else "mapping"


def _keys(annotation: Any) -> list[str]:
    """The keys of a mapping that has a class of its own."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [field.encode_name for field in msgspec.structs.fields(annotation)]
    if dataclasses.is_dataclass(annotation):
        return [field.name for field in dataclasses.fields(annotation)]
    return list(getattr(annotation, "__annotations__", ())) if is_typeddict(annotation) else []


_NAMES: dict[object, str] = {
    Any: "any value",
    str: "text",
    int: "integer",
    float: "number",
    bool: "true | false",
    bytes: "base64 text",
    dict: "mapping",
    list: "list",
    Decimal: "number",
    datetime.date: "date",
    datetime.datetime: "date and time",
    datetime.time: "time of day",
    datetime.timedelta: "duration",
}
