"""Programs inside playbooks: Python and SQL."""

import pytest

from tests.playbook_text import loaded, messages


def python(code: str) -> str:
    return (
        "workflow:\n  - step: start\n    tool:\n      kind: python\n      input:\n        code: |\n"
        + "".join(f"          {line}\n" for line in code.splitlines())
    )


@pytest.mark.parametrize(
    "code",
    [
        "result = 1",
        "def main(x):\n    return x",
        "import json\nresult = json.loads('[]')",
        "result = '\\d'",
        "x = 1 is 1",
    ],
)
def test_sound_python_is_no_finding_and_warns_nobody(code):
    assert messages(python(code)) == []


@pytest.mark.parametrize(
    "code, said",
    [
        ("result = (", "'(' was never closed at line 1 of it"),
        ("a = 1\n  b = 2", "unexpected indent at line 2 of it"),
        ("return 3", "'return' outside function at line 1 of it"),
        ("x = " + "(" * 300 + ")" * 300, "too many nested parentheses at line 1 of it"),
        ("x = " + "+".join(["1"] * 100_000), "it is nested too deeply"),
        (
            "x = " + "9" * 5_000,
            "Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits at line 1 of it",
        ),
    ],
)
def test_python_that_does_not_parse_is_reported_with_its_line(code, said):
    assert messages(python(code)) == [f"the code of task 'start_task' does not parse: {said}"]


def test_code_that_cannot_even_be_read_is_reported():
    text = 'workflow:\n  - {step: start, tool: {kind: python, input: {code: "' + "-" * 100_000 + '1"}}}\n'
    assert "python-syntax" in {finding.code for finding in loaded(text).diagnostics}


def test_a_script_is_not_code():
    assert messages("workflow:\n  - {step: start, tool: {kind: python, input: {script: job.py}}}\n") == []


@pytest.mark.parametrize(
    "query",
    [
        '"select 1"',
        '"{{ workload.query }}"',
        '"select {{ workload.a | sql_literal }}, {{ workload.b | sql_literal }}"',
    ],
)
def test_sql_without_values_in_its_text_is_no_finding(query):
    assert (
        messages(f"workflow:\n  - {{step: start, tool: {{kind: sqlite, input: {{query: {query}}}}}}}\n") == []
    )


def test_one_value_without_the_filter_is_enough():
    query = '"select {{ workload.a | sql_literal }}, {{ ctx.b }}"'
    text = f"workflow:\n  - {{step: start, tool: {{kind: sqlite, input: {{query: {query}}}}}, set: {{ctx.b: 1}}}}\n"
    assert messages(text) == [
        "the SQL of task 'start_task' has 'ctx.b' put into its text, where it can become code"
    ]
