"""A tree -> its canonical YAML text: block style, two spaces, quotes where a reader could go wrong.

Written here because libyaml's emitter cannot indent a list under its key, and PyYAML's own is many times
slower. Quoted text is a JSON string, which YAML reads.
"""

import json
import math
import re
from typing import Final

from noetl.dsl.yaml.scalar import is_plain_text

_KEY_LENGTH_MAX = 1000  # readers look for the ':' of a key on its line within 1024 characters
# Words, paths and sentences: no indicator first, nothing that ends a plain text, no document mark.
_PLAIN: Final = re.compile(r"(?!\.\.\.)[\w/.$(](?:[\w/.$,;'()+*=^%@!&|~<>? -]|:(?=\S))*(?<! )")
_NOT_SINGLE_QUOTED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff']")
_NOT_IN_BLOCK: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NOT_IN_JSON: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NOT_HELD: Final = re.compile("[\x00\ud800-\udfff]")


def dump(tree: object) -> str:
    """The YAML text of a JSON value, ending in a line break; raises ValueError for what is no JSON value."""
    lines: list[str] = []
    if isinstance(tree, dict | list) and tree:
        _write_entries(lines, tree, "", "")
    else:
        _write(lines, tree, "", "")
    return "\n".join(lines) + "\n"


def _write(lines: list[str], value: object, lead: str, indent: str) -> None:
    """Write a value after `lead`: a key, a dash or nothing. The lines that follow stand under `indent`."""
    inner = indent + "  "
    if isinstance(value, dict | list) and value:
        if lead.endswith("-"):
            _write_entries(lines, value, lead + " ", inner)
        else:
            lines.append(lead)
            _write_entries(lines, value, inner, inner)
        return
    space = " " if lead else ""
    if isinstance(value, str) and "\n" in value and _fits_block(value):
        lines.append(f"{lead}{space}|{_chomping(value)}")
        text = value[:-1] if value.endswith("\n") else value
        lines.extend(inner + line if line else "" for line in text.split("\n"))
    else:
        lines.append(f"{lead}{space}{_scalar(value)}")


def _write_entries(
    lines: list[str], node: dict[object, object] | list[object], lead: str, indent: str
) -> None:
    """Write the entries of a mapping or list; the first stands after `lead`, the others under `indent`."""
    if isinstance(node, list):
        for item in node:
            _write(lines, item, f"{lead}-", indent)
            lead = indent
        return
    for key, value in node.items():
        name = _text(key) if isinstance(key, str) else _refuse(key)
        if len(name) > _KEY_LENGTH_MAX:
            lines.append(f"{lead}? {name}")
            _write(lines, value, f"{indent}:", indent)
        else:
            _write(lines, value, f"{lead}{name}:", indent)
        lead = indent


def _scalar(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return _float(value)
        case dict():
            return "{}"
        case list():
            return "[]"
        case _:
            return _refuse(value)


def _text(text: str) -> str:
    if _NOT_HELD.search(text):
        _refuse(text)
    if _PLAIN.fullmatch(text) and is_plain_text(text):
        return text
    if ('"' in text or "\\" in text) and not _NOT_SINGLE_QUOTED.search(text):
        return f"'{text}'"
    return _NOT_IN_JSON.sub(
        lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False)
    )


def _float(value: float) -> str:
    """A float that YAML 1.1 readers see as one too: with a point before its exponent."""
    digits, mark, exponent = repr(value).partition("e")
    return f"{digits}.0e{exponent}" if mark and "." not in digits else repr(value)


def _fits_block(text: str) -> bool:
    """Whether a text of several lines can stand as it is: its first line begins the indentation."""
    return not (
        text.lstrip("\n")[:1] in ("", " ", "\t") or _NOT_IN_BLOCK.search(text) or _NOT_HELD.search(text)
    )


def _chomping(text: str) -> str:
    if not text.endswith("\n"):
        return "-"
    return "+" if text.endswith("\n\n") else ""


def _refuse(value: object) -> str:
    raise ValueError(f"{value!r:.80} is not a JSON value, so it has no YAML text")
