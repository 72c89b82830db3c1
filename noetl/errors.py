"""The whole error tree. Nothing here prints, logs or knows about a transport.

    NoetlError                 code, message, hint
    ├── PlaybookError          the author's text is wrong; carries every diagnostic
    ├── RequestError           the caller asked for something that cannot be: not found, conflict, denied
    ├── MissingExtra           a driver is not installed; the hint is the install command
    ├── BackendError           a store, bus or server cannot be reached; retryable, cause kept
    │   └── NewerFormat        a newer release wrote it: this one leaves it to those that can read it
    └── InvariantViolation     a bug of ours: stop this execution, keep its log

A failing task is a value (an output envelope), never one of these.
"""

from typing import Any, ClassVar

_FINDINGS_SAID = 5


class NoetlError(Exception):
    """Something went wrong in a way we can name."""

    code: ClassVar[str] = "noetl"

    def __init__(self, message: str = "", *, hint: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.hint = hint
        super().__init__(self.message)
        if hint:
            self.add_note(f"fix: {hint}")  # so that a traceback says it, also in a notebook

    def __reduce__(self) -> tuple[Any, ...]:
        """So that it passes from one process to another, whatever its class is made of."""
        return _again, (type(self), self.args, vars(self))


def _again(kind: type[NoetlError], args: tuple[Any, ...], fields: dict[str, Any]) -> NoetlError:
    error = kind.__new__(kind, *args)
    vars(error).update(fields)
    return error


class PlaybookError(NoetlError):
    """The playbook has errors and was not run or registered."""

    code = "playbook"

    def __init__(self, diagnostics: tuple[Any, ...], message: str = "", *, hint: str | None = None) -> None:
        self.diagnostics = diagnostics
        super().__init__(message or f"the playbook has {len(diagnostics)} finding(s)", hint=hint)

    def __str__(self) -> str:
        """The message with the first findings, errors before others."""
        found = sorted(self.diagnostics, key=lambda finding: finding.severity != "error")
        said = [f"  line {each.line}, {each.code}: {each.message}" for each in found[:_FINDINGS_SAID]]
        more = len(found) - len(said)
        return "\n".join([self.message, *said, *([f"  and {more} more"] if more else [])])


class RequestError(NoetlError):
    """The request cannot be carried out."""

    code = "request"


class NotFound(RequestError):
    """There is nothing under that name."""

    code = "not-found"


class UnknownPlaybook(NotFound):
    """There is no playbook with that path; `near` may have been meant, of which not everybody may hear."""

    def __init__(self, path: str = "", near: str | None = None) -> None:
        self.path, self.near = path, near
        hint = f"did you mean '{near}'?" if near else "noetl catalog list"
        super().__init__(f"there is no playbook with the path '{path}'", hint=hint)


class Denied(RequestError):
    """Whoever asks is not known, or may not ask for that."""

    code = "denied"


class Conflict(RequestError):
    """The state of the execution forbids that."""

    code = "conflict"


class MissingExtra(NoetlError):
    """An optional driver is not installed."""

    code = "missing-extra"

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"{module} is not installed",
            hint=f'add the extra "{extra}" where this was installed from: pip install "PATH[{extra}]"',
        )


class BackendError(NoetlError):
    """A backend cannot be reached."""

    code = "backend"
    retryable: ClassVar[bool] = True


class DamagedData(BackendError):
    """A backend has it, and cannot read it: whoever asks again finds the same."""


class NewerFormat(BackendError):
    """A newer release of noetl wrote it; this one leaves it to those that can read it."""

    code = "newer-format"

    def __init__(self, message: str = "", *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint or "servers of the newer release go on with it; upgrade this one")


class InvariantViolation(NoetlError):
    """The engine broke one of its own rules; the log is kept as it is."""

    code = "invariant"
