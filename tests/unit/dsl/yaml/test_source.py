"""Playbook text becomes a positioned tree, or findings with the exact place; no text takes the process down."""

from itertools import pairwise

import pytest

from noetl.dsl.diagnostic import Mark
from noetl.dsl.yaml.source import Limits, parse
from noetl.dsl.yaml.tree import Map, Seq, plain
from tests.effort import calls


def findings(text: str | bytes, **limits: int) -> list[tuple[str, int, int]]:
    return [(d.code, d.line, d.column) for d in parse(text, limits=Limits(**limits)).diagnostics]


def value(text: str) -> object:
    parsed = parse(text)
    assert parsed.diagnostics == ()
    return plain(parsed.tree)


# ---- scalars --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word, meaning",
    [
        ("true", True), ("True", True), ("FALSE", False), ("null", None), ("~", None), ("", None), ("Null", None),
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"), ("NO", "NO"), ("tRUE", "tRUE"),
        ("12:30:45", "12:30:45"), ("12:30", "12:30"), ("2024-01-01", "2024-01-01"), ("2024-01-01T00:00:00Z",) * 2,
        ("1_000", "1_000"), ("0b101", "0b101"), ("1.2.3", "1.2.3"), ("--", "--"),
        ("0", 0), ("-0", 0), ("42", 42), ("+7", 7), ("-7", -7), ("0x1F", 31), ("0o17", 15), ("0x", "0x"),
        ("1.5", 1.5), ("-.5", -0.5), ("1.", 1.0), ("1e3", 1000.0), ("1E-2", 0.01), ("1e", "1e"), ("1e-400", 0.0),
        ("9" * 400, int("9" * 400)), ("18446744073709551616", 2**64), (".", "."), ("..", ".."), ("e3", "e3"),
        ('"1"', "1"), ("'true'", "true"), ('""', ""), ("nan", "nan"), ("inf", "inf"), ("=", "="),
        ("text with {{ x }} inside", "text with {{ x }} inside"), ("a#b", "a#b"), ("a:b", "a:b"),
        ("http://x/y?z=1", "http://x/y?z=1"), ('"\\u00e9\\n\\t\\x41"', "é\n\tA"), ("'it''s'", "it's"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(word: str, meaning: object) -> None:
    read = value(f"a: {word}\n")
    assert read == {"a": meaning}
    assert type(read["a"]) is type(meaning)


@pytest.mark.parametrize(
    "text, meaning",
    [
        ("a: |\n  x\n   y\n", "x\n y\n"), ("a: |-\n  x\n  y\n", "x\ny"), ("a: |+\n  x\n\n", "x\n\n"),
        ("a: >\n  x\n  y\n", "x y\n"), ("a: >-\n  x\n\n  y\n", "x\ny"), ("a: x\n  y\n", "x y"),
        ('a: "x\n  y"\n', "x y"), ("a: |2\n   x\n", " x\n"), ("a: |\n\n  x\n", "\nx\n"),
    ],
)  # fmt: skip
def test_texts_of_several_lines(text: str, meaning: str) -> None:
    assert value(text) == {"a": meaning}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, {"b": null}], "c": "x"}',
        "a: [1, {b: null}]\nc: x\n",
        "a:\n- 1\n- b:\nc: x\n",
        "a:\n  - 1\n  -\n    b:\nc: x",
        "---\na: [1, {b: }]\nc: 'x'\n...\n",
        "# comment\n\na: # here\n  - 1\n  - {b: ~}\nc: >-\n  x\n",
        "%YAML 1.2\n---\na:\n - 1\n - ? b\nc: x\n",
        "\ufeffa: [1, {b: null}]\nc: x\n",
        "a: [1, {b: null}]\r\nc: x\r\n",
        "a: [1, {b: null}]\rc: x\r",
        "a: &one [1, {b: null}]\nc: &two x\n",
    ],
)
def test_every_way_to_write_a_tree_gives_the_same_tree(text: str) -> None:
    assert value(text) == {"a": [1, {"b": None}], "c": "x"}


