"""Problems (RFC 9457) become our errors again: the same code, sentence and hint as where they were raised."""

import msgspec

from noetl.dsl.diagnostic import Diagnostic, Mark, Severity
from noetl.errors import BackendError, Conflict, Denied, NoetlError, NotFound, PlaybookError, RequestError

SHOWN = 200


class _Finding(msgspec.Struct):
    code: str
    severity: Severity
    message: str
    line: int
    column: int
    path: str
    hint: str | None = None


class _Problem(msgspec.Struct):
    code: str
    detail: str | None = None
    hint: str | None = None
    diagnostics: list[_Finding] | None = None


class Refused(RequestError):
    """The server took no notice of what it was asked: too much, too often, or not in its words."""

    code = "refused"


class TooMany(BackendError):
    """The server has no room for that now; it may have in a moment."""

    code = "refused"


class ServerFailed(NoetlError):
    """The server has a bug; what was asked for may have happened."""

    code = "server"


_ERRORS: dict[int, type[NoetlError]] = {
    400: RequestError,
    404: NotFound,
    409: Conflict,
    429: TooMany,
}


def error_of(url: str, status: int, body: bytes) -> NoetlError:
    """The error that an answer stands for."""
    problem = _read(body)
    message = (problem and problem.detail) or f"the server at {url} answered {status}: {_start(body)}"
    hint = None if problem is None else problem.hint
    if status == 422 and problem is not None and problem.diagnostics is not None:
        return PlaybookError(tuple(map(_diagnostic, problem.diagnostics)), message, hint=hint)
    if status in (401, 403):
        return Denied(message, hint=hint or f"noetl context add NAME {url} --token - keeps a token for it")
    if status in (502, 503, 504):  # the first and the last are those of a gateway before it
        return BackendError(f"the server at {url}: {message}", hint=hint or "noetl doctor")
    if status >= 500:
        return ServerFailed(f"the server at {url}: {message}", hint=hint or "its log says more")
    if problem is None:
        return Refused(message, hint="is that a NoETL server? noetl doctor tells")
    return _ERRORS.get(status, Refused)(message, hint=hint)


def problem_words(body: bytes) -> str | None:
    """What a problem says, without where it comes from."""
    problem = _read(body)
    return None if problem is None else problem.detail


def _read(body: bytes) -> _Problem | None:
    try:
        return msgspec.json.decode(body, type=_Problem)
    except (msgspec.DecodeError, RecursionError):
        return None


def _start(body: bytes) -> str:
    return body[:SHOWN].decode("utf-8", "replace").strip() or "nothing"


def findings_of(items: object) -> list[Diagnostic]:
    """Findings as an answer has them."""
    return [_diagnostic(item) for item in msgspec.convert(items, list[_Finding])]


def _diagnostic(item: _Finding) -> Diagnostic:
    mark = Mark(item.line, item.column, item.path)
    return Diagnostic(item.code, item.severity, item.message, mark, item.hint)
