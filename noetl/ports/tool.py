"""What a tool kind is: its description for authors, the struct its input becomes, and how it is called.

Nothing here imports a driver. The kinds themselves are the tools' room; the worker calls `invoke`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypedDict, TypeVar, Unpack, get_args

import msgspec

from noetl.dsl.tool_kind import Field, Kind
from noetl.errors import InvariantViolation, NoetlError
from noetl.json_value import Json, JsonObject
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, error
from noetl.ports.values import ValueProblem, from_python

Run = Callable[[Any, Call], Awaitable[Envelope]]  # of the struct that its own kind reads
S = TypeVar("S", bound=msgspec.Struct)
KNOBS_KEPT = 1000
_KNOBS: dict[tuple[type[msgspec.Struct], int], tuple[Mapping[str, Json], Any]] = {}


@dataclass(frozen=True, slots=True)
class Tool:
    """One kind: what authors see of it, the struct its input becomes, and what it does."""

    kind: Kind
    input: type[msgspec.Struct] | None = None
    knobs: type[msgspec.Struct] | None = None
    run: Run | None = None  # None: the engine itself carries it out
    doc: str = ""
    returns: str = ""

    @property
    def engine(self) -> bool:
        """Whether the engine carries this kind out instead of a worker calling `run`."""
        return self.run is None


Count = Annotated[int, msgspec.Meta(ge=0)]
Size = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class Input(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What every input and knob struct of a kind is: typed and closed."""


class Spec(Input):
    """The keys of a kind's own under a task's `spec`."""


def doc(sentence: str, **schema: Json) -> msgspec.Meta:
    """The sentence that authors read about an input, as in `Annotated[str, doc("...")]`."""
    return msgspec.Meta(description=sentence, extra_json_schema=schema or None)


class KindFields(TypedDict, total=False):
    """The fields of a Kind that its structs do not say."""

    open_input: bool
    one_of: tuple[tuple[str, ...], ...]
    beside: tuple[str, ...]
    defaults: Mapping[str, Json]
    helper: str | None
    sql_text: tuple[str, ...]
    untemplated: tuple[str, ...]
    example: str


def describe(
    name: str,
    text: str,
    struct: type[msgspec.Struct] | None = None,
    knobs: type[msgspec.Struct] | None = None,
    **more: Unpack[KindFields],
) -> Kind:
    """The kind as data: inputs and knobs from the structs, the summary from the first line of the text."""
    summary = text.strip().partition("\n")[0].rstrip(".")
    return Kind(name, summary, inputs=_fields(struct), knobs=_fields(knobs), **more)


def define(
    name: str,
    text: str | None,
    struct: type[msgspec.Struct] | None = None,
    run: Run | None = None,
    *,
    knobs: type[msgspec.Struct] | None = None,
    returns: str = "",
    **more: Unpack[KindFields],
) -> Tool:
    """A tool from one file's parts; `more` are the other fields of its Kind."""
    page = text or ""
    return Tool(describe(name, page, struct, knobs, **more), struct, knobs, run, page, returns)


def _fields(struct: type[msgspec.Struct] | None) -> dict[str, Field]:
    if struct is None:
        return {}
    fields = {}
    for info in msgspec.structs.fields(struct):
        fields[info.encode_name] = Field(
            info.encode_name, info.type, info.required, sentence_of(info.type), _default(info)
        )
    return fields


