"""The YAML that a playbook may not use: a code and a sentence for each."""

from typing import Final

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.yaml.one_line import shortened
from noetl.json_value import Json

YAML_EMPTY = Code("yaml-empty", "error", "The file is empty")
YAML_TOO_LARGE = Code("yaml-too-large", "error", "The text is larger than a playbook may be")
YAML_TOO_DEEP = Code("yaml-too-deep", "error", "Values are nested too deeply")
YAML_DOCUMENTS = Code("yaml-documents", "error", "The file holds more than one document")
YAML_TAG = Code("yaml-tag", "error", "A value carries a YAML tag")
YAML_MERGE_KEY = Code("yaml-merge-key", "error", "A mapping uses a merge key")
YAML_ALIAS = Code("yaml-alias", "error", "An alias cannot be followed")
YAML_KEY = Code("yaml-key", "error", "A key is not text")
YAML_DUPLICATE_KEY = Code("yaml-duplicate-key", "error", "A key is written twice in one mapping")
YAML_NUL = Code("yaml-nul", "error", "A text holds the character NUL")
YAML_NUMBER = Code("yaml-number", "error", "A number cannot be held")
YAML_LEADING_ZERO = Code("yaml-leading-zero", "warning", "A number loses its leading zeros")
UNQUOTED_TEMPLATE = Code("unquoted-template", "error", "A template stands without quotes")

_SHOWN: Final = 40


def empty() -> Diagnostic:
    """Nothing but blanks and comments."""
    return YAML_EMPTY.at(Mark(), "the file holds no playbook", "begin with: apiVersion: noetl.io/v2")


def too_large(seen: str, most: str, mark: Mark) -> Diagnostic:
    """Too many bytes, keys or values."""
    hint = "split it: kind: playbook calls another playbook"
    return YAML_TOO_LARGE.at(mark, f"the text has {seen}, at most {most} are read", hint)


def too_deep(depth: int, mark: Mark) -> Diagnostic:
    """One bracket or indentation too many."""
    hint = "move the inner part into a workbook block or a playbook of its own"
    return YAML_TOO_DEEP.at(mark, f"values are nested more than {depth} deep", hint)


def second_document(mark: Mark) -> Diagnostic:
    """A `---` that begins another document."""
    message = "a second document begins here; a file holds one playbook"
    return YAML_DOCUMENTS.at(mark, message, "put it in a file of its own")


def tag(name: str, mark: Mark) -> Diagnostic:
    """`!anything` before a value."""
    spelt = _short(name.replace("tag:yaml.org,2002:", "!!"))
    hint = "remove it; a value in quotes is text"
    return YAML_TAG.at(mark, f"the tag {spelt} is not part of the language", hint)


def tag_directive(mark: Mark) -> Diagnostic:
    """`%TAG`, which only tags would need."""
    return YAML_TAG.at(mark, "tags are not part of the language, and %TAG declares them", "remove the line")


def merge_key(mark: Mark) -> Diagnostic:
    """`<<` as a key."""
    hint = "write the keys out, or share them through a workbook block"
    return YAML_MERGE_KEY.at(mark, "merge keys ('<<') are not part of YAML 1.2", hint)


def unknown_alias(name: str, mark: Mark) -> Diagnostic:
    """An alias whose anchor is nowhere above it."""
    hint = f'write "*{_short(name)}" if it is text, or &{_short(name)} before the value to repeat'
    return YAML_ALIAS.at(mark, f"nothing above is marked &{_short(name)}", hint)


def circular_alias(name: str, mark: Mark) -> Diagnostic:
    """An alias inside the value it repeats."""
    message = f"the alias *{_short(name)} stands inside the value it repeats"
    return YAML_ALIAS.at(mark, message, "write the inner value out")


def too_many_repeats(most: int, mark: Mark) -> Diagnostic:
    """Aliases that make much out of little."""
    hint = "call a workbook block instead of repeating its text"
    return YAML_ALIAS.at(mark, f"aliases repeat more than {most} keys and values", hint)


def key_not_text(key: str, meaning: Json, mark: Mark) -> Diagnostic:
    """An unquoted key that YAML reads as a number, a boolean or null."""
    if not key:
        return YAML_KEY.at(mark, "a key is empty; keys are text", "write the key before its ':'")
    message = f"the key {_short(key)} is {_type_name(meaning)}; keys are text"
    return YAML_KEY.at(mark, message, f'write "{_short(key)}"')


def key_not_scalar(value: Json, mark: Mark) -> Diagnostic:
    """A mapping or list as a key."""
    return YAML_KEY.at(mark, f"a key is {_type_name(value)}; keys are text", "write a name before the ':'")


def duplicate_key(key: str, first: Mark, mark: Mark) -> Diagnostic:
    """The second of two equal keys."""
    message = f"the key '{_short(key)}' is written twice; first at line {first.line}"
    return YAML_DUPLICATE_KEY.at(mark, message, "remove or rename one of them")


def nul(mark: Mark) -> Diagnostic:
    """`\\0` in a double-quoted text."""
    return YAML_NUL.at(mark, "a text holds the character U+0000", "remove the \\0 or \\x00")


def number(text: str, why: str, mark: Mark) -> Diagnostic:
    """A number without end or with too many digits."""
    hint = "write a finite number, or put quotes around it to keep it as text"
    return YAML_NUMBER.at(mark, f"the number {_short(text)} {why}", hint)


def leading_zero(text: str, value: int, mark: Mark) -> Diagnostic:
    """`007`, which is the number 7."""
    hint = f'write "{_short(text)}" to keep the zeros; an octal number begins with 0o'
    return YAML_LEADING_ZERO.at(mark, f"{_short(text)} is read as the number {_short(str(value))}", hint)


def unquoted_template(text: str, mark: Mark) -> Diagnostic:
    """`{{ }}` that YAML takes for a mapping."""
    first = text.splitlines()[0].rstrip()
    message = f"{_short(first)} stands without quotes, so YAML reads it as a mapping"
    return UNQUOTED_TEMPLATE.at(mark, message, 'quote the template: "{{ … }}"')


def _short(text: str) -> str:
    return shortened(text, _SHOWN)


def _type_name(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "a mapping"
