"""Findings for scripts: one JSON object, of which the shape is a contract."""

import json
from collections.abc import Sequence

from noetl.cli.playbooks.validation import CheckResult, tally
from noetl.dsl.diagnostic import Diagnostic


def render(results: Sequence[CheckResult]) -> str:
    """Files with their findings, and the totals."""
    counts = tally(results)
    files = [{"file": r.name, "diagnostics": [finding(d) for d in r.diagnostics]} for r in results]
    report = {
        "files": files,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "infos": counts["info"],
    }
    return json.dumps(report, indent=2, ensure_ascii=False)


def finding(diagnostic: Diagnostic) -> dict[str, object]:
    """One finding as a JSON object."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "path": diagnostic.path,
        "hint": diagnostic.hint,
    }
