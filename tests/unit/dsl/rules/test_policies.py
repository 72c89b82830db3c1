"""Policies: what is caught, what falls through, and what can never be chosen."""

import pytest

from tests.playbook_text import messages

CODES = ("error-falls-through", "missing-else", "rule-never-applies")


def policy(*whens: str, kind: str = "http", more: str = "") -> str:
    """A task whose rules fail under these guards; `else` is the last resort."""
    rules = ", ".join(
        "{else: {then: {do: continue}}}" if when == "else" else f"{{when: {when}, then: {{do: fail}}}}"
        for when in whens
    )
    url = 'input: {url: "https://example.com"}, ' if kind == "http" else ""
    return f"""
workflow:
  - step: start
    tool: {{kind: {kind}, {url}spec: {{policy: {{{more}rules: [{rules}]}}}}}}
"""


def codes(text: str) -> list[str]:
    found = {
        "swallowed": "error-falls-through",
        "have no else": "missing-else",
        "never applies": "rule-never-applies",
    }
    return [code for message in messages(text, *CODES) for words, code in found.items() if words in message]


@pytest.mark.parametrize(
    "guard",
    [
        "\"{{ output.status == 'error' }}\"",
        "\"{{ output.status != 'ok' }}\"",
        '"{{ output.error }}"',
        "\"{{ output.http.status == 404 or output.status == 'error' }}\"",
    ],
)
def test_a_rule_that_catches_every_error_lets_none_through(guard):
    assert codes(policy(guard)) == ["missing-else"]


@pytest.mark.parametrize(
    "guard",
    [
        '"{{ output.http.status == 503 }}"',
        "\"{{ output.status == 'error' and output.error.retryable }}\"",
        "\"{{ output.status == 'ok' }}\"",
        '"{{ ctx.x | default(false) }}"',
        "\"{{ output.status != 'success' }}\"",
    ],
)
def test_a_rule_that_catches_some_errors_lets_others_through(guard):
    assert codes(policy(guard)) == ["error-falls-through"]


@pytest.mark.parametrize("whens", [("else",), ("true",), ('"{{ true }}"',), ('"{{ output.data }}"', "else")])
def test_a_policy_that_decides_everything_is_complete(whens):
    assert codes(policy(*whens)) == []


def test_by_status_is_complete():
    assert codes(policy('"{{ output.data }}"', more="on_unmatched: by_status, ")) == []


def test_a_noop_cannot_fail_but_its_policy_should_be_complete():
    assert codes(policy('"{{ output.data }}"', kind="noop")) == ["missing-else"]


def test_no_rule_stands_behind_else():
    assert codes(policy("else", '"{{ output.data }}"')) == []


def test_only_the_second_of_two_else_is_reported():
    text = policy("else", '"{{ output.data }}"', '"{{ output.error }}"', "else")
    assert codes(text) == ["rule-never-applies"]


def test_a_task_without_rules_has_no_policy_findings():
    text = """
workflow:
  - step: start
    tool: {kind: noop, spec: {policy: {before: [{when: "{{ workload.x }}", then: {do: skip}}]}}}
"""
    assert codes(text) == []
