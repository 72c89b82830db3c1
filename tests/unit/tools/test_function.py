"""A function as a tool kind: its annotations are checked, its exceptions have kinds, its answer is JSON."""

import asyncio
import dataclasses
import datetime
import decimal
import enum
import gc
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest

import noetl
from noetl.adapters.memory.results import MemoryResults
from noetl.errors import RequestError
from noetl.ports.call import Call, Resources
from noetl.ports.tool import Tool, invoke
from noetl.ports.type_name import type_name
from noetl.tools.parts.function import tool_of
from noetl.wiring.payloads import StoredPayloads

Nothing: Any = None  # no payloads


@dataclasses.dataclass
class Place:
    """Where something is."""

    name: str
    at: tuple[float, float] = (0.0, 0.0)


class Strange(noetl.Spec):
    """What JSON has no form for."""

    event: threading.Event


class Lines:
    """What a call logs."""

    keep: int | None = None

    def __init__(self) -> None:
        self.said: list[bytes] = []

    def write(self, data: bytes, stream: int = 1) -> None:
        self.said.append(data)


class Colour(enum.Enum):
    """A colour."""

    RED = "red"


def made(function: Any) -> Tool:
    tool = tool_of(function)
    assert tool is not None
    return tool


@noetl.tool(retryable=(LookupError,), returns="what it was given")
def echo(
    text: Annotated[str, "What to say."],
    context: noetl.ToolContext,
    times: int = 1,
    tone: Literal["warm", "cold"] = "warm",
) -> Any:
    """Says something.

    As it is.

    Args:
        times (int): How often,
            and note: no more than that.
        tone: How it sounds.

    Nothing else.
    """
    context.log(text)
    if text == "wrong":
        raise ValueError("it is wrong")
    if text == "missing":
        raise KeyError("it is missing")
    if text == "away":
        raise ConnectionResetError("it went away")
    if text == "late":
        raise TimeoutError("it is late")
    if text == "stop":
        raise StopIteration
    if text == "exit":
        raise SystemExit(3)
    if text == "full":
        raise noetl.Failed("quota", "it is full", retryable=True)
    return {"text": text * times, "tone": tone, "key": context.idempotency_key, "auth": context.auth}


def test_annotations_and_docstring_are_what_authors_see():
    tool = made(echo)
    assert (tool.kind.name, tool.kind.summary, tool.returns) == (
        "echo",
        "Says something",
        "what it was given",
    )
    assert tool.doc == "Says something.\n\nAs it is.\n\nNothing else."
    seen = {
        field.name: (type_name(field.type), field.required, field.default, field.doc)
        for field in tool.kind.inputs.values()
    }
    assert seen == {
        "text": ("text", True, None, "What to say."),
        "times": ("integer", False, 1, "How often, and note: no more than that."),
        "tone": ("`warm` | `cold`", False, "warm", "How it sounds."),
    }


def test_a_call_has_the_input_the_context_and_an_answer():
    lines: list[str] = []
    answer = noetl.call_tool(
        echo, {"text": "a", "times": 2}, idempotency_key="k", auth={"user": "u"}, log=lines.append
    )
    assert answer == {"text": "aa", "tone": "warm", "key": "k", "auth": {"user": "u"}}
    assert lines == ["a"]


@pytest.mark.parametrize(
    ("text", "kind", "retryable", "code"),
    [
        ("wrong", "echo", False, "ValueError"),
        ("missing", "echo", True, "KeyError"),
        ("away", "connect", True, "ConnectionResetError"),
        ("late", "timeout", True, "TimeoutError"),
        ("stop", "echo", False, "StopIteration"),
        ("exit", "echo", False, "RuntimeError"),
        ("full", "quota", True, None),
    ],
)
def test_an_exception_is_an_error_with_a_kind(text, kind, retryable, code):
    with pytest.raises(noetl.Failed) as failed:
        noetl.call_tool(echo, {"text": text})
    assert (failed.value.kind, failed.value.retryable) == (kind, retryable)
    assert failed.value.output["error"]["code"] == code


