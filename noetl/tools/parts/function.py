"""A function as a tool kind: `@noetl.tool`. Its annotations are the inputs, its docstring is the page.

Sync functions run in a thread of their own, async ones in the worker's loop.
"""

import datetime
import decimal
import inspect
import re
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, get_type_hints, overload

import msgspec

from noetl.errors import NoetlError
from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, ok
from noetl.ports.tool import KindFields, Tool, define
from noetl.ports.values import ValueProblem, to_json
from noetl.tools.parts.signature import Signature, read_signature
from noetl.tools.parts.tool_context import Answer, ToolContext

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

Function = TypeVar("Function", bound=Callable[..., object])
MARK = "__noetl_tool__"
NO_KINDS: Mapping[type[Exception], str] = MappingProxyType({})
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
FRAMES = 10
CONVERTED_LATER = (bytes, bytearray, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)
_ARGUMENT = re.compile(r"\s*(\w+)(?: \(.*?\))?: (.+)")


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
    lines = (_ARGUMENT.match(line) for line in arguments.split("\n"))
    sentences = {line[1]: line[2] for line in lines if line is not None}
    return "\n\n".join(part.strip() for part in (before, after) if part.strip()), sentences


def _returns(function: Callable[..., object]) -> str:
    """The keys of the answer, where its annotation names them."""
    answer = get_type_hints(function).get("return")
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
        values = self.signature.arguments(given, call)
        try:
            if inspect.iscoroutinefunction(self.function):
                answer = await self.function(**self._with_context(values, call, call.log))
            else:
                answer = await self._in_thread(values, call)
        except NoetlError:
            raise
        except Exception as problem:
            raise self._failed(problem) from None
        if isinstance(answer, Answer):
            return ok(_as_json(answer.data), **({} if answer.ref is None else {"ref": answer.ref}))
        return ok(_as_json(answer))

    def _with_context(
        self,
        values: Mapping[str, Any],
        call: Call,
        log: Callable[[str], None],
        loop: "AbstractEventLoop | None" = None,
    ) -> dict[str, Any]:
        if self.signature.context is None:
            return dict(values)
        place = (call.execution_id, call.step, call.task, call.attempt, call.idempotency_key)
        context = ToolContext(*place, call.auth, log, call=call, loop=loop)
        return {**values, self.signature.context: context}

    async def _in_thread(self, values: Mapping[str, Any], call: Call) -> object:
        """What the function answers; when the call is cancelled, it is told so and nobody waits for it."""
        import asyncio

        loop = asyncio.get_running_loop()
        ended: asyncio.Future[tuple[object, Exception | None]] = loop.create_future()

        def back(function: Callable[..., object], *arguments: object) -> None:
            with suppress(RuntimeError):  # the worker is gone
                loop.call_soon_threadsafe(function, *arguments)

        def end(outcome: tuple[object, Exception | None]) -> None:
            if not ended.done():
                ended.set_result(outcome)

        given = self._with_context(values, call, lambda line: back(call.log, line), loop)
        work = threading.Thread(
            target=lambda: back(end, self._outcome(given)), name=f"tool {self.name}", daemon=True
        )
        work.start()
        try:
            answer, problem = await ended
        except asyncio.CancelledError:
            if self.signature.context is not None:
                given[self.signature.context].cancelled.set()
            raise
        if problem is None:
            return answer
        raise problem if isinstance(problem, NoetlError) else self._failed(problem)

    def _outcome(self, given: Mapping[str, Any]) -> tuple[object, Exception | None]:
        try:
            return self.function(**given), None
        except Exception as problem:
            return None, problem
        except SystemExit as problem:
            return None, RuntimeError(f"it left with sys.exit({problem.code!r})")

    def _failed(self, problem: Exception) -> Failed:
        usual = {ConnectionError: "connect", TimeoutError: "timeout"}
        kinds = (kind for raised, kind in usual.items() if isinstance(problem, raised))
        named = (kind for raised, kind in self.errors.items() if isinstance(problem, raised))
        passing = next(kinds, None)
        kind = next(named, None) or passing or self.name
        frames = traceback.extract_tb(problem.__traceback__)
        own = [frame for frame in frames if frame.filename != __file__][-FRAMES:]
        return Failed(
            kind,
            f"{type(problem).__name__}: {problem}",
            code=type(problem).__name__,
            retryable=passing is not None or isinstance(problem, self.retryable),
            details={"traceback": "".join(traceback.format_list(own))},
        )


def _as_json(answer: object) -> Json:
    try:
        plain: object = msgspec.to_builtins(answer, builtin_types=CONVERTED_LATER)
    except TypeError as problem:
        hint = "return mappings, lists, texts or numbers"
        raise ValueProblem(f"the answer has no JSON form: {problem}", hint=hint) from None
    return to_json(plain)
