"""Recorded outputs as text: within bounds, told apart, and put into a file that is otherwise as it was."""

from typing import Any

import pytest

from noetl.dsl.testing.script import Place
from noetl.dsl.testing.suite import read_suite
from noetl.dsl.testing.write_suite import (
    ANSWER_BYTES,
    NotInBlocks,
    answers,
    fitted,
    recorded_case,
    size,
    suite_text,
    with_parts,
)
from noetl.dsl.yaml.tree import plain


def call(data=1, **more):
    return Place("a/b", "load", "fetch", **more), {"status": "ok", "data": data}


def test_one_call_is_an_answer_alone_and_several_say_what_tells_them_apart():
    assert answers([call()]) == ({"load.fetch": {"data": 1}}, [])
    given, _ = answers([call(iteration=(0,)), call(2, iteration=(1,)), call(3, iteration=(1,), attempt=2)])
    assert given["load.fetch"] == [
        {"iteration": 0, "attempt": 1, "data": 1},
        {"iteration": 1, "attempt": 1, "data": 2},
        {"iteration": 1, "attempt": 2, "data": 3},
    ]
    given, _ = answers([call(), call(2, run=2), call(3, run=2, visit=2)])
    assert [sorted(one) for one in given["load.fetch"]] == [["data", "run", "visit"]] * 3
    given, _ = answers([call(iteration=(0, 1)), call(iteration=(0, 2))])
    assert [one["iteration"] for one in given["load.fetch"]] == [[0, 1], [0, 2]]


def test_an_error_is_written_with_what_it_says_and_headers_without_cookies():
    output: dict[str, Any] = {
        "status": "error",
        "data": None,
        "error": {"kind": "http", "code": None, "message": "busy", "retryable": True, "details": {}},
        "http": {"status": 503, "headers": {"set-cookie": "secret", "retry-after": "2"}},
        "py": {},
    }
    given, _ = answers([(Place("a/b", "load", "fetch"), output)])
    assert given["load.fetch"] == {
        "error": {"kind": "http", "message": "busy", "retryable": True},
        "http": {"status": 503, "headers": {"retry-after": "2"}},
    }
    plain_helper = {"status": "ok", "data": 1, "pg": {"code": "x"}}
    assert answers([(Place("a/b", "load", "fetch"), plain_helper)])[0]["load.fetch"]["pg"] == {"code": "x"}


@pytest.mark.parametrize(
    "value", ["x" * 100_000, [{"n": n} for n in range(20_000)], {"rows": list(range(50_000)), "next": 2}]
)
def test_what_is_too_large_is_cut_and_told(value):
    given, cut = answers([call(value)])
    assert cut == ["load.fetch"]
    assert 0 < size(given["load.fetch"]["data"]) <= ANSWER_BYTES + 8
    assert type(given["load.fetch"]["data"]) is type(value)


def test_a_value_that_fits_is_as_it_was_and_small_parts_of_a_large_mapping_stay():
    assert fitted({"a": [1]}, 100) == {"a": [1]}
    assert fitted({"a": 1, "b": "x" * 500, "c": 2}, 200)["a"] == 1


def test_a_new_file_reads_as_it_was_meant():
    test = recorded_case("a: name", {"n": 1}, {"given": {"load.fetch": {"data": ["x\ny", None, "{{ z }}"]}}})
    suite = read_suite(suite_text(["# head"], "my book.yaml", test))
    assert suite.ok, suite.diagnostics
    assert suite.playbook == "my book.yaml"
    assert plain(suite.cases[0].node) == test
    assert recorded_case("a", {}, {}) == {"name": "a"}


FILE = """\
# a head
playbook: x.yaml
tests:
  - name: first   # why
    # about what is given
    given:
      load.fetch:
        data: [1,
          2]

    # about what is expected
    expect: {output: 1}

  # between two tests
  - name: second
    given: {load.fetch: {data: 1}}
    children:
      c/d: {load: {data: 1}}
# the end
"""


def test_only_the_parts_that_are_recorded_change():
    tests = read_suite(FILE).tree["tests"]
    first = with_parts(FILE, tests, 0, {"given": {"load.fetch": {"data": "new"}}, "children": None})
    assert first == FILE.replace("        data: [1,\n          2]\n", "        data: new\n")
    second = with_parts(FILE, tests, 1, {"given": {"load": {"data": 2}}, "children": None})
    assert second == FILE.replace(
        "    given: {load.fetch: {data: 1}}\n    children:\n      c/d: {load: {data: 1}}\n",
        "    given:\n      load:\n        data: 2\n",
    )


def test_a_part_that_was_not_there_comes_below_the_name():
    text = "playbook: x\ntests:\n  - name: a\n    expect: {output: 1}\n\nworkload: {n: 1}\n"
    tests = read_suite(text).tree["tests"]
    assert with_parts(text, tests, 0, {"given": {"t": {"data": 1}}}) == (
        "playbook: x\ntests:\n  - name: a\n    given:\n      t:\n        data: 1\n"
        "    expect: {output: 1}\n\nworkload: {n: 1}\n"
    )
    bare = "playbook: x\ntests:\n  - name: a\nworkload: {n: 1}\n"
    tests = read_suite(bare).tree["tests"]
    assert with_parts(bare, tests, 0, {"given": {"t": {"data": 1}}}) == bare.replace(
        "a\n", "a\n    given:\n      t:\n        data: 1\n"
    )


def test_a_test_on_one_line_is_not_rewritten():
    text = "playbook: x\ntests: [{name: a, given: {}}]\n"
    with pytest.raises(NotInBlocks):
        with_parts(text, read_suite(text).tree["tests"], 0, {"given": {}})
