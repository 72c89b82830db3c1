"""What a finding about a playbook is, and where it stands. Nothing is printed here."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "info"]


class Mark(NamedTuple):
    """A place in the author's text: 1-based line and column, and the JSON pointer of the node."""

    line: int = 1
    column: int = 1
    path: str = ""


NOWHERE = Mark()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: a stable code, one sentence, a place, and what to do about it where that is known."""

    code: str
    severity: Severity
    message: str
    mark: Mark
    hint: str | None = None

    @property
    def line(self) -> int:
        """The 1-based line."""
        return self.mark.line

    @property
    def column(self) -> int:
        """The 1-based column."""
        return self.mark.column

    @property
    def path(self) -> str:
        """The JSON pointer of the node."""
        return self.mark.path


@dataclass(frozen=True, slots=True)
class Code:
    """A stable code of the catalogue: its name (also its docs page), severity and title."""

    name: str
    severity: Severity
    title: str

    def at(self, mark: Mark, message: str, hint: str | None = None) -> Diagnostic:
        """A finding of this code at a place."""
        return Diagnostic(self.name, self.severity, message, mark, hint)


def finding_fields(diagnostic: Diagnostic) -> dict[str, str | int | None]:
    """One finding as readers see it."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "path": diagnostic.path,
        "hint": diagnostic.hint,
    }


def in_order(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings by position, each once."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda d: (d.line, d.column, d.code)))


def has_errors(findings: Iterable[Diagnostic]) -> bool:
    """Whether any finding is an error."""
    return any(finding.severity == "error" for finding in findings)
