"""A value against the author's JSON Schema, in one sentence."""

import pytest

from noetl.core.values.schema_check import SchemaProblem, schema_problem


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}])
def test_no_schema_or_a_value_that_fits_is_no_problem(schema):
    assert schema_problem(schema, {"a": 1}, "input") is None


def test_a_problem_says_where_and_at_most_three_are_told():
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in "abcd"}}
    told = schema_problem(schema, dict.fromkeys("abcd", "x"), "input")
    assert told is not None
    assert told.kind == "validation"
    assert told.message.count(";") == 2
    assert told.message.startswith("a: ")


def test_a_problem_of_the_whole_is_told_by_what_it_is():
    expected = SchemaProblem("validation", 'output: {} is not of type "array"')
    assert schema_problem({"type": "array"}, {}, "output") == expected


def test_a_check_that_takes_too_much_is_a_limit():
    schema = {"allOf": [{"contains": {"pattern": "a"}} for _ in range(600)]}
    told = schema_problem(schema, ["a" * 10_000], "output")
    assert told is not None
    assert (told.kind, told.message[:36]) == ("limit", "output: the check against the schema")


def test_a_schema_that_cannot_be_used_is_a_problem_of_the_value():
    told = schema_problem({"$ref": "http://127.0.0.1:1/schema"}, 1, "input")
    assert told is not None
    assert told.kind == "validation"
    assert "nothing is fetched" in told.message
