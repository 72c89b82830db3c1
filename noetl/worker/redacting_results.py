"""The result store as a tool sees it: what a tool puts there has no secret of its execution in it.

Taking secrets out of values is the redactor's; here are bytes, which are never whole.
"""

import re
from collections.abc import AsyncIterator, Iterable

from noetl.core.values.item_scan import Wanted
from noetl.core.values.redact import MASK, Redactor
from noetl.dsl.yaml.tree import Value
from noetl.ports.call import CallPayloads
from noetl.ports.envelope import Reference


class RedactedPayloads:
    """Payloads without the secrets that a redactor knows."""

    def __init__(self, payloads: CallPayloads, redactor: Redactor) -> None:
        self._payloads, self._redactor = payloads, redactor

    async def put(self, data: Value) -> Reference:
        return await self._payloads.put(self._redactor.clean(data))

    async def put_stream(self, chunks: AsyncIterator[bytes], content_type: str) -> Reference:
        return await self._payloads.put_stream(without(self._redactor.spellings, chunks), content_type)

    async def get(self, ref: Reference, most: int | None = None) -> Value:
        """The payload of a reference, of at most so many bytes."""
        return await self._payloads.get(ref, most)

    def items(self, ref: Reference, wanted: Wanted) -> AsyncIterator[list[Value]]:
        """Wanted items of a payload that is a list."""
        return self._payloads.items(ref, wanted)


async def without(spellings: Iterable[str], chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks with every secret masked; what may be the beginning of one waits for the next chunk."""
    spelled = sorted({way.encode("utf-8", "surrogatepass") for way in spellings}, key=len, reverse=True)
    if not spelled:
        async for chunk in chunks:
            yield chunk
        return
    pattern, mask = re.compile(b"|".join(map(re.escape, spelled))), MASK.encode()
    buffer = b""
    async for chunk in chunks:
        buffer += chunk
        sure = len(buffer) - len(spelled[0]) + 1  # whatever begins before is there to its end
        done, clean = 0, bytearray()
        for match in pattern.finditer(buffer) if any(way in buffer for way in spelled) else ():
            if match.start() >= sure:
                break
            clean += buffer[done : match.start()] + mask
            done = match.end()
        sure = max(sure, done)
        clean += buffer[done:sure]
        buffer = buffer[sure:]
        if clean:
            yield bytes(clean)
    if buffer:
        yield pattern.sub(mask, buffer)
