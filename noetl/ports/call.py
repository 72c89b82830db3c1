"""What a tool call is handed beside its input: its identity, secrets, payloads, folders and shared resources.

Protocols and plain data. The worker fills them; the python host's processes live there too.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from noetl.core.values.item_scan import Wanted
from noetl.errors import BackendError, InvariantViolation
from noetl.json_value import Json
from noetl.ports.envelope import Failed, Reference
from noetl.ports.network import PUBLIC_ONLY, Network

Secret = Mapping[str, Json]


class CallPayloads(Protocol):
    """The result store as a tool sees it. `get` verifies checksums; a missing payload raises NotFound."""

    async def put(self, data: Json) -> Reference:
        """Store a JSON value."""

    async def put_stream(self, chunks: AsyncIterator[bytes], content_type: str) -> Reference:
        """Store bytes as they arrive, without holding them all in memory."""

    async def get(self, ref: Reference, most: int | None = None) -> Json:
        """The payload of a reference: JSON as its value, text as text, other bytes as base64.

        Raises TooLarge when it has more than `most` bytes.
        """

    def items(self, ref: Reference, wanted: Wanted) -> AsyncIterator[list[Json]]:
        """Wanted items of a payload that is a list, some at a time, without holding the others.

        What came counts when all has come: the checksum is known at the end. Raises NotItems.
        """


class Resource(Protocol):
    """Something made once per process and closed when the worker stops."""

    async def close(self) -> None:
        """Let go of what it holds."""


R = TypeVar("R", bound=Resource)


class Resources:
    """What the calls of one worker share: made at first use, closed together, the newest first."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}  # each of the type that its name is asked for with
        self._stack = AsyncExitStack()

    def give(self, name: str, resource: Resource) -> None:
        """Put something ready-made under a name; it is closed with the rest."""
        if name in self._made:
            raise InvariantViolation(f"there already is a resource called {name!r}")
        self._made[name] = resource
        self._stack.push_async_callback(resource.close)

    def get(self, name: str, make: Callable[[], R]) -> R:
        """What is under a name, made now if it is not there; it connects when it is used."""
        if name not in self._made:
            self.give(name, make())
        resource: R = self._made[name]
        return resource

    async def close(self) -> None:
        """Close everything, the newest first, whatever one of them raises."""
        self._made.clear()
        await self._stack.aclose()


async def _no_secret(name: str) -> Secret:
    raise Failed("auth", f"there is no secret called {name!r} here")


async def _nothing_newer() -> Secret | None:
    return None


def _mentions_nothing(text: str) -> bool:
    return False


def _ignore(_: bytes) -> None:
    return None


class CallOutput(Protocol):
    """Where what a call prints goes, as it comes."""

    keep: int | None  # bytes that are kept of it, if fewer than of others

    def write(self, data: bytes, stream: int = 1) -> None:
        """Some bytes of one of its outputs: whole lines, or parts of them."""


class _NoOutput:
    """Nobody reads what the call prints."""

    keep: int | None = None

    def write(self, data: bytes, stream: int = 1) -> None:
        return None


@dataclass(slots=True, eq=False)  # not frozen, which would cost as much as the rest of a call together
class Call:
    """One tool call beside its input: whose it is, what it may use, and where it may read and write."""

    payloads: CallPayloads
    resources: Resources
    execution_id: str = ""
    step: str = ""
    task: str = ""
    attempt: int = 1
    idempotency_key: str = ""
    prev: Json = None  # the value of the task before this one
    spec: Mapping[str, Json] = field(default_factory=dict)  # the effective task spec, rendered
    auth_name: str | None = None
    auth: Secret | None = None  # resolved; never part of an output
    secret: Callable[[str], Awaitable[Secret]] = _no_secret  # another one by name, or Failed
    renew_auth: Callable[[], Awaitable[Secret | None]] = _nothing_newer  # `auth` was refused: a newer one
    work_dir: str = "."  # where relative paths start
    roots: tuple[str, ...] = ()  # folders that files may be read and written in; the work folder when empty
    env: Mapping[str, str] = field(default_factory=dict)  # what child processes see, and nothing else
    mentions: Callable[[str], bool] = _mentions_nothing  # whether a template of the playbook has this text
    output: CallOutput = field(default_factory=_NoOutput)  # where what it prints goes
    network: Network = PUBLIC_ONLY  # the addresses that requests may reach
    trace: str | None = None  # the W3C traceparent of this call, when the worker traces

    def log(self, line: str) -> None:
        """A line of its log, beside those of programs that it starts."""
        self.output.write(f"{line}\n".encode(errors="backslashreplace"), 0)

    def limit(self, name: str, default: int) -> int:
        """One of the limits of the effective spec."""
        limits = self.spec.get("limits")
        limit = limits.get(name) if isinstance(limits, dict) else None
        return limit if isinstance(limit, int) else default

    def resource(self, name: str, make: Callable[[], R]) -> R:
        """What calls of this worker share under a name."""
        return self.resources.get(name, make)


PYTHON_HOST = "python_host"  # the resource name under which the worker gives its host


@dataclass(frozen=True, slots=True)
class Limits:
    """What one python call may use; None is the host's own bound."""

    memory_bytes: int | None = None
    cpu_s: float | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception of the author's code; the traceback has the author's frames only."""

    type: str
    message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Ran:
    """How a piece of code ended. `value` is already JSON."""

    ended: Literal["ok", "raised", "value", "timeout", "memory", "crashed"]
    value: Json = None
    raised: Raised | None = None
    message: str = ""  # for every ending but ok and raised
    exit_code: int | None = None


class PythonHost(Protocol):
    """Runs code in a process of its own. Cancelling the call kills that process."""

    async def run(
        self,
        code: str,
        variables: Mapping[str, Json],
        *,
        script: str | None = None,
        name: str | None = None,
        timeout_s: float | None = None,
        limits: Limits | None = None,
        on_output: Callable[[bytes], None] = _ignore,
    ) -> Ran:
        """Run code; `script` is the file it came from, for `__file__` and imports beside it.

        `name` is what tracebacks call it; `on_output` is given what it writes, as it comes.
        """

    async def close(self) -> None:
        """End every process."""


def no_python_host() -> PythonHost:
    """What a tool says of a worker that was given none."""
    raise BackendError("this worker cannot run python code", hint="it has no python host")
