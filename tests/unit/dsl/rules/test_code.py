"""Programs inside playbooks: Python and SQL."""

import pytest

from tests.playbook_text import loaded, messages


def python(code: str, given: str = "") -> str:
    return (
        f"workflow:\n  - step: start\n    tool:\n      kind: python\n      input:\n{given}        code: |\n"
        + "".join(f"          {line}\n" for line in code.splitlines())
    )


@pytest.mark.parametrize(
    "code",
    [
        "result = 1",
        "def main():\n    return 1",
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


GIVEN = "        rows: 1\n        total: 2\n"


@pytest.mark.parametrize(
    "code",
    [
        "def main(rows, total=0, *others, page=1, **more): pass",
        "async def main(rows, /, *, total): pass",
        "def main(): result = rows",
        "def main(context): pass\nresult = main(1)",
        "def main(context): pass\ndef main(): pass",
        "def main(context): pass\nmain = lambda: 1",
        "def main(context): pass\nfrom json import loads as result",
        "@wrapped\ndef main(context): pass",
        "def main(context): pass\ndef other():\n    global result\nother()",
        "def main(context): pass\nglobals()['result'] = 1",
        "if rows:\n    def main(context): pass",
        "def main(context: pass",
    ],
)
def test_a_main_that_is_given_what_it_takes_or_may_not_be_called_is_no_finding(code):
    assert [said for said in messages(python(code, GIVEN)) if "main" in said] == []


@pytest.mark.parametrize(
    "code, takes",
    [
        ("def main(context, results): result = 1", "context, results"),
        ("def main(rows, context=None, *, results): pass", "results"),
        ("async def main(rows, context, /): pass", "context"),
        ("def main(code): pass", "code"),
    ],
)
def test_a_main_that_takes_what_nobody_gives_is_reported(code, takes):
    said = f"'main' of task 'start_task' takes {takes}, and its input gives it rows, total"
    assert messages(python(code, GIVEN)) == [said]


def test_a_parameter_that_is_almost_given_is_hinted_at():
    (finding,) = loaded(python("def main(row, total): pass", GIVEN)).diagnostics
    assert (finding.code, finding.hint) == ("python-parameters", "did you mean 'rows'?")


def test_what_a_whole_input_gives_is_not_known():
    text = "workflow:\n  - {step: start, tool: {kind: python, input: '{{ workload }}'}}\n"
    assert "python-parameters" not in {finding.code for finding in loaded(text).diagnostics}


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
