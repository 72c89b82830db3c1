"""An editor and the server mean the same place of a text, whatever its lines end with and its characters are."""

import random

import pytest
from lsprotocol import types

from noetl.lsp.texts import Text, beginning
from tests.lsp.client import Editor

UTF16 = types.PositionEncodingKind.Utf16
PIECES = ("a", "é", "😋", "\n", "\r\n", "\r", "\u2028", "\x0c", "\t", "two words", "")


def text(source: str, encoding: str = UTF16) -> Text:
    return beginning(source, 1, encoding)


@pytest.mark.parametrize(
    "source, lines",
    [
        ("", [""]),
        ("a\n", ["a", ""]),
        ("a\r\nb\rc", ["a", "b", "c"]),
        ("a\u2028b\x0cc\x85d", ["a\u2028b\x0cc\x85d"]),
    ],
)
def test_lines_end_where_the_protocol_says(source: str, lines: list[str]) -> None:
    assert text(source).lines == lines


@pytest.mark.parametrize("encoding, column", [("utf-8", 6), ("utf-16", 3), ("utf-32", 2), (None, 3)])
def test_columns_are_in_the_units_of_the_editor(encoding: str, column: int) -> None:
    one = text("é😋x!", encoding)
    assert one.position(0, 2) == types.Position(0, column)
    assert one.place(types.Position(0, column)) == (0, 2)


def test_what_is_beyond_a_line_or_the_text_is_its_end() -> None:
    one = text("ab\n😋\n")
    assert one.place(types.Position(0, 99)) == (0, 2)
    assert one.place(types.Position(1, 99)) == (1, 1)
    assert one.place(types.Position(9, 9)) == (2, 0)
    assert one.position(9, 9) == types.Position(2, 0)


def test_any_changes_give_the_text_that_the_editor_has() -> None:
    chance = random.Random(14)
    for _ in range(300):
        mine = "".join(chance.choices(PIECES, k=chance.randrange(12)))
        one = text(mine)
        for version in range(4):
            first, last = sorted(chance.choices(boundaries(mine), k=2))
            put = "".join(chance.choices(PIECES, k=chance.randrange(3)))
            span = types.Range(position(mine, first), position(mine, last))
            one = one.changed(types.TextDocumentContentChangePartial(range=span, text=put), version)
            mine = mine[:first] + put + mine[last:]
            assert (one.source, one.version) == (mine, version)


def boundaries(source: str) -> list[int]:
    """Where a cursor can be: not between the two characters of a line's end."""
    return [n for n in range(len(source) + 1) if source[n - 1 : n + 1] != "\r\n" or n == 0]


def position(source: str, offset: int) -> types.Position:
    """A place in the units of UTF-16, counted by a rule of its own."""
    before = source[:offset].replace("\r\n", "\n").replace("\r", "\n")
    last = before.rpartition("\n")[2]
    return types.Position(before.count("\n"), sum(1 + (ord(one) > 0xFFFF) for one in last))


BOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: food, path: tests/food}
workload: {dish: 🍲}
workflow:
  - step: cook
    desc: 🍳 or 🍲
    tool: {kind: noop, output: "😋 {{ dish }} 🍲"}
    next: {arcs: [{step: serve, when: "{{ '🍲' == workload.dish and event.ok and cook.data }}"}]}
  - step: serve
    tool: {kind: noop, output: "🍽️ {{ cook.data }}"}
"""


def units(line: str) -> int:
    return len(line.encode("utf-16-le")) // 2


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_findings_fixes_and_names_are_where_the_editor_sees_them(
    tmp_path_factory: pytest.TempPathFactory, end: str
) -> None:
    editor = Editor(tmp_path_factory.mktemp("project"))
    book = editor.open(BOOK.replace("\n", end))
    (finding,) = book.findings()
    line = BOOK.split("\n")[7]
    begin, behind = line.index('"😋'), line.rindex('"') + 1  # under the whole text
    assert finding["range"]["start"] == {"line": 7, "character": units(line[:begin])}
    assert finding["range"]["end"] == {"line": 7, "character": units(line[:behind])}
    where = {
        "textDocument": {"uri": book.uri},
        "range": finding["range"],
        "context": {"diagnostics": [finding]},
    }
    (action,) = editor.ask("textDocument/codeAction", where)
    (edit,) = action["edit"]["changes"][book.uri]
    assert edit["range"]["start"] == {"line": 7, "character": units(line[: line.index("dish")])}
    arc = BOOK.split("\n")[8]
    places = editor.ask(
        "textDocument/references",
        {**at(8, units(arc[: arc.index("cook")])), "context": {"includeDeclaration": True}},
    )
    assert [place["range"]["start"]["line"] for place in places] == [5, 8, 10]
    assert places[1]["range"]["start"]["character"] == units(arc[: arc.index("cook")])
    assert editor.close() == 0


def at(line: int, character: int) -> dict[str, object]:
    return {"textDocument": {"uri": "file:///book.yaml"}, "position": {"line": line, "character": character}}


def test_an_editor_that_counts_bytes_is_understood(tmp_path_factory: pytest.TempPathFactory) -> None:
    editor = Editor(tmp_path_factory.mktemp("project"), encodings=["utf-8"])
    assert editor.capabilities["capabilities"]["positionEncoding"] == "utf-8"
    (finding,) = editor.open(BOOK).findings()
    line = BOOK.split("\n")[7]
    assert finding["range"]["start"]["character"] == len(line[: line.index('"😋')].encode())
    assert editor.close() == 0


def test_findings_after_many_small_edits_are_those_of_the_text(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The text is edited in place; in the end it says what a fresh window with the same text says."""
    chance = random.Random(7)
    editor = Editor(tmp_path_factory.mktemp("project"))
    book = editor.open(BOOK)
    for _ in range(80):
        first = chance.choice(boundaries(book.text))
        last = min(len(book.text), first + chance.choice((0, 0, 1, 3)))
        put = chance.choice(("", "😋", "\n", "  ", "x", "{", '"', "{{ ", "step: cook\r\n"))
        span = types.Range(position(book.text, first), position(book.text, last))
        book.edit(span, put, book.text[:first] + put + book.text[last:])
        if chance.random() < 0.2:
            book.type(BOOK)
    edited = book.findings()
    assert edited == editor.open(book.text, "file:///fresh.yaml").findings()
    assert editor.close() == 0
