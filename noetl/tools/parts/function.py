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
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, get_type_hints, overload

import msgspec

from noetl.errors import NoetlError
from noetl.json_value import Json
from noetl.ports.call import Call, Secret
from noetl.ports.envelope import Envelope, Failed, ok
from noetl.ports.tool import Input, Tool, define, doc
from noetl.ports.values import ValueProblem, to_json

Function = TypeVar("Function", bound=Callable[..., object])
MARK = "__noetl_tool__"
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
FRAMES = 10
CONVERTED_LATER = (bytes, bytearray, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)
_ARGUMENT = re.compile(r"\s*(\w+)(?: \(.*?\))?: (.+)")


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


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(
    *,
    name: str | None = None,
    retryable: tuple[type[Exception], ...] = (),
    returns: str = "",
    example: str = "",
) -> Callable[[Function], Function]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    retryable: tuple[type[Exception], ...] = (),
    returns: str = "",
    example: str = "",
) -> Function | Callable[[Function], Function]:
    """Make a function a tool kind of its name; it stays the function that it was.

    `retryable`: exceptions after which a retry may help. `returns`: what the answer is, in words. `example`:
    a playbook that uses the kind.
    """

    def make(function: Function) -> Function:
        called = name or function.__name__
        if not NAME.fullmatch(called):
            raise TypeError(f"a tool kind cannot be called {called!r}: small letters, digits and _")
        page, sentences = _documentation(function)
        inputs = _inputs(called, function, sentences)
        run = _Caller(called, function, retryable, inputs.context).run
        made = define(
            called, page, inputs.struct, run, returns=returns, open_input=inputs.open, example=example
        )
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


@dataclass(frozen=True, slots=True)
class _Inputs:
    struct: type[msgspec.Struct]
    context: str | None  # the parameter that is told of the call
    open: bool  # whether it takes others too


def _inputs(name: str, function: Callable[..., object], sentences: Mapping[str, str]) -> _Inputs:
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any, Any]] = []
    context, is_open = None, False
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, Any)
        if hint is ToolContext:
            context = parameter.name
        elif parameter.kind is parameter.VAR_KEYWORD:
            is_open = True
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{name}: an input has a name, and {parameter.name!r} cannot be given by it")
        else:
            sentence = _sentence(hint) or sentences.get(parameter.name, "")
            default = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
            fields.append((parameter.name, Annotated[hint, doc(sentence)] if sentence else hint, default))
    struct = msgspec.defstruct(name, fields, bases=(Input,), kw_only=True)
    try:
        msgspec.json.schema(struct)
    except TypeError as problem:
        raise TypeError(f"{name}: an input has a type that JSON has no form for: {problem}") from None
    return _Inputs(struct, context, is_open)


def _sentence(hint: object) -> str:
    """A text in the metadata of an annotation, as in `Annotated[str, "Whom to greet."]`."""
    return next((part for part in getattr(hint, "__metadata__", ()) if isinstance(part, str)), "")


@dataclass(frozen=True, slots=True)
class _Caller:
    """Calls one function as a tool."""

    name: str
    function: Callable[..., Any]
    retryable: tuple[type[Exception], ...]
    context: str | None

    async def run(self, given: Any, call: Call) -> Envelope:
        given, more = given if isinstance(given, tuple) else (given, {})
        values = {**{key: getattr(given, key) for key in given.__struct_fields__}, **more}
        try:
            if inspect.iscoroutinefunction(self.function):
                answer = await self.function(**self._with_context(values, call))
            else:
                answer = await self._in_thread(values, call)
        except NoetlError:
            raise
        except Exception as problem:
            raise self._failed(problem) from None
        return ok(_as_json(answer))

    def _with_context(
        self, values: Mapping[str, Any], call: Call, log: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        if self.context is None:
            return dict(values)
        place = (call.execution_id, call.step, call.task, call.attempt, call.idempotency_key)
        return {**values, self.context: ToolContext(*place, call.auth, log or call.log)}

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

        given = self._with_context(values, call, lambda line: back(call.log, line))
        work = threading.Thread(
            target=lambda: back(end, self._outcome(given)), name=f"tool {self.name}", daemon=True
        )
        work.start()
        try:
            answer, problem = await ended
        except asyncio.CancelledError:
            if self.context is not None:
                given[self.context].cancelled.set()
            raise
        if problem is not None:
            raise problem
        return answer

    def _outcome(self, given: Mapping[str, Any]) -> tuple[object, Exception | None]:
        try:
            return self.function(**given), None
        except Exception as problem:
            return None, problem
        except SystemExit as problem:
            return None, RuntimeError(f"it left with sys.exit({problem.code!r})")

    def _failed(self, problem: Exception) -> Failed:
        kind = "timeout" if isinstance(problem, TimeoutError) else self.name
        kind = "connect" if isinstance(problem, ConnectionError) else kind
        frames = traceback.extract_tb(problem.__traceback__)
        own = [frame for frame in frames if frame.filename != __file__][-FRAMES:]
        return Failed(
            kind,
            f"{type(problem).__name__}: {problem}",
            code=type(problem).__name__,
            retryable=kind != self.name or isinstance(problem, self.retryable),
            details={"traceback": "".join(traceback.format_list(own))},
        )


def _as_json(answer: object) -> Json:
    try:
        plain: object = msgspec.to_builtins(answer, builtin_types=CONVERTED_LATER)
    except TypeError as problem:
        hint = "return mappings, lists, texts or numbers"
        raise ValueProblem(f"the answer has no JSON form: {problem}", hint=hint) from None
    return to_json(plain)
