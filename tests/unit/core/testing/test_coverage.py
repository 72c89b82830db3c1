"""What executions have been through, from their events: steps, arcs, and the rules that decided."""

from typing import Any

from noetl.core.event import Event
from noetl.core.testing.coverage import Coverage
from noetl.dsl.load import load
from noetl.tools import kinds
from tests.unit.core.build import text

WORKFLOW = """
- step: start
  spec:
    policy:
      admit:
        rules:
          - {when: "{{ workload.closed | default(false) }}", then: {allow: false}}
          - else: {then: {allow: true}}
  tool:
    - name: fetch
      kind: http
      input: {url: "http://x"}
      spec:
        policy:
          before:
            - {when: "{{ ctx.known | default(false) }}", then: {do: skip}}
            - {when: "{{ ctx.fresh | default(false) }}", then: {do: continue}}
          rules:
            - {when: "{{ output.status == 'error' }}", then: {do: retry}}
            - else: {then: {do: continue}}
    - {name: call, kind: workbook, block: doing}
    - name: pick
      choose:
        - when: "{{ ctx.a | default(1) == 1 }}"
          then: [{name: one, kind: noop}]
        - else: [{name: two, kind: noop}]
  next: {arcs: [{step: good, when: "{{ event.name == 'step.done' }}"}, {step: bad}]}
- {step: good, tool: {kind: noop}}
- {step: bad, tool: {kind: noop}}
"""
WORKBOOK = """
workbook:
  doing:
    tool:
      - name: inner
        kind: http
        input: {url: "http://x"}
        spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: fail}}, {else: {then: {do: skip}}}]}}
"""


def coverage() -> Coverage:
    loaded = load(text(WORKFLOW, workbook=WORKBOOK), kinds=kinds())
    assert loaded.playbook is not None
    assert loaded.ok, loaded.diagnostics
    return Coverage(loaded.playbook)


def event(name: str, run: str | None = None, label: str | None = None, **data: Any) -> Event:
    return Event(name, 0, "s", run, None, label, 1, 1, data or None)


def test_what_can_be_covered_is_what_the_author_wrote():
    seen = coverage()
    assert list(seen.steps) == ["start", "good", "bad"]
    assert [(use.step, use.to) for use in seen.arcs.values()] == [("start", "good"), ("start", "bad")]
    assert [(use.place, use.sort, use.index, use.does) for use in seen.rules.values()] == [
        ("start", "admit", 0, "refuse"),
        ("start", "admit", 1, "allow"),
        ("start.fetch", "before", 0, "skip"),
        ("start.fetch", "rule", 0, "retry"),
        ("start.fetch", "rule", 1, "continue"),
        ("start.pick.test", "before", 0, "jump"),
        ("start.pick.test", "before", 1, "jump"),
        ("workbook/doing.inner", "rule", 0, "fail"),
        ("workbook/doing.inner", "rule", 1, "skip"),
    ]
    assert all(use.mark.line > 4 for use in seen.arcs.values())
    assert all(use.mark.line > 4 for use in seen.rules.values())


def test_steps_and_arcs_are_counted():
    seen = coverage()
    arcs = [{"step": "good", "matched": True}, {"step": "bad", "matched": False, "asked": False}]
    other = [{"step": "good", "matched": False}, {"step": "bad", "matched": True}]
    seen.read(
        [
            event("workflow.started"),
            event("step.scheduled", "start.1", step="start"),
            event("step.scheduled", "start.1.new", step="start.1.new"),
            event("next.evaluated", "start.1", arcs=arcs, taken=["good"]),
            event("next.evaluated", "start.2", arcs=other, taken=["bad"]),
            event("next.evaluated", "start.3", error="no", taken=[]),
            event("next.evaluated", "start.1.new.1", arcs=arcs, taken=["good"]),
        ]
    )
    assert [use.runs for use in seen.steps.values()] == [1, 0, 0]
    good, bad = seen.arcs.values()
    assert (good.taken, good.refused, good.unasked) == (1, 1, 0)
    assert (bad.taken, bad.refused, bad.unasked) == (1, 0, 1)


def test_rules_are_counted_by_the_one_that_decided():
    seen = coverage()
    seen.read(
        [
            event("token.claimed", token="t1", step="start", rule="else", guards=[]),
            event("token.refused", token="t2", step="start", rule=0, guards=[]),
            event("token.claimed", token="t3", step="good"),
            event("task.done", "start.1", "fetch", do="retry", rule=0),
            event("task.done", "start.1", "fetch", do="continue", rule="else"),
            event("task.done", "start.1", "fetch", do="skip", before=0),
            event("task.done", "start.1", "pick.test", do="jump", before="else"),
            event("task.done", "start.1", "call/inner", do="skip", rule="else"),
            event("task.done", "start.1", "call", do="continue"),
            event("task.done", "start.1", "gone/inner", do="continue", rule=0),
            event("task.done", "start.1.new.1", "fetch", do="continue", rule=0),
        ]
    )
    matched = {(use.place, use.sort, use.index): use.matched for use in seen.rules.values()}
    assert matched == {
        ("start", "admit", 0): 1,
        ("start", "admit", 1): 1,
        ("start.fetch", "before", 0): 1,
        ("start.fetch", "rule", 0): 1,
        ("start.fetch", "rule", 1): 1,
        ("start.pick.test", "before", 0): 0,
        ("start.pick.test", "before", 1): 1,
        ("workbook/doing.inner", "rule", 0): 0,
        ("workbook/doing.inner", "rule", 1): 1,
    }
