"""Playbook text -> a tree that knows the place of every key and value. What it means is not decided here.

The text is taken in here: size, encoding, characters. No text makes `parse` raise.
"""

import re
from typing import Final

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.yaml.assemble import Limits, Parsed, assemble
from noetl.dsl.yaml.dump import dump
from noetl.dsl.yaml.refusal import TOO_LARGE
from noetl.dsl.yaml.syntax_error import after

__all__ = ["Limits", "Parsed", "dump", "parse"]

YAML_ENCODING = Code("yaml-encoding", "error", "The file is not UTF-8 text")
YAML_CHARACTER = Code("yaml-character", "error", "The text holds a character that may not stand there")

_DEFAULT: Final = Limits()
# YAML's printable characters, without the Unicode line breaks that editors do not count as lines.
_FORBIDDEN: Final = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_OTHER_ENCODINGS: Final = (b"\xff\xfe", b"\xfe\xff")


def parse(text: str | bytes, *, limits: Limits = _DEFAULT) -> Parsed:
    """The positioned tree of a text, and what is wrong with it."""
    if len(text) > limits.size:
        unit = "bytes" if isinstance(text, bytes) else "characters"
        return Parsed(None, (TOO_LARGE.at(Mark(), seen=f"{len(text)} {unit}", most=limits.size),))
    if isinstance(text, bytes):
        decoded = _decode(text)
        if isinstance(decoded, Diagnostic):
            return Parsed(None, (decoded,))
        text = decoded
    source = text.removeprefix("\ufeff")
    forbidden = _FORBIDDEN.search(source)
    if forbidden:
        return Parsed(None, (_refuse(source, forbidden),))
    return assemble(source, limits)


def _decode(data: bytes) -> str | Diagnostic:
    hint = "save the file as UTF-8"
    if data.startswith(_OTHER_ENCODINGS) or b"\0" in data[:4]:
        return YAML_ENCODING.at(Mark(), "the file is UTF-16, UTF-32 or binary, not UTF-8", hint)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        return YAML_ENCODING.at(after(before), f"byte 0x{data[error.start]:02x} is not UTF-8", hint)


def _refuse(source: str, match: re.Match[str]) -> Diagnostic:
    number = ord(match.group())
    message = f"the character U+{number:04X} may not stand in a playbook"
    writable = number and not 0xD800 <= number <= 0xDFFF
    hint = f'remove it, or write "\\u{number:04x}" in double quotes' if writable else "remove it"
    return YAML_CHARACTER.at(after(source[: match.start()]), message, hint)
