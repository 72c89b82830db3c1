"""Registered playbooks, and checking a text."""

import asyncio
from collections import Counter
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from noetl.core.event import iso
from noetl.dsl.diagnostic import finding_fields
from noetl.dsl.load import Loaded, load
from noetl.dsl.tool_kind import Kinds
from noetl.errors import NotFound, PlaybookError
from noetl.ports.store import PlaybookText
from noetl.server import shapes
from noetl.server.access import require_path, who_asks
from noetl.server.isolated_check import withstand
from noetl.server.paging import Cursor, Limit, page
from noetl.server.reply import front_of, options_of, read, reply
from noetl.server.route_spec import describe, make_router

router = make_router("catalog")
Version = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="A version, else the newest")]


@router.post(
    "/catalog", **describe("write", {201: shapes.CatalogEntry}, body=shapes.RegisterBody, problems=(409, 422))
)
async def register(request: Request) -> Response:
    """Register a playbook under its metadata.path; a changed text becomes the next version."""
    body = await read(request, shapes.RegisterBody)
    return await register_text(request, body.playbook)


async def register_text(request: Request, text: str) -> Response:
    await require_text(request, text)
    return reply(entry(await front_of(request).register(text, by=who_asks(request).name)), 201)


async def require_text(request: Request, text: str) -> None:
    """Refuse a text that takes too long to check, or whose path lies outside the sender's prefixes."""
    kinds = options_of(request).kinds
    if not who_asks(request).prefixes:
        await withstand(text, kinds)
    else:
        loaded = await check_text(text, kinds)
        if loaded.playbook is None or not loaded.ok:
            raise PlaybookError(loaded.diagnostics)
        require_path(request, loaded.playbook.path, f"path {loaded.playbook.path!r} for you")


async def check_text(text: str, kinds: Kinds, *, strict: bool = False) -> Loaded:
    """A text read and checked, away from the loop; one that would take too long is refused."""
    await withstand(text, kinds)
    return await asyncio.to_thread(load, text, kinds=kinds, strict=strict)


@router.get("/catalog", **describe("read", {200: shapes.CatalogPage}))
async def list_playbooks(
    request: Request,
    path: Annotated[str | None, Query(max_length=512, description="Every version of this path")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """The newest version of every path in order of paths, or every version of one, the newest first."""
    who = who_asks(request)
    entries = [item for item in await front_of(request).playbooks(path) if who.sees(item.path)]
    place = (lambda item: f"{2**32 - item.version:010}") if path is not None else (lambda item: item.path)
    visible, more = page(entries, place, cursor, limit)
    return reply({"items": [entry(item) for item in visible], "cursor": more})


@router.get("/catalog/{path:path}", **describe("read", {200: shapes.CatalogText}, problems=(404,)))
async def show_playbook(request: Request, path: str, version: Version = None) -> Response:
    """One version of a playbook with its text."""
    require_path(request, path, f"playbook {path!r}")
    playbook = await front_of(request).playbook(path, version)
    return reply({**entry(playbook), "text": playbook.text})


@router.delete("/catalog/{path:path}", **describe("write", {200: shapes.Deleted}, problems=(404,)))
async def delete_playbook(request: Request, path: str, version: Version = None) -> Response:
    """Take a playbook, or one version of it, off the catalog; executions keep their text."""
    require_path(request, path, f"playbook {path!r}")
    number = await front_of(request).delete_playbook(path, version)
    if number == 0:
        raise NotFound(f"there is no playbook {path!r}" + (f" version {version}" if version else ""))
    return reply({"deleted": number})


@router.post("/validate", **describe("read", {200: shapes.Findings}, body=shapes.ValidateBody))
async def validate(request: Request) -> Response:
    """Check a text: everything that is wrong, where, and how to put it right. Nothing is kept."""
    body = await read(request, shapes.ValidateBody)
    loaded = await check_text(body.playbook, options_of(request).kinds, strict=body.strict)
    counts = Counter(item.severity for item in loaded.diagnostics)
    return reply(
        {
            "diagnostics": [finding_fields(item) for item in loaded.diagnostics],
            "errors": counts["error"],
            "warnings": counts["warning"],
            "infos": counts["info"],
            "path": loaded.playbook.path if loaded.playbook is not None else None,
        }
    )


def entry(playbook: PlaybookText) -> dict[str, object]:
    """A registered playbook without its text."""
    return {
        "path": playbook.path,
        "version": playbook.version,
        "hash": playbook.hash,
        "description": playbook.description,
        "labels": playbook.labels,
        "file": playbook.file,
        "registered_at": iso(playbook.registered_at),
        "by": playbook.by,
    }
