"""Findings in each format: exact text for people, exact shapes for machines."""

import json
from dataclasses import dataclass

import pytest

from noetl.cli.formats import github, sarif, text
from noetl.cli.formats import json as findings_json
from noetl.cli.playbooks.sources import Source
from noetl.cli.playbooks.validation import CheckResult
from noetl.cli.terminal import Paint
from noetl.dsl.diagnostic import Diagnostic, Mark

PLAIN = Paint(False)


@dataclass(frozen=True)
class Findings:
    """What a loaded text offers to the formats."""

    diagnostics: tuple[Diagnostic, ...]


def checked(source: str | bytes, *found: Diagnostic, name: str = "case.yaml") -> CheckResult:
    data = source.encode() if isinstance(source, str) else source
    return CheckResult(Source(name, data), Findings(found))  # type: ignore[arg-type]


def finding(line: int = 2, column: int = 3, **changes) -> Diagnostic:
    given = {
        "code": "duplicate-step",
        "severity": "error",
        "message": "step 'a' is defined twice",
        "hint": None,
    }
    return Diagnostic(mark=Mark(line, column, "/workflow/1/step"), **(given | changes))


# ---- text -----------------------------------------------------------------------------------------------


def test_a_finding_reads_like_a_compilers() -> None:
    result = checked("a: 1\n- step: load_it\n", finding(column=9, hint="rename one of them"))
    assert text.findings_text([result], PLAIN) == (
        "error[duplicate-step]: step 'a' is defined twice\n"
        "  --> case.yaml:2:9\n"
        "  |\n"
        "2 | - step: load_it\n"
        "  |         ^^^^^^^\n"
        "  = fix: rename one of them"
    )


def test_a_hint_of_several_lines_stays_in_its_column() -> None:
    result = checked("a: 1\n", finding(line=1, column=1, hint="write:\n  next:\n    arcs: []"))
    assert text.findings_text([result], PLAIN).endswith("  = fix: write:\n      next:\n        arcs: []")


def test_findings_are_separated_by_a_blank_line() -> None:
    result = checked("a\nb\n", finding(line=1, column=1), finding(line=2, column=1))
    assert text.findings_text([result], PLAIN).count("\n\n") == 1


def test_an_empty_file_is_quoted_without_a_line() -> None:
    assert text.findings_text([checked("", finding(line=1, column=1))], PLAIN).endswith("--> case.yaml:1:1")


@pytest.mark.parametrize(
    "line, column, shown, caret",
    [
        ("key: value", 6, "key: value", "     ^^^^^"),
        ("key: 'a b' # c", 6, "key: 'a b' # c", "     ^^^^^"),
        ('key: "a \\" b"', 6, 'key: "a \\" b"', "     ^^^^^^^^"),
        ("{a: 1}", 1, "{a: 1}", "^"),
        ("key:", 9, "key:", "    ^"),
        ("\tkey: 1", 2, "  key: 1", "  ^^^"),
        ("名前: 値", 5, "名前: 値", "      ^^"),
        ("a: \x1b[31mred", 4, "a: \\x1b[31mred", "   ^^^^"),
        ("a: \u202eb", 4, "a: \\u202eb", "   ^^^^^^"),
    ],
)
def test_the_caret_stands_under_the_spot(line: str, column: int, shown: str, caret: str) -> None:
    assert text.quote(line, column) == (shown, caret)


def test_a_long_line_is_cut_around_the_spot() -> None:
    shown, caret = text.quote("x" * 500 + " spot " + "y" * 500, 502)
    assert len(shown) <= text.WIDTH + 2
    assert shown[caret.index("^") :].startswith("spot")
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_bytes_that_are_not_text_are_still_quoted() -> None:
    assert "\ufffd" in text.findings_text([checked(b"a: \xff\n", finding(line=1, column=4))], PLAIN)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028"])
def test_lines_are_counted_as_yaml_counts_them(end: str) -> None:
    assert "2 | second" in text.findings_text(
        [checked(f"first{end}second", finding(line=2, column=1))], PLAIN
    )


def test_colour_is_used_when_it_is_wanted() -> None:
    result = checked("a\n", finding(line=1, column=1))
    assert "\x1b[31m" in text.findings_text([result], Paint(True))
    assert "\x1b" not in text.findings_text([result], PLAIN)


@pytest.mark.parametrize(
    "results, line",
    [
        ([checked("")], "ok: case.yaml: no findings"),
        ([checked("", finding())], "failed: case.yaml: 1 error"),
        ([checked("", finding(severity="warning"))] * 2, "ok: 2 playbooks: 2 warnings in 2 files"),
        (
            [checked("", finding(), finding(severity="warning"), finding(severity="info")), checked("")],
            "failed: 2 playbooks: 1 error, 1 warning, 1 note in 1 file",
        ),
    ],
)
def test_the_summary_is_one_line(results: list[CheckResult], line: str) -> None:
    assert text.summary_line(results, PLAIN) == line


# ---- json -----------------------------------------------------------------------------------------------


def test_json_has_exactly_the_shape_of_the_contract() -> None:
    result = checked("", finding(hint="rename"), finding(severity="warning"))
    report = json.loads(findings_json.render([result]))
    assert report["files"][0]["diagnostics"][0] == {
        "code": "duplicate-step",
        "severity": "error",
        "message": "step 'a' is defined twice",
        "line": 2,
        "column": 3,
        "path": "/workflow/1/step",
        "hint": "rename",
    }
    assert (report["files"][0]["file"], report["errors"], report["warnings"]) == ("case.yaml", 1, 1)


# ---- sarif ----------------------------------------------------------------------------------------------


def test_sarif_names_the_rule_the_place_and_the_fix() -> None:
    log = json.loads(sarif.render([checked("", finding(hint="rename"), name="a b/c.yaml")]))
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "duplicate-step"
    assert result["level"] == "error"
    assert result["message"]["text"] == "step 'a' is defined twice\nfix: rename"
    place = result["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "a%20b/c.yaml"},
        "region": {"startLine": 2, "startColumn": 3},
    }


def test_sarif_without_findings_is_a_run_without_results() -> None:
    (run,) = json.loads(sarif.render([checked("")]))["runs"]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


@pytest.mark.parametrize("name, uri", [("/tmp/x.yaml", "file:///tmp/x.yaml"), ("<stdin>", "stdin")])
def test_sarif_places_are_uris(name: str, uri: str) -> None:
    (run,) = json.loads(sarif.render([checked("", name=name)]))["runs"]
    assert run["artifacts"] == [{"location": {"uri": uri}}]


# ---- github ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("severity, level", [("error", "error"), ("warning", "warning"), ("info", "notice")])
def test_an_annotation_is_one_line_with_its_place(severity: str, level: str) -> None:
    line = github.render([checked("", finding(severity=severity, hint="rename\nit"))])
    assert line == (
        f"::{level} file=case.yaml,line=2,col=3,title=duplicate-step"
        "::step 'a' is defined twice%0Afix: rename%0Ait"
    )


def test_signs_of_the_annotation_syntax_are_escaped() -> None:
    line = github.render([checked("", finding(message="50% ::done"), name="a,b:c.yaml")])
    assert line.startswith("::error file=a%2Cb%3Ac.yaml,")
    assert line.endswith("::50%25 ::done")
