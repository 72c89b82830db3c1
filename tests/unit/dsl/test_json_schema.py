"""An author's JSON Schema says what the standard says, and never takes more than its share."""

import tracemalloc
from contextlib import suppress
from typing import Any

import jsonschema_rs
import pytest

from noetl.dsl.json_schema import SchemaError, SchemaLimit, compile_schema, run
from noetl.dsl.json_schema.limits import (
    PROBLEMS,
    SCHEMA_DEPTH,
    SCHEMA_NODES,
    SHOWN_CHARS,
    WORK,
    WORK_PER_NODE,
)
from noetl.dsl.json_schema.native import native
from noetl.json_value import Json
from tests.effort import calls
from tests.unit.dsl.schema_corpus import BOMBS, Chance, doubled, nested

MEGABYTES = 64


def fits(schema: Any, value: Any) -> bool:
    return not compile_schema(schema).problems(value)


@pytest.mark.parametrize("seed", range(20))
def test_a_verdict_is_that_of_another_implementation(seed: int) -> None:
    chance = Chance(seed)
    compared = 0
    while compared < 200:
        schema = chance.document()
        try:
            compiled = compile_schema(schema)
        except SchemaError:  # it refers to itself
            continue
        compiled._quick = None  # only what counts its steps is compared here
        validator = jsonschema_rs.Draft202012Validator(schema)
        for _ in range(5):
            value = chance.value()
            compared += 1
            assert validator.is_valid(value) == (not compiled.problems(value)), (schema, value)


