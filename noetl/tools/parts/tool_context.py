"""What a function under `@noetl.tool` is told of its call, and what it may answer beside data."""

import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from noetl.json_value import Json
from noetl.ports.call import Call, Resources, Secret
from noetl.ports.envelope import Reference
from noetl.tools.parts.paths import inside

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")
BYTES = "application/octet-stream"


def _nobody_calls() -> Call:
    no_payloads: Any = None
    return Call(no_payloads, Resources())


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a function may know of its call beside its input; a parameter with this annotation is given it."""

    execution_id: str = ""
    step: str = ""
    task: str = ""
    attempt: int = 1
    idempotency_key: str = ""  # the same whenever the engine has to repeat a call whose answer it never saw
    auth: Secret | None = field(default=None, repr=False)  # what the task's `auth` names
    log: Callable[[str], None] = print  # a line of the task's log
    cancelled: threading.Event = field(default_factory=threading.Event)  # set when nobody waits any more
    call: Call = field(default_factory=_nobody_calls, repr=False)  # what the parts of our own kinds take
    loop: "AbstractEventLoop | None" = field(default=None, repr=False)  # of the worker, in a thread

    @property
    def previous(self) -> Json:
        """The value of the task before this one."""
        return self.call.prev

    def path(self, text: str) -> str:
        """A path from the work folder as a real one; Failed (kind `path`) outside the allowed folders."""
        return inside(self.call, text)

    async def secret(self, name: str) -> Secret:
        """The fields of another secret of the keychain; Failed (kind `auth`) when there is none."""
        return await self.call.secret(name)

    async def store(
        self, chunks: AsyncIterable[bytes] | Iterable[bytes], content_type: str = BYTES
    ) -> Reference:
        """Put bytes into the result store as they come; the reference to them is what to answer with."""
        many = _one_by_one(chunks) if isinstance(chunks, Iterable) else _each(chunks)
        return await self.call.payloads.put_stream(many, content_type)

    async def load(self, ref: Reference) -> Json:
        """What a reference stands for: JSON as its value, text as text, other bytes as base64."""
        from noetl.tools.resolve import Resolve
        from noetl.tools.resolve import run as resolve

        data: Json = (await resolve(Resolve(ref=dict(ref)), self.call))["data"]
        return data

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """In a plain function, which runs in a thread: what one of the others answers."""
        import asyncio

        if self.loop is None:
            work.close()
            raise RuntimeError("context.wait() is for plain functions; an async one awaits")
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


async def _each(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        yield chunk


async def _one_by_one(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Chunks of a plain iterator, taken beside the event loop: it may wait for a disk."""
    import asyncio

    iterator = iter(chunks)
    while (chunk := await asyncio.to_thread(next, iterator, None)) is not None:
        yield chunk


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with a reference to what is stored, beside its data or instead of them."""

    data: object = None
    ref: Reference | None = None
