"""The text as a tree that can be edited: every scalar, comment, blank line and brace as the author wrote it.

Only the shapes and their edits live here, nothing of the language; read_editable.py and write_editable.py
are the ways in and out.
A collection keeps its entries in order; an entry takes its comments along wherever it goes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from noetl.dsl.diagnostic import NOWHERE, Mark
from noetl.dsl.yaml.scalar import NotANumber, read_plain
from noetl.json_value import Json

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
    data: Json = None  # what it is, when it was no text: a number, a boolean

    def say(self, word: str) -> None:
        """Say another word, which needs no quotes."""
        self.text = self.value = word
        self.style = "plain"

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

    def take_comments(self, other: "Entry") -> None:
        """Take over the comments above and beside another entry, without its blank lines."""
        self.before, self.column = [line for line in other.before if line.strip()], other.column
        self.after = other.after

    @property
    def as_map(self) -> "Collection | None":
        """The value when it is a mapping."""
        return as_map(self.value)

    @property
    def as_list(self) -> "Collection | None":
        """The value when it is a list."""
        return as_list(self.value)

    @property
    def keys(self) -> list[str]:
        """The keys of the value; none when it is no mapping."""
        return self.as_map.names if self.as_map is not None else []

    @property
    def entries(self) -> "list[Entry]":
        """The entries of the value; none when it is no collection."""
        return entries(self.value)

    @property
    def text(self) -> str | None:
        """What the value says when it is a scalar."""
        return self.value.value if isinstance(self.value, Scalar) else None

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

    def entry(self, *path: str) -> Entry | None:
        """The entry that a path of keys leads to."""
        holder = self.map_at(*path[:-1]) if len(path) > 1 else self
        entries = holder.entries if holder is not None else []
        return next((entry for entry in entries if entry.key == path[-1]), None)

    def get(self, *path: str) -> "Node | None":
        """What stands under a path of keys."""
        entry = self.entry(*path)
        return entry.value if entry is not None else None

    def map_at(self, *path: str) -> "Collection | None":
        """The value under a path when it is a mapping."""
        return as_map(self.get(*path))

    def list_at(self, *path: str) -> "Collection | None":
        """The value under a path when it is a list."""
        return as_list(self.get(*path))

    def maps_at(self, *path: str) -> "list[Collection]":
        """The mappings of the list under a path; none when there is no list."""
        return maps(self.get(*path))

    def keys_at(self, *path: str) -> list[str]:
        """The keys of the mapping under a path; none when there is no mapping."""
        node = self.map_at(*path)
        return node.names if node is not None else []

    def scalar_at(self, *path: str) -> "Scalar | None":
        """The value under a path when it is a scalar."""
        node = self.get(*path)
        return node if isinstance(node, Scalar) else None

    def word(self, *path: str) -> str | None:
        """The value under a path when it is a scalar that says something."""
        node = self.scalar_at(*path)
        return node.value if node is not None and not node.empty else None

    def child(self, key: str) -> "Collection":
        """The mapping under a key, made when there is none: a value that is no mapping can hold nothing."""
        inside = self.map_at(key)
        if inside is None:
            inside = Collection("map", flow=self.flow)
            entry = self.entry(key) or self.add(Entry(inside, key, key))
            entry.value = inside
        return inside

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

    def take(self, other: "Collection") -> list[Entry]:
        """Move the entries of another mapping here; those whose key is taken stay behind and are given."""
        for entry in list(other.entries):
            if entry.key not in self:
                self.add(other.pull(entry))
        return list(other.entries)

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
Data: TypeAlias = Node | str | bool | Mapping[str, "Data"] | list["Data"]


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
    items = as_list(node)
    return [each for each in map(as_map, items.values()) if each is not None] if items is not None else []


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


def scalars(node: Node | None) -> Iterator[Scalar]:
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


def mapping_of(data: Mapping[str, "Data"], *, flow: bool = False) -> Collection:
    """A new mapping that says plain data; a node in it stays as it is."""
    return mapping([pair(key, _node_of(value, flow)) for key, value in data.items()], flow=flow)


def _node_of(data: "Data", flow: bool) -> Node:
    if isinstance(data, Mapping):
        return mapping_of(data, flow=flow)
    if isinstance(data, list):
        return listing([item(_node_of(value, flow)) for value in data], flow=flow)
    if isinstance(data, bool):
        return plain(str(data).lower())
    return word(data) if isinstance(data, str) else data


def listing(entries: Iterable[Entry] = (), *, flow: bool = False) -> Collection:
    """A new list."""
    return Collection("list", list(entries), flow)
