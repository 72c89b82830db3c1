"""Loads the payload behind a reference, with its size and checksum verified.

Data that is large, or that was stored by a tool, travels as a reference (`output.ref`). This kind is the
one way to its content. It reads all reference types: payloads of the result store, rows of a table
(`relational`), files and objects, and values in NATS. A reference with an `auth_reference` is read with
that secret; a missing or expired one is error kind `reference`.

A slice (`limit`, `offset`) of a payload, a file or an object takes memory for its items, not for all of them,
also behind a `select` that looks at one item after the other, such as `rows[?id > `90`].id`.
"""

import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated

from noetl.core.values.item_scan import Wanted
from noetl.core.values.output import is_reference, size_of
from noetl.errors import BackendError, NoetlError
from noetl.json_value import Json, JsonObject
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, Reference, ok
from noetl.ports.tool import Count, Input, define, doc, invoke, read_knobs
from noetl.tools.parts.auth import with_auth
from noetl.tools.parts.bucket import ObjectKnobs, Opened, open_limited
from noetl.tools.parts.content import decode, format_of
from noetl.tools.parts.paths import inside, read_limited
from noetl.tools.parts.payload_slice import no_list, slice_of, unusable
from noetl.tools.parts.sql import quote, stretch

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: resolve, path: tools/resolve}
workflow:
  - step: make
    tool: {kind: python, input: {code: "result = {'rows': [{'id': i} for i in range(100)]}"}}
    set: {ctx.rows_ref: "{{ output.ref }}"}
    next: {arcs: [{step: use, when: "{{ event.ok }}"}]}
  - step: use
    tool: {kind: resolve, input: {ref: "{{ ctx.rows_ref }}", select: "rows[?id > `90`].id", limit: 5}}
