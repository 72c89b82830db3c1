"""The `_ref` rule where the text alone decides it."""

import pytest

from tests.playbook_text import messages

CODES = ("reference-name", "not-a-reference")


def assign(target: str, value: str) -> str:
    return f"""
workflow:
  - step: load
    tool:
      - {{name: fetch, kind: noop}}
      - {{name: use, kind: noop, set: {{{target}: {value}}}}}
    next: {{arcs: [{{step: end}}]}}
  - {{step: end, tool: {{kind: noop}}}}
"""


@pytest.mark.parametrize(
    "target, value",
    [
        ("ctx.a_ref", '"{{ output.ref }}"'),
        ("ctx.a_ref", '"{{ fetch.ref }}"'),
        ("ctx.a_ref", '"{{ output.data.where }}"'),
        ("ctx.a_ref", '"{{ ctx.b_ref | default(none) }}"'),
        ("ctx.a_ref", "null"),
        ("ctx.a_ref", '["{{ fetch.ref }}", "{{ output.ref }}"]'),
        ("ctx.a_ref", "{type: blob, locator: {}, auth_reference: null, meta: {}}"),
        ("ctx.a", '"{{ output.data }}"'),
        ("ctx.a", '"{{ output.ref.locator }}"'),
        ("ctx.a", '{b_ref: "{{ output.ref }}", n: 1}'),
        ("ctx.a.b_ref", '"{{ output.ref }}"'),
        ("ctx.a", '"{{ output.ref is defined }}"'),
        ("ctx.a", '"{{ workload.some_ref }}"'),
    ],
)
def test_what_is_right_or_cannot_be_known_is_no_finding(target, value):
    assert messages(assign(target, value), *CODES) == []


@pytest.mark.parametrize(
    "target, value, said",
    [
        ("ctx.a", '"{{ output.ref }}"', "ctx.a: output.ref is a reference, so the name 'a' must end in _ref"),
        ("step.a", '"{{ load.results.fetch.ref }}"', "step.a: load.results.fetch.ref is a reference, so the name 'a' must end in _ref"),
        ("ctx.a", '["{{ output.ref }}"]', "ctx.a: output.ref is a reference, so the name 'a' must end in _ref"),
        ("ctx.a", '{b: {c: "{{ output.ref }}"}}', "ctx.a: output.ref is a reference, so the name 'c' must end in _ref"),
        ("ctx.a", '"{{ step.b_ref }}"', "ctx.a: step.b_ref is a reference, so the name 'a' must end in _ref"),
        ("ctx.a_ref", '"{{ output.data }}"', "ctx.a_ref: 'a_ref' must receive a reference, and output.data is none"),
        ("ctx.a_ref", '"{{ fetch.status }}"', "ctx.a_ref: 'a_ref' must receive a reference, and fetch.status is none"),
        ("ctx.a_ref", "true", "ctx.a_ref: 'a_ref' must receive a reference, not True"),
        ("ctx.a_ref", "{b: 1}", "ctx.a_ref: 'a_ref' must receive a reference, not a mapping of other keys"),
        ("ctx.a", "{b_ref: text}", "ctx.a: 'b_ref' must receive a reference, not 'text'"),
    ],
)  # fmt: skip
def test_what_is_surely_wrong_is_an_error(target, value, said):
    assert messages(assign(target, value), *CODES) == [said]
