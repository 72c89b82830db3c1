"""Whether the server lives and can do its work."""

from fastapi import Request
from starlette.responses import Response

from noetl.server.metrics import CONTENT_TYPE, Meter
from noetl.server.problem import Problem
from noetl.server.reply import front_of, options_of, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.shapes import Health

router = make_router("health", prefix="")


@router.get("/health/live", **describe("public", {200: Health}))
async def live(request: Request) -> Response:
    """The process answers."""
    return reply({"status": "ok"})


@router.get("/metrics", **describe("read", {200: "text/plain"}))
async def metrics(request: Request) -> Response:
    """What is counted and measured, in Prometheus' text format."""
    meter: Meter = request.app.state.meter
    return Response(await meter.text(front_of(request)), headers={"Content-Type": CONTENT_TYPE})


@router.get("/health/ready", **describe("public", {200: Health}, problems=(503,)))
async def ready(request: Request) -> Response:
    """The store answers, and no work has been due for long."""
    overdue = await front_of(request).overdue_ms()
    most = options_of(request).ready_after_ms
    if overdue > most:
        message = f"work has been due for {overdue} ms, longer than {most} ms"
        raise Problem(
            503, message, hint="are there workers? see /api/v1/workers", headers={"Retry-After": "1"}
        )
    return reply({"status": "ok", "overdue_ms": overdue})
