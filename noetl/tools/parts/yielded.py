"""What a generator under `@noetl.tool` yields: held while it is little, stored as it comes when it is not."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any

import msgspec

from noetl.core.values.output import ROWS
from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.values import from_python
from noetl.tools.parts.own_thread import OwnThread
from noetl.tools.parts.sql import hold_bytes
from noetl.tools.parts.tool_context import Answer

AT_ONCE, AT_ONCE_S = 100, 0.1  # items that a thread is asked for, and how long it may gather them
PART_BYTES = 64 * 1024


async def gathered(items: AsyncIterator[object], call: Call) -> Answer:
    """All items as a list, or a reference to them as lines where they are too large to hold."""
    held: list[Json] = []
    size, hold = 0, hold_bytes(call)
    async for item in items:
        held.append(from_python(item, f"[{len(held)}]"))
        size += len(msgspec.json.encode(held[-1])) + 1
        if size > hold:
            return Answer(None, await call.payloads.put_stream(_lines(held, items), ROWS))
    return Answer(held)


async def _lines(held: list[Json], rest: AsyncIterator[object]) -> AsyncIterator[bytes]:
    count, part = len(held), b"\n".join(map(msgspec.json.encode, held))
    held.clear()
    async for item in rest:
        if len(part) >= PART_BYTES:
            yield part
            part = b""
        part += b"\n" + msgspec.json.encode(from_python(item, f"[{count}]"))
        count += 1
    yield part


def _take(items: Iterator[object], some: list[object]) -> bool:
    """Gather some; whether there may be more. Not for long, since nobody may wait for them any more."""
    until = monotonic() + AT_ONCE_S
    for item in islice(items, AT_ONCE):
        some.append(item)
        if monotonic() > until:
            return True
    return len(some) == AT_ONCE


async def in_thread(
    items: Generator[Any, Any, Any], thread: OwnThread, raised: Callable[[Exception], Exception]
) -> AsyncGenerator[object]:
    """The items of a plain generator, every one taken in the same thread; it is closed there too."""
    try:
        while True:
            some: list[object] = []
            more, problem = await thread.outcome(partial(_take, items, some))
            for item in some:
                yield item
            if problem is not None:
                raise raised(problem)
            if not more:
                return
    finally:
        with suppress(RuntimeError):
            thread.end(items.close)
