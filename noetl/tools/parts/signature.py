"""What the parameters of a function under `@noetl.tool` are: inputs, the keys of `spec`, the context."""

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, get_args, get_type_hints

import msgspec

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.tool import Input, Spec, doc, read_knobs, sentence_of
from noetl.tools.parts.tool_context import ToolContext

_OF_A_CLASS = (Input, Spec, ToolContext)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's parameters by what they are given."""

    input: type[msgspec.Struct]
    knobs: type[msgspec.Struct] | None = None
    whole: str | None = None  # the parameter that is given the whole input
    spec: str | None = None  # the parameter that is given the keys of `spec`
    context: str | None = None  # the parameter that is told of the call
    open: bool = False  # whether it takes other keys too

    def arguments(self, given: Any, call: Call) -> dict[str, Any]:
        """The arguments of one call, but for the context."""
        more: Mapping[str, Json] = {}
        if self.open:
            given, more = given
        own = {key: getattr(given, key) for key in given.__struct_fields__} if self.whole is None else {}
        arguments = {**own, **more} if self.whole is None else {self.whole: given, **more}
        if self.spec is not None and self.knobs is not None:
            arguments[self.spec] = read_knobs(self.knobs, call)
        return arguments


@dataclass(slots=True)
class _Reading:
    """What was seen of the parameters so far."""

    name: str
    sentences: Mapping[str, str]
    fields: list[tuple[str, Any, Any]] = field(default_factory=list)
    of_a_class: dict[type, tuple[str, Any]] = field(default_factory=dict)
    open: bool = False

    def take(self, parameter: inspect.Parameter, hint: Any) -> None:
        hint = _of_a_class(hint)
        classes = _OF_A_CLASS if isinstance(hint, type) else ()
        if (kind := next((each for each in classes[::-1] if issubclass(hint, each)), None)) is not None:
            if kind in self.of_a_class:
                raise TypeError(f"{self.name}: {parameter.name!r} is a second {kind.__name__}")
            self.of_a_class[kind] = (parameter.name, hint)
        elif parameter.kind is parameter.VAR_KEYWORD:
            self.open = True
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{self.name}: an input has a name, and {parameter.name!r} cannot be given by it")
        else:
            sentence = sentence_of(hint) or self.sentences.get(parameter.name, "")
            default = msgspec.NODEFAULT if parameter.default is parameter.empty else parameter.default
            if isinstance(default, list | dict | set):  # each call gets one of its own
                default = msgspec.field(default_factory=partial(deepcopy, default))
            hint = Annotated[hint, doc(sentence)] if sentence else hint
            self.fields.append((parameter.name, hint, default))


def read_signature(name: str, function: Callable[..., object], sentences: Mapping[str, str]) -> Signature:
    """The parameters of a function; TypeError says which one no input can be given to."""
    hints = hints_of(name, function)
    seen = _Reading(name, sentences)
    for parameter in inspect.signature(function).parameters.values():
        seen.take(parameter, hints.get(parameter.name, Any))
    whole, struct = seen.of_a_class.get(Input, (None, None))
    if struct is not None and seen.fields:
        raise TypeError(f"{name}: {whole!r} is the whole input, and {seen.fields[0][0]!r} stands beside it")
    struct = struct or msgspec.defstruct(name, seen.fields, bases=(Input,), kw_only=True)
    spec, knobs = seen.of_a_class.get(Spec, (None, None))
    for read in (struct, knobs) if knobs is not None else (struct,):
        _check(name, read)
    context, _ = seen.of_a_class.get(ToolContext, (None, None))
    return Signature(struct, knobs, whole, spec, context, seen.open)


def hints_of(name: str, function: Callable[..., object]) -> dict[str, Any]:
    """The annotations of a function; NameError says whose cannot be read."""
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as problem:
        message = f"{name}: {problem}: what an annotation names is imported also when the program runs"
        raise NameError(message) from None


def _of_a_class(hint: Any) -> Any:
    """A class of ours that may be left out, as that class: it is always given."""
    some = [each for each in get_args(hint) if each is not type(None)]
    alone = len(some) == 1 and isinstance(some[0], type) and issubclass(some[0], _OF_A_CLASS)
    return some[0] if alone and len(get_args(hint)) == 2 else hint


def _check(name: str, struct: type[msgspec.Struct]) -> None:
    for info in msgspec.structs.fields(struct):
        try:
            msgspec.json.schema(info.type)
        except TypeError as problem:
            said = str(problem).rpartition("\n")[2]  # how to tell the library more is nothing for a tool
            message = f"{name}: the input {info.name!r} has a type that JSON has no form for: {said}"
            raise TypeError(message) from None
