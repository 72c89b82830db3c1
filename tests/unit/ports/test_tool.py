"""A kind described by structs: its fields, its input converted, its failures as envelopes."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NewType, TypedDict
from uuid import UUID

import pytest

from noetl.errors import BackendError, InvariantViolation, MissingExtra
from noetl.ports.call import Call, Resources
from noetl.ports.envelope import Envelope, Failed, error, ok, reference
from noetl.ports.tool import Input, Size, convert, define, doc, invoke, read_knobs
from noetl.ports.type_name import type_name
from noetl.ports.values import ValueProblem


class Place(Input):
    """A nested mapping."""

    host: str
    port: int = 80


class Given(Input):
    """Every shape of input."""

    name: Annotated[str, doc("A name.")]
    count: Annotated[Size, doc("How many.")] = 1
    mode: Annotated[Literal["a", "b"], doc("Which.")] = "a"
    place: Annotated[Place | None, doc("Where.")] = None
    words: Annotated[list[str] | None, doc("Some.")] = None
    ratio: float | None = None
    text: str | None = None
    other: str | None = None


class Colour(enum.Enum):
    """Few words."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    """A class of the standard library."""

    x: int
    y: int


class Options(TypedDict):
    """A mapping with names."""

    deep: bool


class Knobs(Input):
    """Settings."""

    retries: Annotated[int, doc("Tries.")] = 2


async def run(given: Any, call: Call) -> Envelope:
    return ok(given)


TOOL = define(
    "sample", "Does a thing.\n\nMore about it.", Given, run, knobs=Knobs, returns="it", one_of=(("text", "other"),)
)  # fmt: skip
FREE = define("free", "Open.", Knobs, run, open_input=True)


class Nowhere:
    """A result store that is never asked."""

    put = put_stream = get = None


def call(**more: Any) -> Call:
    return Call(Nowhere(), Resources(), **more)  # type: ignore[arg-type]


def test_the_kind_is_read_from_the_structs():
    kind = TOOL.kind
    assert kind.summary == "Does a thing"
    assert list(kind.inputs) == ["name", "count", "mode", "place", "words", "ratio", "text", "other"]
    assert kind.inputs["name"].required
    assert kind.inputs["name"].doc == "A name."
    assert not kind.inputs["count"].required
    assert kind.inputs["count"].default == 1
    assert kind.knobs["retries"].default == 2
    assert not TOOL.engine
    assert define("x", None).engine


def test_input_is_converted_leniently_from_text():
    given = convert(
        {"name": "n", "count": "3", "ratio": 2, "place": {"host": "h", "port": "8"}, "text": "x"}, TOOL
    )
    assert (given.count, given.ratio, given.place.port) == (3, 2.0, 8)


def test_null_is_as_if_left_out():
    assert convert({"name": "n", "count": None, "text": "x", "other": None}, TOOL).count == 1


@pytest.mark.parametrize(
    "values, words",
    [
        ({"text": "x"}, ["sample", "'name'"]),
        ({"name": None, "text": "x"}, ["'name'"]),
        ({"name": "n", "text": "x", "nme": 1}, ["'nme'", "name, count"]),
        ({"name": 5, "text": "x"}, ["'name'", "str", "int"]),
        ({"name": "n", "text": "x", "count": 0}, ["'count'", ">= 1"]),
        ({"name": "n", "text": "x", "mode": "c"}, ["'mode'", "'c'"]),
        ({"name": "n", "text": "x", "place": {"port": 1}}, ["'place'", "host"]),
        ({"name": "n", "text": "x", "place": {"host": "h", "prt": 1}}, ["'place'", "prt"]),
        ({"name": "n", "text": "x", "words": ["a", 1]}, ["words[1]"]),
        ({"name": "n"}, ["exactly one of text, other", "none"]),
        ({"name": "n", "text": "x", "other": "y"}, ["text and other"]),
    ],
)
def test_input_that_does_not_fit_names_the_key(values, words):
    with pytest.raises(Failed) as caught:
        convert(values, TOOL)
    assert caught.value.output["error"]["kind"] == "input"
    for word in words:
        assert word in caught.value.message


def test_an_open_kind_gets_the_rest_beside_its_own():
    given, rest = convert({"retries": 1, "a": [1], "b": None}, FREE)
    assert given.retries == 1
    assert rest == {"a": [1], "b": None}


def test_knobs_are_taken_out_of_the_effective_spec():
    assert read_knobs(Knobs, call(spec={"retries": "5", "policy": {}, "timeout": 3})).retries == 5
    assert read_knobs(Knobs, call()).retries == 2
    with pytest.raises(Failed, match="spec 'retries'"):
        read_knobs(Knobs, call(spec={"retries": "many"}))


@pytest.mark.parametrize(
    "problem, kind, retryable, words",
    [
        (Failed("odd", "it is odd", code="7", retryable=True), "odd", True, "it is odd"),
        (ValueProblem("no form", hint="use null"), "value", False, "no form; use null"),
        (BackendError("gone"), "backend", True, "gone"),
        (
            MissingExtra("driver", "extra"),
            "missing_extra",
            False,
            'add the extra "extra" where this was installed from: pip install "PATH[extra]"',
        ),
    ],
)
async def test_every_failure_we_can_name_becomes_an_envelope(problem, kind, retryable, words):
    async def fails(given: Any, call: Call) -> Envelope:
        raise problem

    output = await invoke(define("x", None, Knobs, fails), {}, call())
    assert output["status"] == "error"
    assert (output["error"]["kind"], output["error"]["retryable"]) == (kind, retryable)
    assert words in output["error"]["message"]


async def test_a_bug_is_not_hidden():
    async def breaks(given: Any, call: Call) -> Envelope:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await invoke(define("x", None, Knobs, breaks), {}, call())


async def test_a_kind_of_the_engine_is_not_called():
    with pytest.raises(InvariantViolation, match="'x'"):
        await invoke(define("x", None), {}, call())


def test_the_envelopes_have_their_fields():
    assert ok(1, http={"status": 200}) == {"status": "ok", "data": 1, "error": None, "http": {"status": 200}}
    failed = error("k", "m", code="c", details={"a": 1}, data=2)
    problem = {"kind": "k", "code": "c", "message": "m", "retryable": False, "details": {"a": 1}}
    assert failed == {"status": "error", "data": 2, "error": problem}
    ref = reference("blob", {"key": "k"}, auth="me")
    assert ref == {"type": "blob", "locator": {"key": "k"}, "auth_reference": "keychain/me", "meta": {}}


@pytest.mark.parametrize(
    "annotation, name",
    [
        (str, "text"),
        (Annotated[int | None, doc("x")], "integer"),
        (list[str], "list of text"),
        (list[str | int], "list"),
        (dict[str, Any], "mapping"),
        (Place, "mapping {host, port}"),
        (bool | str, "true | false | text"),
        (Literal["a", "b"], "`a` | `b`"),
        (Literal["a", None], "`a` | `null`"),
        (Colour, "`red` | `blue`"),
        (Colour | None, "`red` | `blue`"),
        (Point, "mapping {x, y}"),
        (Options, "mapping {deep}"),
        (tuple[int, ...], "list of integer"),
        (tuple[int, str], "list"),
        (Sequence[str], "list of text"),
        (set[Point], "list"),
        (Mapping[str, int], "mapping"),
        (UUID, "text"),
        (NewType("Email", str), "text"),
        (Any, "any value"),
    ],
)
def test_types_are_named_for_authors(annotation, name):
    assert type_name(annotation) == name
