"""What can be put right with one click: the word that was meant, and older spellings of a whole document."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.migrate import migrate
from noetl.dsl.older_spellings.findings import BARE_TARGET, DEPRECATIONS
from noetl.dsl.rules.bare_names import PREFER_FULL_NAME
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.refusal import UNQUOTED_TEMPLATE
from noetl.lsp.hover import word_at
from noetl.lsp.navigation import Place

RENAMED = (BARE_TARGET.name, PREFER_FULL_NAME.name)
_MEANT = re.compile(r"did you mean '([^']+)'")
_SEEN = re.compile(r"'([^']+)'")
_WORD = re.compile(r"write:? ([\w.]+)")
_GUARD = re.compile(r'write \w+: ("\{\{ (.+) \}\}")')
_BARE = re.compile(r"(\{\{[^\n]*?\}\})(?=\s*(?:[,}\]]|#|$))")  # a template that is the whole of a value


@dataclass(frozen=True, slots=True)
class QuickFix:
    """A title, and one text in place of another."""

    title: str
    place: Place | None  # None: the whole document
    text: str


def quick_fix(finding: Diagnostic, lines: Sequence[str], kinds: Kinds) -> QuickFix | None:
    """How a finding is put right, where there is but one way."""
    meant = _MEANT.search(finding.hint or "")
    if meant is not None:
        return _replacement(finding, lines, meant[1])
    written = _as_hinted(finding, lines)
    if written is not None:
        return written
    if finding.code in DEPRECATIONS:
        text = "\n".join(lines)
        migrated = migrate(text, kinds=kinds)
        if migrated.text != text:
            return QuickFix("Rewrite older spellings of this playbook", None, migrated.text)
    return None


def _as_hinted(finding: Diagnostic, lines: Sequence[str]) -> QuickFix | None:
    """What the hint says to write, in the place of what it is about."""
    line, start = lines[finding.line - 1], finding.column - 1
    guard, word = _GUARD.fullmatch(finding.hint or ""), _WORD.fullmatch(finding.hint or "")
    if guard is not None and line.startswith(guard[2], start):
        return QuickFix(f"Write {guard[1]}", Place(finding.line - 1, start, len(guard[2])), guard[1])
    if finding.code in RENAMED and word is not None and (seen := _SEEN.search(finding.message)) is not None:
        here = re.compile(rf"(?<![\w.'\"]){re.escape(seen[1])}(?![\w.])").search(line, start)
        return None if here is None else _instead(finding, here, word[1])
    if finding.code == UNQUOTED_TEMPLATE.name and (bare := _BARE.match(line, start)) is not None:
        quote = "'" if '"' in bare[1] else '"'
        return None if quote in bare[1] else _instead(finding, bare, f"{quote}{bare[1]}{quote}")
    return None


def _instead(finding: Diagnostic, match: "re.Match[str]", text: str) -> QuickFix:
    return QuickFix(f"Write {text}", Place(finding.line - 1, match.start(), len(match.group())), text)


def _replacement(finding: Diagnostic, lines: Sequence[str], meant: str) -> QuickFix | None:
    """Replace the word that the finding is about, where it stands on that line."""
    line = lines[finding.line - 1]
    for seen in (*_SEEN.findall(finding.message), word_at(line, finding.column - 1)):
        column = line.find(seen, finding.column - 1) if seen else -1
        if column >= 0 and seen != meant:
            return QuickFix(f"Write '{meant}'", Place(finding.line - 1, column, len(seen)), meant)
    return None
