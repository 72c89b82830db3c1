"""The gate of a step: every row of the admission rules, and what is recorded of them."""

import pytest

YES, NO, OPEN = "'{{ true }}'", "'{{ false }}'", "'{{ ctx.open | default(0) }}'"


def gate(rules):
    return f"- {{step: start, spec: {{policy: {{admit: {{rules: {rules}}}}}}}, tool: {{kind: noop}}}}"


@pytest.mark.parametrize(
    "rules, allowed, rule",
    [
        pytest.param(f"[{{when: {YES}, then: {{allow: true}}}}, {{else: {{then: {{allow: false}}}}}}]", True, 0, id="the first that holds allows"),
        pytest.param(f"[{{when: {YES}, then: {{allow: false}}}}, {{when: {YES}, then: {{allow: true}}}}]", False, 0, id="the first that holds refuses"),
        pytest.param(f"[{{when: {NO}, then: {{allow: false}}}}, {{when: {YES}, then: {{allow: true}}}}]", True, 1, id="rules are asked in order"),
        pytest.param(f"[{{when: {NO}, then: {{allow: true}}}}, {{else: {{then: {{allow: false}}}}}}]", False, "else", id="else refuses"),
        pytest.param(f"[{{when: {NO}, then: {{allow: false}}}}, {{else: {{then: {{allow: true}}}}}}]", True, "else", id="else allows"),
        pytest.param(f"[{{when: {NO}, then: {{allow: false}}}}, {{else: {{allow: true}}}}]", True, "else", id="else without then"),
        pytest.param(f"[{{when: {NO}, then: {{allow: true}}}}, {{else: null, then: {{allow: false}}}}]", False, "else", id="else beside then"),
        pytest.param(f"[{{when: {NO}, then: {{allow: true}}}}]", False, "default", id="an allow rule that does not hold refuses"),
        pytest.param(f"[{{when: {NO}, then: {{allow: true}}}}, {{when: {NO}, then: {{allow: false}}}}]", False, "default", id="mixed rules that do not hold refuse"),
        pytest.param(f"[{{when: {NO}, then: {{allow: false}}}}]", True, "default", id="only refusals that do not hold allow"),
        pytest.param("[{when: true, then: {allow: false}}]", False, 0, id="a literal guard"),
        pytest.param(f"[{{when: {OPEN}, then: {{allow: true}}}}]", False, "default", id="a missing value is false"),
    ],
)  # fmt: skip
def test_a_rule_decides_and_is_recorded(begin, rules, allowed, rule):
    world = begin(gate(rules))
    name = "token.claimed" if allowed else "token.refused"
    assert world.data(name)["rule"] == rule
    assert (world.live == ["start.1"]) == allowed
    if not allowed:
        assert world.data(name)["reason"] == "admit"
        assert world.state.status == "completed"


def test_no_rules_let_everything_in(begin):
    world = begin("- {step: start, tool: {kind: noop}}")
    assert world.data("token.claimed") == {"token": "t1", "step": "start"}


def test_the_operands_of_every_guard_are_recorded(begin):
    world = begin(
        gate("[{when: '{{ workload.n > 5 }}', then: {allow: true}}, {else: {then: {allow: false}}}]"),
        workload="workload: {n: 3}",
    )
    assert world.data("token.refused")["guards"] == [{"value": False, "seen": {"workload.n": 3}}]


def test_a_refused_token_keeps_the_input_its_rules_saw(begin):
    world = begin(
        """
        - step: start
          input: {n: "{{ workload.n }}"}
          spec: {policy: {admit: {rules: [{when: "{{ input.n > 5 }}", then: {allow: true}}]}}}
          tool: {kind: noop}
        """,
        workload="workload: {n: 3}",
    )
    assert world.data("token.refused")["input"] == {"n": 3}
    assert world.data("token.refused")["would_be"] == "start.1"


@pytest.mark.parametrize("broken", ["{{ workload.n / 0 }}", "{{ 'perhaps' }}"])
def test_a_guard_that_cannot_be_judged_fails_the_execution(begin, broken):
    world = begin(gate(f'[{{when: "{broken}", then: {{allow: true}}}}]'), workload="workload: {n: 3}")
    assert world.state.status == "failed"
    assert world.state.error["kind"] == "template"
    assert "admission rule 0 of step start" in world.state.error["message"]


def test_admission_sees_the_event_that_brought_the_token(begin):
    world = begin("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: gated}]}}
        - step: gated
          spec:
            policy:
              admit:
                rules: [{when: "{{ event.name == 'step.done' and event.step == 'start' and event.data.output.data == 1 }}", then: {allow: true}}]
          tool: {kind: noop}
    """)
    world.done("start.1", 1)
    assert world.live == ["gated.1"]
