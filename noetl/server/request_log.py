"""Every request leaves a trace: an id, a line in the log, a count. What it said is nowhere in them."""

import logging
import time
from contextvars import ContextVar

import uuid_utils
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noetl.server.access import NOBODY, WHO
from noetl.server.metrics import Meter

LOG = logging.getLogger("noetl.http")
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
UNKNOWN = "unknown"


class Record:
    """Stands before everything else."""

    def __init__(self, app: ASGIApp, meter: Meter) -> None:
        self.app, self.meter = app, meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, request_id = time.perf_counter(), uuid_utils.uuid7().hex
        status = 500

        async def send_logged(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
                self._count(scope, status, time.perf_counter() - began)
            await send(message)

        token = REQUEST_ID.set(request_id)
        try:
            await self.app(scope, receive, send_logged)
        finally:
            _tell(scope, status, time.perf_counter() - began)
            REQUEST_ID.reset(token)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else UNKNOWN
        # The route by its template, so that ids do not become labels.
        route = getattr(scope.get("route"), "path", None) or UNKNOWN
        self.meter.count_answer(method, route, status, seconds)


def _tell(scope: Scope, status: int, seconds: float) -> None:
    ordinary = scope["method"] in ("GET", "HEAD") and status < 400
    level = logging.ERROR if status >= 500 else logging.DEBUG if ordinary else logging.INFO
    if not LOG.isEnabledFor(level):
        return
    fields: dict[str, object] = {
        "method": scope["method"],
        "path": scope["path"][:500],
        "status": status,
        "ms": round(seconds * 1000, 2),
        "by": scope.get(WHO, NOBODY).name,
    }
    execution_id = (scope.get("path_params") or {}).get("execution_id")
    if execution_id is not None:
        fields["execution_id"] = str(execution_id)[:32]
    LOG.log(level, "request", extra=fields)