def test_an_error_says_where_in_the_function_it_was_raised_and_nothing_of_ours():
    with pytest.raises(noetl.Failed) as failed:
        noetl.call_tool(echo, {"text": "wrong"})
    where = failed.value.output["error"]["details"]["traceback"]
    assert 'raise ValueError("it is wrong")' in where
    assert "parts/function.py" not in where


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "echo needs input 'text'"),
        ({"text": "a", "times": "many"}, "echo input 'times'"),
        ({"text": "a", "tone": "loud"}, "echo input 'tone'"),
        ({"text": "a", "tims": 2}, "echo has no input 'tims'"),
    ],
)
def test_an_input_that_does_not_fit_never_reaches_the_function(values, says):
    with pytest.raises(noetl.Failed) as failed:
        noetl.call_tool(echo, values)
    assert failed.value.kind == "input"
    assert says in failed.value.message


def test_values_come_as_their_types_and_go_as_json():
    @noetl.tool(name="visit")
    async def go(place: Place, day: datetime.date, cost: decimal.Decimal, **more: Any) -> Any:
        assert (place, day, cost) == (Place("x"), datetime.date(2026, 1, 31), decimal.Decimal("1.5"))
        return {
            "place": Place("x"),
            "day": day,
            "cost": cost,
            "colour": Colour.RED,
            "more": more,
            "raw": b"a",
        }

    values: dict[str, Any] = {"place": {"name": "x"}, "day": "2026-01-31", "cost": 1.5, "other": [1]}
    assert noetl.call_tool(go, values) == {
        "place": {"name": "x", "at": [0.0, 0.0]},
        "day": "2026-01-31",
        "cost": 1.5,
        "colour": "red",
        "more": {"other": [1]},
        "raw": "YQ==",
    }
    assert type_name(made(go).kind.inputs["day"].type) == "date"


def test_an_iterator_that_is_empty_too_soon_says_so():
    @noetl.tool
    def first(of: list[int]) -> int:
        """Takes the first."""
        return next(iter(of))

    assert noetl.call_tool(first, {"of": [1]}) == 1
    with pytest.raises(noetl.Failed, match="StopIteration") as failed:
        noetl.call_tool(first, {"of": []})
    assert failed.value.output["error"]["code"] == "StopIteration"
    assert "next(iter(of))" in failed.value.output["error"]["details"]["traceback"]


LOOPED: list[object] = []
LOOPED.append(LOOPED)


@pytest.mark.parametrize("answer", [object(), {"a": {1: object()}}, float("nan"), LOOPED])
def test_an_answer_without_a_json_form_is_an_error_of_its_value(answer):
    @noetl.tool
    def give() -> Any:
        return answer

    with pytest.raises(noetl.Failed) as failed:
        noetl.call_tool(give)
    assert failed.value.kind == "value"


def test_values_of_data_libraries_go_as_json():
    import numpy
    import pandas
    import polars

    answers = {
        "frame": pandas.DataFrame({"at": [pandas.Timestamp("2026-01-31"), None], "n": [1.5, None]}),
        "polars": polars.DataFrame({"n": [1, 2]}),
        "series": pandas.Series([1.0, None]),
        "array": numpy.array([[1, 2], [3, 4]]),
        "number": numpy.float64(0.5),
        "moment": pandas.Timestamp("2026-01-31"),
        "none": pandas.NaT,
        "place": Path("a/b"),
    }

    @noetl.tool
    def give() -> Any:
        return answers

    assert noetl.call_tool(give) == {
        "frame": [{"at": "2026-01-31T00:00:00", "n": 1.5}, {"at": None, "n": None}],
        "polars": [{"n": 1}, {"n": 2}],
        "series": [1.0, None],
        "array": [[1, 2], [3, 4]],
        "number": 0.5,
        "moment": "2026-01-31T00:00:00",
        "none": None,
        "place": "a/b",
    }


