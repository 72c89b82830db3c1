"""Payloads as values, verified: what tools, worker and control plane see of the result store."""

import base64
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

import msgspec

from noetl.core.values.item_scan import JsonItems, Lines, NoItems, Scan, Wanted, WantedItems
from noetl.core.values.output import MANIFEST, ROWS, externalise, refer
from noetl.errors import InvariantViolation, NotFound
from noetl.json_value import Json
from noetl.ports.envelope import Reference
from noetl.ports.payload_items import scanned
from noetl.ports.results import Results, TooLarge, assembled

ASSEMBLED_AT_ONCE = 64
"""So many items of a manifest are read before the first of them are given out."""


class StoredPayloads:
    """The result store, bound to the execution whose payloads are written."""

    def __init__(self, results: Results, execution_id: str = "") -> None:
        self._results, self._execution_id = results, execution_id

    async def put(self, data: Json) -> Reference:
        ref, payload = externalise(self._execution_id, data)
        await self._results.write(payload)
        return ref

    async def put_stream(self, chunks: AsyncIterator[bytes], content_type: str) -> Reference:
        key, size, digest = await self._results.write_stream(self._execution_id, chunks)
        ref, _ = refer(self._execution_id, b"", content_type)
        ref["locator"]["key"] = key
        ref["meta"] = {"content_type": content_type, "bytes": size, "sha256": digest, "ttl": "24h"}
        return ref

    async def get(self, ref: Reference, most: int | None = None) -> Json:
        """The payload of a reference, verified; raises TooLarge when it has more than `most` bytes."""
        key, meta = _place(ref)
        if most is not None and meta.get("bytes", 0) > most:
            raise TooLarge(meta["bytes"])
        body = await self._results.read(key)
        if "sha256" in meta:
            _verify(key, meta, hashlib.sha256(body).hexdigest())
        return await self._decoded(body, meta.get("content_type"), most)

    async def items(self, ref: Reference, wanted: Wanted) -> AsyncGenerator[list[Json], None]:
        """Wanted items of a payload, some at a time; none counts before the last, when all is verified."""
        key, meta = _place(ref)
        content_type = meta.get("content_type")
        items = WantedItems(_scan(content_type, wanted), wanted, msgspec.json.decode)
        async with aclosing(self._results.read_stream(key)) as pieces:
            found = scanned(pieces, items, partial(_verify, key, meta))
            if content_type != MANIFEST:
                async for some in found:
                    yield some
                return
            entries: list[Any] = [entry async for some in found for entry in some]
        for start in range(0, len(entries), ASSEMBLED_AT_ONCE):
            yield await assembled(self, entries[start : start + ASSEMBLED_AT_ONCE])

    async def _decoded(self, body: bytes, content_type: str | None, most: int | None) -> Json:
        if content_type == ROWS:
            return [msgspec.json.decode(line) for line in body.split(b"\n")]
        if content_type == MANIFEST:
            return await assembled(self, msgspec.json.decode(body)["items"], most, len(body))
        if content_type is None or content_type.startswith("application/json"):
            value: Json = msgspec.json.decode(body)
            return value
        if content_type.startswith("text/"):
            return body.decode("utf-8", "replace")
        return base64.b64encode(body).decode("ascii")

    async def pack(self, key: str) -> tuple[list[Json], int]:
        """The outputs of a pack and its size; its key, made from its content, is how it is verified."""
        body = await self._results.read(key)
        if hashlib.sha256(body).hexdigest()[:32] != key.rpartition("/")[2]:
            raise _damage(key, "not what its name was made from")
        values: list[Json] = msgspec.json.decode(body)
        return values, len(body)


def _place(ref: Reference) -> tuple[str, dict[str, Any]]:
    """The key of a reference, and what it says about the payload; raises NotFound."""
    key = ref["locator"].get("key")
    if ref["locator"].get("store") != "results" or not isinstance(key, str):
        raise NotFound(f"the reference is not to the result store but to {ref['locator']!r}")
    return key, ref.get("meta") or {}


def _verify(key: str, meta: Mapping[str, Any], sha256: str) -> None:
    if meta.get("sha256", sha256) != sha256:
        raise _damage(key, "its checksum is not the one that its reference names")


def _damage(key: str, what: str) -> InvariantViolation:
    execution_id = key.partition("/")[0]
    hint = f"bring it back from a copy, or make it anew: noetl execution rerun {execution_id} --from STEP"
    return InvariantViolation(f"the payload {key} is damaged: {what}", hint=hint)


def _scan(content_type: str | None, wanted: Wanted) -> Scan:
    if content_type == ROWS:
        return NoItems("list") if wanted.key is not None else Lines()
    if content_type == MANIFEST:
        return NoItems("list") if wanted.key is not None else JsonItems("items")
    if content_type is None or content_type.startswith("application/json"):
        return JsonItems(wanted.key)
    return NoItems("str")