def test_order_of_keys_is_kept_and_nodes_are_maps_and_lists_with_marks() -> None:
    tree = parse("b: 1\na: {d: 1, c: [1]}\n").tree
    assert list(tree) == ["b", "a"]
    assert list(tree["a"]) == ["d", "c"]
    assert type(tree) is Map
    assert type(tree["a"]["c"]) is Seq


@pytest.mark.parametrize("root", ["text", "1", "[1, 2]", '"null"'])
def test_a_root_that_is_no_mapping_is_read_as_it_is(root: str) -> None:
    assert parse(root).diagnostics == ()


# ---- positions ------------------------------------------------------------------------------------------

POSITIONS = """\
apiVersion: noetl.io/v2
workflow:
  - step: a
    tool:
      kind: http
      input: {url: "x", "a/b~c": [1, 22]}
  - &anchor step: b
    code: |
      text
  -
    step: c
é: "ü"   # wide
"""


@pytest.mark.parametrize(
    "path, key, key_at, value_at, pointer",
    [
        ([], "apiVersion", (1, 1), (1, 13), "/apiVersion"),
        ([], "workflow", (2, 1), (3, 3), "/workflow"),
        (["workflow", 0], "step", (3, 5), (3, 11), "/workflow/0/step"),
        (["workflow", 0], "tool", (4, 5), (5, 7), "/workflow/0/tool"),
        (["workflow", 0, "tool"], "input", (6, 7), (6, 14), "/workflow/0/tool/input"),
        (["workflow", 0, "tool", "input"], "url", (6, 15), (6, 20), "/workflow/0/tool/input/url"),
        (["workflow", 0, "tool", "input"], "a/b~c", (6, 25), (6, 34), "/workflow/0/tool/input/a~1b~0c"),
        (["workflow", 1], "code", (8, 5), (8, 11), "/workflow/1/code"),
        (["workflow", 2], "step", (11, 5), (11, 11), "/workflow/2/step"),
        ([], "é", (12, 1), (12, 4), "/é"),
    ],
)
def test_every_key_and_value_knows_its_line_column_and_pointer(path, key, key_at, value_at, pointer) -> None:
    node = parse(POSITIONS).tree
    for part in path:
        node = node[part]
    assert node.at_key(key) == Mark(key_at[0], key_at[1], pointer)
    assert node.at(key) == Mark(value_at[0], value_at[1], pointer)


@pytest.mark.parametrize(
    "path, at, pointer",
    [
        ([], (1, 1), ""),
        (["workflow"], (3, 3), "/workflow"),
        (["workflow", 0], (3, 5), "/workflow/0"),
        (["workflow", 0, "tool"], (5, 7), "/workflow/0/tool"),
        (["workflow", 0, "tool", "input", "a/b~c"], (6, 34), "/workflow/0/tool/input/a~1b~0c"),
        (["workflow", 2], (11, 5), "/workflow/2"),
    ],
)
def test_a_mapping_stands_at_its_first_key_and_a_list_at_its_first_dash(path, at, pointer) -> None:
    node = parse(POSITIONS).tree
    for part in path:
        node = node[part]
    assert node.mark == Mark(at[0], at[1], pointer)


def test_every_list_item_knows_its_place() -> None:
    items = parse(POSITIONS).tree["workflow"][0]["tool"]["input"]["a/b~c"]
    assert [items.at(0), items.at(1)] == [
        Mark(6, 35, "/workflow/0/tool/input/a~1b~0c/0"),
        Mark(6, 38, "/workflow/0/tool/input/a~1b~0c/1"),
    ]


# ---- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "  \n\n", "# only a comment\n", "---\n", "---\n...\n", b"", "\ufeff", b"\xef\xbb\xbf"]
)
def test_an_empty_file_is_refused_at_its_first_character(text: str | bytes) -> None:
    assert findings(text) == [("yaml-empty", 1, 1)]


