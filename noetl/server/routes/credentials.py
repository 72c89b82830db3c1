"""Credentials: values go in, and no answer has one."""

import re
from typing import Annotated

from fastapi import Path, Request
from starlette.responses import Response

from noetl.core.event import iso
from noetl.errors import NotFound, RequestError
from noetl.json_value import JsonObject
from noetl.ports.answers import CredentialAnswer
from noetl.server.access import require_everywhere
from noetl.server.paging import MOST, Cursor, Limit, page
from noetl.server.reply import front_of, read, reply
from noetl.server.route_spec import describe, make_router, parameter
from noetl.server.shapes import CredentialList, Sealed

router = make_router("credentials")
PATTERN = "^[A-Za-z_][A-Za-z0-9_.-]{0,127}$"
NAME_WORDS = "The name of a credential"
Name = Annotated[str, Path(pattern=PATTERN, description=NAME_WORDS)]
NAME_PARAMETER = parameter("path", "name", NAME_WORDS, required=True, type="string", pattern=PATTERN)


@router.put(
    "/credentials/{name}",
    **describe("admin", {204: None}, body=JsonObject, problems=(404,), parameters=(NAME_PARAMETER,)),
)
async def put(request: Request) -> Response:
    """Store a credential, sealed; one that has the name is replaced."""
    require_everywhere(request)
    name: str = request.path_params["name"]
    if not re.fullmatch(PATTERN, name):
        raise NotFound(f"'{name[:64]}' is no name for a credential", hint="use letters, digits, _ . and -")
    return await store_credential(request, name, await read(request, JsonObject))


async def store_credential(request: Request, name: str, material: JsonObject) -> Response:
    if not material:
        raise RequestError("a credential has at least one field", hint='{"value": "..."}')
    await front_of(request).put_credential(name, material)
    return Response(status_code=204)


@router.get("/credentials", **describe("read", {200: CredentialList}))
async def list_credentials(request: Request, cursor: Cursor = None, limit: Limit = MOST) -> Response:
    """The names of credentials, and when each was last set."""
    require_everywhere(request)
    names, more = page(await front_of(request).credentials(), lambda entry: entry[0], cursor, limit)
    return reply({"items": [{"name": name, "set_at": iso(moment)} for name, moment in names], "cursor": more})


@router.get("/credentials/{name}", **describe("read", {200: CredentialAnswer}, problems=(404,)))
async def show(request: Request, name: Name) -> Response:
    """Which fields a credential has and when it was set; no value."""
    require_everywhere(request)
    return reply(await front_of(request).credential(name))


@router.post("/credentials/rotate", **describe("admin", {200: Sealed}))
async def rotate(request: Request) -> Response:
    """Seal every credential again with the newest key of the server."""
    require_everywhere(request)
    return reply({"sealed": await front_of(request).seal_again()})


@router.delete("/credentials/{name}", **describe("admin", {204: None}, problems=(404,)))
async def delete(request: Request, name: Name) -> Response:
    """Forget a credential."""
    require_everywhere(request)
    await front_of(request).delete_credential(name)
    return Response(status_code=204)
