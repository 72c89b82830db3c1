"""Stored payloads by their key: whole, a slice of a list, or what a JMESPath selects.

A key does not say what its payload is; the bytes do, and where they could be two things the log does.
"""

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any, TypeGuard

import msgspec

from noetl.control.history import rows_of
from noetl.core.values.item_scan import JsonItems, Lines, NotItems, Scan, Wanted, WantedItems
from noetl.core.values.output import JSON, MANIFEST, ROWS, is_reference
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.selection import select_from
from noetl.errors import NotFound, RequestError
from noetl.json_value import Json, JsonObject
from noetl.ports.front import Slice
from noetl.ports.payload_items import UNREADABLE, scanned
from noetl.ports.results import Payloads, Results, assembled, check_key
from noetl.ports.store import Store

SELECTIONS = 2
"""At one time: the others wait, so that they cannot take every thread."""
START_BYTES = 100
TEXT, BYTES = "text/plain", "application/octet-stream"
Opened = tuple[str, Any]  # a content type, and what bytes of it are: rows are lines, a manifest its entries


class Reader:
    """Reads payloads of the result store."""

    def __init__(self, store: Store, results: Results, payloads: Payloads) -> None:
        self._store, self._results, self._payloads = store, results, payloads
        self._selecting = asyncio.Semaphore(SELECTIONS)

    async def read(self, key: str, offset: int, limit: int | None, select: str | None) -> Slice:
        """A payload or a part of it; raises NotFound, or RequestError for a path that is none."""
        if limit is not None and select is None:
            part = await self._part(check_key(key), Wanted(offset, offset + limit))
            if part is not None:
                return part
        body = await self._results.read(check_key(key))
        kind, value = await self._opened(key, body)
        if select is not None:
            whole = await self._items(kind, value, 0, None) if kind in (ROWS, MANIFEST) else value
            async with self._selecting:
                kind, value = JSON, await asyncio.to_thread(_selected, select, whole, len(body))
        if kind in (ROWS, MANIFEST) or isinstance(value, list):
            items = await self._items(kind, value, offset, limit)
            return Slice(items, len(value), offset)
        return Slice(value, content_type=kind if kind in (TEXT, BYTES) else JSON)

    async def _part(self, key: str, wanted: Wanted) -> Slice | None:
        """Items of a list, without holding the others; None for what may be something else."""
        for kind, scan in _lists(await self._start(key)):
            items = WantedItems(scan, wanted, msgspec.json.decode)
            try:
                found = [item async for some in self._scanned(key, items) for item in some]
            except UNREADABLE:
                continue
            if kind == ROWS and items.total == 1:  # or a mapping
                return None
            if kind == MANIFEST:
                found = await assembled(self._payloads, found)
            return Slice(found, items.total, wanted.first)
        return None

    async def _start(self, key: str) -> bytes:
        async with aclosing(self._results.read_stream(key)) as pieces:
            return (await anext(pieces, b""))[:START_BYTES]

    async def _scanned(self, key: str, items: WantedItems) -> AsyncIterator[list[Any]]:
        async with aclosing(self._results.read_stream(key)) as pieces:
            async for some in scanned(pieces, items, lambda _: None):
                yield some

    async def _opened(self, key: str, body: bytes) -> Opened:
        """What the bytes are: a value, the lines of rows, the entries of a manifest, text, or bytes."""
        try:
            value = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return await asyncio.to_thread(_not_json, body)
        if isinstance(value, dict):
            if _is_manifest(value):
                return MANIFEST, value["items"]
            if await self._said(key) == ROWS:  # a list of one
                return JSON, [value]
        return JSON, value

    async def _said(self, key: str) -> str | None:
        """The type that the log gives a payload where it names it."""
        named = re.compile(
            rb'"key":"' + key.encode() + rb'"\},"auth_reference":null,"meta":\{"content_type":"([^"]+)"'
        )
        execution_id = key.partition("/")[0]
        try:
            async for row in rows_of(self._store, execution_id):
                match = named.search(row.body)
                if match is not None:
                    return match[1].decode()
        except NotFound:
            return None
        return None

    async def _items(self, kind: str, value: list[Any], offset: int, limit: int | None) -> list[Json]:
        part = value[offset : None if limit is None else offset + limit]
        if kind == ROWS:
            return await asyncio.to_thread(_decoded, part)
        if kind == MANIFEST:
            return await assembled(self._payloads, part)
        return part


def _lists(start: bytes) -> Iterator[tuple[str, Scan]]:
    """The lists that bytes which begin like this can be."""
    if start.lstrip().startswith(b"["):
        yield JSON, JsonItems()
    elif start.startswith(b"{"):
        if start.startswith(b'{"items":['):
            yield MANIFEST, _Entries()
        yield ROWS, _RowLines()


class _Entries:
    """The entries of a manifest; raises NotItems for a mapping that is none."""

    def __init__(self) -> None:
        self._scan, self._rests_elsewhere = JsonItems("items", alone=True), False

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[str]:
        for text in self._scan.feed(piece, last=last):
            entry = msgspec.json.decode(text)
            if not _is_entry(entry):
                raise NotItems
            self._rests_elsewhere |= "value" not in entry
            yield text
        if last and not self._rests_elsewhere:
            raise NotItems


class _RowLines:
    """Rows; raises NotItems for lines that are something else."""

    def __init__(self) -> None:
        self._scan = Lines()

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[bytes]:
        for line in self._scan.feed(piece, last=last):
            if not _is_row(line):
                raise NotItems
            yield line


def _decoded(lines: list[bytes]) -> list[Json]:
    return [msgspec.json.decode(line) for line in lines]


def _not_json(body: bytes) -> Opened:
    lines = body.split(b"\n")
    if len(lines) > 1 and all(map(_is_row, lines)):
        return ROWS, lines
    try:
        return TEXT, body.decode()
    except UnicodeDecodeError:
        return BYTES, base64.b64encode(body).decode("ascii")


def _is_row(line: bytes) -> bool:
    return line.startswith(b"{") and line.endswith(b"}")


ENTRIES: dict[str, Callable[[object], bool]] = {
    "value": lambda _: True,
    "ref": is_reference,
    "part": lambda part: isinstance(part, list) and len(part) == 2 and isinstance(part[0], str),
}


def _is_manifest(value: JsonObject) -> bool:
    """Whether a mapping lists the items of a payload, at least one of which rests elsewhere."""
    entries = value.get("items")
    if value.keys() != {"items"} or not isinstance(entries, list):
        return False
    fitting = [entry for entry in entries if _is_entry(entry)]
    return len(fitting) == len(entries) and any("value" not in entry for entry in fitting)


def _is_entry(entry: Json) -> TypeGuard[JsonObject]:
    if not isinstance(entry, dict) or len(entry) != 1:
        return False
    ((name, content),) = entry.items()
    return name in ENTRIES and ENTRIES[name](content)


def _selected(path: str, value: Json, size: int) -> Json:
    try:
        selected: Json = select_from(value, path, size)
    except TemplateError as error:
        raise RequestError(f"select: {error.message}", hint="see jmespath.org; as in items[0].name") from None
    return selected