@pytest.mark.parametrize(
    "text, code, line, column",
    [
        # several documents
        ("a: 1\n---\nb: 2\n", "yaml-documents", 2, 1),
        ("a: 1\n...\n---\nb: 2\n", "yaml-documents", 3, 1),
        ("---\n---\na: 1\n", "yaml-documents", 2, 1),
        # tags
        ("a: !include x.yml\n", "yaml-tag", 1, 4),
        ("a: !!str 1\n", "yaml-tag", 1, 4),
        ("a: !!python/object/apply:os.system [ls]\n", "yaml-tag", 1, 4),
        ("a: ! x\n", "yaml-tag", 1, 4),
        ("!!map {a: 1}\n", "yaml-tag", 1, 1),
        ("!!str a: 1\n", "yaml-tag", 1, 1),
        ("%TAG ! tag:x,2000:\n---\na: !b 1\n", "yaml-tag", 1, 1),
        ("# c\n%TAG ! tag:x,2000:\n---\na: 1\n", "yaml-tag", 2, 1),
        # merge keys
        ("a: &a {x: 1}\nb:\n  <<: *a\n", "yaml-merge-key", 3, 3),
        ("a: {<<: {b: 1}}\n", "yaml-merge-key", 1, 5),
        ("a:\n  <<: [{x: 1}]\n  y: 2\n", "yaml-merge-key", 2, 3),
        # aliases
        ("a: *nowhere\n", "yaml-alias", 1, 4),
        ("a: [*b]\nb: &b 1\n", "yaml-alias", 1, 5),
        ("a: &a [1, *a]\n", "yaml-alias", 1, 11),
        ("a: &a\n  b: {c: *a}\n", "yaml-alias", 2, 10),
        ("*a : 1\n", "yaml-alias", 1, 1),
        # keys
        ("1: x\n", "yaml-key", 1, 1),
        ("a:\n  200: ok\n", "yaml-key", 2, 3),
        ("1.5: x\n", "yaml-key", 1, 1),
        ("true: x\n", "yaml-key", 1, 1),
        ("null: x\n", "yaml-key", 1, 1),
        ("~: x\n", "yaml-key", 1, 1),
        (".inf: x\n", "yaml-key", 1, 1),
        ("?\n: x\n", "yaml-key", 1, 2),
        ("? [a, b]\n: 1\n", "yaml-key", 1, 3),
        ("? {a: b}\n: 1\n", "yaml-key", 1, 3),
        ("a: {[x]: 1}\n", "yaml-key", 1, 5),
        ("a: { {x: 1}: 1 }\n", "yaml-key", 1, 6),
        ("a: &a [1]\n*a : 2\n", "yaml-key", 2, 1),
        # duplicates
        ("a: 1\nb: 2\na: 3\n", "yaml-duplicate-key", 3, 1),
        ('a: 1\n"a": 2\n', "yaml-duplicate-key", 2, 1),
        ("x: {a: 1, 'a': 2}\n", "yaml-duplicate-key", 1, 11),
        ("- step: a\n  tool: {}\n  tool: {}\n", "yaml-duplicate-key", 3, 3),
        ("&k a: 1\n*k : 2\n", "yaml-duplicate-key", 2, 1),
        ("1: a\n'1': b\n", "yaml-duplicate-key", 2, 1),
        # numbers
        ("a: .inf\n", "yaml-number", 1, 4),
        ("a: -.INF\n", "yaml-number", 1, 4),
        ("a: .nan\n", "yaml-number", 1, 4),
        ("a: .NaN\n", "yaml-number", 1, 4),
        ("a: 1e400\n", "yaml-number", 1, 4),
        ("a: -1e999999999\n", "yaml-number", 1, 4),
        (f"a: {'9' * 401}\n", "yaml-number", 1, 4),
        (f"a: 0x{'f' * 100_000}\n", "yaml-number", 1, 4),
        (f"a: 0.{'1' * 100_000}\n", "yaml-number", 1, 4),
        ("a: 0777\n", "yaml-leading-zero", 1, 4),
        ("zip: [-007]\n", "yaml-leading-zero", 1, 7),
        # characters
        ('a: "x\\0y"\n', "yaml-nul", 1, 4),
        ('"k\\x00": 1\n', "yaml-nul", 1, 1),
        ("a: x\0y\n", "yaml-character", 1, 5),
        ("a: 1\nb: \x07\n", "yaml-character", 2, 4),
        ("a: \x7f\n", "yaml-character", 1, 4),
        ("a: \x85\n", "yaml-character", 1, 4),
        ("a: 1 # \u2028\n", "yaml-character", 1, 8),
        ("a: \u2029\n", "yaml-character", 1, 4),
        ("a: \ud800\n", "yaml-character", 1, 4),
        ("a: x\ufeff\n", "yaml-character", 1, 5),
        ("a: \uffff\n", "yaml-character", 1, 4),
        # encodings
        (b"a: \xff\n", "yaml-encoding", 1, 4),
        (b"a: 1\nb: caf\xe9\n", "yaml-encoding", 2, 7),
        (b"a: \xed\xa0\x80\n", "yaml-encoding", 1, 4),
        (b"\xef\xbb\xbfa: \xc3\x28\n", "yaml-encoding", 1, 4),
        ("a: 1\n".encode("utf-16"), "yaml-encoding", 1, 1),
        ("a: 1\n".encode("utf-16-be"), "yaml-encoding", 1, 1),
        ("a: 1\n".encode("utf-16-le"), "yaml-encoding", 1, 1),
        ("a: 1\n".encode("utf-32"), "yaml-encoding", 1, 1),
        (b"PK\x03\x00", "yaml-encoding", 1, 1),
    ],
)  # fmt: skip
def test_yaml_that_a_playbook_may_not_use_is_refused_where_it_stands(text, code, line, column) -> None:
    assert (code, line, column) in findings(text)


