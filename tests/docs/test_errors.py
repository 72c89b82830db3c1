"""Every code has a page whose wrong example draws it and whose right example does not."""

import re
from pathlib import Path

import pytest

from noetl.dsl.finding_codes import catalogue
from tests.playbook_text import GENERATED, loaded

PAGES = Path(__file__).resolve().parents[2] / "docs" / "errors"
EXAMPLE = re.compile(r"```yaml (wrong|right)(?: invalid)?\n(.*?)```", re.DOTALL)
TITLES = {"error": "Error", "warning": "Warning", "info": "Info"}


def page(code: str) -> str:
    return (PAGES / f"{code}.md").read_text()


def test_every_code_has_a_page_and_every_page_a_code():
    assert {path.stem for path in PAGES.glob("*.md")} - {"index"} == set(catalogue())


@pytest.mark.parametrize("code", catalogue())
def test_a_page_begins_with_the_code_its_severity_and_its_title(code):
    known = catalogue()[code]
    assert page(code).startswith(f"# {code}\n\n**{TITLES[known.severity]}.** {known.title}.\n")


@pytest.mark.parametrize("code", [code for code in catalogue() if code not in GENERATED])
def test_the_wrong_example_draws_the_code_and_the_right_one_does_not(code):
    examples = dict(EXAMPLE.findall(page(code)))
    assert examples.keys() == {"wrong", "right"}
    assert code in {finding.code for finding in loaded(examples["wrong"]).diagnostics}
    assert code not in {finding.code for finding in loaded(examples["right"]).diagnostics}


@pytest.mark.parametrize("code", [code for code in catalogue() if code not in GENERATED])
def test_the_right_example_has_no_error_or_warning_at_all(code):
    right = dict(EXAMPLE.findall(page(code)))["right"]
    assert [f.message for f in loaded(right).diagnostics if f.severity != "info"] == []


def test_the_index_lists_every_code_in_order():
    rows = re.findall(r"(?m)^\| \[.*$", (PAGES / "index.md").read_text())
    expected = [
        f"| [{name}]({name}.md) | {code.severity} | {code.title} |" for name, code in catalogue().items()
    ]
    assert rows == expected, "\n" + "\n".join(expected)
