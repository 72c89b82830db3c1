"""Answers with JSON in them, and what a request's body says."""

import asyncio
from codecs import BOM_UTF8
from contextlib import AbstractContextManager
from typing import TypeVar

import msgspec
from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from noetl.ports.front import ServedFront
from noetl.server.access import who_asks
from noetl.server.body_words import body_words
from noetl.server.concurrency_limit import ConcurrencyLimit
from noetl.server.options import Options
from noetl.server.problem import Problem

T = TypeVar("T")
JSON = "application/json"
BODY_S = 60.0
SHAPES = "what a body holds is listed in /api/openapi.json"


def reply(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, JSON)


def front_of(request: Request) -> ServedFront:
    front: ServedFront = request.app.state.front
    return front


def options_of(request: Request) -> Options:
    options: Options = request.app.state.options
    return options


def held(request: Request) -> AbstractContextManager[None]:
    """Hold the connection of a request while it waits; entering refuses it where too many are held."""
    connections: ConcurrencyLimit = request.app.state.held
    return connections.admitted(who_asks(request).key)


async def body_of(request: Request) -> bytes:
    """The body of a request, which is not waited for without end."""
    try:
        async with asyncio.timeout(BODY_S):
            return await request.body()
    except TimeoutError:
        raise Problem(408, f"the body did not come within {BODY_S:g} s") from None
    except ClientDisconnect:  # nobody reads this, but the log does
        raise Problem(400, "whoever asked went away before the end of the body") from None


def require_json(request: Request) -> None:
    """Refuse a body that does not say that it is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise Problem(
            415, f"the body is {kind[:80] or 'of no type'}, not {JSON}", hint=f"Content-Type: {JSON}"
        )


async def read(request: Request, shape: type[T], *, optional: bool = False) -> T:
    """The body of a request as a value of a shape; refused with the place of what does not fit."""
    body = await body_of(request)
    if optional and not body:
        return shape()
    require_json(request)
    if not body:
        raise Problem(400, "the body is empty", hint=SHAPES)
    try:
        return msgspec.json.decode(body.removeprefix(BOM_UTF8), type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, body_words(error, shape), hint=SHAPES) from None