"""


class Resolve(Input):
    """Which payload, and how much of it."""

    ref: Annotated[JsonObject, doc("The reference, as in `{{ ctx.rows_ref }}`.")]
    select: Annotated[str | None, doc("A JMESPath expression applied to the payload.")] = None
    limit: Annotated[Count | None, doc("At most this many items of a list, counted after `select`.")] = None
    offset: Annotated[Count, doc("Leave out this many items of a list first.")] = 0


async def run(request: Resolve, call: Call) -> Envelope:
    """Load the payload from wherever it lies, then take the part that was asked for."""
    ref = request.ref
    locator = ref.get("locator")
    if not is_reference(ref) or not isinstance(locator, dict):
        fields = ", ".join(ref) or "nothing"
        raise Failed(
            "reference", f"not a reference: it needs type, locator, auth_reference, meta; it has {fields}"
        )
    name = ref["auth_reference"]
    call = await with_auth(call, None if name is None else str(name).removeprefix("keychain/"))
    maker = str(locator.get("tool"))
    if maker in _ROWS:
        return await _table(maker, locator, request, call)
    sliced = await _sliced(maker, request, call)
    if sliced is not None:
        return ok(sliced)
    with _lost_references():
        payload = await (_FROM[maker](ref, call) if maker in _FROM else call.payloads.get(ref))
    return ok(_slice(await select(payload, request.select), request))


@contextmanager
def _lost_references() -> Iterator[None]:
    try:
        yield
    except Failed as failure:
        raise _lost_reference(failure.message, retryable=failure.output["error"]["retryable"]) from None
    except NoetlError as problem:
        raise _lost_reference(problem.message, retryable=isinstance(problem, BackendError)) from None


def _lost_reference(message: str, *, retryable: bool = False) -> Failed:
    return Failed("reference", f"the reference cannot be resolved: {message}", retryable=retryable)


# ---- what tools have stored -----------------------------------------------------------------------------

_ROWS = ("sqlite", "duckdb", "postgres")


async def _table(kind: str, locator: dict[str, Json], request: Resolve, call: Call) -> Envelope:
    """The rows of a table, or of the stretch that the reference names."""
    from noetl.tools import get

    query, params = _query(kind, locator, request)
    values: dict[str, Json] = {"query": query, "params": params}
    if "database" in locator:
        values["database"] = locator["database"]
    answer = await invoke(get(kind), values, call)
    if answer["status"] == "error":
        problem = answer["error"]
        raise _lost_reference(problem["message"], retryable=problem["retryable"])
    data = answer["data"]
    rows = data["rows"] if isinstance(data, dict) else None
    if request.select is None:  # the database has already left out what was not asked for
        return ok(rows)
    return ok(_slice(await select(rows, request.select), request))


def _query(kind: str, locator: dict[str, Json], request: Resolve) -> tuple[str, list[Json]]:
    query = f"select * from {quote(str(locator['table']))}"
    params: list[Json] = []
    limits = locator.get("range") or {}
    bounds = stretch(limits) if isinstance(limits, str) else limits if isinstance(limits, dict) else {}
    conditions = []
    for word, sign in (("start", ">="), ("end", "<=")):
        if bounds.get(word) is not None:
            params.append(bounds[word])
            mark = f"${len(params)}" if kind == "postgres" else "?"
            conditions.append(f"{quote(str(bounds['column']))} {sign} {mark}")
    if conditions:
        query += f" where {' and '.join(conditions)}"
    if bounds:
        query += f" order by {quote(str(bounds['column']))}"
    if request.select is None and (request.limit is not None or request.offset):
        every = "-1" if kind == "sqlite" else "all"  # SQLite has no word for it, DuckDB takes no number
        query += f" limit {every if request.limit is None else request.limit} offset {request.offset}"
    return query, params


async def _file(ref: Reference, call: Call) -> Json:
    import asyncio

    path = inside(call, str(ref["locator"]["key"]))
    try:
        raw = await asyncio.to_thread(read_limited, path, _most(ref))
    except OSError as problem:
        raise _lost_reference(f"{path}: {problem.strerror}") from None
    return _verified(raw, path, ref["meta"])


def _most(ref: Reference) -> int:
    return int(ref["meta"].get("bytes", 2**31))


def _verified(raw: bytes, name: str, meta: dict[str, Json]) -> Json:
    """The content; its bytes are those that the reference was made for."""
    if "sha256" in meta:
        _verify(meta, hashlib.sha256(raw).hexdigest())
    return decode(raw, format_of(name, meta.get("format")))


def _verify(meta: dict[str, Json], sha256: str) -> None:
    if meta.get("sha256", sha256) != sha256:
        raise Failed("reference", "the content has changed since the reference was made (checksum differs)")


async def _object(ref: Reference, call: Call) -> Json:
    stream = await _open(ref, call)
    return _verified(await stream.read(), str(ref["locator"]["key"]), ref["meta"])


async def _open(ref: Reference, call: Call) -> Opened:
    from noetl.tools.parts.object_stores import bucket

    store, key = str(ref["locator"]["store"]), str(ref["locator"]["key"])
    return await open_limited(await bucket(store, call), key, read_knobs(ObjectKnobs, call).max_bytes)


async def _nats(ref: Reference, call: Call) -> Json:
    from noetl.tools.nats import read

    locator = ref["locator"]
    return await read(str(locator["store"]), str(locator["key"]), locator.get("revision"), call)


_FROM = {"file": _file, "object": _object, "nats": _nats}

# ---- a slice, without the rest --------------------------------------------------------------------------


async def _sliced(maker: str, request: Resolve, call: Call) -> list[Json] | None:
    """The items that were asked for; None where all has to be read, to select or because it is small."""
    if maker == "nats" or (request.limit is None and not request.offset):
        return None
    end = None if request.limit is None else request.offset + request.limit
    read = partial(_items, maker, request.ref, call)
    return await slice_of(read, Wanted(request.offset, end), request.select)


async def _items(maker: str, ref: Reference, call: Call, wanted: Wanted) -> AsyncIterator[list[Json]]:
    with _lost_references():
        async for some in await _source(maker, ref, call, wanted):
            yield some


async def _source(maker: str, ref: Reference, call: Call, wanted: Wanted) -> AsyncIterator[list[Json]]:
    if maker not in _FROM:
        return call.payloads.items(ref, wanted)
    from noetl.tools.parts.stored_items import file_pieces, items_of

    key = str(ref["locator"]["key"])
    if maker == "object":
        pieces = (await _open(ref, call)).chunks
    else:
        key = inside(call, key)
        pieces = file_pieces(key, _most(ref))
    form = format_of(key, ref["meta"].get("format"))
    return items_of(pieces, form, wanted, partial(_verify, ref["meta"]))


# ---- which part -----------------------------------------------------------------------------------------


async def select(payload: Json, expression: str | None) -> Json:
    """The part of a payload that a JMESPath expression names; found beside the event loop."""
    import asyncio

    from noetl.dsl.templates.limits import TemplateError
    from noetl.dsl.templates.selection import select_from

    if expression is None:
        return payload
    try:
        return await asyncio.to_thread(lambda: select_from(payload, expression, size_of(payload)))
    except TemplateError as problem:
        raise unusable(problem.message) from None


def _slice(payload: Json, request: Resolve) -> Json:
    if request.limit is None and not request.offset:
        return payload
    if not isinstance(payload, list):
        raise no_list(type(payload).__name__)
    end = None if request.limit is None else request.offset + request.limit
    return payload[request.offset : end]


TOOL = define(
    "resolve", __doc__, Resolve, run, returns="the payload, or the part that was selected", example=EXAMPLE
)
