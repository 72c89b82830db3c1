"""Writing into scopes: paths, copies that leave the original alone, and the reducers of loops.

A patch is a list of [path, value] pairs; the path of a ctx patch begins below `ctx`. Pure.

Values are live, as templates see them, or kept, as states and logs hold them. Among kept values a mapping
with a mark of the engine is the engine's: a live value that holds such a key is always put aside when it is
kept, so that it comes back as it was and is never taken for what it looks like.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeGuard

import msgspec

from noetl.core.shapes import Marker, Patch, Reference
from noetl.core.values.output import JSON, ROWS, describe, is_reference
from noetl.dsl.templates.values import Excerpt
from noetl.json_value import Json, JsonObject

STORED: Final = "$stored"  # marks a field whose value rests in the result store
OVER: Final = "$over"  # beside that mark: what was written below the value since, path by path
OPERANDS: Final = "$operands"  # marks a write that stands for many operands of one path
Path = Sequence[str]
_STORED_KEY, _OPERANDS_KEY = f'"{STORED}":'.encode(), f'"{OPERANDS}":'.encode()
_as_json = msgspec.json.Encoder(order="sorted").encode


class PatchProblem(ValueError):
    """A write that cannot be carried out, in words."""


def is_marker(value: object) -> TypeGuard[Marker]:
    """Whether a kept value is the marker of one that rests in the result store."""
    if not isinstance(value, dict) or STORED not in value or not value.keys() <= {STORED, OVER}:
        return False
    ref = value[STORED]
    return (
        is_reference(ref)
        and isinstance(ref["locator"], dict)
        and isinstance(ref["locator"].get("key"), str)
        and isinstance(ref["meta"], dict)
        and ref["meta"].get("content_type") in (JSON, ROWS)
    )


rests_elsewhere: Callable[[object], bool] = is_marker  # for whom a marker is a value as any other


def marker(ref: Reference, over: Patch | None = None) -> JsonObject:
    """What stands among kept values for one that rests in the result store."""
    mark: dict[str, Any] = {STORED: ref}
    if over is not None:
        mark[OVER] = over
    return mark


def holds_mark(body: bytes) -> bool:
    """Whether a live value, encoded, has a key that is a mark among kept ones."""
    return _STORED_KEY in body or _OPERANDS_KEY in body


def same(value: object, other: object) -> bool:
    """Whether two values are the same JSON: a number is no truth value, and 1.0 is not 1."""
    return value is other or _as_json(value) == _as_json(other)


def assign(scope: Mapping[str, Json], path: Path, value: Json) -> JsonObject:
    """The live scope with one path written; only the maps along the path are copied."""
    key, rest = path[0], path[1:]
    copy: JsonObject = Excerpt(scope) if type(scope) is Excerpt else dict(scope)
    if rest:
        below = copy.get(key)
        value = assign(below if isinstance(below, dict) else {}, rest, value)
    copy[key] = value
    return copy


def assign_kept(scope: Mapping[str, Json], path: Path, value: Json) -> JsonObject:
    """The kept scope with one path written; below a value that rests elsewhere, beside its marker."""
    key, rest = path[0], path[1:]
    copy = dict(scope)
    if rest:
        below = copy.get(key)
        if is_marker(below):
            value = marker(below[STORED], [*below.get(OVER, ()), [list(rest), value]])
        else:
            value = assign_kept(below if isinstance(below, dict) else {}, rest, value)
    copy[key] = value
    return copy


def apply(scope: Mapping[str, Json], patch: Patch) -> JsonObject:
    """The kept scope with every pair of a patch written, in order."""
    result = scope if isinstance(scope, dict) else dict(scope)
    for path, value in patch:
        result = assign_kept(result, path, value)
    return result


def look_up(scope: object, path: Path) -> Any:
    """The value at a path, or None when there is none."""
    for key in path:
        if not isinstance(scope, dict) or key not in scope:
            return None
        scope = scope[key]
    return scope


def reduce_writes(how: str, existing: Json, operands: Sequence[Json]) -> Json:
    """What a reducer makes of the existing value (None: there is none) and every write, in order."""
    try:
        return REDUCERS[how](existing, operands)
    except TypeError as problem:
        seen = ", ".join(sorted({type(item).__name__ for item in operands}))
        raise PatchProblem(f"reducer {how!r} cannot take values of type {seen}: {problem}") from None


def _numbers(existing: Json, operands: Sequence[Json]) -> list[Any]:
    return [*([] if existing is None else [existing]), *operands]


def _sum(existing: Json, operands: Sequence[Json]) -> Json:
    total: int | float = 0
    for item in _numbers(existing, operands):
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise TypeError(f"{describe(item)} is not a number")
        total += item
    return total


def _as_list(existing: Json) -> list[Json]:
    if existing is None:
        return []
    return list(existing) if isinstance(existing, list) else [existing]


def _append(existing: Json, operands: Sequence[Json]) -> Json:
    return _as_list(existing) + list(operands)


def _union(existing: Json, operands: Sequence[Json]) -> Json:
    union = _as_list(existing)
    texts = {_as_json(value) for value in union}
    for item in operands:
        for value in item if isinstance(item, list) else [item]:
            if (text := _as_json(value)) not in texts:
                texts.add(text)
                union.append(value)
    return union


def _merge(existing: Json, operands: Sequence[Json]) -> Json:
    merged: JsonObject = {}
    for item in _numbers(existing, operands):
        if not isinstance(item, dict):
            raise TypeError(f"{describe(item)} is not a mapping")
        merged = deep_merge(merged, item)
    return merged


def deep_merge(outer: Mapping[str, Json], inner: Mapping[str, Json]) -> JsonObject:
    """Maps merge, scalars and lists are replaced by the inner one."""
    merged = dict(outer)
    for key, value in inner.items():
        existing = merged.get(key)
        merged[key] = (
            deep_merge(existing, value) if isinstance(existing, dict) and isinstance(value, dict) else value
        )
    return merged


REDUCERS: dict[str, Callable[[Json, Sequence[Json]], Json]] = {
    "sum": _sum,
    "min": lambda existing, operands: min(_numbers(existing, operands)),
    "max": lambda existing, operands: max(_numbers(existing, operands)),
    "append": _append,
    "union": _union,
    "merge": _merge,
    "first": lambda existing, operands: _numbers(existing, operands)[0],
    "last": lambda existing, operands: operands[-1],
}
