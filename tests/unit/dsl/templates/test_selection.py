"""What a JMESPath expression selects, and that no expression takes more than its share."""

import tracemalloc
from typing import Any

import pytest

from noetl.dsl.templates import selection
from noetl.dsl.templates.limits import WORK, Budget, TemplateError
from noetl.dsl.templates.selection import EXPRESSION_CHARS, STEPS_MAX, STEPS_PER_BYTE, select_from
from tests.effort import calls

MEGABYTES = 64
DOUBLING = "[@,@]" + "|[@,@]" * 20
TEXTS = ["x" * 1_000] * 1_000

BOMBS: list[tuple[str, Any]] = [
    (DOUBLING, 1),
    ("[@,@][]" + "|[@,@][]" * 40, [1]),
    ("{a:@,b:@}" + "|{a:@,b:@}" * 40, 1),
    (f"{DOUBLING}|to_string(@)", 1),
    ("map(&[@,@],[@,@])" + "|map(&[@,@],[@,@])" * 40, [1]),
    ("join(@[0],@)", TEXTS),
    ("[" + "sort(@)," * 100 + "@]", list(range(50_000))),
    ("[" + "sum(@)," * 120 + "@]", list(range(50_000))),
    ("[:]" + "|[:]" * 60, list(range(50_000))),
    ("[" + "@==@," * 150 + "@]", list(range(50_000))),
]
REFUSED: list[tuple[str, Any]] = [
    ("[" * 400, 1),
    ("(" * 400, 1),
    ("!" * 400 + "a", 1),
    ("a" + "|a" * 200, 1),
    ("a" * (EXPRESSION_CHARS + 1), 1),
    ("a < b", {"a": 1, "b": "x"}),
    ("floor(to_number('1e999'))", 1),
    ("ceil(to_number('nan'))", 1),
    ("[::0]", [1]),
    ("avg(@)", [10**400, 1]),
    ("contains('a', `1`)", 1),
    ("nope(@)", 1),
    ("keys(@)", 1),
    ("&a", 1),
    ("[&a]", 1),
    ("`" + "[" * 490, 1),
]


def short(value: object) -> str:
    return str(value)[:30] if isinstance(value, str) else ""


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ("items[?n > `1`].n", {"items": [{"n": 1}, {"n": 2}]}, [2]),
        ("sort_by(@, &n)[0].n", [{"n": 2}, {"n": 1}], 1),
        ("a == b", {"a": [1], "b": [1]}, True),
        ("a != b", {"a": [1], "b": [1]}, False),
        ("join(',', @)", ["a", "b"], "a,b"),
        ("length(@)", list(range(400_000)), 400_000),
        ("a" + ".a" * 60, 1, None),
        (" && ".join(["!a"] * 40), {}, True),
    ],
)
def test_an_expression_selects_what_it_names(expression: str, value: Any, expected: Any) -> None:
    assert select_from(value, expression, 0) == expected


@pytest.mark.parametrize(("expression", "value"), BOMBS, ids=short)
def test_an_expression_that_wants_too_much_ends_early_and_never_has_it(expression: str, value: Any) -> None:
    def refused() -> None:
        with pytest.raises(TemplateError):
            select_from(value, expression, 0)

    assert calls(refused) < 8 * WORK
    tracemalloc.start()
    refused()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEGABYTES * 1024 * 1024


@pytest.mark.parametrize(("expression", "value"), REFUSED, ids=short)
def test_an_expression_that_cannot_be_used_is_refused_in_words(expression: str, value: Any) -> None:
    with pytest.raises(TemplateError, match=r"JMESPath expression|argument of a function"):
        select_from(value, expression, 0)


def test_a_budget_that_is_not_consulted_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: steps are counted and nobody looks."""
    monkeypatch.setattr(Budget, "spend", lambda self, steps: None)
    assert select_from(1, "[@,@]|[@,@]", 0) == [[1, 1], [1, 1]]
    monkeypatch.undo()
    with pytest.raises(TemplateError, match="the selection takes more than 500,000 steps"):
        select_from(1, DOUBLING, 0)


def test_a_large_payload_may_take_more_steps_but_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(selection, "_searched", lambda value, expression, budget: seen.append(budget.total))
    for size in (0, 1_000_000, 10**12):
        select_from(1, "@", size)
    assert seen == [WORK, WORK + STEPS_PER_BYTE * 1_000_000, STEPS_MAX]
