"""Every sentence of the language that refuses, warns or accepts something, through `noetl validate --format json`.

The documents of all tables are written to one folder and checked by one run of the program; each row then looks
at its own file.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from noetl.cli.commands.compile import command as compile_command
from noetl.dsl.load import load
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import plain
from noetl.tools import kinds
from tests.acceptance.conftest import Noetl
from tests.acceptance.language import calls, document, routing, scopes, steps, surfaces, tasks
from tests.acceptance.language.rows import Row

ROWS = [row for table in (document, steps, tasks, scopes, routing, calls, surfaces) for row in table.ROWS]


def checked(folder: Path, rows: list[Row], *flags: str) -> dict[str, list[dict[str, Any]]]:
    """The findings of every row's document, from one run of the program."""
    for number, row in enumerate(rows):
        data = row.text if isinstance(row.text, bytes) else row.text.encode()
        (folder / f"{number}.yaml").write_bytes(data)
    done = Noetl(folder)(
        "validate", *(f"{number}.yaml" for number in range(len(rows))), "--format", "json", *flags
    )
    assert "Traceback" not in done.stderr, done.stderr
    report = json.loads(done.stdout)
    assert done.returncode == (1 if report["errors"] else 0)
    return {file["file"]: file["diagnostics"] for file in report["files"]}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    return checked(tmp_path_factory.mktemp("spec"), ROWS)


def said(finding: dict[str, Any]) -> str:
    return json.dumps([finding["message"], finding["hint"]], ensure_ascii=False).replace('\\"', '"').lower()


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[str(row) for row in ROWS])
def test_a_document_draws_exactly_what_the_language_says_about_it(
    number: int, report: dict[str, Any]
) -> None:
    row, findings = ROWS[number], report[f"{number}.yaml"]
    if not row.severity:
        assert findings == []
        return
    of_severity = [finding for finding in findings if finding["severity"] == row.severity]
    here = [f for f in of_severity if f["line"] == row.line and row.code in ("", f["code"])]
    assert any(all(word.lower() in said(f) for word in row.words) for f in here), findings
    if row.severity != "error":
        assert not [finding for finding in findings if finding["severity"] == "error"], findings
    if row.alone:
        assert len(of_severity) == 1, findings


def test_findings_are_in_order_and_name_a_place(report: dict[str, Any]) -> None:
    for findings in report.values():
        places = [(finding["line"], finding["column"]) for finding in findings]
        assert places == sorted(places)
        assert all(line > 0 and column > 0 for line, column in places)
        assert all(finding["code"] and finding["message"] for finding in findings)


def test_strict_makes_deprecations_errors_and_nothing_else(tmp_path: Path, report: dict[str, Any]) -> None:
    rows = [row for row in ROWS if row.severity == "warning"]
    strict = checked(tmp_path, rows, "--strict")
    for number, row in enumerate(rows):
        before = report[f"{ROWS.index(row)}.yaml"]
        raised = {
            f["code"]
            for f, g in zip(before, strict[f"{number}.yaml"], strict=True)
            if f["severity"] != g["severity"]
        }
        assert all(code.startswith("deprecated-") or code == "bare-set-target" for code in raised), row
        old = {
            f["code"] for f in before if f["code"].startswith("deprecated-") or f["code"] == "bare-set-target"
        }
        assert raised == old, row


# What a schema can see of a playbook, by the codes of the errors it must refuse, too.
SEEN_BY_EDITORS = {
    "loop-incomplete", "missing-key", "next-not-router", "policy-without-rules", "reserved-name", "rule-without-when",
    "unknown-input", "unknown-key", "unknown-keychain-kind", "unknown-kind", "wrong-api-version", "wrong-type",
}  # fmt: skip
UNSEEN = {"a cursor without next"}  # what one key needs because of another's value


def test_the_schema_accepts_what_is_clean_and_refuses_what_editors_can_see(
    tmp_path: Path, report: dict[str, Any]
) -> None:
    schema = jsonschema_rs.validator_for(json.loads(Noetl(tmp_path)("schema").stdout))
    for number, row in enumerate(ROWS):
        findings = report[f"{number}.yaml"]
        codes = {finding["code"] for finding in findings if finding["severity"] == "error"}
        if not findings:
            assert schema.is_valid(plain(parse(row.text).tree)), row
        elif (
            codes & SEEN_BY_EDITORS and row.name not in UNSEEN and (tree := parse(row.text).tree) is not None
        ):
            assert not schema.is_valid(plain(tree)), row


@pytest.mark.parametrize("row", [row for row in ROWS if not row.severity], ids=str)
def test_what_compiling_prints_is_itself_clean_and_compiles_to_itself(row: Row) -> None:
    text = compiled(row.text)
    assert not load(text, kinds=kinds(), strict=True).diagnostics
    assert compiled(text) == text


def compiled(text: str | bytes) -> bytes:
    """What `noetl compile -` prints, in this process: some hundred processes would take a minute."""
    done = CliRunner().invoke(compile_command, ["-"], input=text, standalone_mode=False)
    assert done.return_value == 0, done.output
    return done.stdout_bytes