def test_a_text_of_characters_beyond_the_first_plane_is_read_and_columns_count_characters() -> None:
    parsed = parse("a: {x: 😀, y: 1, y: 2}\n".encode())
    assert plain(parsed.tree) == {"a": {"x": "😀", "y": 1}}
    assert findings("a: {x: 😀, y: 1, y: 2}\n".encode()) == [("yaml-duplicate-key", 1, 17)]


@pytest.mark.parametrize(
    "text, kept",
    [
        ("a: 1\na: 2\nb: 3\n", {"a": 1, "b": 3}),
        ("a: {<<: {x: 1}, y: 2}\n", {"a": {"y": 2}}),
        ("200: x\n", {"200": "x"}),
        ("? [a]\n: {b: 1}\nc: 2\n", {"c": 2}),
        ("a: .nan\n", {"a": 0}),
        ("a: !t x\n", {"a": "x"}),
        ("a: *b\nc: 1\n", {"a": None, "c": 1}),
        ("a: {{ x }}\nb: 1\n", {"a": "{{ x }}", "b": 1}),
        ('a: "x\\0"\n', {"a": "x\ufffd"}),
        ("a: 1\n---\nb: 1\n", None),
        ("a: [\n", None),
    ],
)
def test_reading_goes_on_after_a_refusal_with_what_makes_sense(text: str, kept: object) -> None:
    parsed = parse(text)
    assert plain(parsed.tree) == kept
    assert len(parsed.diagnostics) == 1


def test_several_mistakes_are_all_found_in_order() -> None:
    text = "a: 1\na: 2\n1: x\nb: !t y\nc: .inf\nd: {{ x }}\ne: *q\na: 3\n"
    assert findings(text) == [
        ("yaml-duplicate-key", 2, 1),
        ("yaml-key", 3, 1),
        ("yaml-tag", 4, 4),
        ("yaml-number", 5, 4),
        ("unquoted-template", 6, 4),
        ("yaml-alias", 7, 4),
        ("yaml-duplicate-key", 8, 1),
    ]


def test_a_duplicate_key_names_its_first_place() -> None:
    (finding,) = parse("x:\n  a: 1\n  b: 2\n  a: 3\n").diagnostics
    assert finding.message == "the key 'a' is written twice; first at line 2"
    assert finding.path == "/x/a"


