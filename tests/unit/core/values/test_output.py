"""Envelopes, references, the `_ref` rule, payloads and manifests."""

import hashlib
import json
from typing import Any

import pytest

from noetl.core.shapes import Reference
from noetl.core.values.output import (
    JSON,
    MANIFEST,
    ROWS,
    bounded,
    describe,
    encode_payload,
    externalise,
    holds_reference,
    is_reference,
    manifest,
    reference_problem,
)

REF: Reference = {"type": "blob", "locator": {}, "auth_reference": None, "meta": {}}


@pytest.mark.parametrize(
    "value, is_one",
    [
        (REF, True),
        ({**REF, "more": 1}, False),
        ({"type": "blob", "locator": {}, "auth_reference": None}, False),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, False),
        ("ref", False),
        (None, False),
    ],
)
def test_a_reference_has_exactly_four_fields(value, is_one):
    assert is_reference(value) is is_one


@pytest.mark.parametrize(
    "target, value",
    [
        ("rows_ref", REF),
        ("rows_ref", None),
        ("rows_ref", [REF, REF]),
        ("rows_ref", []),
        ("rows", {"part_ref": REF}),
        ("rows", [{"part_ref": REF}]),
        ("rows", {"part_ref": {"deep": REF}}),
        ("rows", 5),
    ],
)
def test_references_are_welcome_under_names_that_end_in_ref(target, value):
    assert reference_problem(("ctx", target), value) is None


@pytest.mark.parametrize(
    "target, value, told",
    [
        ("rows_ref", 5, "ctx.rows_ref ends in _ref, so it takes a reference; it was given 5"),
        ("rows_ref", [REF, 5], "it was given a list of 2"),
        ("rows", REF, "ctx.rows was given an unresolved reference; name it ctx.rows_ref"),
        ("rows", {"a": REF}, "ctx.rows holds a reference at 'a'"),
        ("rows", {"a": [1, REF]}, "ctx.rows holds a reference at 'a.1'"),
    ],
)
def test_anywhere_else_they_are_refused_with_the_place(target, value, told):
    assert told in str(reference_problem(("ctx", target), value))


@pytest.mark.parametrize(
    "value, told",
    [
        ("x" * 50, f"the text {'x' * 40!r}"),
        ({"a": 1}, "a mapping with 1 entries"),
        ([1, 2], "a list of 2"),
        (None, "null"),
        (1.5, "1.5"),
    ],
)
def test_values_are_described_in_a_few_words(value, told):
    assert describe(value) == told


@pytest.mark.parametrize(
    "value, body, kind",
    [
        ([{"a": 1}, {"a": 2}], b'{"a":1}\n{"a":2}', ROWS),
        ([{"a": 1}, 2], b'[{"a":1},2]', JSON),
        ([], b"[]", JSON),
        ({"a": 1}, b'{"a":1}', JSON),
    ],
)
def test_rows_rest_one_to_a_line(value, body, kind):
    assert encode_payload(value) == (body, kind)


def test_a_payload_is_named_by_its_content():
    ref, payload = externalise("e1", {"a": "é" * 200})
    digest = hashlib.sha256(payload.body).hexdigest()
    assert payload.key == ref["locator"]["key"] == f"e1/{digest[:32]}"
    assert (ref["meta"]["sha256"], ref["meta"]["bytes"]) == (digest, len(payload.body))
    assert is_reference(ref)
    assert externalise("e1", {"a": "é" * 200})[1].key == payload.key


def test_a_manifest_lists_values_references_and_parts_of_packs_in_order():
    ref, payload = manifest("e1", ["a", None, None], {"1": REF}, {"2": ["pack", 0]})
    assert ref["meta"]["content_type"] == MANIFEST
    assert "preview" not in ref["meta"]
    assert json.loads(payload.body) == {"items": [{"value": "a"}, {"ref": REF}, {"part": ["pack", 0]}]}


@pytest.mark.parametrize(
    "value, kept",
    [
        (None, None), (True, True), (5, 5), ("short", "short"), ("x" * 12, "x" * 10 + "…"),
        ([1], [1]), (list(range(20)), "[0,1,2,3,4…"),
    ],
)  # fmt: skip
def test_what_a_decision_saw_is_kept_small(value, kept):
    assert bounded(value, 10) == kept


@pytest.mark.parametrize(
    "value, holds",
    [(1, False), ([], False), ({"a": [1, {"b": 2}]}, False), (REF, True), ({"a": [1, {"b": REF}]}, True)],
)
def test_a_reference_is_found_wherever_it_is_in_a_value(value, holds):
    assert holds_reference(value) is holds


@pytest.mark.parametrize(
    "value, hint",
    [
        ("text", {"type": "string"}),
        ([], {"type": "array", "items": 0}),
        ([1, 2], {"type": "array", "items": 2}),
        ({"a": 1, "b": [2]}, {"type": "object", "keys": {"a": "integer", "b": "array"}}),
        (
            [{"id": 1, "name": "x", "ok": True, "none": None, "n": 1.5}],
            {
                "type": "array",
                "items": 1,
                "columns": {
                    "id": "integer",
                    "name": "string",
                    "ok": "boolean",
                    "none": "null",
                    "n": "number",
                },
            },
        ),
    ],
)
def test_a_reference_says_what_kind_of_value_it_stands_for(value, hint):
    assert externalise("e1", value)[0]["meta"]["schema_hint"] == hint


def test_what_a_reference_says_of_its_value_is_bounded():
    ref, _ = externalise("e1", {f"{'k' * 40}{n}": n for n in range(1000)})
    keys: Any = ref["meta"]["schema_hint"]["keys"]
    assert len(keys) == 5
