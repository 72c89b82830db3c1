"""The text as a tree that can be edited: every scalar, comment, blank line and brace as the author wrote it.

Only the shapes and their edits live here, nothing of the language; read_editable.py and write_editable.py
are the ways in and out.
A collection keeps its entries in order; an entry takes its comments along wherever it goes.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from noetl.dsl.diagnostic import NOWHERE, Mark
from noetl.dsl.yaml.scalar import NotANumber, read_plain
from noetl.dsl.yaml.tree import Value

Style = Literal["plain", "single", "double", "block"]

PLAIN_WORD = re.compile(r"\w[\w.-]*")


@dataclass(slots=True, eq=False)
class Scalar:
    """One scalar as written (`text`, quotes and anchor included) and what it says (`value`)."""

    text: str
    value: str
    style: Style = "plain"
    column: int = 0  # of the entry it was written in: later lines of the text move with that entry
    mark: Mark = NOWHERE
    data: Value = None  # what it is, when it was no text: a number, a boolean

    @property
    def empty(self) -> bool:
        """Whether nothing is written at all, as in `key:`."""
        return not self.text


@dataclass(slots=True, eq=False)
class Alias:
    """A reference to an anchored node, as in `*retry`."""

    text: str
    mark: Mark = NOWHERE


@dataclass(slots=True, eq=False)
class Entry:
    """One entry of a mapping, or one item of a list (`key` is None), with its comments."""

    value: "Node"
    key: str | None = None
    key_text: str = ""
    before: list[str] = field(default_factory=list)  # whole lines above: comments and blank lines
    gap: str = " "  # between the colon or dash and the value
    after: str = ""  # the rest of its line: spaces and a comment
    column: int = 0  # where `before` was written
    mark: Mark = NOWHERE

    def rename(self, key: str) -> None:
        """Give the entry another key."""
        self.key = self.key_text = key

    def lead_with(self, comments: Iterable[str]) -> None:
        """Put comments above everything that stands above the entry."""
        self.before[:0] = indented(comments, self.column)

    @property
    def comments(self) -> list[str]:
        """The comments of this entry: above it, beside it, and inside a value that has nothing else."""
        beside = [self.after.strip()] if self.after.strip() else []
        inside = self.value.trailing if isinstance(self.value, Collection) and not self.value.entries else []
        return [
            *(line for line in self.before if line.strip()),
            *beside,
            *(line for line in inside if line.strip()),
        ]


@dataclass(slots=True, eq=False)
class Collection:
    """A mapping or a list, in block or flow style."""

    kind: Literal["map", "list"]
    entries: list[Entry] = field(default_factory=list)
    flow: bool = False
    props: str = ""  # anchor and tag
    pad: str | None = None  # inside the braces of a flow collection; None: as its parent has it
    indent: int | None = None  # relative to the parent entry; None: as the document has it
    column: int = 0
    trailing: list[str] = field(default_factory=list)  # comment lines after the last entry
    source: str = ""  # a flow collection as written
    shape: object = None  # what `source` says; a collection that still says it is written as it was
    mark: Mark = NOWHERE

    def entry(self, key: str) -> Entry | None:
        """The entry of a key."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def get(self, key: str) -> "Node | None":
        """The value of a key."""
        entry = self.entry(key)
        return None if entry is None else entry.value

    def map_at(self, key: str) -> "Collection | None":
        """The value of a key when it is a mapping."""
        return as_map(self.get(key))

    def word(self, key: str) -> str | None:
        """The value of a key when it is a scalar that says something."""
        node = self.get(key)
        return node.value if isinstance(node, Scalar) and not node.empty else None

    def child(self, key: str) -> "Collection":
        """The mapping under a key, made when there is none: a value that is no mapping can hold nothing."""
        found = self.map_at(key)
        if found is None:
            found = Collection("map", flow=self.flow)
            entry = self.entry(key) or self.add(Entry(found, key, key))
            entry.value = found
        return found

    def __contains__(self, key: object) -> bool:
        return any(entry.key == key for entry in self.entries)

    @property
    def names(self) -> list[str]:
        """Every key, in order."""
        return [entry.key for entry in self.entries if entry.key is not None]

    def values(self) -> Iterator["Node"]:
        """Every value or item, in order."""
        return (entry.value for entry in self.entries)

    def place(self, entry: Entry) -> int:
        """The position of an entry."""
        return next(i for i, other in enumerate(self.entries) if other is entry)

    def insert(self, at: int, entry: Entry) -> Entry:
        """Put an entry at a position."""
        self.entries.insert(at, entry)
        return entry

    def add(self, entry: Entry) -> Entry:
        """Append an entry."""
        return self.insert(len(self.entries), entry)

    def pull(self, entry: Entry) -> Entry:
        """Take an entry out, to be put elsewhere with its comments."""
        del self.entries[self.place(entry)]
        return entry

    def drop(self, entry: Entry) -> None:
        """Remove an entry; what it said in comments stays, above the entry that follows it."""
        at = self.place(entry)
        self.pull(entry)
        if at < len(self.entries):
            following = self.entries[at]
            following.lead_with(entry.comments)
        else:
            self.trailing[:0] = indented(entry.comments, self.column)

    def end_with(self, comments: Iterable[str]) -> None:
        """Add comments after the last entry."""
        self.trailing += indented(comments, self.column)


