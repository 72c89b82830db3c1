"""Names and words inside a template's text, replaced by others; the rest stays as it was written.

Works on tokens, so that literals, filters, attributes of other values, text outside tags and white space are
never touched. A text that is no template, or that does not parse, comes back unchanged.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Final

from noetl.dsl.templates.reads import Path, paths_read
from noetl.dsl.templates.syntax import Token, is_template, syntax_tree, tokens

PathEdit = Callable[[Path], tuple[int, str] | None]  # how many segments are replaced, and by what

DONE: Final = ("step.done", "loop.done")
EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "call.done": DONE,
    "step.exit": DONE,
    "call.error": ("step.failed",),
}
TEXTS_KEPT: Final = 32_768
_SCOPES = frozenset({"args", "ctx", "event", "input", "iter", "keychain", "step", "workload"})
_BINDING = ("~", "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", ">", "<=", ">=")
_HIDDEN = ("whitespace", "data", "comment_begin", "comment", "comment_end")
_SUCCESS = ("'success'", '"success"')
# Only a text with one of these words is worth taking apart.
OLDER_NAME = re.compile(r"outcome|\bresult(?:_ref)?\b|\bargs\b|call\.(?:done|error)|step\.exit")
OLDER_ROOTS = frozenset({"outcome", "result", "result_ref", "args"})


@lru_cache(TEXTS_KEPT)
def paths_in(text: str) -> frozenset[Path]:
    """Every dotted name that a template reads; none when it does not parse."""
    tree = syntax_tree(text) if is_template(text) else None
    return paths_read(tree) if tree is not None else frozenset()


def roots_in(text: str) -> frozenset[str]:
    """The root names that a template reads."""
    return frozenset(path[0] for path in paths_in(text))


def reads_older_names(text: str) -> bool:
    """Whether a template reads a name that was called so once, or asks for an event by its older name."""
    if not OLDER_NAME.search(text):
        return False
    return not roots_in(text).isdisjoint(OLDER_ROOTS) or respell_event(text) != text


# ---- dotted names ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a text and what replaces it."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Segment:
    """One `.name` or `['name']` behind a value: its name, where the name begins, and where it all ends."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Dotted:
    """A dotted name that stands for a value: its segments, and the tokens it takes."""

    segments: tuple[Segment, ...]
    first: int
    after: int

    @property
    def path(self) -> Path:
        """The names, one after another."""
        return tuple(segment.name for segment in self.segments)

    def beginning(self, count: int, text: str) -> Edit:
        """The edit that replaces the first segments."""
        return Edit(self.segments[0].start, self.segments[count - 1].end, text)

    def renaming(self, index: int, name: str) -> Edit:
        """The edit that replaces one name and leaves how it is written."""
        segment = self.segments[index]
        return Edit(segment.start, segment.start + len(segment.name), name)


class _Words:
    """The tokens inside the tags of a template, without white space; a tag ends with a token of its own."""

    def __init__(self, text: str) -> None:
        self.all = [token for token in tokens(text) if token.kind not in _HIDDEN]

    def at(self, position: int) -> Token:
        """A token, or an empty one beyond either end."""
        return self.all[position] if 0 <= position < len(self.all) else Token("end", "", 0)

    def is_operator(self, position: int, *signs: str) -> bool:
        """Whether one of these operators stands there."""
        token = self.at(position)
        return token.kind == "operator" and token.text in signs

    def is_name(self, position: int, *names: str) -> bool:
        """Whether one of these words stands there."""
        token = self.at(position)
        return token.kind == "name" and token.text in names

    def dotted(self) -> Iterator[Dotted]:
        """Every dotted name that stands for a value, up to where the template binds its root itself."""
        bound: set[str] = set()
        for position, token in enumerate(self.all):
            if token.kind != "name":
                continue
            if self.is_name(position - 1, "set", "for"):
                bound.add(token.text)
            if token.text not in bound and not self._is_no_value(position):
                segments = [Segment(token.text, token.start, token.start + len(token.text))]
                after = position + 1
                while segment := self._segment(after):
                    segments.append(segment)
                    after += 2 if self.is_operator(after, ".") else 3
                yield Dotted(tuple(segments), position, after)

    def _is_no_value(self, position: int) -> bool:
        """Whether a name is an attribute, a filter, a test or the name of an argument."""
        attribute = self.is_operator(position - 1, ".", "|") or self.is_name(position - 1, "is")
        tested = self.is_name(position - 1, "not") and self.is_name(position - 2, "is")
        return attribute or tested or self.is_operator(position + 1, "=")

    def _segment(self, position: int) -> Segment | None:
        middle = self.at(position + 1)
        if self.is_operator(position, ".") and middle.kind == "name":
            return Segment(middle.text, middle.start, middle.start + len(middle.text))
        if (
            self.is_operator(position, "[")
            and middle.kind == "string"
            and self.is_operator(position + 2, "]")
        ):
            return Segment(middle.text[1:-1], middle.start + 1, self.at(position + 2).start + 1)
        return None

    def stands_alone(self, first: int, last: int) -> bool:
        """Whether nothing next to these tokens belongs to the same comparison or operand."""
        before = not self.is_operator(first - 1, *_BINDING, ".")
        after = not self.is_operator(last + 1, *_BINDING, ".", "[", "(", "|")
        return before and after and not self.is_name(last + 1, "is")


