"""What this server says of itself in MCP, and which versions it speaks. Frames are ports.mcp_protocol's."""

from collections.abc import Mapping

from noetl import __version__
from noetl.json_value import Json
from noetl.ports.mcp_protocol import (
    HANDSHAKE_VERSIONS,
    INVALID_PARAMS,
    META,
    STATELESS_VERSIONS,
    UNSUPPORTED_VERSION,
    ProtocolError,
    Request,
)

SERVER_INFO = {"name": "noetl", "title": "NoETL", "version": __version__}
LIST_TTL_MS = 3_600_000  # the tools of a process never change


def with_result_type(result: Mapping[str, object], *, cacheable: bool = False) -> dict[str, object]:
    """A result as versions without a handshake have it."""
    own = {"resultType": "complete", "_meta": {f"{META}serverInfo": SERVER_INFO}}
    cache = {"ttlMs": LIST_TTL_MS, "cacheScope": "private"} if cacheable else {}
    return {**result, **own, **cache}


def check_version(request: Request) -> None:
    """Refuse a request that names a version, but not one that needs no handshake and is spoken here."""
    if request.version not in STATELESS_VERSIONS:
        data = {"supported": [*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS], "requested": request.version}
        raise ProtocolError(UNSUPPORTED_VERSION, f"version {request.version!r} is not spoken here", data)
    if not isinstance(request.meta.get(f"{META}clientCapabilities"), dict):
        raise ProtocolError(INVALID_PARAMS, f"_meta has no {META}clientCapabilities")


def agree_version(params: Mapping[str, Json]) -> str:
    """The version of a handshake: the one asked for, else the newest that knows handshakes."""
    requested = params.get("protocolVersion")
    if not isinstance(requested, str):
        raise ProtocolError(INVALID_PARAMS, "initialize needs protocolVersion, a text")
    for name in ("capabilities", "clientInfo"):
        if not isinstance(params.get(name), dict):
            raise ProtocolError(INVALID_PARAMS, f"initialize needs {name}, an object")
    return requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
