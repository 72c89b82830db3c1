"""Looking into text by pattern, with RE2.

RE2 takes time linear in the text, so no pattern can hang a rendering; it has no look-around and no
back-references inside a pattern. It is loaded when a template first needs it.
"""

import re
from functools import lru_cache

from noetl.dsl.templates.conversions import wanted_text
from noetl.dsl.templates.limits import Budget, TemplateError, refuse_long
from noetl.dsl.yaml.tree import Value

PATTERN_CHARS = 1_000
MATCH_COST = 16
_REFERENCE = re.compile(r"\\(?:g<(\w+)>|([1-9]\d?)|(.))", re.ASCII | re.DOTALL)
_ESCAPES = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


def regex_search(
    budget: Budget, value: Value, pattern: str, group: int | str = 0, ignorecase: bool = False
) -> str | None:
    """The first match, or one group of it; null when there is none."""
    text = wanted_text(value)
    budget.spend_text(len(text))
    match = compiled_pattern(pattern, ignorecase).search(text)
    try:
        return match.group(group) if match else None
    except (IndexError, KeyError):
        raise TemplateError(f"the pattern {pattern!r} has no group {group!r}") from None


def regex_replace(
    budget: Budget,
    value: Value,
    pattern: str,
    replacement: str = "",
    count: int = 0,
    ignorecase: bool = False,
) -> str:
    """The text with every match, or the first `count`, replaced; `\\1` in the replacement is a group."""
    text = wanted_text(value)
    budget.spend_text(len(text))
    parts: list[str] = []
    size = end = 0
    for number, match in enumerate(compiled_pattern(pattern, ignorecase).finditer(text)):
        if count and number >= count:
            break
        budget.spend(MATCH_COST + replacement.count("\\"))
        new = _expanded(match, replacement)
        size += match.start() - end + len(new)
        refuse_long(size)
        parts += (text[end : match.start()], new)
        end = match.end()
    return "".join([*parts, text[end:]])


def _expanded(match: re.Match[str], replacement: str) -> str:
    """A replacement with its groups and escapes; it is refused before it is too long."""
    if "\\" not in replacement:
        return replacement
    size = len(replacement)

    def expanded(reference: re.Match[str]) -> str:
        nonlocal size
        named, numbered, escape = reference.groups()
        if escape is not None:
            return _ESCAPES.get(escape, reference[0])
        group = match.group(int(numbered or named) if (numbered or named).isdecimal() else named) or ""
        size += len(group) - len(reference[0])
        refuse_long(size)
        return group

    try:
        return _REFERENCE.sub(expanded, replacement)
    except (IndexError, KeyError):
        raise TemplateError(f"the replacement {replacement!r} names a group that is not there") from None


@lru_cache(256)
def compiled_pattern(pattern: str, ignorecase: bool) -> re.Pattern[str]:
    """A pattern ready for use; TemplateError when RE2 cannot use it."""
    import re2

    _check_size(pattern)
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignorecase
    try:
        usable: re.Pattern[str] = re2.compile(pattern, options)  # it has the methods of a pattern of `re`
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args else "unknown reason"
        hint = "patterns follow RE2: no look-around and no back-references"
        raise TemplateError(f"the pattern {pattern!r} cannot be used: {reason}", hint=hint) from None
    return usable


def _check_size(pattern: object) -> None:
    if not isinstance(pattern, str) or len(pattern) > PATTERN_CHARS:
        raise TemplateError(f"a pattern must be a text of at most {PATTERN_CHARS:,} characters")
