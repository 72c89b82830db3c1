"""Who is asking, and what they may. Deny by default: only what is named here is public."""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec
from fastapi import Request

from noetl.errors import NoetlError, NotFound, UnknownPlaybook
from noetl.ports.answers import ExecutionAnswer
from noetl.server.problem import Problem

Scope = Literal["public", "hook", "read", "run", "write", "admin"]  # hook: the route asks for its own proof
WHO = "noetl.who"  # where a request keeps who sent it

EXECUTION_ID = re.compile("[0-9a-f]{32}")

# A scope brings others with it; no scope brings `worker`.
BRINGS: Mapping[str, frozenset[str]] = {
    "read": frozenset({"read"}),
    "run": frozenset({"run", "read"}),
    "write": frozenset({"write", "read"}),
    "admin": frozenset({"admin", "write", "run", "read"}),
    "worker": frozenset({"worker"}),
}


class NotProven(Exception):
    """A proof is missing or no good; the text may be shown to whoever sent it."""


class Who(msgspec.Struct, frozen=True):
    """Someone who may do something: their name, their scopes, and the paths they are limited to."""

    name: str
    scopes: frozenset[str]
    prefixes: tuple[str, ...] = ()
    key: str = ""  # what tells them from others of the same name

    def may(self, scope: str) -> bool:
        return any(scope in BRINGS.get(own, ()) for own in self.scopes)

    def sees(self, path: str) -> bool:
        """Whether a playbook's path lies within their prefixes; whole segments count."""
        return not self.prefixes or any(_within(path, prefix) for prefix in self.prefixes)


OPERATOR = Who(
    "operator", frozenset({"admin"}), key="operator"
)  # whoever reaches a server that only this machine can reach
NOBODY = Who("nobody", frozenset())


def _within(path: str, prefix: str) -> bool:
    prefix = prefix.rstrip("/")
    return path == prefix or path.startswith(prefix + "/")


def who_asks(request: Request) -> Who:
    who: Who = request.scope.get(WHO, NOBODY)
    return who


def require(request: Request, scope: Scope) -> None:
    """Refuse a request whose sender lacks a scope."""
    if scope in ("public", "hook"):
        return
    who = who_asks(request)
    if not who.may(scope):
        own = ", ".join(sorted(who.scopes)) or "none"
        raise Problem(
            403,
            f"this needs the scope '{scope}'; '{who.name}' has: {own}",
            hint="use a token with that scope",
        )


def require_path(request: Request, path: str, what: str) -> None:
    """Refuse a playbook outside the sender's prefixes as if it were not there."""
    if not who_asks(request).sees(path):
        raise NotFound(f"there is no {what}")


def as_seen(request: Request, error: NoetlError) -> NoetlError:
    """An error that names no path outside the sender's prefixes as the one that may have been meant."""
    if isinstance(error, UnknownPlaybook) and error.near and not who_asks(request).sees(error.near):
        return UnknownPlaybook(error.path)
    return error


def require_everywhere(request: Request) -> None:
    """Refuse a sender who is limited to some paths where what is asked for belongs to no path."""
    who = who_asks(request)
    if who.prefixes:
        raise Problem(403, f"'{who.name}' is limited to {', '.join(who.prefixes)}; this belongs to no path")


async def require_execution(request: Request, execution_id: str) -> None:
    """Refuse an execution outside the sender's prefixes as if it were not there."""
    if who_asks(request).prefixes and EXECUTION_ID.fullmatch(execution_id):
        execution: ExecutionAnswer = await request.app.state.front.execution(execution_id)
        require_path(request, execution["playbook"]["path"], f"execution {execution_id}")
