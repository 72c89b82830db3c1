"""What can be put right with one click: the word that was meant, and older spellings of a whole document."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.migrate import migrate
from noetl.dsl.older_spellings.findings import DEPRECATIONS
from noetl.dsl.tool_kind import Kinds
from noetl.lsp.hover import word_at
from noetl.lsp.navigation import Place

_MEANT = re.compile(r"did you mean '([^']+)'")
_SEEN = re.compile(r"'([^']+)'")


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
    if finding.code in DEPRECATIONS:
        text = "\n".join(lines)
        migrated = migrate(text, kinds=kinds)
        if migrated.text != text:
            return QuickFix("Rewrite older spellings of this playbook", None, migrated.text)
    return None


def _replacement(finding: Diagnostic, lines: Sequence[str], meant: str) -> QuickFix | None:
    """Replace the word that the finding is about, where it stands on that line."""
    line = lines[finding.line - 1]
    for seen in (*_SEEN.findall(finding.message), word_at(line, finding.column - 1)):
        column = line.find(seen, finding.column - 1) if seen else -1
        if column >= 0 and seen != meant:
            return QuickFix(f"Write '{meant}'", Place(finding.line - 1, column, len(seen)), meant)
    return None
