"""Findings as SARIF 2.1.0, which code hosts and editors read."""

import json
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import quote

from noetl import __version__
from noetl.cli.playbooks.sources import STDIN_NAME
from noetl.cli.playbooks.validation import CheckResult, findings
from noetl.dsl.diagnostic import Code, Diagnostic
from noetl.dsl.finding_codes import catalogue

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(results: Sequence[CheckResult]) -> str:
    """One run of one tool, with the rules that were broken."""
    broken = sorted({finding.code for _, finding in findings(results)})
    run = {
        "tool": {"driver": _driver(broken)},
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": {"uri": _uri(result.name)}} for result in results],
        "results": [_result(result.name, finding, broken) for result, finding in findings(results)],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _driver(codes: list[str]) -> dict[str, object]:
    return {
        "name": "noetl",
        "version": __version__,
        "rules": [_rule(catalogue()[code]) for code in codes],
    }


def _rule(code: Code) -> dict[str, object]:
    return {
        "id": code.name,
        "shortDescription": {"text": code.title},
        "help": {"text": f"See /docs/errors/{code.name} of a NoETL server, or docs/errors/{code.name}.md"},
        "defaultConfiguration": {"level": LEVELS[code.severity]},
    }


def _result(name: str, finding: Diagnostic, codes: list[str]) -> dict[str, object]:
    text = finding.message + (f"\nfix: {finding.hint}" if finding.hint else "")
    region = {"startLine": finding.line, "startColumn": finding.column}
    place = {"artifactLocation": {"uri": _uri(name)}, "region": region}
    logical = [{"fullyQualifiedName": finding.path}] if finding.path else []
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": place, "logicalLocations": logical}],
    }


def _uri(name: str) -> str:
    if name == STDIN_NAME:
        return "stdin"
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
