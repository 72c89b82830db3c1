"""What a log says: the state at an event, why it went so, how two executions differ, the log itself."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from noetl.ports.answers import DiffAnswer, StateAnswer, WhyAnswer
from noetl.server.access import require_execution
from noetl.server.reply import front_of, read, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.routes.catalog import entry
from noetl.server.routes.executions import ID_PARAMETER, ExecutionId, id_of
from noetl.server.shapes import CatalogText, LogPage, ProjectionView, RenderBody, Rendered
from noetl.server.view_shapes import GraphAnswer

router = make_router("explanations")


@router.get("/executions/{execution_id}/state", **describe("read", {200: StateAnswer}, problems=(404,)))
async def state(
    request: Request,
    execution_id: ExecutionId,
    at: Annotated[int | None, Query(ge=1, le=2**53, description="After this event, else the newest")] = None,
) -> Response:
    """The state of an execution after an event: ctx, tokens, runs, what waits and for what."""
    return reply(await front_of(request).state(execution_id, at))


@router.get("/executions/{execution_id}/why", **describe("read", {200: WhyAnswer}, problems=(404,)))
async def why(
    request: Request, execution_id: ExecutionId, step: Annotated[str | None, Query(max_length=255)] = None
) -> Response:
    """The decisions of an execution explained in words, with the values they were made on."""
    return reply(await front_of(request).why(execution_id, step))


@router.get(
    "/executions/{execution_id}/diff/{other_id}", **describe("read", {200: DiffAnswer}, problems=(404,))
)
async def diff(request: Request, execution_id: ExecutionId, other_id: ExecutionId) -> Response:
    """How two executions differ."""
    await require_execution(request, other_id)
    return reply(await front_of(request).diff(execution_id, other_id))


@router.get("/executions/{execution_id}/graph", **describe("read", {200: GraphAnswer}, problems=(404,)))
async def graph(request: Request, execution_id: ExecutionId) -> Response:
    """The playbook that ran as steps and arcs, those that it was extended by included."""
    return reply(await front_of(request).graph(execution_id))


@router.get("/executions/{execution_id}/playbook", **describe("read", {200: CatalogText}, problems=(404,)))
async def playbook(request: Request, execution_id: ExecutionId) -> Response:
    """The playbook that an execution runs or ran, also when it is off the catalog."""
    registered = await front_of(request).playbook_of(execution_id)
    return reply({**entry(registered), "text": registered.text})


@router.post(
    "/executions/{execution_id}/render",
    **describe("read", {200: Rendered}, body=RenderBody, problems=(404,), parameters=(ID_PARAMETER,)),
)
async def render(request: Request) -> Response:
    """A template evaluated against an execution as it was after an event."""
    execution_id = id_of(request)
    body = await read(request, RenderBody)
    return reply({"value": await front_of(request).evaluate(execution_id, body.template, body.at)})


@router.get("/executions/{execution_id}/log", **describe("read", {200: LogPage}, problems=(404,)))
async def log(
    request: Request,
    execution_id: ExecutionId,
    *,
    first: Annotated[int, Query(alias="from", ge=1, le=2**53)] = 1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """The log as it rests: decided messages with their events and the hash chain, bytes in base64."""
    rows = await front_of(request).rows(execution_id, first, limit)
    following = rows[-1].last + 1 if len(rows) >= limit else None
    return reply({"items": rows, "next": following})


@router.get(
    "/executions/{execution_id}/projection", **describe("read", {200: ProjectionView}, problems=(404,))
)
async def projection(request: Request, execution_id: ExecutionId) -> Response:
    """What stands beside the log as it rests: summary, end of the log, snapshot, bytes in base64."""
    return reply(await front_of(request).projection(execution_id))