@pytest.mark.parametrize("problem", [KeyboardInterrupt, GeneratorExit, pytest.fail.Exception])
def test_what_would_end_a_program_ends_only_its_call(problem):
    @noetl.tool
    def end() -> None:
        raise problem("no more")

    with pytest.raises(noetl.Failed, match=f"it ended with {problem.__name__}: no more") as failed:
        noetl.call_tool(end)
    assert 'raise problem("no more")' in failed.value.output["error"]["details"]["traceback"]


def test_an_async_function_that_leaves_ends_only_its_call():
    @noetl.tool
    async def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(noetl.Failed, match="it left with"):
        noetl.call_tool(leave)


def test_defaults_are_shown_as_json_and_each_call_has_its_own():
    @noetl.tool
    def plan(
        places: list[str] = ["here"],  # noqa: B006 - what is tested
        place: Place = Place("x"),  # noqa: B008 - as above
        colour: Colour = Colour.RED,
        day: datetime.date = datetime.date(2026, 1, 31),
        context: noetl.ToolContext | None = None,
    ) -> Any:
        places.append("there")
        return [places, context is not None]

    assert {name: field.default for name, field in made(plan).kind.inputs.items()} == {
        "places": ["here"],
        "place": {"name": "x", "at": [0.0, 0.0]},
        "colour": "red",
        "day": "2026-01-31",
    }
    assert [noetl.call_tool(plan) for _ in range(2)] == [[["here", "there"], True]] * 2


def test_a_refusal_names_the_kind_and_the_input():
    def strange(text: str, event: threading.Event):
        return text, event

    def unknown(place: "Nowhere"):  # type: ignore[name-defined]  # noqa: F821
        return place

    with pytest.raises(TypeError, match=r"^strange: the input 'event' .*Event'> is not supported$"):
        noetl.tool(strange)
    with pytest.raises(NameError, match=r"^unknown: name 'Nowhere' is not defined: what"):
        noetl.tool(unknown)
    named: Any = "price"
    with pytest.raises(TypeError, match=r"@noetl.tool\(name='price'\)"):
        noetl.tool(named)


def test_what_cannot_be_a_kind_is_refused_where_it_is_written():
    def positional(text, /):
        return text

    def spread(*texts):
        return texts

    def strange(text: threading.Event):
        return text

    for function in (positional, spread, strange, lambda: 1):
        with pytest.raises(TypeError):
            noetl.tool(function)
    with pytest.raises(RequestError, match="is no tool"):
        noetl.call_tool(positional)
    with pytest.raises(RequestError, match="'wait' is carried out by the engine"):
        noetl.call_tool("wait", {"seconds": 1})


def test_what_a_called_tool_had_open_is_closed(capfd, caplog):
    with pytest.raises(noetl.Failed, match="loopback"):
        noetl.call_tool("http", {"url": "http://127.0.0.1:1/"})
    gc.collect()
    assert "Unclosed" not in capfd.readouterr().err + caplog.text


async def test_a_function_that_nobody_waits_for_any_more_is_told_so():
    began, told = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @noetl.tool
    def wait(context: noetl.ToolContext) -> None:
        loop.call_soon_threadsafe(began.set)
        if context.cancelled.wait(60):
            told.set()

    payloads: Any = None
    call = asyncio.create_task(invoke(made(wait), {}, Call(payloads, Resources())))
    await began.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await asyncio.to_thread(told.wait, 60)


class Order(noetl.Input):
    """What is ordered."""

    item: Annotated[str, "What to bring."]
    table: Annotated[int, "Where to."] = 1


class Patience(noetl.Spec):
    """How long it may take."""

    minutes: Annotated[int, "How long to wait."] = 5


class Bill(TypedDict):
    """What it costs."""

    total: float
    currency: str


@noetl.tool(page="Serves a guest.\n\nSlowly.", one_of=(("item",),))
async def serve(order: Order, patience: Patience, context: noetl.ToolContext) -> Bill:
    context.log(f"{order.item} for {order.table} within {patience.minutes}")
    return {"total": 1.5, "currency": "EUR"}


