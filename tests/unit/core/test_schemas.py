"""A value against the author's JSON Schema, in one sentence."""

import pytest

from noetl.core.schemas import schema_problem


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}])
def test_no_schema_or_a_value_that_fits_is_no_problem(schema):
    assert schema_problem(schema, {"a": 1}, "input") is None


def test_a_problem_says_where_and_at_most_three_are_told():
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in "abcd"}}
    told = schema_problem(schema, dict.fromkeys("abcd", "x"), "input")
    assert told is not None
    assert told.count(";") == 2
    assert told.startswith("a: ")


def test_a_problem_of_the_whole_is_told_by_what_it_is():
    assert str(schema_problem({"type": "array"}, {}, "output")).startswith("output: ")
