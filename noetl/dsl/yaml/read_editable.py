"""YAML text to the editable tree of editable_tree.py, so that writing the tree back gives the same bytes.

Positions come from the YAML parser; comments and blank lines are what lies between them. A text whose layout
the tree cannot hold (explicit `?` keys, mappings as keys) is told apart and left to its author.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

import yaml

from noetl.dsl.diagnostic import Mark
from noetl.dsl.yaml.editable_tree import Alias, Collection, Entry, Node, Scalar, Style, shape
from noetl.dsl.yaml.scanner import Event, is_a

STYLES: dict[str, Style] = {"'": "single", '"': "double", "|": "block", ">": "block"}
PROPS = re.compile(r"(?:[&!]\S*\s*)*")
COMMENT = re.compile(r"(?:^|(?<=\s))#.*")

Position = tuple[int, int]  # 0-based line and column


class UnusualLayout(Exception):
    """The text uses a layout that the editable tree cannot hold."""

    def __init__(self, line: int, what: str) -> None:
        self.line = line
        self.what = what
        super().__init__(f"line {line}: {what}")


@dataclass(slots=True)
class Document:
    """A whole text: what stands before the root, the root, and what it is indented with."""

    head: list[str]
    root: Node
    after: str  # the rest of the line a root in flow style ends on
    tail: list[str]
    indent: int = 2
    list_indent: int = 2
    pad: str = ""
    width: int = 110

    def anchored(self) -> dict[str, Node]:
        """Every anchored node by its name."""
        return {name: node for node in _nodes(self.root) if (name := _anchor(node))}


def read(text: str) -> Document:
    """The editable tree of a text that is valid YAML with one document."""
    if "\r" in text:
        raise UnusualLayout(text[: text.index("\r")].count("\n") + 1, "a carriage return of its own")
    reader = _Reader(text)
    root = reader.document()
    width = max([110, *(len(line) for line in reader.lines)])
    return Document(reader.head, root, reader.after, reader.tail, *_habits(root), _padding(root), width)


class _Reader:
    """Walks the parser's events with a cursor on the text."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.events: Iterator[Event] = yaml.parse(text, Loader=yaml.CSafeLoader)
        self.at: Position = (0, 0)
        self.open: Entry | None = None  # the entry whose line the cursor stands on
        self.head: list[str] = []
        self.after = ""
        self.tail: list[str] = []

    def document(self) -> Node:
        event = next(e for e in self.events if not is_a(e, yaml.StreamStartEvent, yaml.DocumentStartEvent))
        start = _start(event)
        self.head = self.lines[: start[0]]
        if start[1]:
            raise UnusualLayout(start[0] + 1, "the document starts in the middle of a line")
        self.at = start
        holder = Entry(Scalar("", ""))
        self.open = holder
        root = self.node(event, holder, "")
        self.tail = self._lines_until(len(self.lines))
        if isinstance(root, Collection) and root.props and not root.flow:
            raise UnusualLayout(start[0] + 1, "an anchor or tag on the whole document")
        self.after = holder.after
        return root

    def node(self, event: Event, owner: Entry, path: str) -> Node:
        """The node of an event, written as the value of `owner`."""
        mark = Mark(event.start_mark.line + 1, event.start_mark.column + 1, path)
        if is_a(event, yaml.AliasEvent):
            return Alias(self._slice(event, event), mark)
        if is_a(event, yaml.ScalarEvent):
            return self._scalar(event, owner, mark)
        if event.flow_style:
            return self._flow(event, owner, mark)
        return self._block(event, owner, mark)

    # scalars

    def _scalar(self, event: Event, owner: Entry, mark: Mark) -> Scalar:
        style = STYLES.get(event.style or "", "plain")
        if _start(event) == _end(event):
            return Scalar("", event.value, style, owner.column, mark)
        if style != "block":
            return Scalar(self._slice(event, event), event.value, style, owner.column, mark)
        return Scalar(self._block_scalar(event), event.value, style, owner.column, mark)

    def _block_scalar(self, event: Event) -> str:
        """The lines of a literal or folded scalar, without blank lines that are no part of its value."""
        (first, column), (last, end_column) = _start(event), _end(event)
        lines = [self.lines[first][column:], *self.lines[first + 1 : last + (end_column > 0)]]
        if "+" not in lines[0].split("#")[0]:
            while len(lines) > 1 and not lines[-1].strip():
                lines.pop()
        self.at = (first + len(lines), 0)
        self.open = None
        return "\n".join(lines)

    # block collections

    def _block(self, event: Event, owner: Entry, mark: Mark) -> Collection:
        is_map = is_a(event, yaml.MappingStartEvent)
        node = Collection("map" if is_map else "list", mark=mark)
        if event.anchor or event.tag:
            node.props = PROPS.match(self.lines[mark.line - 1], mark.column - 1).group().rstrip()  # type: ignore[union-attr]
            self.at = (mark.line - 1, mark.column - 1 + len(node.props))
        for child in self._until_end():
            entry = self._pair(child, node, mark.path) if is_map else self._item(child, node, mark.path)
            if not node.entries:
                node.column = entry.column
            node.entries.append(entry)
        node.indent = node.column - owner.column
        return node

    def _pair(self, event: Event, node: Collection, path: str) -> Entry:
        if not is_a(event, yaml.ScalarEvent) or event.style in ("|", ">"):
            raise UnusualLayout(event.start_mark.line + 1, "a key that is not a plain word")
        line, column = _start(event)
        if self.lines[line][:column].rstrip().endswith("?") or _start(event) == _end(event):
            raise UnusualLayout(line + 1, "an explicit `?` key")
        pointer = f"{path}/{event.value.replace('~', '~0').replace('/', '~1')}"
        entry = self._entry(node, line, column, pointer)
        entry.key, entry.key_text = event.value, self._slice(event, event)
        entry.key_text += self._up_to_colon()
        self._value(entry, pointer)
        return entry

    def _item(self, event: Event, node: Collection, path: str) -> Entry:
        line, column = self._dash()
        pointer = f"{path}/{len(node.entries)}"
        entry = self._entry(node, line, column, pointer)
        self.at = (line, column + 1)
        self._value(entry, pointer, event)
        return entry

    def _entry(self, node: Collection, line: int, column: int, path: str) -> Entry:
        entry = Entry(Scalar("", ""), column=column, mark=Mark(line + 1, column + 1, path))
        lines = self._lines_until(line)
        if node.entries:
            cut = _deeper(lines, column)
            keeper = _keeper(node.entries[-1].value, lines[:cut])
            if keeper is not None:
                keeper.trailing += lines[:cut]
                lines = lines[cut:]
        entry.before = lines
        return entry

    def _value(self, entry: Entry, path: str, event: Event | None = None) -> None:
        self.open = entry
        start = self.at
        event = event or next(self.events)
        entry.value = self.node(event, entry, path)
        entry.gap = self._gap(start, entry.value)

    def _gap(self, start: Position, node: Node) -> str:
        """What stands between a colon or dash and a value that begins beside it, or is a scalar."""
        if isinstance(node, Scalar) and node.empty:
            return ""
        to = (node.mark.line - 1, node.mark.column - 1)
        if isinstance(node, Collection) and not node.flow and to[0] != start[0]:
            return ""
        return self._between(start, to)

    def _dash(self) -> Position:
        """Where the dash of the next item stands."""
        line, column = self.at
        while not (rest := self.lines[line][column:].lstrip(" ")) or rest.startswith("#"):
            line, column = line + 1, 0
        return line, len(self.lines[line]) - len(rest)

    # flow collections

    def _flow(self, event: Event, owner: Entry, mark: Mark) -> Collection:
        is_map = is_a(event, yaml.MappingStartEvent)
        node = Collection("map" if is_map else "list", flow=True, column=owner.column, mark=mark)
        self.at = (event.end_mark.line, event.end_mark.column)
        while not is_a(child := next(self.events), yaml.MappingEndEvent, yaml.SequenceEndEvent):
            between = self._between(self.at, _start(child))
            node.entries.append(self._flow_entry(child, node, owner, mark.path))
            _share_comments(node, between, node.entries[-1])
        _share_comments(node, self._between(self.at, _start(child)), None)
        node.source = self._slice(event, child)
        node.props = PROPS.match(node.source).group().rstrip()  # type: ignore[union-attr]
        node.pad = " " if node.source[len(node.props) :].lstrip()[1:].startswith(" ") else ""
        node.shape = shape(node)
        return node

    def _flow_entry(self, event: Event, node: Collection, owner: Entry, path: str) -> Entry:
        mark = Mark(event.start_mark.line + 1, event.start_mark.column + 1)
        entry = Entry(Scalar("", ""), column=owner.column, mark=mark)
        if node.kind == "list":
            entry.value = self.node(event, entry, f"{path}/{len(node.entries)}")
            return entry
        line, column = _start(event)
        if not is_a(event, yaml.ScalarEvent) or self.lines[line][:column].rstrip().endswith("?"):
            raise UnusualLayout(line + 1, "a key that is not a plain word")
        entry.key, entry.key_text = event.value, self._slice(event, event)
        entry.value = self.node(next(self.events), entry, f"{path}/{event.value}")
        return entry

    # the cursor

    def _until_end(self) -> Iterator[Event]:
        ends = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
        return takewhile(lambda event: not is_a(event, *ends), self.events)

    def _lines_until(self, line: int) -> list[str]:
        """The whole lines from the cursor to a line; the rest of its own line goes to the open entry."""
        first, column = self.at
        if first >= line:
            return []
        self.at = (line, 0)
        if self.open is None:
            return self.lines[first:line]
        self.open.after = self.lines[first][column:]
        self.open = None
        return self.lines[first + 1 : line]

    def _slice(self, first: Event, last: Event) -> str:
        start, end = _start(first), _end(last)
        self.at = end
        return self._between(start, end)

    def _between(self, start: Position, end: Position) -> str:
        (first, column), (last, end_column) = start, end
        if first == last:
            return self.lines[first][column:end_column]
        return "\n".join(
            [self.lines[first][column:], *self.lines[first + 1 : last], self.lines[last][:end_column]]
        )

    def _up_to_colon(self) -> str:
        """The spaces between a key and its colon, which stands on another line only after a `?`."""
        line, column = self.at
        colon = self.lines[line].find(":", column)
        if colon < 0:
            raise UnusualLayout(line + 1, "an explicit `?` key")
        self.at = (line, colon + 1)
        return self.lines[line][column:colon]


