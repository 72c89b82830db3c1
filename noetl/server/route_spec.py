"""What a route says of itself: who may call it, what it takes, what it answers. The OpenAPI comes from this.

A route of a guarded router that does not say who may call it cannot be made.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, is_typeddict

import msgspec
from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.responses import Response

from noetl.core.shapes import ParentOf, RunError, StoredRef
from noetl.server import problem, shapes, view_shapes
from noetl.server.access import Scope, require, require_execution

REFERENCE = "#/components/schemas/{name}"
SCOPE = "x-scope"
EXECUTION = "execution_id"  # what a path calls the execution it is about
SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"session": []}]
HOOK_SECRET, HOOK_SIGNATURE = "X-Noetl-Secret", "X-Hub-Signature-256"
HOOK_SECURITY: list[dict[str, list[str]]] = [{"hook_secret": []}, {"hook_signature": []}]
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "session": {"type": "apiKey", "in": "cookie", "name": "noetl_session"},
    "hook_secret": {"type": "apiKey", "in": "header", "name": HOOK_SECRET},
    "hook_signature": {"type": "apiKey", "in": "header", "name": HOOK_SIGNATURE},
}
EVENT = {  # of a stream; what is in `data` is JSON of its own
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
    "required": ["data"],
}
ALWAYS = (400, 401, 403, 408, 413, 415, 429, 431, 503)  # what any guarded route may answer

# What routes answer and take, and what is only described by its name (`described`).
_SHOWN: list[object] = [
    *(RunError, ParentOf, StoredRef),
    *(shapes.Counts, view_shapes.IterationCounts, view_shapes.StatusCounts),
]
_ALWAYS_THERE = {  # of mappings that the engine fills field by field
    "RunError": ["kind", "message"],
    "Locator": ["store", "key"],
    "StoredRef": ["type", "locator"],
    "ParentOf": list(ParentOf.__annotations__),
}
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def schema_of(shape: object) -> dict[str, Any]:
    """A shape in the OpenAPI document, by reference where it has a name there."""
    if _is_shape(shape):
        _SHOWN.append(shape)
    (schema,), _ = msgspec.json.schema_components([shape], ref_template=REFERENCE)
    return schema


def parameter(
    place: str, name: str, description: str, *, required: bool = False, **schema: str | int
) -> Mapping[str, object]:
    """A parameter of a route that reads it itself."""
    words = {"name": name, "in": place, "required": required, "description": description}
    return {**words, "schema": schema}


def describe(
    scope: Scope,
    answers: Mapping[int, object],
    *,
    body: object = None,
    optional_body: bool = False,
    problems: Sequence[int] = (),
    parameters: Sequence[Mapping[str, object]] = (),
) -> dict[str, Any]:
    """The keyword arguments of a route: its scope, its answers, its body and its problems."""
    extra: dict[str, Any] = {SCOPE: scope}
    if body is not None:
        content = {"application/json": {"schema": schema_of(body)}}
        extra["requestBody"] = {"required": not optional_body, "content": content}
    if parameters:
        extra["parameters"] = list(parameters)
    if scope != "public":
        extra["security"] = HOOK_SECURITY if scope == "hook" else SECURITY
    good = {status: _answer(shape) for status, shape in answers.items()}
    bad = {
        status: _problem(status) for status in sorted({*ALWAYS, *problems} if scope != "public" else problems)
    }
    return {
        "status_code": next(iter(answers)),
        "responses": {**good, **bad},
        "response_class": Response,
        "openapi_extra": extra,
    }


def _answer(shape: object) -> dict[str, object]:
    if shape is None:
        return {"description": "Done"}
    if isinstance(shape, str):  # a media type
        schema = EVENT if shape == "text/event-stream" else {"type": "string"}
        return {"description": "The text", "content": {shape: {"schema": schema}}}
    words = (shape.__doc__ or "The answer").strip() if isinstance(shape, type) else "The answer"
    return {"description": words, "content": {"application/json": {"schema": schema_of(shape)}}}


def _problem(status: int) -> dict[str, object]:
    content = {problem.MEDIA_TYPE: {"schema": schema_of(shapes.ProblemAnswer)}}
    return {"description": problem.PROBLEMS[status][1], "content": content}


class Guarded(APIRoute):
    """A route that only those reach who may, also see the execution that its path names.

    One that takes the bare request costs nothing more.
    """

    def get_route_handler(self) -> Handler:
        """The handler behind its check."""
        scope: Scope = (self.openapi_extra or {})[SCOPE]
        bare = list(inspect.signature(self.endpoint).parameters) == ["request"]
        inner: Handler = self.endpoint if bare else super().get_route_handler()

        async def handler(request: Request) -> Response:
            require(request, scope)
            if EXECUTION in request.path_params:
                await require_execution(request, request.path_params[EXECUTION])
            return await inner(request)

        return handler


def make_router(tag: str, prefix: str = "/api/v1") -> APIRouter:
    return APIRouter(prefix=prefix, tags=[tag], route_class=Guarded)


def openapi(app: FastAPI) -> dict[str, Any]:
    """The whole document: FastAPI's, with our shapes and the ways to prove who one is."""
    if app.openapi_schema is None:
        spec = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        _, components_of = msgspec.json.schema_components(_SHOWN, ref_template=REFERENCE)
        components = spec.setdefault("components", {})
        for name, fields in _ALWAYS_THERE.items():
            components_of[name]["required"] = fields
        components["schemas"] = components_of
        components["securitySchemes"] = SCHEMES
        for operation in (operation_of for item in spec["paths"].values() for operation_of in item.values()):
            operation["responses"].pop("422", None) if not _is_ours(operation) else None
        app.openapi_schema = spec
    return app.openapi_schema


def _is_shape(value: object) -> bool:
    return isinstance(value, type) and (issubclass(value, msgspec.Struct) or is_typeddict(value))


def _is_ours(operation: dict[str, Any]) -> bool:
    """Whether the 422 of an operation is a playbook's findings, not the framework's own complaint."""
    return problem.MEDIA_TYPE in operation["responses"].get("422", {}).get("content", {})
