"""Writing into scopes: paths, copies that leave the original alone, and the reducers of loops.

A patch is a list of [path, value] pairs; the path of a ctx patch begins below `ctx`. Pure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from noetl.core.output import describe

STORED = "$stored"  # marks a field whose value rests in the result store
OVER = "$over"  # beside that mark: what was written below the value since, path by path
Path = Sequence[str]
Patch = list[list[Any]]
_as_json = msgspec.json.Encoder(order="sorted").encode


class PatchProblem(ValueError):
    """A write that cannot be carried out, in words."""


def rests_elsewhere(value: Any) -> bool:
    """Whether a value is the marker of one that rests in the result store."""
    return isinstance(value, dict) and STORED in value and value.keys() <= {STORED, OVER}


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: a number is no truth value, and 1.0 is not 1."""
    return one is other or _as_json(one) == _as_json(other)


def assign(scope: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The scope with one path written; only the maps along the path are copied."""
    key, rest = path[0], path[1:]
    copy = dict(scope)
    if not rest:
        copy[key] = value
        return copy
    below = copy.get(key)
    if isinstance(below, dict) and rests_elsewhere(below):
        copy[key] = {**below, OVER: [*below.get(OVER, ()), [list(rest), value]]}
        return copy
    copy[key] = assign(below if isinstance(below, dict) else {}, rest, value)
    return copy


def apply(scope: Mapping[str, Any], patch: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The scope with every pair of a patch written, in order."""
    result = scope if isinstance(scope, dict) else dict(scope)
    for path, value in patch:
        result = assign(result, path, value)
    return result


def look_up(scope: Any, path: Path) -> Any:
    """The value at a path, or None when there is none."""
    for key in path:
        if not isinstance(scope, dict) or key not in scope:
            return None
        scope = scope[key]
    return scope


def reduce_writes(how: str, existing: Any, operands: Sequence[Any]) -> Any:
    """What a reducer makes of the existing value (None: there is none) and every write, in order."""
    try:
        return REDUCERS[how](existing, operands)
    except TypeError as problem:
        seen = ", ".join(sorted({type(item).__name__ for item in operands}))
        raise PatchProblem(f"reducer {how!r} cannot take values of type {seen}: {problem}") from None


def _numbers(existing: Any, operands: Sequence[Any]) -> list[Any]:
    return [*([] if existing is None else [existing]), *operands]


def _sum(existing: Any, operands: Sequence[Any]) -> Any:
    total: Any = 0
    for item in _numbers(existing, operands):
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise TypeError(f"{describe(item)} is not a number")
        total += item
    return total


def _as_list(existing: Any) -> list[Any]:
    if existing is None:
        return []
    return list(existing) if isinstance(existing, list) else [existing]


def _append(existing: Any, operands: Sequence[Any]) -> Any:
    return _as_list(existing) + list(operands)


def _union(existing: Any, operands: Sequence[Any]) -> Any:
    found = _as_list(existing)
    known = {_as_json(value) for value in found}
    for item in operands:
        for value in item if isinstance(item, list) else [item]:
            if (text := _as_json(value)) not in known:
                known.add(text)
                found.append(value)
    return found


def _merge(existing: Any, operands: Sequence[Any]) -> Any:
    merged: dict[str, Any] = {}
    for item in _numbers(existing, operands):
        if not isinstance(item, dict):
            raise TypeError(f"{describe(item)} is not a mapping")
        merged = deep_merge(merged, item)
    return merged


def deep_merge(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Maps merge, scalars and lists are replaced by the inner one."""
    merged = dict(outer)
    for key, value in inner.items():
        known = merged.get(key)
        merged[key] = (
            deep_merge(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
        )
    return merged


REDUCERS: dict[str, Callable[[Any, Sequence[Any]], Any]] = {
    "sum": _sum,
    "min": lambda existing, operands: min(_numbers(existing, operands)),
    "max": lambda existing, operands: max(_numbers(existing, operands)),
    "append": _append,
    "union": _union,
    "merge": _merge,
    "first": lambda existing, operands: _numbers(existing, operands)[0],
    "last": lambda existing, operands: operands[-1],
}
