"""Values as hints and messages show them: one line, valid YAML, never a screenful."""

import pytest
import yaml

from noetl.dsl.yaml.one_line import LENGTH_MAX, SEEN_MAX, flow, seen, type_name


@pytest.mark.parametrize(
    "value, text",
    [
        ({"arcs": [{"step": "a", "when": "{{ ctx.x }}"}]}, '{arcs: [{step: a, when: "{{ ctx.x }}"}]}'),
        ({"ctx.a": 1, "b-c": [True, None, 1.5]}, "{ctx.a: 1, b-c: [true, null, 1.5]}"),
        ("no", '"no"'),
        ("true", '"true"'),
        ("", '""'),
        ("1st", '"1st"'),
        ("größe", '"größe"'),
    ],
)
def test_flow_is_yaml_that_reads_back(value, text):
    assert flow(value) == text
    assert yaml.safe_load(text) == value


def test_a_long_value_is_cut():
    assert len(flow(["x" * 50] * 100)) == LENGTH_MAX + 2
    assert seen("word " * 100) == f"{'word ' * 100!r}"[: SEEN_MAX - 1] + "…"
    assert seen("a\n b") == "'a b'"


@pytest.mark.parametrize(
    "value, name",
    [
        (None, "nothing"),
        (True, "a boolean"),
        (1, "an integer"),
        (1.5, "a number"),
        ("a", "a text"),
        ([], "a list"),
        ({}, "a mapping"),
    ],
)
def test_types_have_names_an_author_knows(value, name):
    assert type_name(value) == name
