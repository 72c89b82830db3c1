"""A tree is written as YAML that a person likes to read and that reads back as the same tree."""

import pytest

from noetl.dsl.yaml.source import dump, parse
from noetl.dsl.yaml.tree import plain


def value(text: str) -> object:
    parsed = parse(text)
    assert parsed.diagnostics == ()
    return plain(parsed.tree)


TREE = {
    "apiVersion": "noetl.io/v2",
    "workflow": [
        {
            "step": "a",
            "tool": [{"name": "x", "kind": "python", "input": {"code": "import os\n\nresult = 1\n"}}],
        },
        {"step": "b", "list": [[1, 2], [], {}], "when": "{{ x == 'a' }}", "key": '{{ a["b"] }}'},
    ],
    "words": [
        "no",
        "12:30",
        "true",
        "null",
        "1",
        "1.5",
        "",
        "a b",
        "- x",
        "# y",
        "a: b",
        "a:b",
        "yes",
        "~",
        "2024-01-01",
    ],
    "values": [None, True, False, 1, -1.5, 1e16, 10**30],
    "200": "quoted key",
}

DUMPED = """\
apiVersion: noetl.io/v2
workflow:
  - step: a
    tool:
      - name: x
        kind: python
        input:
          code: |
            import os

            result = 1
  - step: b
    list:
      - - 1
        - 2
      - []
      - {}
    when: "{{ x == 'a' }}"
    key: '{{ a["b"] }}'
words:
  - "no"
  - "12:30"
  - "true"
  - "null"
  - "1"
  - "1.5"
  - ""
  - a b
  - "- x"
  - "# y"
  - "a: b"
  - a:b
  - "yes"
  - "~"
  - "2024-01-01"
values:
  - null
  - true
  - false
  - 1
  - -1.5
  - 1.0e+16
  - 1000000000000000000000000000000
"200": quoted key
"""


def test_a_tree_is_written_in_block_style_with_quotes_only_where_a_reader_could_go_wrong() -> None:
    assert dump(TREE) == DUMPED
    assert value(DUMPED) == TREE


@pytest.mark.parametrize(
    "text",
    [
        "x\ny", "x\ny\n", "x\ny\n\n", "\nx", "\n\nx\n", " x\ny", "x \ny ", "x\n  y\n z", "\n", "\n\n", "x\n\n\ny", "\tx\ny",
        "x\n\ty", "x\n \n", "x\n ", "x\r\ny", "x\ry", "x\x85y", "x\u2028y\n", "\ufeffx", "x\x7f", "\x01", "x\ty", "---", "--- a\nb",
        "...", "... a", "a\n---\nb", "a\n...\n", "%x", "@x", "`x", "!x", "&x", "*x", "|x", ">x", "'x", '"x', "x'y", 'x"y', "x\\y",
        "'\"", "a #b", "a# b", "a:", ":a", ": a", "a: ", " a", "a ", "-", "-a", "- a", "?", "? a", "=", "<<", "{", "}", "[", "]",
        "[a]", "{a}", ",a", "a,b", "é", "日本語", "😀", "a\u00a0b", "y", "N", "on", "0o7", "0x1", "1e3", ".5", "1_0", "1:2", "+1",
        "0", "007", ".inf", ".nan", "x" * 5000, "x y " * 500, "x\n" * 3000, "true ", "TRUE", "a\\", "\\n", "a\n\\", "{{ x }}\n{{ y }}",
    ],
)  # fmt: skip
def test_any_text_comes_back_from_its_yaml_as_value_as_key_and_in_a_list(text: str) -> None:
    for tree in (
        {"k": text, "z": 1},
        {text: 1},
        {text: {text: [text]}},
        [text, [text]],
        text,
        {"a": [{"b": text, "c": 1}]},
    ):
        assert value(dump(tree)) == tree


@pytest.mark.parametrize(
    "tree", [{}, [], None, True, 0, -0.0, 1e-300, 1.7976931348623157e308, 2**63, [[[]]], {"a": {}}]
)
def test_any_other_value_comes_back_from_its_yaml(tree: object) -> None:
    read = value(dump(tree)) if tree is not None else parse(dump(tree)).tree
    assert read == tree
    assert repr(read) == repr(tree)


def test_a_long_key_is_written_so_that_it_can_be_read_again() -> None:
    tree = {"k" * 3000: {"a": [1]}, '"' * 700 + "'": "x", "é" * 999: None}
    assert value(dump([tree, tree])) == [tree, tree]


@pytest.mark.parametrize(
    "tree", [float("nan"), float("inf"), {1: 2}, {"a": {1, 2}}, object(), "\ud800", "a\0", {"\0": 1}, "x\n\0"]
)
def test_what_is_no_json_value_has_no_yaml(tree: object) -> None:
    with pytest.raises(ValueError, match="not a JSON value"):
        dump(tree)
