"""The items of a payload that is a list, from its bytes as they come, which are verified to the end."""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import msgspec

from noetl.core.values.item_scan import NotItems, WantedItems
from noetl.json_value import Json

UNREADABLE = (NotItems, msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)
"""Why bytes have no items."""


async def scanned(
    pieces: AsyncIterator[bytes], items: WantedItems, verify: Callable[[str], None]
) -> AsyncGenerator[list[Json], None]:
    """Wanted items, some at a time. None of them counts before the last: then `verify` has had the sha256.

    Bytes that are not the right ones are that above all, whatever else is wrong with them.
    """
    digest, problem = hashlib.sha256(), None
    async for piece in pieces:
        digest.update(piece)
        if problem is None:
            try:
                found = items.feed(piece)
            except UNREADABLE as error:
                problem = error
            else:
                if found:
                    yield found
    verify(digest.hexdigest())
    if problem is not None:
        raise problem
    yield items.feed(b"", last=True)