def edit_paths(text: str, edit: PathEdit) -> str:
    """A template with the beginnings of some dotted names replaced; names it binds itself are not touched."""
    roots = roots_in(text)
    edits = []
    for name in _Words(text).dotted() if roots else ():
        change = edit(name.path) if name.path[0] in roots else None
        if change is not None:
            edits.append(name.beginning(*change))
    return _edited(text, edits)


def rename_root(text: str, old: str, new: str) -> str:
    """A name that stands for a value from outside under another name, as `args` that becomes `input`."""
    return edit_paths(text, lambda path: (1, new) if path[0] == old else None) if old in text else text


def respell_output(text: str) -> str:
    """`outcome` as `output`, its `result` as `data` and its `result_ref` as `ref`."""
    if "outcome" not in text or "outcome" not in roots_in(text):
        return text
    outcomes = (name for name in _Words(text).dotted() if name.path[0] == "outcome")
    return _edited(text, [edit for name in outcomes for edit in _output_edits(name)])


def _output_edits(name: Dotted) -> Iterator[Edit]:
    match name.path:
        case (_, "result", "data", *_):
            yield name.beginning(2, "output")
            return
        case (_, "result", *_):
            yield name.renaming(1, "data")
        case (_, "result_ref", *_):
            yield name.renaming(1, "ref")
        case _:
            pass
    yield name.renaming(0, "output")


# ---- event names ----------------------------------------------------------------------------------------


def respell_event(text: str) -> str:
    """Older event names that `event.name` is compared with, as the names of today."""
    if not any(name in text for name in EVENTS) or ("event", "name") not in paths_in(text):
        return text
    words = _Words(text)
    names = (dotted for dotted in words.dotted() if dotted.path == ("event", "name"))
    return _edited(text, [edit for dotted in names for edit in _event_edits(text, words, dotted)])


def _event_edits(text: str, words: _Words, name: Dotted) -> Iterator[Edit]:
    first, after = name.first, name.after
    if words.is_operator(after, "==", "!=") and words.at(after + 1).kind == "string":
        if words.stands_alone(first, after + 1):
            yield from _comparison(text, words.at(after), words.at(after + 1))
    elif words.is_operator(first - 1, "==", "!=") and words.at(first - 2).kind == "string":
        if words.stands_alone(first - 2, after - 1):
            yield from _reversed_comparison(text, words, first, after)
    elif words.is_name(after, "in"):
        yield from _membership(words, after + 1)
    elif words.is_name(after, "not") and words.is_name(after + 1, "in"):
        yield from _membership(words, after + 2)


def _comparison(text: str, sign: Token, literal: Token) -> Iterator[Edit]:
    names = EVENTS.get(_unquoted(literal))
    if names is None:
        return
    if len(names) > 1:
        before = "" if text[sign.start - 1].isspace() else " "
        after = "" if text[sign.start + len(sign.text)].isspace() else " "
        yield _replacing(sign, f"{before}{_membership_sign(sign)}{after}")
    yield _replacing(literal, _literal(names, literal))


