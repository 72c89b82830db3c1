"""The YAML that a playbook may not use: a code, a sentence and a way out for each."""

from dataclasses import dataclass
from typing import Final

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.yaml.one_line import shortened

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

_WORDS_MAX: Final = 40


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that is refused; names in braces stand for what was seen."""

    code: Code
    message: str
    hint: str

    def at(self, mark: Mark, **values: object) -> Diagnostic:
        """The finding at a place, with what was seen there, shortened."""
        words = {name: shortened(str(value), _WORDS_MAX) for name, value in values.items()}
        return self.code.at(mark, self.message.format(**words), self.hint.format(**words))


EMPTY = Refusal(YAML_EMPTY, "the file holds no playbook", "begin with: apiVersion: noetl.io/v2")
TOO_LARGE = Refusal(
    YAML_TOO_LARGE,
    "the text has {seen}, at most {most} are read",
    "split it: kind: playbook calls another playbook",
)
TOO_DEEP = Refusal(
    YAML_TOO_DEEP,
    "values are nested more than {depth} deep",
    "move the inner part into a workbook block or a playbook of its own",
)
SECOND_DOCUMENT = Refusal(
    YAML_DOCUMENTS,
    "a second document begins here; a file holds one playbook",
    "put it in a file of its own",
)
TAG = Refusal(YAML_TAG, "the tag {name} is not part of the language", "remove it; a value in quotes is text")
TAG_DIRECTIVE = Refusal(
    YAML_TAG, "tags are not part of the language, and %TAG declares them", "remove the line"
)
MERGE_KEY = Refusal(
    YAML_MERGE_KEY,
    "merge keys ('<<') are not part of YAML 1.2",
    "write the keys out, or share them through a workbook block",
)
UNKNOWN_ALIAS = Refusal(
    YAML_ALIAS,
    "nothing above is marked &{name}",
    'write "*{name}" if it is text, or &{name} before the value to repeat',
)
CIRCULAR_ALIAS = Refusal(
    YAML_ALIAS, "the alias *{name} stands inside the value it repeats", "write the inner value out"
)
TOO_MANY_REPEATS = Refusal(
    YAML_ALIAS,
    "aliases repeat more than {most} keys and values",
    "call a workbook block instead of repeating its text",
)
KEY_EMPTY = Refusal(YAML_KEY, "a key is empty; keys are text", "write the key before its ':'")
KEY_NOT_TEXT = Refusal(YAML_KEY, "the key {key} is {type}; keys are text", 'write "{key}"')
KEY_NOT_SCALAR = Refusal(YAML_KEY, "a key is {type}; keys are text", "write a name before the ':'")
DUPLICATE_KEY = Refusal(
    YAML_DUPLICATE_KEY,
    "the key '{key}' is written twice; first at line {line}",
    "remove or rename one of them",
)
NUL = Refusal(YAML_NUL, "a text holds the character U+0000", "remove the \\0 or \\x00")
NUMBER = Refusal(
    YAML_NUMBER,
    "the number {text} {why}",
    "write a finite number, or put quotes around it to keep it as text",
)
LEADING_ZERO = Refusal(
    YAML_LEADING_ZERO,
    "{text} is read as the number {value}",
    'write "{text}" to keep the zeros; an octal number begins with 0o',
)
TEMPLATE = Refusal(
    UNQUOTED_TEMPLATE,
    "{text} stands without quotes, so YAML reads it as a mapping",
    'quote the template: "{{{{ … }}}}"',
)
