"""What the tests of tools share: a call as the worker makes one, and a result store in memory."""

import hashlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl import tools
from noetl.core.values.item_scan import NotItems, Wanted
from noetl.errors import NotFound
from noetl.ports.call import Call, CallPayloads, Resources
from noetl.ports.envelope import Envelope, Failed, Reference
from noetl.ports.network import Network
from noetl.ports.tool import invoke

Use = Callable[..., Awaitable[Envelope]]


class Memory:
    """A result store that keeps payloads in a dict."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[bytes, str]] = {}
        self._keys = itertools.count()

    async def put(self, data: Any) -> Reference:
        return self._keep(msgspec.json.encode(data), "application/json")

    async def put_stream(self, chunks: AsyncIterator[bytes], content_type: str) -> Reference:
        return self._keep(b"".join([chunk async for chunk in chunks]), content_type)

    async def get(self, ref: Reference, most: int | None = None) -> Any:
        key = ref["locator"].get("key")
        if key not in self.kept:
            raise NotFound(f"there is no payload {key!r}")
        raw, content_type = self.kept[key]
        return msgspec.json.decode(raw) if content_type == "application/json" else raw.decode()

    async def items(self, ref: Reference, wanted: Wanted) -> AsyncIterator[list[Any]]:
        value = await self.get(ref)
        if wanted.key is not None:
            value = value.get(wanted.key) if isinstance(value, dict) else None
        if not isinstance(value, list):
            raise NotItems(type(value).__name__)
        yield value[wanted.first : wanted.end]

    def _keep(self, raw: bytes, content_type: str) -> Reference:
        key = f"p{next(self._keys)}"
        self.kept[key] = (raw, content_type)
        meta = {"content_type": content_type, "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        return {
            "type": "blob",
            "locator": {"store": "results", "key": key},
            "auth_reference": None,
            "meta": meta,
        }


@pytest.fixture
def payloads() -> Memory:
    return Memory()


@pytest.fixture
async def resources() -> AsyncIterator[Resources]:
    shared = Resources()
    yield shared
    await shared.close()


@pytest.fixture
def secrets() -> dict[str, dict[str, Any]]:
    return {}


@pytest.fixture
def use(use_with: Callable[[CallPayloads], Use], payloads: Memory) -> Use:
    """Call a kind with an input, in a folder of its own, and hand back the envelope."""
    return use_with(payloads)


@pytest.fixture
def use_with(
    tmp_path: Path, resources: Resources, secrets: dict[str, dict[str, Any]]
) -> Callable[[CallPayloads], Use]:
    """The same with another result store."""
    return lambda payloads: _use(tmp_path, payloads, resources, secrets)


def _use(
    tmp_path: Path, payloads: CallPayloads, resources: Resources, secrets: dict[str, dict[str, Any]]
) -> Use:

    async def find(name: str) -> dict[str, Any]:
        if name not in secrets:
            raise Failed("auth", f"there is no secret called {name!r} here")
        return secrets[name]

    async def call_kind(kind: str, values: dict[str, Any] | None = None, **more: Any) -> Envelope:
        if (name := more.get("auth_name")) is not None:
            more["auth"] = secrets[name]
        given: dict[str, Any] = {
            "work_dir": str(tmp_path), "secret": find, "env": {"PATH": "/usr/local/bin:/usr/bin:/bin"},
            "execution_id": "e1", "step": "s", "task": "t", "idempotency_key": "key-1", "network": Network(("loopback",)),
        }  # fmt: skip
        call = Call(payloads, resources, **(given | more))
        return await invoke(tools.get(kind), values or {}, call)

    return call_kind