def _reversed_comparison(text: str, words: _Words, first: int, after: int) -> Iterator[Edit]:
    literal, sign, last = words.at(first - 2), words.at(first - 1), words.at(after - 1)
    names = EVENTS.get(_unquoted(literal))
    if names is None:
        return
    if len(names) == 1:
        yield _replacing(literal, _literal(names, literal))
        return
    start, end = words.at(first).start, last.start + len(last.text)
    whole = f"{text[start:end]} {_membership_sign(sign)} {_literal(names, literal)}"
    yield Edit(literal.start, end, whole)


def _membership(words: _Words, opening: int) -> Iterator[Edit]:
    """The literals of `in [...]`: rewritten as a whole when all are literals, else one by one."""
    if not words.is_operator(opening, "[", "("):
        return
    items, closing = _literals(words, opening)
    if not any(_unquoted(item) in EVENTS for item in items):
        return
    if closing is None:
        yield from (_replacing(item, ", ".join(_today(item))) for item in items if _unquoted(item) in EVENTS)
        return
    names = dict.fromkeys(name for item in items for name in _today(item))
    comma = "," if len(names) == 1 and words.is_operator(opening, "(") else ""
    yield Edit(words.at(opening).start + 1, closing.start, ", ".join(names) + comma)


def _today(literal: Token) -> list[str]:
    """The literals that say the same today, in the same quotes."""
    name = _unquoted(literal)
    return [_quoted(today, literal) for today in EVENTS.get(name, (name,))]


def _literals(words: _Words, opening: int) -> tuple[list[Token], Token | None]:
    """The texts right inside a bracket; its end only when there is nothing else inside."""
    items = []
    only = True
    depth = 0
    position = opening
    while (token := words.at(position)).kind not in ("end", "variable_end", "block_end"):
        if words.is_operator(position, "(", "[", "{"):
            depth += 1
        elif words.is_operator(position, ")", "]", "}"):
            depth -= 1
        elif depth == 1 and token.kind == "string":
            items.append(token)
        elif not words.is_operator(position, ","):
            only = False
        if depth == 0:
            return items, token if only else None
        only = only and depth == 1
        position += 1
    return [], None


def _membership_sign(sign: Token) -> str:
    return "in" if sign.text == "==" else "not in"


def _literal(names: tuple[str, ...], like: Token) -> str:
    quoted = [_quoted(name, like) for name in names]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def _quoted(name: str, like: Token) -> str:
    return f"{like.text[0]}{name}{like.text[-1]}"


def _unquoted(literal: Token) -> str:
    return literal.text[1:-1]


# ---- a comparison that never holds ----------------------------------------------------------------------


def compare_with_ok(text: str) -> str:
    """A template that compares the status of an output with `ok`, the word it has today, not 'success'."""
    if "success" not in text or not paths_in(text):
        return text
    words = _Words(text)
    statuses = [d for d in words.dotted() if d.path[1:] == ("status",) and d.path[0] not in _SCOPES]
    literals = {literal for status in statuses for literal in _compared(words.all, status)}
    return _edited(text, [_replacing(word, word.text.replace("success", "ok")) for word in literals])


def _compared(words: list[Token], status: Dotted) -> Iterator[Token]:
    """The texts 'success' that a status is compared with, on either side of it."""
    before, after = words[: status.first], words[status.after :]
    while len(after) > 1 and after[0].text == "|":
        after = after[2:]
    literals: list[Token] = []
    if before and before[-1].text in ("==", "!="):
        literals += before[-2:-1]
    if after and after[0].text in ("==", "!="):
        literals += after[1:2]
    elif after and after[0].text in ("in", "not"):
        literals += takewhile(lambda token: token.text not in ("]", ")"), after)
    yield from (token for token in literals if token.text in _SUCCESS)


# ---- text -----------------------------------------------------------------------------------------------


def _replacing(token: Token, text: str) -> Edit:
    return Edit(token.start, token.start + len(token.text), text)


def _edited(text: str, edits: Iterable[Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
