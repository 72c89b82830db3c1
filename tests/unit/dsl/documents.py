"""Small playbooks around the part a test is about, and short looks at findings."""

from textwrap import dedent, indent

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.load import Loaded, load
from tests.unit.dsl.kinds import KINDS

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: case, path: cases/case}\n"


def doc(workflow: str, head: str = HEAD) -> str:
    """A playbook with this workflow; its first line is line 5."""
    return f"{head}workflow:\n{indent(dedent(workflow).strip(chr(10)), '  ')}\n"


def rooted(section: str) -> str:
    """A playbook with one more section, from line 4 on."""
    return doc("- {step: start, tool: {kind: noop}}", HEAD + dedent(section).strip("\n") + "\n")


def task(body: str) -> str:
    """A playbook with one task; its body stands on line 6 from column 11 on."""
    return doc(f"- step: start\n  tool: {body}")


def read(text: str, *, strict: bool = False) -> Loaded:
    """The text, loaded with the kinds of the tests."""
    return load(text, kinds=KINDS, strict=strict)


def errors(text: str) -> list[Diagnostic]:
    """The errors of a text."""
    return [finding for finding in read(text).diagnostics if finding.severity == "error"]


def places(findings: list[Diagnostic]) -> list[tuple[str, int, int]]:
    """Findings as code, line and column."""
    return [(finding.code, finding.line, finding.column) for finding in findings]


def split(text: str) -> tuple[str, int, int]:
    """The text without its mark, and the line and column of the mark."""
    before, _, after = text.partition("«")
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")
