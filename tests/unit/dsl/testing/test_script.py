"""Which answer a call gets, and what it is as an output."""

import pytest

from noetl.dsl.testing.script import Place, Script, output_of
from noetl.dsl.testing.suite import read_suite


def script(given: str, children: str = "{}") -> Script:
    suite = read_suite(f"playbook: x\ntests: [{{name: a, given: {given}, children: {children}}}]")
    assert suite.ok, suite.diagnostics
    return Script(suite.cases[0].given, suite.cases[0].children)


def data(found: object) -> object:
    return None if found is None else output_of(found)["data"]  # type: ignore[arg-type]


def place(**more: object) -> Place:
    return Place("a/b", "load", "fetch", **more)  # type: ignore[arg-type]


def test_answers_of_a_list_are_used_once_each_in_order():
    made = script("{load.fetch: [{data: 1}, {data: 2}]}")
    assert [data(made.answer(place(), child=False)) for _ in range(3)] == [1, 2, None]


@pytest.mark.parametrize(
    "which, fits, not_",
    [
        ("run: 2", {"run": 2}, {"run": 1}),
        ("visit: 3", {"visit": 3}, {"visit": 1}),
        ("attempt: 2", {"attempt": 2}, {"attempt": 1}),
        ("iteration: 0", {"iteration": (0,)}, {"iteration": (1,)}),
        ("iteration: [1, 0]", {"iteration": (1, 0)}, {"iteration": (1,)}),
        ("iteration: 1", {"iteration": (1,)}, {}),
    ],
)
def test_an_answer_is_for_the_calls_it_says(which, fits, not_):
    made = script(f"{{load.fetch: [{{{which}, data: 1}}]}}")
    assert made.answer(place(**not_), child=False) is None
    assert data(made.answer(place(**fits), child=False)) == 1


def test_a_step_alone_answers_the_tasks_that_have_no_own_answers():
    made = script("{load: {data: step}, load.fetch: {data: own}}")
    assert data(made.answer(place(), child=False)) == "own"
    assert data(made.answer(Place("a/b", "load", "other"), child=False)) == "step"


def test_children_are_answered_by_their_path_alone():
    made = script("{load.fetch: {data: main}}", "{a/b: {load.fetch: [{data: child}]}}")
    assert data(made.answer(place(), child=True)) == "child"
    assert made.answer(Place("c/d", "load", "fetch"), child=True) is None
    assert data(made.answer(place(), child=False)) == "main"


def test_what_was_never_used_is_known_unless_it_repeats():
    made = script("{a: {data: 1}, b: [{data: 1}, {data: 2, repeat: true}]}", "{c/d: {e: [{data: 3}]}}")
    assert [(task, data(answer)) for task, answer in made.unused()] == [("b", 1), ("e", 3)]


def test_an_error_has_every_field_of_one_and_keeps_data_and_what_the_kind_adds():
    made = script("{load.fetch: {error: {kind: http, retryable: true}, data: page, http: {status: 503}}}")
    found = made.answer(place(), child=False)
    assert found is not None
    assert output_of(found) == {
        "status": "error",
        "data": "page",
        "error": {"kind": "http", "code": None, "message": "as the test says", "retryable": True, "details": {}},
        "http": {"status": 503},
    }  # fmt: skip


def test_a_call_in_words_says_where_it_is():
    assert place().words == "load.fetch (attempt 1)"
    words = place(run=2, iteration=(3, 1), visit=4, attempt=5).words
    assert words == "load.fetch (run 2, iteration 3, 1, visit 4, attempt 5)"
