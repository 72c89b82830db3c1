"""What can be put right with one click: what a hint says to write, and older spellings of a whole document.

A fix is offered only where the finding is gone afterwards.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.grammar.check_set import BAD_TARGET
from noetl.dsl.grammar.checker import API_VERSION, WRONG_VALUE
from noetl.dsl.migrate import PROMISE, migrate
from noetl.dsl.older_spellings.findings import BARE_TARGET, DEPRECATIONS
from noetl.dsl.rules.bare_names import FALL_THROUGH_FIELD, PREFER_FULL_NAME
from noetl.dsl.rules.failures import FAILURE_NOT_ASKED
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.refusal import UNQUOTED_TEMPLATE
from noetl.errors import PlaybookError
from noetl.lsp.hover import word_at
from noetl.lsp.navigation import Place

Findings = Callable[[str], Iterable[Diagnostic]]  # of a text
RENAMED = tuple(code.name for code in (BARE_TARGET, PREFER_FULL_NAME, FALL_THROUGH_FIELD, BAD_TARGET))
CONSTANTS = (API_VERSION.name, WRONG_VALUE.name)
VALUE_LINES = 100  # of a text over several lines that is looked through for a name
_MEANT = re.compile(r"did you mean '([^']+)'")
_SEEN = re.compile(r"'([^']+)'")
_WORD = re.compile(r"write:? ([\w.]+)")
_CONSTANT = re.compile(r"write \w+: (\S+)")
_CONDITION = re.compile(r'write \w+: "(\{\{ (.+) \}\})"(?:, or .*)?')
_BARE = re.compile(r"(\{\{[^\n]*?\}\})(?=\s*(?:[,}\]]|#|$))")  # a template that is the whole of a value
_QUOTED = re.compile(r"\"[^\"\n\\]*\"|'[^'\n]*'")
_ARC_IN_LINES = re.compile(r"step:[ \t]*[\w\"']+[ \t]*(?=#|$)")
_ARC_IN_BRACES = re.compile(r"\{[ \t]*step:[ \t]*[\w\"']+(?=[ \t]*\})")


@dataclass(frozen=True, slots=True)
class QuickFix:
    """A title, and one text in place of another."""

    title: str
    place: Place | None  # None: the whole document
    text: str


def quick_fixes(
    found: Iterable[Diagnostic], lines: Sequence[str], kinds: Kinds, findings: Findings
) -> Iterator[tuple[Diagnostic, QuickFix]]:
    """How findings are put right, where there is but one way."""
    older = _Older("\n".join(lines), kinds, findings)
    for finding in found:
        fix = quick_fix(finding, lines) or older.fix(finding)
        if fix is not None:
            yield finding, fix


def quick_fix(finding: Diagnostic, lines: Sequence[str]) -> QuickFix | None:
    """How one finding is put right at its place."""
    for propose in (_nearest, _full_name, _constant, _quoted, _as_template, _guarded):
        fix = propose(finding, lines)
        if fix is not None:
            return fix
    return None


def _nearest(finding: Diagnostic, lines: Sequence[str]) -> QuickFix | None:
    """The known word that was meant, in the place of the one that the finding is about."""
    meant, line = _MEANT.search(finding.hint or ""), lines[finding.line - 1]
    if meant is None:
        return None
    for seen in (*_SEEN.findall(finding.message), word_at(line, finding.column - 1)):
        column = line.find(seen, finding.column - 1) if seen else -1
        if column >= 0 and seen != meant[1]:
            return QuickFix(f"Write '{meant[1]}'", Place(finding.line - 1, column, len(seen)), meant[1])
    return None


def _full_name(finding: Diagnostic, lines: Sequence[str]) -> QuickFix | None:
    """A name as it is to be written, in the place of the one that was."""
    word, seen = _WORD.fullmatch(finding.hint or ""), _SEEN.search(finding.message)
    if finding.code not in RENAMED or word is None or seen is None:
        return None
    name = re.compile(rf"(?<![\w.'\"]){re.escape(seen[1])}(?![\w.])")
    for number, start in _value_lines(finding, lines):
        here = name.search(lines[number], start)
        if here is not None:
            return _instead(number, here.start(), here.group(), word[1])
    return None


def _value_lines(finding: Diagnostic, lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines of the value that a finding is at, and where to begin in each."""
    first = finding.line - 1
    yield first, finding.column - 1
    for number in range(first + 1, min(first + VALUE_LINES, len(lines))):
        if lines[number].strip() and _indentation(lines[number]) <= _indentation(lines[first]):
            return
        yield number, 0


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _constant(finding: Diagnostic, lines: Sequence[str]) -> QuickFix | None:
    """The one value that a key can have."""
    constant = _CONSTANT.fullmatch(finding.hint or "")
    if finding.code not in CONSTANTS or constant is None:
        return None
    for seen in _SEEN.findall(finding.message)[1:2]:
        return _value(finding, lines, seen, constant[1])
    return None


