"""Pipelines: labels, jumps, sugar, and what can run."""

import pytest

from tests.playbook_text import loaded, messages

CODES = ("duplicate-label", "unknown-label", "unreachable-task", "endless-jump")


def test_labels_are_unique_in_one_pipeline_only():
    text = """
workflow:
  - {step: a, tool: [{name: x, kind: noop}], next: {arcs: [{step: b}]}}
  - {step: b, tool: [{name: x, kind: noop}]}
"""
    assert messages(text) == []


def test_a_jump_stays_in_its_pipeline():
    text = """
workflow:
  - {step: a, tool: [{name: x, kind: noop}], next: {arcs: [{step: b}]}}
  - step: b
    tool: [{name: y, kind: noop, spec: {policy: {rules: [{when: "{{ output.data }}", then: {do: jump, to: x}}, {else: {then: {do: continue}}}]}}}]
"""
    assert messages(text) == ["jump to the unknown task 'x' in step 'b'"]


def test_the_path_of_an_endless_cycle_is_shown():
    text = """
workflow:
  - step: start
    tool:
      - {name: a, kind: noop}
      - {name: b, kind: noop}
      - {name: c, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: a}}}]}}}
"""
    assert messages(text) == ["the jump to 'a' must repeat for ever, until a task fails: c -> a -> b -> c"]


@pytest.mark.parametrize("way_out", ["break", "fail", "continue", "skip"])
def test_any_rule_that_leaves_a_cycle_ends_it(way_out):
    text = f"""
workflow:
  - step: start
    tool:
      - {{name: a, kind: noop}}
      - name: b
        kind: noop
        spec:
          policy:
            rules:
              - {{when: "{{{{ output.data }}}}", then: {{do: {way_out}}}}}
              - else: {{then: {{do: jump, to: a}}}}
"""
    assert messages(text, *CODES) == []


def test_a_cycle_nothing_enters_is_unreachable_not_endless():
    text = """
workflow:
  - step: start
    tool:
      - {name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}
      - {name: b, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: b}}}]}}}
"""
    assert messages(text, *CODES) == [
        "task 'b' can never run: 'a' never goes on to it and nothing jumps to it"
    ]


SUGAR = {
    "while": 'while: {when: "{{ step.i < 3 }}", do: [{name: inner, kind: noop, set: {step.i: "{{ step.i + 1 }}"}}]}',
    "until": 'until: {when: "{{ output.data == 3 }}", do: [{name: inner, kind: noop}], delay: 1.0}',
    "choose": 'choose: [{when: "{{ step.i }}", then: [{name: inner, kind: noop}]}, {else: [{name: other, kind: noop}]}]',
    "paginate": 'paginate: {by: page, request: {kind: http, input: {url: "https://example.com"}}, items: "{{ output.data.rows }}", each: [{name: inner, kind: python, input: {code: "result = rows", rows: "{{ iter.items }}", n: "{{ iter.page }}"}}], collect: true}',
}


@pytest.mark.parametrize("word", SUGAR)
def test_sugar_draws_no_findings_of_its_own(word):
    text = f"""
workflow:
  - step: start
    tool:
      - {{name: init, kind: noop, set: {{step.i: 0}}}}
      - name: item
        {SUGAR[word]}
      - {{name: after, kind: python, input: {{code: "result = x", x: "{{{{ item.data }}}}"}}}}
"""
    assert [(f.code, f.message) for f in loaded(text).diagnostics] == []


def test_a_task_inside_sugar_is_known_by_its_own_name():
    text = """
workflow:
  - step: start
    tool:
      - name: item
        choose:
          - when: "{{ workload.x }}"
            then: [{name: one, kind: noop}, {name: two, kind: python, input: {code: "result = x", x: "{{ one.data }}"}}]
"""
    assert messages(text, "undefined-name", "read-too-early") == []


def test_while_true_without_a_way_out_is_endless():
    text = """
workflow:
  - step: start
    tool:
      - name: loop_for_ever
        while: {when: true, do: [{name: inner, kind: noop}]}
"""
    (finding,) = [f for f in loaded(text).diagnostics if f.code == "endless-jump"]
    assert finding.line in (5, 6)


def test_while_true_with_a_break_inside_ends():
    text = """
workflow:
  - step: start
    tool:
      - name: pages
        while:
          when: true
          do:
            - name: inner
              kind: noop
              spec: {policy: {rules: [{when: "{{ output.data }}", then: {do: break}}, {else: {then: {do: continue}}}]}}
"""
    assert messages(text, *CODES) == []
