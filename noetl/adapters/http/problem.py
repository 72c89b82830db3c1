"""Problems (RFC 9457) become our errors again: the same code, sentence and hint as where they were raised."""

from typing import Any

import msgspec

from noetl.dsl.diagnostic import Diagnostic, Mark
from noetl.errors import BackendError, Conflict, Denied, NoetlError, NotFound, PlaybookError, RequestError

SHOWN = 200


class Refused(RequestError):
    """The server took no notice of what it was asked: too much, too often, or not in its words."""

    code = "refused"


class ServerFailed(NoetlError):
    """The server has a bug; what was asked for may have happened."""

    code = "server"


def error_of(url: str, status: int, body: bytes) -> NoetlError:
    """The error that an answer stands for."""
    problem = _read(body)
    message = str(problem.get("detail") or f"the server at {url} answered {status}: {_start(body)}")
    hint = problem.get("hint")
    if status == 422 and "diagnostics" in problem:
        return PlaybookError(tuple(_finding(item) for item in problem["diagnostics"]), message, hint=hint)
    if status in (401, 403):
        return Denied(message, hint=hint or f"noetl context add NAME {url} --token - keeps a token for it")
    if status in (502, 503, 504):  # the first and the last are those of a gateway before it
        return BackendError(f"the server at {url}: {message}", hint=hint or "noetl doctor")
    if status >= 500:
        return ServerFailed(f"the server at {url}: {message}", hint=hint or "its log says more")
    if not problem:
        return Refused(message, hint="is that a NoETL server? noetl doctor tells")
    return {404: NotFound, 409: Conflict, 400: RequestError}.get(status, Refused)(message, hint=hint)


def _read(body: bytes) -> dict[str, Any]:
    try:
        problem = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return problem if isinstance(problem, dict) and "code" in problem else {}


def _start(body: bytes) -> str:
    return body[:SHOWN].decode("utf-8", "replace").strip() or "nothing"


def _finding(item: dict[str, Any]) -> Diagnostic:
    mark = Mark(item["line"], item["column"], item["path"])
    return Diagnostic(item["code"], item["severity"], item["message"], mark, item.get("hint"))
