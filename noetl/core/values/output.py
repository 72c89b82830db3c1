"""Output envelopes, references and payloads: what a boundary produced and how a large one is put aside.

A payload's key is made from its content, so the core can name it before anyone has written it.
Reading and writing payloads is the result store's business.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard, TypeVar

import msgspec

from noetl.core.message import Payload
from noetl.core.shapes import (
    ErrorObject,
    Locator,
    LoopTotals,
    Output,
    Reference,
    StoredMeta,
    UncheckedReference,
)
from noetl.json_value import Json, JsonObject

REFERENCE_KEYS = frozenset({"type", "locator", "auth_reference", "meta"})
JSON = "application/json"
ROWS = "application/x-ndjson"
MANIFEST = "application/vnd.noetl.manifest+json"
ANSWERED: Final = "$answered"
"""Beside the error of a tool: the other side itself has said that the call failed."""
_PREVIEW_CHARS = 200
_HINT_CHARS = 300
_TYPES = {dict: "object", list: "array", bool: "boolean", int: "integer", float: "number", type(None): "null"}
V = TypeVar("V")
_encode = msgspec.json.encode


def is_reference(value: object) -> TypeGuard[UncheckedReference]:
    """Whether a value is a reference: a mapping with exactly the four fields of one."""
    return isinstance(value, dict) and len(value) == 4 and value.keys() == REFERENCE_KEYS


def holds_reference(value: object) -> bool:
    """Whether a reference is anywhere in a value."""
    if isinstance(value, list):
        return any(map(holds_reference, value))
    return is_reference(value) or (isinstance(value, dict) and any(map(holds_reference, value.values())))


def reference_problem(path: Sequence[str], value: object) -> str | None:
    """Why a value may not be written to a target under the `_ref` rule; None when it may."""
    target = ".".join(path)
    if path[-1].endswith("_ref"):
        references = value if isinstance(value, list) else [value]
        if value is None or all(is_reference(item) for item in references):
            return None
        return f"{target} ends in _ref, so it takes a reference; it was given {describe(value)}"
    if is_reference(value):
        return f"{target} was given an unresolved reference; name it {target}_ref, or resolve it first"
    inside = _reference_inside(value)
    if inside is None:
        return None
    return f"{target} holds a reference at {inside!r}; a key that holds a reference ends in _ref"


def _reference_inside(value: object) -> str | None:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in entries:
        if str(key).endswith("_ref"):
            continue
        if is_reference(item):
            return str(key)
        inner = _reference_inside(item)
        if inner is not None:
            return f"{key}.{inner}"
    return None


def not_a_mapping(value: object) -> str:
    """What is wrong with an input that one template gave."""
    return f"its template gives {describe(value)}, and an input must be a mapping"


def describe(value: object) -> str:
    """A value in a few words, for messages."""
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, dict):
        return f"a mapping with {len(value)} entries"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "null" if value is None else repr(value)


def problem(kind: str, message: str, *, retryable: bool = False, **details: object) -> ErrorObject:
    """The error part of an envelope."""
    return {"kind": kind, "code": None, "message": message, "retryable": retryable, "details": details}


def ok(data: Json = None) -> Output:
    """An envelope that went well."""
    return {"status": "ok", "data": data}


def failed(error: ErrorObject, loop: LoopTotals | None = None) -> Output:
    """An envelope that failed."""
    output: Output = {"status": "error", "data": None, "error": {**error}}
    if loop is not None:
        output["loop"] = loop
    return output


def result_of(output: Output) -> Json:
    """What a workflow gives: the payload of its last output, or the reference to it when it was put aside."""
    aside: Any = output["ref"] if output.get("data") is None and "ref" in output else None
    result: Json = output.get("data") if aside is None else aside
    return result


def encoded(value: object) -> bytes:
    """A value as JSON."""
    return _encode(value)


def size_of(value: object) -> int:
    """How many bytes a value takes as JSON."""
    return len(_encode(value))


def encode_payload(value: object) -> tuple[bytes, str]:
    """The bytes a payload rests as, and their type: rows one to a line, so that they can be sliced."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return b"\n".join(_encode(item) for item in value), ROWS
    return _encode(value), JSON


def externalise(execution_id: str, value: object) -> tuple[Reference, Payload]:
    """The reference to a payload and the payload itself, to be written before the reference is used."""
    ref, payload = refer(execution_id, *encode_payload(value))
    ref["meta"]["schema_hint"] = schema_hint(value)
    return ref, payload


def schema_hint(value: object) -> JsonObject:
    """What kind of value a payload is, without reading it: its type, and its keys or columns with theirs."""
    hint: JsonObject = {"type": _type(value)}
    if isinstance(value, list):
        hint["items"] = len(value)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        hint["keys" if first is value else "columns"] = _keys(first)
    return hint


def _keys(value: Mapping[str, object]) -> JsonObject:
    """The first keys of a mapping with the types of their values, as far as there is room for them."""
    keys: JsonObject = {}
    room = _HINT_CHARS
    for key in value:
        room -= len(key) + 10
        if room < 0:
            break
        keys[key] = _type(value[key])
    return keys


def _type(value: object) -> str:
    return _TYPES.get(type(value), "string")


def refer(execution_id: str, body: bytes, content_type: str) -> tuple[Reference, Payload]:
    """The reference to bytes of the result store, and the bytes to write."""
    digest = hashlib.sha256(body).hexdigest()
    key = f"{execution_id}/{digest[:32]}"
    meta: StoredMeta = {"content_type": content_type, "bytes": len(body), "sha256": digest, "ttl": "24h"}
    if content_type != MANIFEST:
        meta["preview"] = body[:_PREVIEW_CHARS].decode("utf-8", "replace")
    locator: Locator = {"store": "results", "key": key}
    return {"type": "blob", "locator": locator, "auth_reference": None, "meta": meta}, Payload(key, body)


def manifest(
    execution_id: str,
    items: Sequence[Json],
    refs: Mapping[str, Reference],
    parts: Mapping[str, list[Json]],
) -> tuple[Reference, Payload]:
    """A reference to a list of which some items rest as payloads of their own, or in packs."""
    listed: list[dict[str, object]] = [{"value": item} for item in items]
    for index, ref in refs.items():
        listed[int(index)] = {"ref": ref}
    for index, part in parts.items():
        listed[int(index)] = {"part": part}
    return refer(execution_id, _encode({"items": listed}), MANIFEST)


def bounded(value: V, limit: int = 200) -> V | str:
    """A value small enough to be recorded as something a decision saw."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= limit else value[:limit] + "…"
    body = _encode(value)
    return value if len(body) <= limit else body[:limit].decode("utf-8", "replace") + "…"
