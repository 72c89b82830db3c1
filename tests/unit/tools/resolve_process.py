"""Resolves slices of large payloads in a process of its own, and prints by how much its memory grew with each."""

import asyncio
import json
import resource
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from noetl import tools
from noetl.adapters.directory.results import DirectoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.control.front.result import Reader
from noetl.core.values.output import JSON, ROWS
from noetl.ports.call import Call, Resources
from noetl.ports.tool import invoke
from noetl.wiring.payloads import StoredPayloads

COUNT = 160_000  # rows of 250 bytes


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def written(count: int, start: bytes, between: bytes, end: bytes) -> AsyncIterator[bytes]:
    row = b'{"id":%d,"note":"' + b"x" * 230 + b'"}'
    for first in range(0, count, 1000):
        rows = between.join(row % number for number in range(first, min(first + 1000, count)))
        yield (between if first else start) + rows
    yield end


async def main(folder: Path) -> None:
    results, resources = DirectoryResults(str(folder)), Resources()
    payloads = StoredPayloads(results, "0" * 32)
    reader = Reader(MemoryStore(lambda: 0), results, payloads)
    call = Call(payloads, resources, work_dir=str(folder))

    async def sliced(count: int, shape: tuple[str, bytes, bytes, bytes], **asked: Any) -> Any:
        content_type, *signs = shape
        ref: Any = await payloads.put_stream(written(count, *signs), content_type)
        if asked.pop("over_rest", False):
            part: Any = await reader.read(ref["locator"]["key"], asked["offset"], 2, None)
            assert part.total == count
            return [row["id"] for row in part.data]
        output: Any = await invoke(tools.get("resolve"), {"ref": ref, "limit": 2, **asked}, call)
        return [row["id"] for row in output["data"]]

    rows, listed = (ROWS, b"", b"\n", b""), (JSON, b"[", b",", b"]")
    under = (JSON, b'{"count":1,"rows":[', b",", b"]}")
    ways: dict[str, tuple[tuple[str, bytes, bytes, bytes], dict[str, Any]]] = {
        "rows": (rows, {}),
        "a list": (listed, {}),
        "selected rows": (rows, {"select": "[?id >= `0`].{id: id}"}),
        "rows over REST": (rows, {"over_rest": True}),
        "a list over REST": (listed, {"over_rest": True}),
        "a list under a key": (under, {"select": "rows"}),
    }
    grown: dict[str, float] = {}
    for name, (shape, asked) in ways.items():
        assert await sliced(5_000, shape, offset=4_000, **asked) == [4_000, 4_001]
        before = peak_mib()
        assert await sliced(COUNT, shape, offset=COUNT - 1, **asked) == [COUNT - 1]
        grown[name] = round(peak_mib() - before, 1)
    print(json.dumps(grown))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
