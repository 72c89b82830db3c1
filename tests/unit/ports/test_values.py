"""Python and SQL values become JSON values, or an error that names the place."""

import collections
import datetime
import decimal
import enum
import uuid
from collections.abc import Callable
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.core.values.nesting import NESTED_MOST, is_too_deep
from noetl.ports.values import ValueProblem, to_json

D = decimal.Decimal
UTC = datetime.UTC


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    "value, json",
    [
        (None, None),
        (True, True),
        (7, 7),
        (2**100, 2**100),
        (1.5, 1.5),
        ("häh", "häh"),
        ([1, [2]], [1, [2]]),
        ((1, 2), [1, 2]),
        ({"a": (1,)}, {"a": [1]}),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.defaultdict(list, a=[1]), {"a": [1]}),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({1, "a", 2.5, None, (1, 2)}, [2.5, 1, "a", [1, 2], None]),
        (datetime.date(2024, 1, 31), "2024-01-31"),
        (datetime.datetime(2024, 1, 31, 10, 20, 30, 5, tzinfo=UTC), "2024-01-31T10:20:30.000005+00:00"),
        (datetime.time(10, 20), "10:20:00"),
        (datetime.timedelta(days=1, seconds=2), "P1DT2S"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (b"\x00\xff", "AP8="),
        (bytearray(b"a"), "YQ=="),
        (memoryview(b"a"), "YQ=="),
        (D("1.5"), 1.5),
        (D("0.1"), 0.1),
        (D("7"), 7),
        (D("1E+3"), 1000),
        (D("12345678901234567890.12345"), "12345678901234567890.12345"),
        (D("1E+500"), "1E+500"),
        (D("-0.00000000000000000001"), -1e-20),
        ({1: "a"}, {"1": "a"}),
        ({datetime.date(2024, 1, 1): 1}, {"2024-01-01": 1}),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
    ],
)
def test_a_value_has_one_json_form(value, json):
    converted = to_json(value)
    assert converted == json
    assert type(converted) is type(json)


@pytest.mark.parametrize(
    "value, place, word",
    [
        (float("nan"), "$", "nan"),
        ({"a": [1, float("inf")]}, "$.a[1]", "inf"),
        (D("NaN"), "$", "NaN"),
        (D("-Infinity"), "$", "Infinity"),
        ("a\0b", "$", "NUL"),
        ("é\0", "$", "NUL"),
        ("\ud800", "$", "surrogate"),
        ({"a\0": 1}, "$", "NUL"),
        (object(), "$", "object"),
        ([lambda: 1], "$[0]", "function"),
        (range(3), "$", "range"),
        ((n for n in range(3)), "$", "generator"),
        (1 + 2j, "$", "complex"),
        ({None: 1}, "$", "None"),
        ({True: 1}, "$", "True"),
        ({1.5: 1}, "$", "1.5"),
        ({1: "a", "1": "b"}, "$", "two keys"),
    ],
)
def test_what_has_no_json_form_is_refused_with_its_place(value, place, word):
    with pytest.raises(ValueProblem) as caught:
        to_json(value)
    assert place in caught.value.message
    assert word in caught.value.message


def test_an_iterable_is_hinted_at():
    with pytest.raises(ValueProblem) as caught:
        to_json(range(3))
    assert caught.value.hint == "wrap it in list(...)"


def test_a_value_that_contains_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueProblem, match="nested deeper"):
        to_json(loop)


@pytest.mark.parametrize("levels, beyond", [(NESTED_MOST, False), (NESTED_MOST + 1, True)])
@pytest.mark.parametrize("around", [lambda inner: [1, inner], lambda inner: {"a": 1, "b": inner}])
def test_what_is_too_deep_to_be_kept_is_told_apart_in_both_ways(
    levels: int, beyond: bool, around: Callable[[object], object]
) -> None:
    value: object = []
    for _ in range(levels):
        value = around(value)
    assert is_too_deep(value) is beyond
    with pytest.raises(ValueProblem) if beyond else nullcontext():
        to_json(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(JSON)
def test_a_json_value_stays_as_it_is(value):
    assert to_json(value) == value