def test_findings_are_bounded() -> None:
    assert len(parse("a: 1\n" * 5000).diagnostics) == Limits().findings


# ---- unquoted templates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, line, column",
    [
        ("a: {{ x }}\n", 1, 4), ("a: {{x}}\n", 1, 4), ("- {{ x.y }}\n", 1, 3), ("a: [{{ x }}, 1]\n", 1, 5),
        ("a: {b: {{ x }}}\n", 1, 8), ("{{ x }}: 1\n", 1, 1), ("a: {{ x }}/items\n", 1, 4),
        ("a: {{ x }}-{{ y }}\n", 1, 4), ("a: {{ x[0] }}\n", 1, 4), ('a: {{ x["k"] }}\n', 1, 4),
        ("a: {{ x | default({}) }}\n", 1, 4), ("a: {{ 'x' if y else 'z' }}\n", 1, 4), ("a: {{ x, x }}\n", 1, 4),
        ('a: {{ x | default("a, b") }}\n', 1, 4), ("a: {{ f(x, y=1) }}\n", 1, 4), ("a: {{ a.b }}: c\n", 1, 4),
        ("a: {% if x %}1{% endif %}\n", 1, 4), ("a: {# note #}\n", 1, 4), ("a: {{ x\n  }}\nb: 1\n", 1, 4),
        ("a: 1\nb:\n  c: {{ {'k': 1} }}\n", 3, 6), ("a: {{ 1: 2 }}\n", 1, 4), ("a: {{ !x }}\n", 1, 4),
    ],
)  # fmt: skip
def test_an_unquoted_template_is_one_finding_that_says_to_quote_it(text: str, line: int, column: int) -> None:
    (finding,) = parse(text).diagnostics
    assert (finding.code, finding.line, finding.column) == ("unquoted-template", line, column)
    assert finding.hint == 'quote the template: "{{ … }}"'


@pytest.mark.parametrize(
    "text", ['a: "{{ x }}"', "a: '{{ x }}'", "a: x {{ y }}", "a: |\n  {{ x }}", "a: { b: { c: 1 } }"]
)
def test_a_quoted_template_and_nested_mappings_are_fine(text: str) -> None:
    assert parse(text).diagnostics == ()