def keys_of(annotation: Any) -> dict[str, Field]:
    """What is known of the keys of a mapping, or of those of a list, that an input takes."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        fields = _fields(annotation)
        return fields if any(each.doc for each in fields.values()) else {}
    return next((keys for each in get_args(annotation) if (keys := keys_of(each))), {})


def _default(info: msgspec.structs.FieldInfo) -> Json:
    """What holds without an input, as JSON; None too where that says nothing, as an empty list."""
    value = None if info.default is msgspec.NODEFAULT else info.default
    if info.default_factory is not msgspec.NODEFAULT:
        value = info.default_factory() or None
    try:
        return from_python(value)
    except ValueProblem:
        return None


def sentence_of(annotation: object) -> str:
    """The sentence in an Annotated type: as text, or as a description."""
    for part in getattr(annotation, "__metadata__", ()):
        if isinstance(part, str):
            return part
        if isinstance(part, msgspec.Meta) and part.description:
            return part.description
    return ""


def convert(values: Mapping[str, Json], tool: Tool) -> Any:
    """Rendered input as the struct the tool reads; Failed (kind `input`) names the key that does not fit."""
    kind = tool.kind
    own: JsonObject = {}
    rest: JsonObject = {}
    for key, value in values.items():
        if key not in kind.inputs:
            rest[key] = value
        elif value is not None:
            own[key] = value
    if rest and not kind.open_input:
        raise _unknown(rest, kind)
    _exactly_one(own, kind)
    if tool.input is None:
        return dict(values)
    try:
        converted = msgspec.convert(own, tool.input, strict=False)
    except msgspec.ValidationError as problem:
        raise _missing(own, kind) or _unfit(problem, own, tool.input, f"{kind.name} input") from None
    return (converted, rest) if kind.open_input else converted


def read_knobs(struct: type[S], call: Call) -> S:
    """The kind's own knobs out of the effective spec; calls with the same spec share them."""
    key = (struct, id(call.spec))
    cached = _KNOBS.get(key)
    if cached is not None and cached[0] is call.spec:
        cached_knobs: S = cached[1]
        return cached_knobs
    names = _names(struct)
    values = {key: value for key, value in call.spec.items() if key in names and value is not None}
    try:
        knobs = msgspec.convert(values, struct, strict=False)
    except msgspec.ValidationError as problem:
        raise _unfit(problem, values, struct, "spec") from None
    if len(_KNOBS) >= KNOBS_KEPT:
        _KNOBS.clear()
    _KNOBS[key] = (call.spec, knobs)  # with the spec itself, so that its number is not given to another one
    return knobs


@cache
def _names(struct: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(info.encode_name for info in msgspec.structs.fields(struct))


def _unknown(rest: Mapping[str, Json], kind: Kind) -> Failed:
    names = ", ".join(kind.inputs) or "none"
    return Failed("input", f"{kind.name} has no input {min(rest)!r}; its inputs are: {names}")


def _missing(values: Mapping[str, Json], kind: Kind) -> Failed | None:
    for name, field in kind.inputs.items():
        if field.required and name not in values:
            return Failed("input", f"{kind.name} needs input {name!r}")
    return None


def _exactly_one(values: Mapping[str, Json], kind: Kind) -> None:
    for group in kind.one_of:
        names = [name for name in group if name in values]
        if len(names) != 1:
            listed = " and ".join(names) or "none"
            raise Failed(
                "input", f"{kind.name} needs exactly one of {', '.join(group)}; it was given {listed}"
            )


def _unfit(problem: Exception, values: Mapping[str, Json], struct: type[msgspec.Struct], what: str) -> Failed:
    sentence, _, place = str(problem).partition(" - at `$")
    place = _placed(values, struct, place.strip("`").removeprefix("."))
    where = f" {place!r}" if place else ""
    sentence = sentence[:1].lower() + sentence[1:].replace("`", "")
    return Failed("input", f"{what}{where}: {sentence}")


def _placed(values: Mapping[str, Json], struct: type[msgspec.Struct], place: str) -> str:
    """A place in an input with the key of its mapping; the converter says none, so each is tried alone."""
    name, _, rest = place.partition("[...]")
    inner = values.get(name)
    for key, value in inner.items() if isinstance(inner, dict) and name != place else ():
        try:
            msgspec.convert({**values, name: {key: value}}, struct, strict=False)
        except msgspec.ValidationError:
            return f"{name}.{key}{rest}"
    return place


async def invoke(tool: Tool, values: Mapping[str, Json], call: Call) -> Envelope:
    """Convert the input and run the tool; every failure we can name becomes an envelope."""
    if tool.run is None:
        raise InvariantViolation(f"kind {tool.kind.name!r} is carried out by the engine, not by a worker")
    try:
        return await tool.run(convert(values, tool), call)
    except Failed as failure:
        return failure.output
    except ValueProblem as problem:
        return error("value", _sentence(problem))
    except NoetlError as problem:
        retryable = bool(getattr(problem, "retryable", False))
        return error(problem.code.replace("-", "_"), _sentence(problem), retryable=retryable)


def _sentence(problem: NoetlError) -> str:
    return f"{problem.message}; {problem.hint}" if problem.hint else problem.message
