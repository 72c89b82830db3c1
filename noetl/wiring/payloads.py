"""Payloads as values, verified: what tools, worker and control plane see of the result store."""

import base64
import hashlib
from collections.abc import AsyncIterator

import msgspec

from noetl.core.values.output import MANIFEST, ROWS, externalise, refer
from noetl.errors import InvariantViolation, NotFound
from noetl.json_value import Json
from noetl.ports.envelope import Reference
from noetl.ports.results import Results, TooLarge, assembled


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
        key = ref["locator"].get("key")
        if ref["locator"].get("store") != "results" or not isinstance(key, str):
            raise NotFound(f"the reference is not to the result store but to {ref['locator']!r}")
        meta = ref.get("meta") or {}
        if most is not None and meta.get("bytes", 0) > most:
            raise TooLarge(meta["bytes"])
        body = await self._results.read(key)
        if "sha256" in meta and hashlib.sha256(body).hexdigest() != meta["sha256"]:
            raise InvariantViolation(f"the payload {key} does not have the checksum its reference names")
        return await self._decoded(body, meta.get("content_type"), most)

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
            raise InvariantViolation(f"the payload {key} is damaged")
        values: list[Json] = msgspec.json.decode(body)
        return values, len(body)
