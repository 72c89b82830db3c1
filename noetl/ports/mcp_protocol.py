"""The messages of MCP, for the server and the client alike: JSON-RPC frames and the versions of the protocol.

Nothing here reads or writes a stream. There are two ways of opening a conversation: up to 2025-11-25 client
and server shake hands with `initialize` and speak the version agreed on from then on; since 2026-07-28 every
request says its version itself, under `_meta`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from noetl.json_value import Json

STATELESS_VERSIONS = ("2026-07-28",)
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
BATCHES = "2025-03-26"  # the one version in which messages may come in lists
META = "io.modelcontextprotocol/"  # what the protocol's own keys under `_meta` begin with

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

Id = str | int
Message = dict[str, object]


class ProtocolError(Exception):
    """A message that cannot be taken; a request is answered with it."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


@dataclass(frozen=True, slots=True)
class Request:
    """A message that wants an answer."""

    id: Id
    method: str
    params: dict[str, Json] = field(default_factory=dict)

    @property
    def meta(self) -> dict[str, Json]:
        """What is said about the request itself."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def version(self) -> str | None:
        """The version that the request itself names."""
        version = self.meta.get(f"{META}protocolVersion")
        return None if version is None else str(version)


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that wants none."""

    method: str
    params: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request: a result, or an error."""

    id: Id | None
    result: dict[str, Json] = field(default_factory=dict)
    error: dict[str, Json] | None = None


def decode(line: bytes | str) -> Json:
    """The JSON of one message."""
    try:
        value: Json = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ProtocolError(PARSE_ERROR, f"this is no JSON: {problem}") from None
    return value


def read(message: Json) -> Request | Notification | Reply:
    """A message by its kind."""
    if not isinstance(message, dict):
        raise ProtocolError(INVALID_REQUEST, "a message is a JSON object")
    if message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'a message says jsonrpc: "2.0"')
    method, params = message.get("method"), message.get("params", {})
    if method is None and ("result" in message or "error" in message):
        return _reply(message)
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "a message names its method as a text")
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "params is an object")
    if "id" not in message:
        return Notification(method, params)
    request_id = id_of(message)
    if request_id is None:
        raise ProtocolError(INVALID_REQUEST, "an id is a text or a whole number")
    return Request(request_id, method, params)


def _reply(message: dict[str, Json]) -> Reply:
    error, result = message.get("error"), message.get("result")
    if error is not None:
        return Reply(id_of(message), error=error if isinstance(error, dict) else {"message": str(error)})
    return Reply(id_of(message), result if isinstance(result, dict) else {})


def id_of(message: Json) -> Id | None:
    """The id of a request, as far as it is one."""
    request_id = message.get("id") if isinstance(message, dict) else None
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None


def request(request_id: Id, method: str, params: Mapping[str, object]) -> Message:
    """Something asked for."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": dict(params)}


def reply(request_id: Id, result: Mapping[str, object]) -> Message:
    """What was asked for."""
    return {"jsonrpc": "2.0", "id": request_id, "result": dict(result)}


def error_reply(request_id: Id | None, problem: ProtocolError) -> Message:
    """Why it is not given."""
    error: Message = {"code": problem.code, "message": problem.message}
    if problem.data is not None:
        error["data"] = problem.data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def notification(method: str, params: Mapping[str, object] | None = None) -> Message:
    """Something told unasked."""
    return {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": dict(params)})