def _quoted(finding: Diagnostic, lines: Sequence[str]) -> QuickFix | None:
    """A template in the quotes without which YAML takes it for a mapping."""
    bare = _BARE.match(lines[finding.line - 1], finding.column - 1)
    text = None if bare is None else _in_quotes(bare[1])
    if finding.code != UNQUOTED_TEMPLATE.name or bare is None or text is None:
        return None
    return _instead(finding.line - 1, bare.start(), bare[1], text)


def _as_template(finding: Diagnostic, lines: Sequence[str]) -> QuickFix | None:
    """A condition or collection that was written without `{{ }}`."""
    written = _CONDITION.fullmatch(finding.hint or "")
    text = None if written is None else _in_quotes(written[1])
    return None if written is None or text is None else _value(finding, lines, written[2], text)


def _guarded(finding: Diagnostic, lines: Sequence[str]) -> QuickFix | None:
    """An arc that asks how the step before it ended."""
    guard = _CONDITION.fullmatch(finding.hint or "")
    text = None if guard is None else _in_quotes(guard[1])
    if finding.code != FAILURE_NOT_ASKED.name or text is None:
        return None
    line, number, start = lines[finding.line - 1], finding.line - 1, finding.column - 1
    own = _QUOTED.match(line, start)
    if own is not None:
        return _instead(number, start, own.group(), text)
    for arc, before in ((_ARC_IN_LINES, "\n" + " " * start), (_ARC_IN_BRACES, ", ")):
        here = arc.match(line, start)
        if here is not None:
            end = len(here.group().rstrip())
            return QuickFix(f"Write when: {text}", Place(number, start + end, 0), f"{before}when: {text}")
    return None


def _value(finding: Diagnostic, lines: Sequence[str], seen: str, text: str) -> QuickFix | None:
    """A text in the place of the value that a finding is at, in quotes or not."""
    number, start = finding.line - 1, finding.column - 1
    for written in (seen, f'"{seen}"', f"'{seen}'"):
        if lines[number].startswith(written, start):
            return _instead(number, start, written, text)
    return None


def _in_quotes(text: str) -> str | None:
    quote = "'" if '"' in text or "\\" in text else '"'
    return None if quote in text else f"{quote}{text}{quote}"


def _instead(line: int, column: int, seen: str, text: str) -> QuickFix:
    return QuickFix(f"Write {text}", Place(line, column, len(seen)), text)


class _Older:
    """The whole document in today's spelling, written when the first finding asks for it."""

    def __init__(self, text: str, kinds: Kinds, findings: Findings) -> None:
        self._text, self._kinds, self._findings = text, kinds, findings

    def fix(self, finding: Diagnostic) -> QuickFix | None:
        """The rewriting, where it is the cure of a finding."""
        older = finding.code in DEPRECATIONS or PROMISE in (finding.hint or "")
        if not older or self._cures[_key(finding)] <= 0:
            return None
        return QuickFix("Rewrite older spellings of this playbook", None, self._rewritten)

    @cached_property
    def _rewritten(self) -> str:
        try:
            return migrate(self._text, kinds=self._kinds).text
        except PlaybookError:  # no YAML yet
            return self._text

    @cached_property
    def _cures(self) -> "Counter[tuple[str, str]]":
        before = Counter(map(_key, self._findings(self._text)))
        before.subtract(map(_key, self._findings(self._rewritten)))
        return before


def _key(finding: Diagnostic) -> tuple[str, str]:
    return finding.code, finding.message
