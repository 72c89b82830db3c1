"""What the headers of an MCP request say, and whether its body says the same.

Up to 2025-11-25 a header names the version that a handshake agreed on. Since 2026-07-28 headers repeat what
the body says, for those on the way who read no bodies: where they differ, the request is refused.
"""

import binascii
from base64 import b64decode

from starlette.datastructures import Headers

from noetl.json_value import Json
from noetl.ports.mcp_protocol import (
    BATCHES,
    HANDSHAKE_VERSIONS,
    HEADER_MISMATCH,
    META,
    STATELESS_VERSIONS,
    UNSUPPORTED_VERSION,
    ProtocolError,
)

VERSION, SESSION = "mcp-protocol-version", "mcp-session-id"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_BEGIN, _END = "=?base64?", "?="


def version_of(headers: Headers) -> str:
    """The version that a request is of; one that names none is of the time before they did."""
    version = headers.get(VERSION, BATCHES)
    if version not in (*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS):
        data = {"supported": [*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS], "requested": version[:100]}
        raise ProtocolError(UNSUPPORTED_VERSION, f"version {version[:100]!r} is not spoken here", data)
    return version


def require_same(headers: Headers, message: dict[str, Json]) -> None:
    """Refuse a message without a handshake whose headers say something else than it does."""
    params = message.get("params")
    fields = params if isinstance(params, dict) else {}
    meta = fields.get("_meta")
    in_body = meta.get(f"{META}protocolVersion") if isinstance(meta, dict) else None
    if in_body is None and headers.get(VERSION) not in STATELESS_VERSIONS:
        return
    if "id" in message or in_body is not None:
        _require(headers, VERSION, in_body)
    method = message.get("method")
    _require(headers, "mcp-method", method)
    if method in NAMED and "id" in message:
        _require(headers, "mcp-name", fields.get(NAMED[str(method)]))


def _require(headers: Headers, name: str, value: Json) -> None:
    given = headers.get(name)
    if given is None:
        raise ProtocolError(HEADER_MISMATCH, f"the header {name} is missing; the body says {value!r:.200}")
    if _decoded(given) != value:
        message = f"the header {name} says {given!r:.200}, the body {value!r:.200}"
        raise ProtocolError(HEADER_MISMATCH, message)


def _decoded(text: str) -> str | None:
    """A value as headers carry it; None for what cannot be read."""
    if not (text.startswith(_BEGIN) and text.endswith(_END)):
        return text
    try:
        return b64decode(text[len(_BEGIN) : -len(_END)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