Node = Scalar | Alias | Collection


def indented(lines: Iterable[str], column: int) -> list[str]:
    """The lines that say something, all beginning at one column."""
    return [" " * column + line.strip() for line in lines if line.strip()]


def shifted(line: str, by: int) -> str:
    """A line moved right, or left as far as it has room."""
    if not line.strip() or by == 0:
        return line
    if by > 0:
        return " " * by + line
    return line[min(-by, len(line) - len(line.lstrip(" "))) :]


def as_map(node: Node | None) -> Collection | None:
    """The node when it is a mapping."""
    return node if isinstance(node, Collection) and node.kind == "map" else None


def as_list(node: Node | None) -> Collection | None:
    """The node when it is a list."""
    return node if isinstance(node, Collection) and node.kind == "list" else None


def entries(node: Node | None) -> list[Entry]:
    """The entries of a collection; none when the node is no collection."""
    return list(node.entries) if isinstance(node, Collection) else []


def maps(node: Node | None) -> list[Collection]:
    """The mappings among the items of a list; none when the node is no list."""
    found = as_list(node)
    return [each for each in map(as_map, found.values()) if each is not None] if found is not None else []


def keys(node: Node | None) -> list[str]:
    """The keys of a mapping; none when the node is no mapping."""
    found = as_map(node)
    return found.names if found is not None else []


def at(node: Node | None, *path: str) -> Node | None:
    """What stands under a path of keys, as far as it leads."""
    for key in path:
        found = as_map(node)
        node = found.get(key) if found is not None else None
    return node


def says(node: Node | None, *values: str) -> bool:
    """Whether the node is a scalar with one of these values."""
    return isinstance(node, Scalar) and not node.empty and node.value in values


def is_nothing(node: Node | None) -> bool:
    """Whether the node is absent, null or empty."""
    if isinstance(node, Collection):
        return not node.entries
    return node is None or (isinstance(node, Scalar) and (node.empty or says(node, "null", "~")))


def shape(node: Node) -> object:
    """What a node says, without its layout."""
    if isinstance(node, Collection):
        return (node.kind, tuple((entry.key_text, shape(entry.value)) for entry in node.entries))
    return node.text


def scalars(node: Node) -> Iterator[Scalar]:
    """Every scalar value under a node, keys left out."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Collection):
        for value in node.values():
            yield from scalars(value)


# Making new nodes


def plain(text: str) -> Scalar:
    """A new plain scalar."""
    return Scalar(text, text)


def word(value: str, mark: Mark = NOWHERE) -> Scalar:
    """A new scalar that says a text: plain, or quoted where it would say something else without quotes."""
    if PLAIN_WORD.fullmatch(value) and _is_text(value):
        return Scalar(value, value, mark=mark)
    return quoted(value, mark)


def _is_text(word: str) -> bool:
    try:
        return isinstance(read_plain(word), str)
    except NotANumber:
        return False


def quoted(value: str, mark: Mark = NOWHERE) -> Scalar:
    """A new double-quoted scalar; a single-quoted one where that needs no escapes."""
    value = value.replace("\n", " ")
    if '"' in value or "\\" in value:
        return Scalar("'" + value.replace("'", "''") + "'", value, "single", mark=mark)
    return Scalar(f'"{value}"', value, "double", mark=mark)


def pair(key: str, value: Node, *, mark: Mark = NOWHERE) -> Entry:
    """A new entry of a mapping."""
    return Entry(value, key, word(key).text, mark=mark)


def item(value: Node, *, mark: Mark = NOWHERE) -> Entry:
    """A new item of a list."""
    return Entry(value, mark=mark)


def mapping(entries: Iterable[Entry] = (), *, flow: bool = False) -> Collection:
    """A new mapping."""
    return Collection("map", list(entries), flow)


def listing(entries: Iterable[Entry] = (), *, flow: bool = False) -> Collection:
    """A new list."""
    return Collection("list", list(entries), flow)
