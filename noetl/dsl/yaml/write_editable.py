"""The editable tree back to text. A part that was not edited comes out as it was written, moved as a whole.

An edited flow collection stays on its line while it fits and holds no comment; else it becomes a block.
"""

import re

from noetl.dsl.yaml.editable_tree import Alias, Collection, Entry, Node, Scalar, shape, shifted
from noetl.dsl.yaml.read_editable import Document

NEEDS_QUOTES_IN_FLOW = re.compile(r"[,\[\]{}]|:(?:\s|$)|\s#")
BRACES = {"map": ("{", "}"), "list": ("[", "]")}


def write(document: Document) -> str:
    """The text of a document."""
    writer = _Writer(document)
    lines = writer.root(document.root)
    lines[-1] += document.after
    return "\n".join([*document.head, *lines, *document.tail])


class _Writer:
    """Writes nodes as lines at a column."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def root(self, node: Node) -> list[str]:
        if isinstance(node, Collection) and (not node.flow or shape(node) != node.shape):
            inline = self._inline(node, self.document.pad) if node.flow and "\n" not in node.source else None
            return [inline] if inline is not None else self._block(node, node.column)
        return (node.source if isinstance(node, Collection) else node.text).split("\n")

    def _block(self, node: Collection, column: int) -> list[str]:
        lines = [line for entry in node.entries for line in self._entry(entry, column)]
        return lines + [shifted(line, column - node.column) for line in node.trailing]

    def _entry(self, entry: Entry, column: int) -> list[str]:
        lead = [shifted(line, column - entry.column) for line in entry.before]
        head = " " * column + ("-" if entry.key is None else f"{entry.key_text}:")
        node = entry.value
        if isinstance(node, Collection):
            return lead + self._collection(entry, node, head, column)
        origin = node.column if isinstance(node, Scalar) else entry.column
        return lead + _beside(head, entry, node.text, column - origin)

    def _collection(self, entry: Entry, node: Collection, head: str, column: int) -> list[str]:
        if node.flow and shape(node) == node.shape:
            return _beside(head, entry, node.source, column - node.column)
        if node.flow or not node.entries:
            inline = self._inline(node, self.document.pad)
            if inline is not None and ("\n" not in node.source or not node.entries):
                line = _beside(head, entry, inline, 0)
                if len(line[0]) <= self.document.width or not node.entries:
                    return line
        if node.entries and entry.key is None and entry.gap and not node.props and not entry.after:
            return self._after_dash(entry, node, head, column)
        props = (entry.gap or " ") + node.props if node.props else ""
        return [head + props + entry.after, *self._block(node, column + self._indent(entry, node))]

    def _after_dash(self, entry: Entry, node: Collection, head: str, column: int) -> list[str]:
        """A block that begins on the line of its dash; comments of its first entry go above the dash."""
        lines = self._block(node, column + 1 + len(entry.gap))
        lead = len(node.entries[0].before)
        above = [shifted(line, -1 - len(entry.gap)) for line in lines[:lead]]
        return [*above, head + entry.gap + lines[lead].lstrip(" "), *lines[lead + 1 :]]

    def _indent(self, entry: Entry, node: Collection) -> int:
        if node.kind == "list" and entry.key is not None:
            return self.document.list_indent if node.indent is None else node.indent
        return node.indent or self.document.indent

    def _inline(self, node: Node, pad: str) -> str | None:
        """A node on one line inside a flow collection, or None when it cannot stand there."""
        if isinstance(node, Alias):
            return node.text
        if isinstance(node, Scalar):
            return _inline_scalar(node)
        if node.trailing or any(entry.comments for entry in node.entries):
            return None
        if shape(node) == node.shape:
            return node.source if "\n" not in node.source else None
        pad = pad if node.pad is None else node.pad
        parts = [self._inline_entry(entry, pad) for entry in node.entries]
        if None in parts:
            return None
        left, right = BRACES[node.kind]
        inside = ", ".join(part for part in parts if part is not None)
        props = f"{node.props} " if node.props else ""
        return f"{props}{left}{pad}{inside}{pad}{right}" if inside else f"{props}{left}{right}"

    def _inline_entry(self, entry: Entry, pad: str) -> str | None:
        value = self._inline(entry.value, pad)
        if value is None or entry.key is None:
            return value
        return f"{entry.key_text}: {value}"


def _beside(head: str, entry: Entry, text: str, by: int) -> list[str]:
    """A value that begins beside its key or dash; its later lines move with them."""
    if not text:
        return [head + entry.after]
    first, *rest = ((entry.gap or " ") + text).split("\n")
    lines = [head + first, *(shifted(line, by) for line in rest)]
    lines[-1] += entry.after
    return lines


def _inline_scalar(node: Scalar) -> str | None:
    if node.empty:
        return "null"
    if "\n" in node.text or node.style == "block":
        return None
    if node.style == "plain" and NEEDS_QUOTES_IN_FLOW.search(node.text):
        return None
    return node.text