OLDER = "http://json-schema.org/draft-07/schema#"
FOURTH = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"$schema": OLDER, "format": "email"}, "a@b.c", "a"),
        ({"format": "email"}, "a", None),
        ({"$schema": OLDER, "items": [{"type": "string"}], "additionalItems": False}, ["a"], ["a", 1]),
        ({"$schema": OLDER, "dependencies": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
        ({"$schema": OLDER, "dependencies": {"a": {"minProperties": 2}}}, {"a": 1, "b": 1}, {"a": 1}),
        ({"$schema": OLDER, "$ref": "#/definitions/a", "minimum": 5, "definitions": {"a": {"type": "integer"}}}, 1, "a"),
        ({"$schema": FOURTH, "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"$schema": FOURTH, "type": "integer"}, 1, 1.0),
        ({"$id": "http://a/b", "$ref": "c", "$defs": {"x": {"$id": "c", "type": "integer"}}}, 1, "a"),
        ({"$ref": "#name", "$defs": {"x": {"$anchor": "name", "type": "integer"}}}, 1, "a"),
        ({"$defs": {"a/b": {"type": "integer"}}, "$ref": "#/$defs/a~1b"}, 1, "a"),
        ({"$dynamicRef": "#n", "$defs": {"x": {"$dynamicAnchor": "n", "type": "integer"}}}, 1, "a"),
        ({"properties": {"kid": {"$ref": "#"}}, "required": ["id"]}, {"id": 1, "kid": {"id": 2}}, {"id": 1, "kid": {}}),
    ],
)  # fmt: skip
def test_a_dialect_and_a_reference_mean_what_they_say(schema: Any, good: Any, bad: Any) -> None:
    assert fits(schema, good)
    assert bad is None or not fits(schema, bad)


@pytest.mark.parametrize(("schema", "value"), [bomb[1:] for bomb in BOMBS], ids=[bomb[0] for bomb in BOMBS])
def test_a_schema_that_wants_too_much_ends_within_its_budget(schema: Any, value: Any) -> None:
    def ended() -> None:
        with suppress(SchemaError):
            assert len(compile_schema(schema).problems(value)) <= PROBLEMS

    nodes = run._nodes(value)
    assert calls(ended) < 8 * (WORK + WORK_PER_NODE * nodes)


@pytest.mark.parametrize(("schema", "value"), [bomb[1:] for bomb in BOMBS[:7]], ids=[b[0] for b in BOMBS[:7]])
def test_a_schema_that_wants_too_much_never_has_it(schema: Any, value: Any) -> None:
    tracemalloc.start()
    with suppress(SchemaError):
        compile_schema(schema).problems(value)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEGABYTES * 1024 * 1024


def test_a_budget_that_is_not_consulted_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: steps are counted and nobody looks."""
    schema: Any = {"allOf": [{"items": {"pattern": "b$"}}] * 300}
    with pytest.raises(SchemaLimit):
        compile_schema(schema).problems(["b"] * 5_000)
    monkeypatch.setattr(run.Run, "spend", lambda self, steps: None)
    assert compile_schema(schema).problems(["b"] * 5_000) == []


def test_a_verdict_that_is_not_remembered_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: what several places refer to is evaluated for each of them."""
    schema = doubled(40, {"type": "integer"})
    assert fits(schema, 1)
    monkeypatch.setattr(run.Run, "holds", lambda self, node, value: self._evaluate(node, value))
    with pytest.raises(SchemaLimit):
        fits(schema, 1)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "http://127.0.0.1:1/x"}, "nothing is fetched"),
        ({"$ref": "file:///etc/passwd"}, "nothing is fetched"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "nothing is fetched"),
        ({"$ref": "#/$defs/none"}, "leads to no schema"),
        ({"$ref": "#none"}, "leads to no schema"),
        ({"pattern": "(?=a)"}, "cannot be used"),
        ({"pattern": "a" * 1_001}, "at most 1,000 characters"),
        ({"patternProperties": {"(": {}}}, "cannot be used"),
        ({"not": {"$ref": "#"}}, "has no end"),
        ({"type": "numbr"}, "wrong form"),
        ({"multipleOf": 0}, "wrong form"),
        ({"items": 3}, "where a schema belongs"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_before_there_is_a_value(schema: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        compile_schema(schema)


def deep(levels: int) -> Any:
    schema: Any = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [deep(SCHEMA_DEPTH), {"enum": list(range(SCHEMA_NODES))}, doubled(500, {}, times=1)],
    ids=["deep", "large", "references"],
)
def test_a_schema_over_a_bound_is_refused_before_there_is_a_value(schema: Any) -> None:
    with pytest.raises(SchemaLimit):
        compile_schema(schema)


def test_a_schema_just_within_its_bounds_is_used() -> None:
    assert fits(deep(SCHEMA_DEPTH - 2), 5)
    assert fits({"enum": list(range(SCHEMA_NODES - 2))}, 5)


def test_a_large_value_may_take_more_steps_than_a_small_one() -> None:
    rows = [{"id": number, "name": "a"} for number in range(60_000)]
    schema = {"items": {"required": ["id"], "properties": {"name": {"pattern": "^a"}}}}
    assert native(schema) is None
    assert fits(schema, rows)


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#/$defs/a", "$defs": {"a": {}}}, {"items": {"pattern": "a"}}, {"allOf": [{}] * 100}, True],
)
def test_only_a_schema_whose_cost_is_plain_gets_the_quick_verdict(schema: Any) -> None:
    assert native(schema) is None


@pytest.mark.parametrize("value", [nested(2_000), 10**400, "a", {"a": b"x"}])
def test_a_quick_verdict_that_cannot_be_had_is_none(value: Any) -> None:
    quick = native({"type": "boolean"})
    assert quick is not None
    assert not quick.fits(value)


def test_a_message_shows_a_value_only_as_far_as_it_is_short() -> None:
    large: list[Json] = ["x" * 100_000, list(range(100_000)), {"a": "x" * 100_000}, [["x" * 100] * 20] * 20]
    for value in large:
        ((_, message),) = compile_schema({"type": "integer"}).problems(value)
        assert len(message) < SHOWN_CHARS + 40


def test_keys_that_are_not_allowed_are_told_by_name() -> None:
    closed = compile_schema(
        {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False}
    )
    assert closed.problems({"a": 1, "x1": 1}) == []
    assert closed.problems({"a": 1, "b": 1, "c": 2}) == [
        ((), "Additional properties are not allowed ('b', 'c' were unexpected)")
    ]
