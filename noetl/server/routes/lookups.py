"""What there is to work with: workers, tool kinds, the schema of the language."""

from typing import Annotated

import msgspec
from fastapi import Query, Request
from starlette.responses import Response

from noetl.core.event import iso
from noetl.dsl.grammar.editor_schema import kind_schema, playbook_schema
from noetl.errors import NotFound
from noetl.json_value import JsonObject
from noetl.ports.front import Worker
from noetl.server.access import require_everywhere
from noetl.server.paging import MOST, Cursor, Limit, page
from noetl.server.reply import front_of, options_of, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.shapes import ToolList, WorkerList

router = make_router("lookups")


@router.get("/workers", **describe("read", {200: WorkerList}))
async def workers(request: Request, cursor: Cursor = None, limit: Limit = MOST) -> Response:
    """The workers that were heard of lately, and what each has in hand."""
    require_everywhere(request)
    items, more = page(await front_of(request).workers(), lambda worker: worker.worker_id, cursor, limit)
    return reply({"items": [_worker(worker) for worker in items], "cursor": more})


def _worker(worker: Worker) -> dict[str, object]:
    times = {"heard_at": iso(worker.heard_at), "started_at": iso(worker.started_at)}
    leases = [
        {**lease, "since": iso(int(lease["since"]))} if "since" in lease else lease for lease in worker.leases
    ]
    return {**msgspec.structs.asdict(worker), **times, "leases": leases}


@router.get("/tools", **describe("read", {200: ToolList}))
async def tools(request: Request, cursor: Cursor = None, limit: Limit = MOST) -> Response:
    """The installed tool kinds: inputs, knobs, what each returns, an example."""
    items, more = page(options_of(request).tools, lambda tool: str(tool["kind"]), cursor, limit)
    return reply({"items": items, "cursor": more})


@router.get("/schema", **describe("read", {200: JsonObject}, problems=(404,)))
async def schema(
    request: Request,
    kind: Annotated[str | None, Query(max_length=100, description="Of one tool kind")] = None,
) -> Response:
    """The JSON Schema of playbooks for editors, or of one task of a kind."""
    kinds = options_of(request).kinds
    if kind is None:
        return reply(playbook_schema(kinds))
    if kind not in kinds:
        raise NotFound(f"there is no tool kind {kind!r}", hint=f"the kinds are: {', '.join(sorted(kinds))}")
    return reply(kind_schema(kinds[kind]))
