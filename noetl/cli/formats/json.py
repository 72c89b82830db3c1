"""Findings for scripts: one JSON object, of which the shape is a contract."""

import json
from collections.abc import Sequence

from noetl.cli.playbooks.validation import CheckResult, tally
from noetl.dsl.diagnostic import finding_fields


def render(results: Sequence[CheckResult]) -> str:
    """Files with their findings, and the totals."""
    counts = tally(results)
    files = [{"file": r.name, "diagnostics": [finding_fields(d) for d in r.diagnostics]} for r in results]
    report = {
        "files": files,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "infos": counts["info"],
    }
    return json.dumps(report, indent=2, ensure_ascii=False)
