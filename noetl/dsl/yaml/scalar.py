"""What an unquoted word means under the YAML 1.2 core schema, and which words need quotes to stay text.

The words and patterns are yamlcore's. Only finite numbers of a sane length are values here.
"""

import math
import re
from collections.abc import Mapping
from typing import Final

from yaml.resolver import Resolver
from yamlcore import CoreLoader

from noetl.json_value import Json

NUMBER_LENGTH_MAX: Final = 400  # a longer one is no quantity, and converting it takes ever longer

_PATTERNS: Final[Mapping[str, re.Pattern[str]]] = {
    tag.rpartition(":")[2]: pattern
    for patterns in CoreLoader.yaml_implicit_resolvers.values()
    for tag, pattern in patterns
}
_INT: Final = _PATTERNS["int"]
_FLOAT: Final = _PATTERNS["float"]
_WORDS: Final[Mapping[str, Json]] = {
    **CoreLoader.null_values["core"],
    **CoreLoader.bool_values["core"],
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_BASES: Final = {"0o": 8, "0x": 16}
_OLD_TAGS: Final[Mapping[str, list[tuple[str, re.Pattern[str]]]]] = Resolver.yaml_implicit_resolvers
_OLD_WORDS: Final = frozenset("yYnN")  # booleans of YAML 1.1 that PyYAML itself does not read


class NotANumber(ValueError):
    """The word is spelt like a number but is none that JSON could hold."""


def read_plain(text: str) -> Json:
    """The value of an unquoted word; raises NotANumber."""
    if text[:1] in _NUMBER_STARTS:
        return _number(text)
    return _WORDS.get(text, text)


def leads_with_zero(text: str) -> bool:
    """Whether the word is a decimal number whose leading zeros are lost in reading."""
    digits = text.lstrip("+-")
    return len(digits) > 1 and digits[0] == "0" and digits.isdecimal()


def is_plain_text(text: str) -> bool:
    """Whether an unquoted word stays text for this reader and for readers of YAML 1.1."""
    if text in _WORDS or text in _OLD_WORDS or _INT.match(text) or _FLOAT.match(text):
        return False
    return not any(pattern.match(text) for _, pattern in _OLD_TAGS.get(text[:1], ()))


def _number(text: str) -> Json:
    whole = _INT.match(text)
    if not whole and not _FLOAT.match(text):
        return text
    if len(text) > NUMBER_LENGTH_MAX:
        raise NotANumber(f"has {len(text)} characters")
    if whole:
        base = _BASES.get(text[:2])
        return int(text[2:], base) if base else int(text)
    number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    if not math.isfinite(number):
        raise NotANumber("is not a finite number")
    return number
