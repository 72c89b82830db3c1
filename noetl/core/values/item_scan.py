"""The items of a list whose text comes piece by piece: where each ends, and the wanted ones as values.

What was passed is dropped: no more is held than a piece, one item and what was wanted. Where pieces come from
and whether they are the right ones is others' business.
"""

import codecs
import json
from collections.abc import Callable, Generator, Iterator
from typing import NoReturn, Protocol

import msgspec

from noetl.json_value import Json

BLANKS = " \t\n\r"
_AHEAD = 3
"""Characters behind a number that show where it ends: `1.5e+` ends at `1.5` when nothing follows."""
_INCOMPLETE = 16
"""An error this near to the end of what has come may be one of what has not come."""
_SKIMMED = msgspec.json.Decoder(msgspec.Raw)
Found = Generator[str | None, None, None]  # the text of an item; None: more has to come first


class NotItems(Exception):
    """There is no list where one was expected; `type_name`: what there is instead, where that is known."""

    def __init__(self, type_name: str = "") -> None:
        super().__init__(f"no list but {type_name or 'something else'}")
        self.type_name = type_name


class Wanted(msgspec.Struct, frozen=True):
    """Which items: from `first` on, before `end`; of the list under `key`, when it is in a mapping."""

    first: int = 0
    end: int | None = None
    key: str | None = None

    def takes(self, place: int) -> bool:
        """Whether the item at a place is wanted."""
        return self.first <= place and (self.end is None or place < self.end)


class Scan(Protocol):
    """Finds items in a text that comes piece by piece."""

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[str | bytes]:
        """The items that end with this piece. Raises DecodeError, UnicodeDecodeError, NotItems."""


class WantedItems:
    """The wanted items among those that a scan finds, as values; how many there were at all is in `total`."""

    def __init__(self, scan: Scan, wanted: Wanted, decode: Callable[[str | bytes], Json]) -> None:
        self._scan, self._wanted, self._decode = scan, wanted, decode
        self.total = 0

    def feed(self, piece: bytes, *, last: bool = False) -> list[Json]:
        """The wanted ones that end with this piece."""
        items = []
        for text in self._scan.feed(piece, last=last):
            if self._wanted.takes(self.total):
                items.append(self._decode(text))
            elif isinstance(text, bytes):
                _SKIMMED.decode(text)
            self.total += 1
        return items


class NoItems:
    """What is known to be something else."""

    def __init__(self, type_name: str) -> None:
        self._type_name = type_name

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[str]:
        raise NotItems(self._type_name)


class Lines:
    """Items of which each is one line, as rows are stored."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line that has not ended

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[bytes]:
        *ended, rest = piece.split(b"\n")
        if ended:
            yield b"".join([*self._rest, ended[0]])
            yield from ended[1:]
            self._rest.clear()
        self._rest.append(rest)
        if last:
            yield b"".join(self._rest)


class JsonItems:
    """The items of a JSON list, or of the list under a key of a mapping.

    `alone`: the mapping has no other key; `bare`: the items merely follow one another.
    """

    def __init__(self, key: str | None = None, *, alone: bool = False, bare: bool = False) -> None:
        self._text = _Text()
        self._found = _values(self._text) if bare else _document(self._text, key, alone)

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[str]:
        self._text.add(piece, last=last)
        if not self._text.ready:
            return
        for found in self._found:
            if found is None:
                return
            yield found


class _Text:
    """What has come and was not passed."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder(parse_constant=_no_number)
        self._come: list[str] = []
        self._missing = 0  # characters that have to come before trying again is worth it
        self._text, self._at, self._over = "", 0, False

    def add(self, piece: bytes, *, last: bool) -> None:
        self._come.append(self._utf8.decode(piece, last))
        self._missing -= len(self._come[-1])
        self._over = last

    @property
    def ready(self) -> bool:
        """Whether enough has come to go on."""
        return self._over or self._missing <= 0

    def _take(self) -> None:
        self._text, self._at = "".join([self._text[self._at :], *self._come]), 0
        self._come.clear()

    def char(self) -> Generator[None, None, str]:
        """The next character that is no blank, which is not passed; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in BLANKS:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._come:
                self._take()
            elif self._over:
                return ""
            else:
                yield None

    def sign(self, signs: str) -> Generator[None, None, str]:
        """The next character, passed, which must be one of these."""
        char = yield from self.char()
        if not char:
            raise msgspec.DecodeError("Input data was truncated")
        if char not in signs:
            raise msgspec.DecodeError(f"JSON is malformed: {char!r} where {' or '.join(signs)} was expected")
        self._at += 1
        return char

    def value(self) -> Generator[None, None, str]:
        """The text of the value that begins here, passed."""
        yield from self.char()
        while True:
            if self._come:
                self._take()
            end = self._end()
            if end is not None:
                text, self._at = self._text[self._at : end], end
                return text
            self._missing = (
                len(self._text) - self._at
            )  # twice as much: trying again costs as much as what is there
            yield None

    def _end(self) -> int | None:
        """Where the value ends that begins here; None when more has to come."""
        try:
            _, end = self._json.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            if self._over or not self._may_go_on(error):
                raise msgspec.DecodeError(f"JSON is malformed: {error.msg}") from None
            return None
        except ValueError as error:
            raise msgspec.DecodeError(f"JSON is malformed: {error}") from None
        return end if self._over or len(self._text) - end >= _AHEAD else None

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or error.pos > len(self._text) - _INCOMPLETE


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _document(text: _Text, key: str | None, alone: bool) -> Found:
    char = yield from text.char()
    if key is None and char != "[":
        raise NotItems((yield from _type_name(text, char)))
    if key is not None and char != "{":
        raise NotItems
    yield from _list(text) if key is None else _mapping(text, key, alone)
    if (yield from text.char()):
        raise msgspec.DecodeError("JSON is malformed: trailing characters")


def _type_name(text: _Text, char: str) -> Generator[None, None, str]:
    names = {"{": "dict", '"': "str", "t": "bool", "f": "bool", "n": "NoneType"}
    if char in names:
        return names[char]
    return type(msgspec.json.decode((yield from text.value()))).__name__


def _list(text: _Text) -> Found:
    yield from text.sign("[")
    if (yield from text.char()) == "]":
        yield from text.sign("]")
        return
    sign = ","
    while sign == ",":
        yield (yield from text.value())
        sign = yield from text.sign(",]")


def _mapping(text: _Text, key: str, alone: bool) -> Found:
    """The items of the list under a key; the other values are passed one by one."""
    yield from text.sign("{")
    seen, sign = False, "," if (yield from text.char()) == '"' else (yield from text.sign("}"))
    while sign == ",":
        name = msgspec.json.decode((yield from text.value()))
        yield from text.sign(":")
        if name == key:
            if seen or (yield from text.char()) != "[":  # of two, the last would count
                raise NotItems
            seen = True
            yield from _list(text)
        elif alone:
            raise NotItems
        else:
            yield from text.value()
        sign = yield from text.sign(",}")
    if not seen:
        raise NotItems


def _values(text: _Text) -> Found:
    while (yield from text.char()):
        yield (yield from text.value())
