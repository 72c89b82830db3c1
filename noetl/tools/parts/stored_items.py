"""The items of a list in a file or an object that a reference names, read without holding the others.

JSON is taken as it comes. CSV and Parquet come into a file of their own first: rows are read from bytes that
were verified. What has no items is read whole, by `resolve` itself.
"""

import asyncio
import hashlib
import io
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import closing
from itertools import islice
from typing import BinaryIO, cast

import msgspec

from noetl.core.values.item_scan import JsonItems, NoItems, NotItems, Scan, Wanted, WantedItems
from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.payload_items import UNREADABLE, scanned
from noetl.ports.values import to_json
from noetl.tools.parts.bucket import PIECE
from noetl.tools.parts.content import Format, csv_rows, parquet_rows
from noetl.tools.parts.paths import refuse_large

ROWS_AT_ONCE = 1024
Verify = Callable[[str], None]  # is given the sha256


async def file_pieces(path: str, max_bytes: int) -> AsyncGenerator[bytes, None]:
    """The bytes of a file that is not too large."""
    try:
        with await asyncio.to_thread(open, path, "rb") as file:
            refuse_large(os.fstat(file.fileno()).st_size, max_bytes)
            while piece := await asyncio.to_thread(file.read, PIECE):
                yield piece
    except OSError as problem:
        raise Failed("reference", f"{path}: {problem.strerror}") from None


async def items_of(
    pieces: AsyncIterator[bytes], form: Format, wanted: Wanted, verify: Verify
) -> AsyncGenerator[list[Json], None]:
    """Wanted items of a content, some at a time; raises NotItems, and Failed as reading it whole does."""
    listed = _rows if form in ("csv", "parquet") else _scanned
    try:
        async for some in listed(pieces, form, wanted, verify):
            yield some
    except NotItems:
        raise
    except UNREADABLE as problem:
        raise Failed("format", f"the content is not {form}: {problem}") from None


def _scanned(
    pieces: AsyncIterator[bytes], form: Format, wanted: Wanted, verify: Verify
) -> AsyncIterator[list[Json]]:
    scan: Scan = JsonItems(wanted.key)
    if form == "jsonl":
        scan = NoItems("list") if wanted.key is not None else JsonItems(bare=True)
    elif form != "json":
        scan = NoItems("str")
    return scanned(pieces, WantedItems(scan, wanted, _decoded), verify)


def _decoded(text: str | bytes) -> Json:
    value: object = msgspec.json.decode(text)
    return to_json(value)


async def _rows(
    pieces: AsyncIterator[bytes], form: Format, wanted: Wanted, verify: Verify
) -> AsyncIterator[list[Json]]:
    import tempfile

    if wanted.key is not None:
        raise NotItems("list")
    digest = hashlib.sha256()
    with tempfile.TemporaryFile(prefix="noetl-resolve-") as file:
        async for piece in pieces:
            digest.update(piece)
            await asyncio.to_thread(file.write, piece)
        verify(digest.hexdigest())
        file.seek(0)
        with closing(_rows_in(cast(BinaryIO, file), form)) as rows:
            part = islice(rows, wanted.first, wanted.end)
            while some := await asyncio.to_thread(lambda: [*islice(part, ROWS_AT_ONCE)]):
                yield some


def _rows_in(file: BinaryIO, form: Format) -> Generator[Json, None, None]:
    if form == "csv":
        with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield from csv_rows(text)
    else:
        yield from parquet_rows(file, ROWS_AT_ONCE)
