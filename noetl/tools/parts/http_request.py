"""What an HTTP request carries: credentials, headers, query and body. Sending it is the kind's."""

import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from noetl.json_value import Json
from noetl.ports.call import Secret
from noetl.ports.envelope import Failed

if TYPE_CHECKING:
    from aiohttp import ClientRequest, ClientResponse
    from yarl import URL

Pairs = list[tuple[str, str]]
Handler = Callable[["ClientRequest"], Awaitable["ClientResponse"]]
Middleware = Callable[["ClientRequest", Handler], Awaitable["ClientResponse"]]


def text_of(value: object) -> str:
    """A scalar as it stands in a query, form or header."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def pairs(values: Mapping[str, object] | None) -> Pairs:
    """Keys and values in order; a list repeats its key, null leaves it out."""
    result: Pairs = []
    for key, value in (values or {}).items():
        items = value if isinstance(value, list) else [value]
        result.extend((key, text_of(item)) for item in items if item is not None)
    return result


def plain_headers(values: Mapping[str, object] | None) -> dict[str, str]:
    """Headers as text; one that would start another header is refused."""
    headers = {key: text_of(value) for key, value in (values or {}).items() if value is not None}
    for key, text in headers.items():
        if any(char in "\r\n\0" for char in key + text):
            raise Failed("input", f"the header {key!r} contains a line break and cannot be sent")
    return headers


def auth_headers(secret: Secret) -> dict[str, str]:
    """The header a secret becomes: bearer, basic or an API key; empty when it goes into the query."""
    if "param" in secret:
        return {}
    if "user" in secret or "username" in secret or secret.get("kind") == "basic":
        user = secret.get("user", secret.get("username", ""))
        login = f"{user}:{secret.get('password', '')}".encode()
        return {"Authorization": f"Basic {base64.b64encode(login).decode()}"}
    if "header" in secret or secret.get("kind") == "api_key":
        return {str(secret.get("header", "X-API-Key")): f"{secret.get('prefix', '')}{_value(secret)}"}
    return {"Authorization": f"Bearer {_value(secret)}"}


def auth_query(secret: Secret) -> Pairs:
    """The query parameter an API key becomes when its secret names one."""
    if "param" not in secret:
        return []
    return [(str(secret["param"]), f"{secret.get('prefix', '')}{_value(secret)}")]


def _value(secret: Secret) -> str:
    for name in ("token", "key", "value", "access_token"):
        if name in secret:
            return str(secret[name])
    raise Failed("auth", "the secret has none of token, key, value or user; http cannot use it")


def for_origin(origin: "URL", headers: Mapping[str, str]) -> Middleware:
    """A middleware that sends credentials to one origin only, whatever redirects say."""

    async def send(request: "ClientRequest", handler: Handler) -> "ClientResponse":
        if request.url.origin() == origin:
            request.headers.update(headers)
        return await handler(request)

    return send


def json_body(value: Json) -> bytes:
    return msgspec.json.encode(value)


def multipart(fields: Pairs, files: list[dict[str, Any]]) -> Any:
    """A form: URL-encoded without files, multipart with them."""
    from aiohttp import FormData

    form = FormData(quote_fields=True, default_to_multipart=bool(files))
    for name, text in fields:
        form.add_field(name, text)
    for part in files:
        form.add_field(part["field"], part["content"], filename=part["filename"], content_type=part["type"])
    return form