# ---- syntax ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, line, column, words",
    [
        ("a: 1\nb\nc: 2\n", 2, 1, "there is no ':' after 'b'"),
        ("a: 1\nb\n", 2, 1, "there is no ':' after 'b'"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "'c: 2' is indented like none of the keys above it"),
        ("a:\n  - x\n - y\n", 3, 2, "a list item stands where a key is expected"),
        ("a: 1\n- b\n", 2, 1, "a list item stands where a key is expected"),
        ("- a\nb: 1\n", 2, 1, "the list that begins at line 1 goes on with 'b: 1'"),
        ("a: 1\n  b: 2\n", 2, 4, "this line continues the text of line 1"),
        ("a:1\nb: 2\n", 2, 2, "this line continues the text of line 1"),
        ("a: b: c\n", 1, 5, "a second ': ' stands in one value"),
        ("a:\n\tb: 1\n", 2, 1, "a tab is used for indentation"),
        ("a:\n  b: 1\n\tc: 2\n", 3, 1, "a tab is used for indentation"),
        ("a: |\n\tb\n", 2, 1, "a tab is used for indentation"),
        ('a: 1\nb: "x\nc: 2\n', 2, 4, 'the quote " opened here is never closed'),
        ("a: 'x\n", 1, 4, "the quote ' opened here is never closed"),
        ("a: [1, 2\nb: 1\n", 2, 2, "the list opened at 1:4 lacks a ',' or ']' before ': 1'"),
        ("a: {x: 1\n\n", 1, 9, "the mapping opened at 1:4 lacks a ',' or '}'"),
        ("a: [1, 2}\n", 1, 9, "lacks a ',' or ']' before '}'"),
        ("a: [x {{ y }}]\n", 1, 7, "the list opened at 1:4"),
        ("a: ]\n", 1, 4, "a value is missing before ']'"),
        ("a: @x\n", 1, 4, "'@' cannot begin a value"),
        ("a: `x`\n", 1, 4, "'`' cannot begin a value"),
        ("a: %x\n", 1, 4, "'%' cannot begin a value"),
        ("a: *.py\n", 1, 4, "'*' begins an alias, and '*.py' is none"),
        ("a: & x\n", 1, 4, "'&' begins an anchor, and '& x' is none"),
        ("a: !<x\n", 1, 4, "which would be a tag"),
        ("a: !a!b c\n", 1, 4, "which would be a tag"),
        ("a: 'it's'\n", 1, 8, "follows a closing quote"),
        ('a: "x" y\n', 1, 8, "'y' follows a closing quote"),
        ("a: [1] b\n", 1, 8, "'b' follows a closing bracket"),
        ('a: "\\d+"\n', 1, 5, "'\\d' is not an escape"),
        ('a: "\\ud83d\\ude00"\n', 1, 7, "does not name a Unicode character"),
        ('a: "\\xZZ"\n', 1, 7, "does not name a Unicode character"),
        ("a: |x\n  y\n", 1, 5, "text follows '|' on its line"),
        ("a: |0\n  y\n", 1, 5, "indentation indicator"),
        ("a: - b\n", 1, 4, "a list item cannot begin on the line of its key"),
        (": 1\n", 1, 1, "there is no key before ':'"),
        ("k" * 1100 + ": 1\n", 1, 1, "a key of 1100 characters is too long"),
        ("a: 1\n... b\n", 2, 5, "'b' follows the end of the document"),
        ('"a"\nb\n', 2, 1, "'b' follows the end of the document"),
        ("%YAML 3.0\n---\na: 1\n", 1, 1, "which would be a directive"),
        ("%nope\n---\na: 1\n", 1, 1, "which would be a directive"),
        ("a: 1\n]\n", 2, 1, "']' is indented like none"),
        ("x: &a &b 1\n", 1, 7, "'&b 1'"),
    ],
)  # fmt: skip
def test_text_that_is_no_yaml_is_explained_in_a_sentence(
    text: str, line: int, column: int, words: str
) -> None:
    parsed = parse(text)
    (finding,) = parsed.diagnostics
    assert parsed.tree is None
    assert (finding.code, finding.line, finding.column) == ("yaml-syntax", line, column)
    assert words in finding.message
    assert finding.hint


def test_a_list_with_an_unquoted_template_inside_asks_for_quotes() -> None:
    (finding,) = parse("a: [x {{ y }}]\n").diagnostics
    assert finding.hint == "put quotes around a value that contains {{ }}"


def test_a_syntax_error_keeps_what_was_found_before_it() -> None:
    assert [code for code, *_ in findings("a: 1\na: 2\nb: [\n")] == ["yaml-duplicate-key", "yaml-syntax"]


def test_long_lines_are_shortened_in_a_message() -> None:
    (finding,) = parse("a: 1\n" + "b" * 5000 + "\nc: 2\n").diagnostics
    assert len(finding.message) < 120


# ---- limits ---------------------------------------------------------------------------------------------

LETTERS = "abcdefghijklmnop"
ALIAS_BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise(LETTERS)
)
MERGE_BOMB = "a: &a {k: v}\n" + "".join(
    f"{name}: &{name}\n  <<: [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise(LETTERS)
)


