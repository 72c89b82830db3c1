"""The gate of commands that need a valid playbook: load it, or print its errors on stderr."""

import sys

from noetl.cli.playbooks.sources import read_one
from noetl.cli.playbooks.validation import CheckResult, check
from noetl.cli.terminal import Paint, colourful, note


def require_valid(argument: str) -> CheckResult | None:
    """The checked playbook; None when it has errors, which are then printed."""
    from noetl.cli.formats.text import findings_text, summary_line

    checked = check(read_one(argument))
    if checked.valid:
        return checked
    paint = Paint(colourful(sys.stderr))
    note(findings_text([checked], paint))
    note(summary_line([checked], paint))
    return None