def _start(event: Event) -> Position:
    return event.start_mark.line, event.start_mark.column


def _end(event: Event) -> Position:
    return event.end_mark.line, event.end_mark.column


def _deeper(lines: list[str], column: int) -> int:
    """How many of the lines are comments indented deeper than a column, with the blank lines among them."""
    cut = 0
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        if len(line) - len(line.lstrip(" ")) <= column:
            break
        cut = number + 1
    return cut


def _keeper(node: Node, lines: list[str]) -> Collection | None:
    """The innermost last block that comments of this indentation belong to."""
    if not lines or not isinstance(node, Collection) or node.flow:
        return None
    column = min(len(line) - len(line.lstrip(" ")) for line in lines if line.strip())
    if node.column > column:
        return None
    inner = _keeper(node.entries[-1].value, lines) if node.entries else None
    return inner or node


def _share_comments(node: Collection, between: str, following: Entry | None) -> None:
    """Give the comments between two entries of a flow collection to the entry they stand beside or above."""
    previous = node.entries[: -1 if following else None]
    for number, line in enumerate(between.split("\n")):
        comment = COMMENT.search(line)
        if comment is None:
            continue
        if number == 0 and previous:
            previous[-1].after = "  " + comment.group()
        else:
            (following.before if following else node.trailing).append(" " * node.column + comment.group())


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, Collection):
        for value in node.values():
            yield from _nodes(value)


def _anchor(node: Node) -> str | None:
    text = node.props if isinstance(node, Collection) else node.text if isinstance(node, Scalar) else ""
    return next((word[1:] for word in text.split()[:2] if word.startswith("&")), None)


def _habits(root: Node) -> tuple[int, int]:
    """How far this author indents mappings and lists."""
    maps: list[int] = []
    lists: list[int] = []
    for node in _nodes(root):
        if not isinstance(node, Collection) or node.flow or node.kind != "map":
            continue
        for value in node.values():
            if isinstance(value, Collection) and not value.flow and value.indent is not None:
                (maps if value.kind == "map" else lists).append(value.indent)
    return _usual(maps, 2), _usual(lists, 2)


def _usual(numbers: list[int], otherwise: int) -> int:
    return max(set(numbers), key=numbers.count) if numbers else otherwise


def _padding(root: Node) -> str:
    """Whether this author puts a space inside braces."""
    pads = [
        node.pad
        for node in _nodes(root)
        if isinstance(node, Collection) and node.pad is not None and node.entries
    ]
    return " " if pads.count(" ") > len(pads) / 2 else ""
