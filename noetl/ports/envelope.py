"""The envelope a tool answers with, references to stored data, and the failure that carries an envelope.

Plain data only. The worker adds `meta`; scopes and templates read the envelope elsewhere.
"""

from collections.abc import Mapping
from typing import Literal, Self, TypeAlias, TypedDict, Unpack, cast

from noetl.core.shapes import Output
from noetl.core.values.output import ANSWERED
from noetl.dsl.yaml.tree import Value
from noetl.errors import NoetlError

Envelope: TypeAlias = Output
Reference: TypeAlias = Mapping[str, Value]  # a kind's own locator and meta in it
RefType = Literal["relational", "nats", "object_store", "blob"]


def ok(data: Value = None, **parts: Value) -> Envelope:
    """The envelope of a call that went well; parts are `ref`, `http`, `pg`, `py`."""
    return cast(Envelope, {"status": "ok", "data": data, "error": None, **parts})


def error(
    kind: str,
    message: str,
    *,
    code: str | None = None,
    retryable: bool = False,
    answered: bool = False,
    details: Mapping[str, Value] | None = None,
    data: Value = None,
    **parts: Value,
) -> Envelope:
    """The envelope of a call that failed.

    `answered`: the other side has said so itself, so that a retry may use a new idempotency key. Without it
    the call may have been carried out unseen, and a retry repeats it under its key.
    """
    problem: dict[str, Value] = {"kind": kind, "code": code, "message": message, "retryable": retryable}
    problem["details"] = dict(details or {})
    output = {"status": "error", "data": data, "error": problem, **parts}
    return cast(Envelope, {**output, ANSWERED: True} if answered else output)


def reference(
    kind: RefType,
    locator: Mapping[str, Value],
    *,
    auth: str | None = None,
    meta: Mapping[str, Value] | None = None,
) -> Reference:
    """Where stored data is, in the one shape that `resolve` reads."""
    name = None if auth is None else f"keychain/{auth}"
    return {"type": kind, "locator": dict(locator), "auth_reference": name, "meta": dict(meta or {})}


class ErrorParts(TypedDict, total=False):
    """What an error may say beside its kind and message."""

    code: str | None
    retryable: bool
    answered: bool
    details: Mapping[str, Value] | None
    data: Value
    http: Value
    pg: Value
    py: Value


class Failed(NoetlError):
    """The call ends here with the error envelope it carries."""

    code = "failed"

    def __init__(self, kind: str, message: str, **parts: Unpack[ErrorParts]) -> None:
        super().__init__(message)
        self.output = error(kind, message, **parts)

    @classmethod
    def again(cls, output: Envelope) -> Self:
        """The failure of an envelope that says why."""
        failure = cls(output["error"]["kind"], output["error"]["message"])
        failure.output = output
        return failure

    @property
    def kind(self) -> str:
        """The kind of the error."""
        return self.output["error"]["kind"]

    @property
    def retryable(self) -> bool:
        """Whether a retry may help."""
        return self.output["error"]["retryable"]