@pytest.mark.parametrize(
    "text, code",
    [
        ("a: " + "[" * 30_000 + "]" * 30_000, "yaml-too-deep"),
        ("[" * 4_000_000, "yaml-too-deep"),
        ("{a: " * 100_000, "yaml-too-deep"),
        ("- " * 100_000, "yaml-too-deep"),
        ("? " * 100_000, "yaml-too-deep"),
        ("[{" * 100_000, "yaml-too-deep"),
        ("\n".join(" " * n + f"k{n}:" for n in range(2000)), "yaml-too-deep"),
        (ALIAS_BOMB, "yaml-alias"),
        (MERGE_BOMB, "yaml-merge-key"),
        ("a: &a [1]\nb: [" + "*a, " * 51_000 + "]\n", "yaml-alias"),
        ("a: " + "9" * 8_000_000, "yaml-number"),
        ("a: 1." + "9" * 8_000_000, "yaml-number"),
        ("a: 1e" + "9" * 8_000_000, "yaml-number"),
        ("".join(f"%TAG !a{n}! x\n" for n in range(100_000)) + "---\na: 1\n", "yaml-tag"),
        ("a: *" + "x" * 8_000_000, "yaml-alias"),
        ("x" * 9_000_000, "yaml-too-large"),
        (b"x" * 9_000_000, "yaml-too-large"),
        ("k" * 8_000_000 + ": 1", "yaml-syntax"),
        ('"' * 8_000_000, "yaml-syntax"),
        ("[]" * 4_000_000, "yaml-syntax"),
        (": " * 4_000_000, "yaml-syntax"),
        ("\n" * 8_000_000, "yaml-empty"),
        ("#\n" * 4_000_000, "yaml-empty"),
    ],
)  # fmt: skip
def test_a_bomb_is_refused_with_little_work(text: str | bytes, code: str) -> None:
    codes: list[str] = []
    assert calls(lambda: codes.extend(finding.code for finding in parse(text).diagnostics)) < 2_000_000
    assert code in codes


def test_depth_is_counted_through_aliases() -> None:
    text = "a: &a [[1]]\nb: [[[*a]]]\n"
    assert findings(text, depth=6) == []
    assert findings(text, depth=5) == [("yaml-too-deep", 2, 7)]


@pytest.mark.parametrize(
    "text, limits, found",
    [
        ("[[[1]]]", {"depth": 3}, []),
        ("[[[1]]]", {"depth": 2}, [("yaml-too-deep", 1, 3)]),
        ("[1, 2, 3]", {"nodes": 4}, []),
        ("[1, 2, 3]", {"nodes": 3}, [("yaml-too-large", 1, 8)]),
        ("{a: 1}", {"nodes": 2}, [("yaml-too-large", 1, 5)]),
        ("[1, [2]]", {"nodes": 2}, [("yaml-too-large", 1, 5)]),
        ("[&a 1, *a]", {"nodes": 2}, [("yaml-too-large", 1, 8)]),
        ("[&a [1, 2], *a, *a]", {"aliased": 5}, [("yaml-alias", 1, 17)]),
        ("[&a [1, 2], *a, *a]", {"aliased": 6}, []),
        ("abc", {"size": 3}, []),
        ("abcd", {"size": 3}, [("yaml-too-large", 1, 1)]),
    ],
)  # fmt: skip
def test_a_limit_allows_what_reaches_it_and_refuses_one_more(text, limits, found) -> None:
    assert findings(text, **limits) == found


def test_an_alias_repeats_the_value_as_a_tree_of_its_own_that_points_at_the_written_text() -> None:
    tree = parse("a: &x {k: [1]}\nb: *x\n").tree
    assert tree["b"] == {"k": [1]}
    assert tree["b"] is not tree["a"]
    assert tree["b"]["k"] is not tree["a"]["k"]
    assert tree.at("b") == Mark(2, 4, "/b")
    assert tree["b"].at("k") == Mark(1, 11, "/a/k")


def test_an_anchor_may_be_set_again_and_an_alias_means_the_last_one() -> None:
    assert value("a: &x 1\nb: *x\nc: &x 2\nd: *x\n") == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_the_work_of_reading_grows_with_the_number_of_steps_not_faster() -> None:
    step = '  - step: s{0}\n    tool: {{kind: noop}}\n    set: {{ctx.a: "{{{{ output.status }}}}"}}\n    next: {{arcs: [{{step: s{0}}}]}}\n'
    few, many = ("workflow:\n" + "".join(step.format(n) for n in range(count)) for count in (2_500, 10_000))
    assert len(parse(many).tree["workflow"]) == 10_000
    assert calls(lambda: parse(many)) < calls(lambda: parse(few)) * 4 * 1.2
