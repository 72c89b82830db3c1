"""Five routes that clients of the original use. Thin: each is another spelling of one of ours."""

import base64
import binascii

from fastapi import Request
from starlette.responses import Response

from noetl.errors import RequestError
from noetl.ports import answers
from noetl.ports.front import Ask
from noetl.server import shapes
from noetl.server.access import require_everywhere, who_asks
from noetl.server.reply import front_of, read, reply
from noetl.server.route_spec import describe, make_router
from noetl.server.routes.catalog import register_text
from noetl.server.routes.credentials import store_credential
from noetl.server.routes.executions import ID_PARAMETER, KEY_PARAMETER, begin, id_of, key_of

router = make_router("aliases", prefix="/api")


@router.get("/health", **describe("public", {200: shapes.Health}))
async def health(request: Request) -> Response:
    """As GET /health/live."""
    return reply({"status": "ok"})


@router.post(
    "/execute",
    **describe(
        "run",
        {201: shapes.Begun, 200: shapes.Begun},
        body=shapes.LegacyExecuteBody,
        problems=(404, 409, 422),
        parameters=(KEY_PARAMETER,),
    ),
)
async def execute(request: Request) -> Response:
    """As POST /api/v1/executions."""
    body = await read(request, shapes.LegacyExecuteBody)
    path = body.path or body.playbook_id
    if path is None:
        raise RequestError("give 'path'", hint='{"path": "examples/hello", "payload": {}}')
    spellings = (body.workload, body.payload, body.input_payload, body.parameters, body.args)
    workload = next(filter(None, spellings), {})
    version = None if body.version in (None, "latest") else int(body.version)
    ask = Ask(path=path, version=version, workload=workload, by=who_asks(request).name)
    ask.idempotency_key = key_of(request)
    return await begin(request, ask)


@router.post(
    "/catalog/register",
    **describe("write", {201: shapes.CatalogEntry}, body=shapes.LegacyRegisterBody, problems=(409, 422)),
)
async def register(request: Request) -> Response:
    """As POST /api/v1/catalog; `content` may also be base64, `content_base64` is."""
    body = await read(request, shapes.LegacyRegisterBody)
    text = body.playbook or body.content or body.content_base64
    if text is None:
        raise RequestError("give 'content'", hint='{"content": "<the playbook>"}')
    return await register_text(request, _decode(text))


def _decode(content: str) -> str:
    """A text as it is, or what its base64 says; no playbook is made of base64's letters alone."""
    try:
        return base64.b64decode(content.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return content


@router.get(
    "/executions/{execution_id}",
    **describe("read", {200: shapes.LegacyExecutionAnswer}, problems=(404,), parameters=(ID_PARAMETER,)),
)
async def show_execution(request: Request) -> Response:
    """As GET /api/v1/executions/{execution_id}, with the status in capitals, as the original wrote it."""
    execution_id = id_of(request)
    answer = await front_of(request).execution(execution_id)
    return reply({**answer, "status": answer["status"].upper()})


@router.post(
    "/credentials", **describe("admin", {200: answers.CredentialAnswer}, body=shapes.LegacyCredentialBody)
)
async def credential(request: Request) -> Response:
    """As PUT /api/v1/credentials/{name}, and says what it keeps: the original answered with an object."""
    require_everywhere(request)
    body = await read(request, shapes.LegacyCredentialBody)
    await store_credential(request, body.name, body.data)
    return reply(await front_of(request).credential(body.name))
