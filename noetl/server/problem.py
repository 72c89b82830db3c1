"""Errors as RFC 9457 problems. Every answer that is not what was asked for is made here, and only here."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Match

from noetl.dsl.diagnostic import finding_fields
from noetl.errors import BackendError, Conflict, NoetlError, NotFound, PlaybookError, RequestError

MEDIA_TYPE = "application/problem+json"
TYPES = "https://noetl.io/errors/"
PROBLEMS = {  # by status: the code and the title
    400: ("request", "The request cannot be understood"),
    401: ("unauthenticated", "Credentials are needed"),
    403: ("denied", "That is not allowed"),
    404: ("not-found", "There is no such thing"),
    405: ("method", "That method is not offered here"),
    408: ("timeout", "The request did not come to its end"),
    409: ("conflict", "The state forbids that"),
    413: ("too-large", "The request is too large"),
    415: ("content-type", "That content type is not read here"),
    422: ("playbook", "The playbook has errors"),
    429: ("rate", "Too many requests"),
    431: ("too-large", "The headers are too large"),
    500: ("internal", "A bug of the server"),
    503: ("backend", "A backend cannot be reached"),
}
RETRY_AFTER_S = 1
ROUTES = "the routes are listed in /api/openapi.json"
VALUE_CHARS = 80


class Problem(Exception):
    """An answer other than the one asked for; raised anywhere below a route."""

    def __init__(
        self, status: int, detail: str, *, hint: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.hint, self.headers = status, detail, hint, headers or {}


def problem(
    status: int,
    detail: str,
    *,
    code: str | None = None,
    hint: str | None = None,
    headers: dict[str, str] | None = None,
    diagnostics: list[dict[str, str | int | None]] | None = None,
) -> Response:
    usual_code, title = PROBLEMS.get(status, ("request", "The request failed"))
    code = code or usual_code
    body: dict[str, object] = {
        "type": TYPES + code,
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
    }
    if diagnostics is not None:
        body["diagnostics"] = diagnostics
    return Response(msgspec.json.encode(body), status, headers, MEDIA_TYPE)


def status_of(error: NoetlError) -> int:
    """The status an error of ours is answered with."""
    match error:
        case NotFound():
            return 404
        case Conflict():
            return 409
        case PlaybookError():
            return 422
        case RequestError():
            return 400
        case BackendError():
            return 503
        case _:
            return 500


def of_error(error: NoetlError) -> Response:
    status = status_of(error)
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else None
    findings = (
        [finding_fields(item) for item in error.diagnostics] if isinstance(error, PlaybookError) else None
    )
    return problem(
        status, error.message, code=error.code, hint=error.hint, headers=headers, diagnostics=findings
    )


def install(app: FastAPI) -> None:
    """Answer every error of an app as a problem."""
    app.add_exception_handler(Problem, _of_problem)
    app.add_exception_handler(NoetlError, _of_error)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(Exception, of_bug)


def of_problem(refused: Problem) -> Response:
    """The answer to a request that is refused."""
    return problem(refused.status, refused.detail, hint=refused.hint, headers=refused.headers)


async def _of_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return of_problem(error)


async def _of_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, NoetlError)
    return of_error(error)


async def _of_http(request: Request, error: Exception) -> Response:
    """What the framework itself refuses: unknown routes, wrong methods, undecodable bodies."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and _by_a_reader(request):
        return FileResponse(_page(request), 404, headers={"Cache-Control": "no-cache"})
    if error.status_code == 404:
        detail = f"there is nothing at {request.method} {request.url.path}"
        return problem(404, detail, hint=ROUTES)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = _offered(request) or headers.get("Allow", "")
        detail = f"{request.method} is not offered at {request.url.path}"
        return problem(405, detail, hint=f"offered: {headers['Allow'] or 'nothing'}", headers=headers)
    return problem(error.status_code, str(error.detail), hint=ROUTES, headers=headers)


def _offered(request: Request) -> str:
    """The methods of every route at a path; the framework names those of the first."""
    here = [route for route in _plain(request.app.routes) if route.matches(request.scope)[0] != Match.NONE]
    return ", ".join(sorted({method for route in here for method in getattr(route, "methods", None) or ()}))


def _plain(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    """Routes, those of included routers too."""
    for route in routes:
        router = getattr(route, "original_router", None)
        yield from [route] if router is None else _plain(router.routes)


def _page(request: Request) -> Path:
    static: Path = request.app.state.options.static
    return static / "index.html"


def _by_a_reader(request: Request) -> bool:
    """Whether a person's browser asks for a page: the web page says in its own way that there is none."""
    wants_html = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    return wants_html and not request.url.path.startswith("/api/") and _page(request).is_file()


async def _of_validation(request: Request, error: Exception) -> Response:
    """A wrong id in the path names nothing; anything else wrong is a bad request."""
    assert isinstance(error, RequestValidationError)
    errors = error.errors()
    in_path = any(item["loc"][:1] == ("path",) for item in errors)
    return problem(404 if in_path else 400, "; ".join(map(_mistake, errors[:5])), hint=ROUTES)


def _mistake(item: dict[str, Any]) -> str:
    """What is wrong with one part of a request: which, why, and the value seen."""
    place, why = ".".join(map(str, item["loc"])), str(item["msg"])
    value_seen = "" if item["type"] == "missing" else f", not '{str(item['input'])[:VALUE_CHARS]}'"
    return f"{place}: {why[:1].lower()}{why[1:]}{value_seen}"


async def of_bug(request: Request, error: Exception) -> Response:
    """The answer to a bug; what it was is in the log."""
    return problem(500, f"{type(error).__name__} in the server", hint="its log says more; this is a bug")