def test_many_inputs_stand_in_a_class_and_the_keys_of_spec_in_another():
    tool = made(serve)
    assert {name: field.doc for name, field in tool.kind.inputs.items()} == {
        "item": "What to bring.",
        "table": "Where to.",
    }
    assert {name: (field.default, field.doc) for name, field in tool.kind.knobs.items()} == {
        "minutes": (5, "How long to wait.")
    }
    assert (tool.doc, tool.kind.summary) == ("Serves a guest.\n\nSlowly.", "Serves a guest")
    assert tool.kind.one_of == (("item",),)


async def test_the_keys_of_spec_come_from_the_task():
    lines = Lines()
    call = Call(Nothing, Resources(), spec={"minutes": "7", "timeout": 30}, output=lines)
    assert (await invoke(made(serve), {"item": "tea"}, call))["data"] == {"total": 1.5, "currency": "EUR"}
    assert lines.said == [b"tea for 1 within 7\n"]
    unfit = Call(Nothing, Resources(), spec={"minutes": "many"})
    output = await invoke(made(serve), {"item": "tea"}, unfit)
    assert output["error"]["kind"] == "input"
    assert "'minutes'" in output["error"]["message"]


def test_an_annotated_answer_says_its_keys():
    assert made(serve).returns == "`{total, currency}`"


def test_a_second_class_of_inputs_and_inputs_beside_one_are_refused():
    async def two(first: Order, second: Order):
        return first, second

    async def beside(order: Order, other: str):
        return order, other

    async def strange(patience: Strange):
        return patience

    for function, says in (
        (two, "'second' is a second Input"),
        (beside, "'other' stands beside"),
        (strange, "no form"),
    ):
        with pytest.raises(TypeError, match=says):
            noetl.tool(function)


@noetl.tool(errors={FileNotFoundError: "not_found", BlockingIOError: "busy"}, retryable=(BlockingIOError,))
def fetch(name: str, context: noetl.ToolContext) -> noetl.Answer:
    """Fetches something large."""
    if name == "busy":
        raise BlockingIOError
    if name == "nothing":
        raise FileNotFoundError(name)
    if name == "previous":
        return noetl.Answer(context.previous)
    if name == "outside":
        context.path("/etc/passwd")
    if name == "secret":
        context.wait(context.secret("gone"))
    ref = context.wait(context.store((part for part in (b"a", name.encode())), "text/plain"))
    return noetl.Answer({"read": context.wait(context.load(ref))} if name == "again" else None, ref)


def test_an_answer_may_be_in_the_result_store():
    assert noetl.call_tool(fetch, {"name": "bc"}) == "abc"
    assert noetl.call_tool(fetch, {"name": "again"}) == {"read": "aagain"}
    assert noetl.call_tool(fetch, {"name": "previous"}) is None


async def test_an_async_function_stores_what_it_streams():
    async def chunks() -> AsyncIterator[bytes]:
        yield b"x"
        yield b"y"

    @noetl.tool
    async def stream(context: noetl.ToolContext) -> noetl.Answer:
        with pytest.raises(RuntimeError, match="an async one awaits"):
            context.wait(context.secret("a"))
        return noetl.Answer({"parts": 2}, await context.store(chunks()))

    results = MemoryResults(lambda: 0)
    output = await invoke(made(stream), {}, Call(StoredPayloads(results, "0" * 32), Resources()))
    assert output["data"] == {"parts": 2}
    ref = output["ref"]
    assert ref is not None
    assert ref["meta"]["content_type"] == "application/octet-stream"
    assert await results.read(ref["locator"]["key"]) == b"xy"


@pytest.mark.parametrize(
    ("name", "kind", "retryable"),
    [
        ("nothing", "not_found", False),
        ("busy", "busy", True),
        ("outside", "path", False),
        ("secret", "auth", False),
    ],
)
def test_an_exception_has_the_kind_that_the_function_names_for_it(name, kind, retryable):
    with pytest.raises(noetl.Failed) as failed:
        noetl.call_tool(fetch, {"name": name})
    assert (failed.value.kind, failed.value.retryable) == (kind, retryable)
