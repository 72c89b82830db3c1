"""Findings as GitHub workflow commands, which put them beside the changed lines of a pull request."""

from collections.abc import Sequence

from noetl.cli.playbooks.validation import CheckResult, findings
from noetl.dsl.diagnostic import Diagnostic

LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(results: Sequence[CheckResult]) -> str:
    """One annotation per line."""
    return "\n".join(_annotation(result.name, finding) for result, finding in findings(results))


def _annotation(name: str, finding: Diagnostic) -> str:
    place = f"file={_property(name)},line={finding.line},col={finding.column},title={_property(finding.code)}"
    message = finding.message + (f"\nfix: {finding.hint}" if finding.hint else "")
    return f"::{LEVELS[finding.severity]} {place}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
