"""The messages of MCP: reading them strictly, and writing answers. Nothing here reads or writes a stream.

Two ways of opening a conversation are known. Older clients shake hands with `initialize` and speak the
version agreed on from then on. Newer ones say the version with each request, under `_meta`.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from noetl import __version__

STATELESS_VERSIONS = ("2026-07-28",)
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
BATCHES = "2025-03-26"  # the one version in which messages may come in lists
OWN = "io.modelcontextprotocol/"
SERVER_INFO = {"name": "noetl", "title": "NoETL", "version": __version__}
LIST_KEPT_MS = 3_600_000  # the tools of a process never change

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022

Id = str | int
Message = dict[str, Any]


class ProtocolError(Exception):
    """A message that is answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


@dataclass(frozen=True, slots=True)
class Request:
    """A message that wants an answer."""

    id: Id
    method: str
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def meta(self) -> dict[str, Any]:
        """What is said about the request itself."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def version(self) -> str | None:
        """The version that the request itself names."""
        requested = self.meta.get(f"{OWN}protocolVersion")
        return None if requested is None else str(requested)


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that wants none."""

    method: str
    params: dict[str, Any] = field(default_factory=dict)


def decode(line: bytes) -> Any:
    """The JSON of one line."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ProtocolError(PARSE_ERROR, f"this is no JSON: {problem}") from None


def read(message: Any) -> Request | Notification | None:
    """A message by its kind; None for answers, since nothing is asked of clients."""
    if not isinstance(message, dict):
        raise ProtocolError(INVALID_REQUEST, "a message is a JSON object")
    if message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'a message says jsonrpc: "2.0"')
    method, params = message.get("method"), message.get("params", {})
    if method is None and ("result" in message or "error" in message):
        return None
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "a message names its method as a text")
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "params is an object")
    if "id" not in message:
        return Notification(method, params)
    if id_of(message) is None:
        raise ProtocolError(INVALID_REQUEST, "an id is a text or a whole number")
    return Request(message["id"], method, params)


def id_of(message: Any) -> Id | None:
    """The id of a request, as far as it is one."""
    request_id = message.get("id") if isinstance(message, dict) else None
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None


def reply(request: Id, result: dict[str, Any]) -> Message:
    """What was asked for."""
    return {"jsonrpc": "2.0", "id": request, "result": result}


def error_reply(request: Id | None, problem: ProtocolError) -> Message:
    """Why it is not given."""
    error = {"code": problem.code, "message": problem.message}
    if problem.data is not None:
        error["data"] = problem.data
    return {"jsonrpc": "2.0", "id": request, "error": error}


def notification(method: str, params: dict[str, Any]) -> Message:
    """Something told unasked."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def with_result_type(result: dict[str, Any], *, cacheable: bool = False) -> dict[str, Any]:
    """A result as versions without a handshake have it."""
    own = {"resultType": "complete", "_meta": {f"{OWN}serverInfo": SERVER_INFO}}
    return {**result, **own, **({"ttlMs": LIST_KEPT_MS, "cacheScope": "private"} if cacheable else {})}


def check_version(request: Request) -> None:
    """Refuse a request that names a version, but not one that needs no handshake and is spoken here."""
    if request.version not in STATELESS_VERSIONS:
        data = {"supported": [*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS], "requested": request.version}
        raise ProtocolError(UNSUPPORTED_VERSION, f"version {request.version!r} is not spoken here", data)
    if not isinstance(request.meta.get(f"{OWN}clientCapabilities"), dict):
        raise ProtocolError(INVALID_PARAMS, f"_meta has no {OWN}clientCapabilities")


def agree_version(params: dict[str, Any]) -> str:
    """The version of a handshake: the one asked for, else the newest that knows handshakes."""
    requested = params.get("protocolVersion")
    if not isinstance(requested, str):
        raise ProtocolError(INVALID_PARAMS, "initialize needs protocolVersion, a text")
    for name in ("capabilities", "clientInfo"):
        if not isinstance(params.get(name), dict):
            raise ProtocolError(INVALID_PARAMS, f"initialize needs {name}, an object")
    return requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
