"""What the YAML scanner could not read, said in a plain sentence with the place of the mistake and a way out.

Only text that is no YAML is explained here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from yaml.error import MarkedYAMLError
from yaml.events import MappingEndEvent, ScalarEvent, SequenceEndEvent

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.yaml.one_line import shortened
from noetl.dsl.yaml.scanner import Event, Spot, is_a

YAML_SYNTAX = Code("yaml-syntax", "error", "The text is not YAML")

_SHOWN: Final = 40
_LONGEST_KEY: Final = 1000
_BREAK: Final = re.compile(r"\r\n?|\n")
_OPENERS: Final = {"flow sequence": ("list", "]"), "flow mapping": ("mapping", "}")}


@dataclass(frozen=True, slots=True)
class Trouble:
    """What the scanner said, and where it stood."""

    problem: str
    context: str
    spot: Spot
    opened: Spot
    last: Event | None
    source: str

    def text(self, spot: Spot) -> str:
        """The rest of the line at a place, shortened."""
        rest = _line(self.source, spot.index)
        return shortened(rest, _SHOWN)

    def char(self, spot: Spot) -> str:
        """The character at a place; empty at the end of the text."""
        return self.source[spot.index : spot.index + 1]


@dataclass(frozen=True, slots=True)
class Reason:
    """One sentence about a mistake, where it is, and what to do."""

    spot: Spot
    message: str
    hint: str | None = None


def explain(error: MarkedYAMLError, last: Event | None, source: str, path: str) -> Diagnostic:
    """The finding for what the scanner refused; `last` is the last event before it."""
    spot = error.problem_mark or error.context_mark
    assert spot is not None
    opened = error.context_mark or spot
    trouble = Trouble(error.problem or "", error.context or "", spot, opened, last, source)
    reason = _explain(trouble)
    if reason.spot.index >= len(source):  # the scanner counts a line more than there is
        place = after(source.rstrip())
    else:
        place = Mark(reason.spot.line + 1, reason.spot.column + 1)
    return YAML_SYNTAX.at(place._replace(path=path), reason.message, reason.hint)


def after(text: str) -> Mark:
    """The place right after a text that begins the file."""
    breaks = list(_BREAK.finditer(text))
    return Mark(len(breaks) + 1, len(text) - (breaks[-1].end() if breaks else 0) + 1)


def _explain(trouble: Trouble) -> Reason:
    for words, sentence in _SENTENCES:
        if words in trouble.problem:
            return sentence(trouble)
    if "tag" in trouble.context or "tag" in trouble.problem:
        return Reason(trouble.opened, "a value begins with '!', which would be a tag", "put quotes around it")
    if "directive" in trouble.context or "directive" in trouble.problem or "incompatible" in trouble.problem:
        return Reason(trouble.opened, "a line begins with '%', which would be a directive", "remove the line")
    message = f"{trouble.problem} {trouble.context}".strip() or "this is not YAML"
    return Reason(trouble.spot, message, "check quotes, brackets and indentation around this place")


def _no_colon(trouble: Trouble) -> Reason:
    message = f"there is no ':' after '{trouble.text(trouble.opened)}', so it is neither a key nor a value"
    return Reason(
        trouble.opened, message, "write 'key: value', or indent the line under the text it continues"
    )


def _second_colon(trouble: Trouble) -> Reason:
    begins: Spot = trouble.last.start_mark if is_a(trouble.last, ScalarEvent) else trouble.spot
    if begins.line < trouble.spot.line:
        first = begins.line + 1
        message = f"this line continues the text of line {first}, and a text cannot hold a key"
        hint = f"align the key with the others, put a space after ':' in line {first}, or quote the text"
        return Reason(trouble.spot, message, hint)
    length = trouble.spot.index - begins.index
    if length > _LONGEST_KEY:
        message = f"a key of {length} characters is too long for one line"
        return Reason(begins, message, "write '? ' before the key, and ': ' on the line after it")
    message = "a second ': ' stands in one value"
    return Reason(trouble.spot, message, "put quotes around a text that contains ': '")


def _no_key(trouble: Trouble) -> Reason:
    last, rest = trouble.last, trouble.text(trouble.spot)
    if is_a(last, ScalarEvent) and last.style in ("'", '"') and _same_line(last, trouble):
        hint = "quote the whole value; inside '…' write '' for ', inside \"…\" write \\\" for \""
        return Reason(trouble.spot, f"'{rest}' follows a closing quote", hint)
    if is_a(last, MappingEndEvent, SequenceEndEvent) and _is_bracket(last) and _same_line(last, trouble):
        return Reason(
            trouble.spot, f"'{rest}' follows a closing bracket", "put quotes around the whole value"
        )
    if rest.startswith(":"):
        return Reason(trouble.spot, "there is no key before ':'", "write 'key: value'")
    if rest == "-" or rest.startswith("- "):
        message = "a list item stands where a key is expected"
        return Reason(trouble.spot, message, "indent the item under its key, or remove the '- '")
    hint = f"align it with the keys of the mapping that begins at line {trouble.opened.line + 1}"
    return Reason(trouble.spot, f"'{rest}' is indented like none of the keys above it", hint)


def _no_dash(trouble: Trouble) -> Reason:
    rest = trouble.text(trouble.spot)
    message = f"the list that begins at line {trouble.opened.line + 1} goes on with '{rest}'"
    return Reason(trouble.spot, message, "begin each item with '- ', or indent the line under its item")


def _no_comma(trouble: Trouble) -> Reason:
    what, closer = next((v for k, v in _OPENERS.items() if k in trouble.context), ("bracket", "]"))
    opened = trouble.opened
    rest = trouble.text(trouble.spot)
    before = f"before '{rest}'" if rest else "at the end"
    message = f"the {what} opened at {opened.line + 1}:{opened.column + 1} lacks a ',' or '{closer}' {before}"
    hint = f"close it with '{closer}', or quote the value"
    if "{{" in _line(trouble.source, trouble.spot.index - trouble.spot.column):
        hint = "put quotes around a value that contains {{ }}"
    return Reason(trouble.spot, message, hint)


def _no_value(trouble: Trouble) -> Reason:
    rest = trouble.text(trouble.spot)
    message = f"a value is missing before '{rest}'" if rest else "the text ends inside a bracket"
    return Reason(trouble.spot, message, "write the value, or put quotes around it")


def _bad_start(trouble: Trouble) -> Reason:
    char = trouble.char(trouble.spot)
    if char == "\t":
        return _tab(trouble)
    return Reason(trouble.spot, f"'{char}' cannot begin a value", "put quotes around the value")


def _tab(trouble: Trouble) -> Reason:
    return Reason(trouble.spot, "a tab is used for indentation", "indent with spaces")


def _bad_name(trouble: Trouble) -> Reason:
    what = "an alias" if "alias" in trouble.context else "an anchor"
    char = trouble.char(trouble.opened)
    message = f"'{char}' begins {what}, and '{trouble.text(trouble.opened)}' is none"
    return Reason(trouble.opened, message, "put quotes around the value")


def _open_quote(trouble: Trouble) -> Reason:
    quote = trouble.char(trouble.opened)
    message = f"the quote {quote} opened here is never closed"
    return Reason(trouble.opened, message, f"close it with {quote}")


def _bad_escape(trouble: Trouble) -> Reason:
    begins = trouble.source.rfind("\\", 0, trouble.spot.index + 1)
    escape = trouble.source[begins : begins + 2] if begins >= 0 else "\\"
    message = f"'{escape}' is not an escape of a double-quoted text"
    return Reason(trouble.spot, message, "use single quotes, or write \\\\ for a backslash")


def _bad_unicode(trouble: Trouble) -> Reason:
    hint = "write the character itself, or \\U and its eight hexadecimal digits"
    return Reason(trouble.spot, "the escape does not name a Unicode character", hint)


def _after_indicator(trouble: Trouble) -> Reason:
    message = f"text follows '{trouble.char(trouble.opened)}' on its line"
    return Reason(trouble.spot, message, "begin the text on the next line, indented")


def _list_on_key_line(trouble: Trouble) -> Reason:
    message = "a list item cannot begin on the line of its key"
    return Reason(trouble.spot, message, "put '- ' on the next line, or write [a, b]")


def _after_end(trouble: Trouble) -> Reason:
    message = f"'{trouble.text(trouble.spot)}' follows the end of the document"
    return Reason(trouble.spot, message, "a playbook is one mapping of 'key: value' lines")


_SENTENCES: Final[tuple[tuple[str, Callable[[Trouble], Reason]], ...]] = (
    ("could not find expected ':'", _no_colon),
    ("mapping values are not allowed", _second_colon),
    ("did not find expected key", _no_key),
    ("did not find expected '-' indicator", _no_dash),
    ("did not find expected ','", _no_comma),
    ("did not find expected node content", _no_value),
    ("found character that cannot start", _bad_start),
    ("found a tab character", _tab),
    ("alphabetic or numeric character", _bad_name),
    ("found unexpected end of stream", _open_quote),
    ("found unexpected document indicator", _open_quote),
    ("found unknown escape character", _bad_escape),
    ("Unicode character escape", _bad_unicode),
    ("hexdecimal number", _bad_unicode),
    ("expected comment or line break", _after_indicator),
    ("block sequence entries are not allowed", _list_on_key_line),
    ("<document start>", _after_end),
)


def _same_line(event: Event, trouble: Trouble) -> bool:
    return event.end_mark.line == trouble.spot.line


def _is_bracket(event: Event) -> bool:
    """Whether a mapping or list ended with a bracket; one without has no end of its own."""
    return event.end_mark.index > event.start_mark.index


def _line(source: str, index: int) -> str:
    """The text from an index to the end of its line."""
    rest = source[max(index, 0) : max(index, 0) + 10 * _SHOWN]
    lines = rest.replace("\r", "\n").split("\n", 1)
    return lines[0].rstrip()
