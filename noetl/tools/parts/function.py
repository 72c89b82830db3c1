"""A function as a tool kind: `@noetl.tool`. Its annotations are the inputs, its docstring is the page.

Sync functions run in a thread of their own, async ones in the worker's loop.
"""

import inspect
import re
import traceback
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from textwrap import dedent
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from noetl.errors import NoetlError
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, ok
from noetl.ports.tool import KindFields, Tool, define
from noetl.ports.values import from_python
from noetl.tools.parts.own_thread import OwnThread, left
from noetl.tools.parts.signature import Signature, hints_of, read_signature
from noetl.tools.parts.tool_context import Answer, ToolContext

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

Function = TypeVar("Function", bound=Callable[..., object])
MARK = "__noetl_tool__"
NO_KINDS: Mapping[type[Exception], str] = MappingProxyType({})
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
FRAMES = 10
OURS = __file__.rpartition("/")[0]  # frames of these files say nothing to who wrote a tool
_ARGUMENT = re.compile(r"(\w+)(?: \(.*?\))?: (.+)")


class ToolFields(KindFields, total=False):
    """What a kind has beside its inputs."""

    page: str | None  # its page, where that is not the docstring
    returns: str


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(
    *,
    name: str | None = None,
    retryable: tuple[type[Exception], ...] = (),
    errors: Mapping[type[Exception], str] = NO_KINDS,
    **more: Unpack[ToolFields],
) -> Callable[[Function], Function]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    retryable: tuple[type[Exception], ...] = (),
    errors: Mapping[type[Exception], str] = NO_KINDS,
    **more: Unpack[ToolFields],
) -> Function | Callable[[Function], Function]:
    """Make a function a tool kind of its name; it stays the function that it was.

    `retryable`: exceptions after which a retry may help. `errors`: the error kinds of exceptions. `returns`:
    what the answer is, in words. `example`: a playbook that uses the kind.
    """

    if isinstance(function, str):
        raise TypeError(f"a tool kind gets another name by @noetl.tool(name={function!r})")

    def make(function: Function) -> Function:
        called = name or function.__name__
        if not NAME.fullmatch(called):
            raise TypeError(f"a tool kind cannot be called {called!r}: small letters, digits and _")
        page, sentences = _documentation(function)
        signature = read_signature(called, function, sentences)
        fields: dict[str, Any] = {
            "open_input": signature.open, "returns": _returns(function), **more, "knobs": signature.knobs,
        }  # fmt: skip
        run = _Caller(called, function, retryable, errors, signature).run
        made = define(called, fields.pop("page", None) or page, signature.input, run, **fields)
        setattr(function, MARK, made)
        return function

    return make if function is None else make(function)


def tool_of(value: object) -> Tool | None:
    """The tool that a value is, or that was made of it."""
    made = value if isinstance(value, Tool) else getattr(value, MARK, None)
    return made if isinstance(made, Tool) else None


def _documentation(function: Callable[..., object]) -> tuple[str, Mapping[str, str]]:
    """The docstring without what it says of arguments, and that by argument."""
    text = inspect.getdoc(function) or function.__name__.replace("_", " ").capitalize()
    before, _, rest = text.partition("\nArgs:\n")
    arguments, _, after = rest.partition("\n\n")
    entries = re.split(r"\n(?=\S)", dedent(arguments))  # each with the lines that go on with it
    found = (_ARGUMENT.match(" ".join(entry.split())) for entry in entries)
    sentences = {line[1]: line[2] for line in found if line is not None}
    return "\n\n".join(part.strip() for part in (before, after) if part.strip()), sentences


def _returns(function: Callable[..., object]) -> str:
    """The keys of the answer, where its annotation names them."""
    answer = hints_of(function.__name__, function).get("return")
    keyed = isinstance(answer, type) and answer is not Answer
    names = getattr(answer, "__annotations__", {}) if keyed else {}
    return f"`{{{', '.join(names)}}}`" if names else ""


@dataclass(frozen=True, slots=True)
class _Caller:
    """Calls one function as a tool."""

    name: str
    function: Callable[..., Any]
    retryable: tuple[type[Exception], ...]
    errors: Mapping[type[Exception], str]
    signature: Signature

    async def run(self, given: Any, call: Call) -> Envelope:
        import asyncio

        loop = None if self._awaited else asyncio.get_running_loop()
        values, context = self._with_context(self.signature.arguments(given, call), call, loop)
        try:
            answer = await self._answer(values, call)
        except NoetlError:
            raise
        except asyncio.CancelledError:
            context.cancelled.set()
            raise
        except SystemExit as problem:
            raise self._failed(left(problem)) from None
        except Exception as problem:
            raise self._failed(problem) from None
        if isinstance(answer, Answer):
            data = from_python(answer.data, "answer")
            return ok(data, **({} if answer.ref is None else {"ref": answer.ref}))
        return ok(from_python(answer, "answer"))

    @property
    def _awaited(self) -> bool:
        return inspect.iscoroutinefunction(self.function) or inspect.isasyncgenfunction(self.function)

    async def _answer(self, values: Mapping[str, Any], call: Call) -> object:
        """What the function returns, or all that it yields."""
        from noetl.tools.parts.yielded import gathered, in_thread

        if inspect.isasyncgenfunction(self.function):
            async with aclosing(self.function(**values)) as items:
                return await gathered(items, call)
        if self._awaited:
            return await self.function(**values)
        thread = OwnThread(f"tool {self.name}")
        if inspect.isgeneratorfunction(self.function):
            async with aclosing(in_thread(self.function(**values), thread, self._raised)) as items:
                return await gathered(items, call)
        try:
            answer, problem = await thread.outcome(lambda: self.function(**values))
        finally:
            thread.end()
        if problem is not None:
            raise self._raised(problem)
        return await answer if inspect.iscoroutine(answer) else answer

    def _with_context(
        self, values: Mapping[str, Any], call: Call, loop: "AbstractEventLoop | None"
    ) -> tuple[Mapping[str, Any], ToolContext]:
        """The arguments, and the context, which is one of them where the function asks for it."""

        def log(line: str) -> None:
            if loop is None:
                call.log(line)
                return
            with suppress(RuntimeError):  # the worker is gone
                loop.call_soon_threadsafe(call.log, line)

        place = (call.execution_id, call.step, call.task, call.attempt, call.idempotency_key)
        context = ToolContext(*place, call.auth, log, call=call, loop=loop)
        asked = self.signature.context
        return (values if asked is None else {**values, asked: context}), context

    def _raised(self, problem: Exception) -> Exception:
        """What it raised, as what ends the call: no StopIteration, which cannot leave a coroutine."""
        return problem if isinstance(problem, NoetlError) else self._failed(problem)

    def _failed(self, problem: Exception) -> Failed:
        usual = {ConnectionError: "connect", TimeoutError: "timeout"}
        kinds = (kind for raised, kind in usual.items() if isinstance(problem, raised))
        named = (kind for raised, kind in self.errors.items() if isinstance(problem, raised))
        passing = next(kinds, None)
        kind = next(named, None) or passing or self.name
        frames = traceback.extract_tb(problem.__traceback__)
        own = [frame for frame in frames if frame.filename.rpartition("/")[0] != OURS][-FRAMES:]
        return Failed(
            kind,
            f"{type(problem).__name__}: {problem}",
            code=type(problem).__name__,
            retryable=passing is not None or isinstance(problem, self.retryable),
            details={"traceback": "".join(traceback.format_list(own))},
        )
