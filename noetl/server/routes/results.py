"""Stored payloads, whole or in part."""

from typing import Annotated

import msgspec
from fastapi import Path, Query, Request
from starlette.responses import Response

from noetl.server.reply import front_of, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.routes.executions import ExecutionId
from noetl.server.shapes import ResultSlice

router = make_router("results")


@router.get("/results/{execution_id}/{digest}", **describe("read", {200: ResultSlice}, problems=(404,)))
async def result(
    request: Request,
    execution_id: ExecutionId,
    digest: Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="The digest of the payload")],
    *,
    offset: Annotated[int, Query(ge=0, le=2**53, description="The first item of a list")] = 0,
    limit: Annotated[int | None, Query(ge=1, le=100_000, description="How many items of a list")] = None,
    select: Annotated[str | None, Query(max_length=1000, description="A path into the value")] = None,
) -> Response:
    """The payload of a reference, whose `locator.key` is `<execution_id>/<digest>`."""
    key = f"{execution_id}/{digest}"
    payload = await front_of(request).result(key, offset=offset, limit=limit, select=select)
    return reply(msgspec.structs.asdict(payload))
