"""The editable tree: a text that is read and written is the same text, and an edit moves its surroundings along."""

import pytest

from noetl.dsl.yaml.editable_tree import Collection, as_map, pair, plain, shifted
from noetl.dsl.yaml.read_editable import Document, UnusualLayout, read
from noetl.dsl.yaml.write_editable import write

TEXTS = {
    "empty values": "a:\nb:   \nc: # nothing\nd: ~\n",
    "no final newline": "a: 1",
    "comments around everything": "# top\n\na: 1 # beside\n# above b\nb:\n  # above c\n  c: 2\n  # below c\n# end\n",
    "comments after a deep block": "a:\n  b:\n    - c\n    # deep\n  # middle\n# root\n",
    "document marks": "%YAML 1.1\n---\n# head\na: 1\n...\n# tail\n",
    "lists without indentation": "a:\n- 1\n-   - 2\n    - k: v\n-\n  z: 1\n- # why\n  y: 2\n-\n- - - deep\n",
    "literal and folded scalars": "a: |  # kept\n  x\n\n  # not a comment\n  y\n\nb: >-\n    f\n    g\nc: |+\n  k\n\nd: |2\n   s\n",
    "quoted over several lines": "a: \"one\n  two\"\nb: 'it''s\n\n  fine'   # yes\nc: plain\n  goes on\n",
    "flow over several lines": "a: {b: 1,  # one\n  # two\n  c: [1,\n   2], d}   # end\ne: [ ]\n",
    "anchors and aliases": "a: &x\n  b: 1\nc: *x\nd: &y {e: 1}\nf: [*y, *x]\ng: &z text\n",
    "spaces around colons": '"a b" : 1\nc   :   2\nd:\n    "on its own line"  # here\n',
    "flow root": '{"a": 1, "b": {"c": [1, 2]}}\n',
    "keys of every quoting": "'a': 1\n\"b\": 2\nc.d: 3\n",
    "list root": "- a\n- b: 1\n  c: 2\n",
    "scalar root": "just text\n",
    "deep comments before a dedent": "a:\n    b:\n        - c: 1\n          # about c\n\n    # about d\n    d: 2\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_reading_and_writing_gives_the_same_bytes(text: str) -> None:
    assert write(read(text)) == text


@pytest.mark.parametrize(
    "text, line",
    [
        ("? a\n: 1\n", 1),
        ("?\n a\n: 1\n", 2),
        ("{? a : 1}\n", 1),
        ("[a, b]: 1\n", 1),
        ("{[a]: 1}\n", 1),
        ("--- {a: 1}\n", 1),
        ("a: 1\rb: 2", 1),
        ("&x\na: 1\n", 1),
    ],
)
def test_a_layout_that_cannot_be_kept_is_told_apart(text: str, line: int) -> None:
    with pytest.raises(UnusualLayout) as refused:
        read(text)
    assert refused.value.line == line


def root_of(text: str) -> tuple[Collection, Document]:
    document = read(text)
    root = as_map(document.root)
    assert root is not None
    return root, document


def test_a_dropped_entry_leaves_its_comments_to_the_next_one() -> None:
    root, document = root_of("a: 1\n# about b\nb: 2  # two\nc: 3\n")
    root.drop(root.entries[1])
    assert write(document) == "a: 1\n# about b\n# two\nc: 3\n"


def test_the_last_entry_leaves_its_comments_at_the_end() -> None:
    root, document = root_of("a:\n  b: 1\n  # about c\n  c: 2\nd: 3\n")
    inner = root.map_at("a")
    assert inner is not None
    inner.drop(inner.entries[1])
    assert write(document) == "a:\n  b: 1\n  # about c\nd: 3\n"


def test_a_moved_block_takes_its_indentation_and_comments_along() -> None:
    root, document = root_of("a:\n    # why\n    b: |\n        x\n         y\nc: 1\n")
    outer = root.map_at("a")
    assert outer is not None
    root.add(outer.pull(outer.entries[0]))
    outer.add(pair("z", plain("0")))
    assert write(document) == "a:\n    z: 0\nc: 1\n# why\nb: |\n    x\n     y\n"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a: { x: 1, y: 2 } # c\n", "a: { x: 1, y: 2, z: 0 } # c\n"),
        ("a: {x: 1}\n", "a: {x: 1, z: 0}\n"),
        ("a: {x: 1,\n    y: 2}\n", "a:\n  x: 1\n  y: 2\n  z: 0\n"),
        ("a: {x: 1,  # one\n  # two\n  y: {p: q}}\n", "a:\n  x: 1  # one\n  # two\n  y: {p: q}\n  z: 0\n"),
        ("a: &n {x: 1}\n", "a: &n {x: 1, z: 0}\n"),
        ("a:\n- {x: 1}\n", "a:\n- {x: 1}\n"),
        ("a: {}\n", "a: {z: 0}\n"),
        ("a: {x: , y}\n", "a: {x: null, y: null, z: 0}\n"),
    ],
)
def test_an_edited_flow_mapping_stays_on_its_line_when_it_can(text: str, expected: str) -> None:
    root, document = root_of(text)
    inner = root.map_at("a")
    if inner is not None:
        inner.add(pair("z", plain("0")))
    assert write(document) == expected


def test_a_flow_mapping_that_grows_too_long_becomes_a_block() -> None:
    root, document = root_of("a: {x: 1}\n")
    inner = root.map_at("a")
    assert inner is not None
    inner.add(pair("long", plain("y" * 120)))
    assert write(document) == f"a:\n  x: 1\n  long: {'y' * 120}\n"


@pytest.mark.parametrize("value", ["a, b", "x: y", "[z", "a #b"])
def test_a_plain_text_that_needs_quotes_in_braces_opens_them(value: str) -> None:
    root, document = root_of("a: {x: 1}\n")
    inner = root.map_at("a")
    assert inner is not None
    inner.add(pair("text", plain(value)))
    assert write(document) == f"a:\n  x: 1\n  text: {value}\n"


@pytest.mark.parametrize(
    "line, by, expected", [("  a", 2, "    a"), ("  a", -1, " a"), ("  a", -5, "a"), ("", 4, "")]
)
def test_a_line_moves_as_far_as_it_has_room(line: str, by: int, expected: str) -> None:
    assert shifted(line, by) == expected
