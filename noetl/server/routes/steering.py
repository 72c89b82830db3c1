"""Pausing, resuming, cancelling, signalling, retrying and running executions again."""

from typing import Any, Literal

from fastapi import Request
from starlette.responses import Response

from noetl.core.message import Control
from noetl.server.access import require, who_asks
from noetl.server.reply import front_of, read, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.routes.catalog import require_text
from noetl.server.routes.executions import ID_PARAMETER, begun_reply, id_of
from noetl.server.shapes import Begun, RerunBody, RetryBody, SignalBody, WishBody

router = make_router("executions")
STATES = (404, 409)


def _describe(
    answers: dict[int, object], body: object, *, optional: bool, problems: tuple[int, ...] = STATES
) -> dict[str, Any]:
    parameters = (ID_PARAMETER,)
    return describe(
        "run", answers, body=body, optional_body=optional, problems=problems, parameters=parameters
    )


async def _wish(request: Request, what: Literal["cancel", "pause", "resume"]) -> Response:
    body = await read(request, WishBody, optional=True)
    return await _send_control(request, Control(what, who_asks(request).name, body.why))


@router.post("/executions/{execution_id}/cancel", **_describe({202: Begun}, WishBody, optional=True))
async def cancel(request: Request) -> Response:
    """Stop an execution; what runs is interrupted."""
    return await _wish(request, "cancel")


@router.post("/executions/{execution_id}/pause", **_describe({202: Begun}, WishBody, optional=True))
async def pause(request: Request) -> Response:
    """Let an execution rest at the next task boundaries."""
    return await _wish(request, "pause")


@router.post("/executions/{execution_id}/resume", **_describe({202: Begun}, WishBody, optional=True))
async def resume(request: Request) -> Response:
    """Let a paused execution go on."""
    return await _wish(request, "resume")


@router.post("/executions/{execution_id}/signal", **_describe({202: Begun}, SignalBody, optional=False))
async def signal(request: Request) -> Response:
    """Give tasks that wait for a signal what they wait for."""
    body = await read(request, SignalBody)
    control = Control("signal", who_asks(request).name, name=body.name, payload=body.payload)
    return await _send_control(request, control)


@router.post("/executions/{execution_id}/release", **_describe({202: Begun}, None, optional=True))
async def release(request: Request) -> Response:
    """Let an execution that is stuck go on; 409 when it is not, or cannot."""
    execution_id = id_of(request)
    front = front_of(request)
    await front.release(execution_id, who_asks(request).name)
    return reply({"execution_id": execution_id, "status": await front.status(execution_id)}, 202)


async def _send_control(request: Request, control: Control) -> Response:
    execution_id = id_of(request)
    front = front_of(request)
    await front.control(execution_id, control)
    status = (await front.execution(execution_id))["status"]
    return reply({"execution_id": execution_id, "status": status}, 202)


@router.post("/executions/{execution_id}/retry", **_describe({201: Begun}, RetryBody, optional=True))
async def retry(request: Request) -> Response:
    """A new execution that keeps what went well and goes on from what failed."""
    execution_id = id_of(request)
    body = await read(request, RetryBody, optional=True)
    return begun_reply(await front_of(request).retry(execution_id, body.step, who_asks(request).name))


@router.post(
    "/executions/{execution_id}/rerun",
    **_describe({201: Begun}, RerunBody, optional=False, problems=(404, 409, 422)),
)
async def rerun(request: Request) -> Response:
    """A new execution that begins again at a step, perhaps with a changed playbook."""
    execution_id = id_of(request)
    body = await read(request, RerunBody)
    if body.playbook is not None:
        require(request, "write")
        await require_text(request, body.playbook)
    by = who_asks(request).name
    return begun_reply(await front_of(request).rerun(execution_id, body.start, body.playbook, by))
