"""Migration of steps, of case, and of the root of a document."""

import pytest

from tests.unit.dsl.documents import doc
from tests.unit.dsl.migrating import looks, rewritten, step

STEPS = {
    "expr without braces": step(
        "- step: a\n  tool: {kind: noop}\n  next: [{step: a, expr: ctx.n > 1}]",
        '- step: a\n  tool: {kind: noop}\n  next: {arcs: [{step: a, when: "{{ ctx.n > 1 }}"}]}',
    ),
    "step when": step(
        """\
        - step: a
          desc: x
          # only then
          when: "{{ ctx.go }}"  # say so
          tool: {kind: noop}
        """,
        """\
        - step: a
          desc: x
          # only then
          spec:
            policy:
              admit:
                rules:
                  - when: "{{ ctx.go }}"  # say so
                    then: {allow: true}
                  - else: {then: {allow: false}}
          tool: {kind: noop}
        """,
    ),
    "step when in braces": step(
        '- {step: a, when: "{{ ctx.go }}", tool: {kind: noop}}',
        """\
        - step: a
          spec:
            policy: {admit: {rules: [{when: "{{ ctx.go }}", then: {allow: true}}, {else: {then: {allow: false}}}]}}
          tool: {kind: noop}
        """,
    ),
    "step when that always holds": step(
        '- step: a\n  when: "{{ true }}"  # always\n  tool: {kind: noop}',
        "- step: a\n  # always\n  tool: {kind: noop}",
    ),
    "step when beside an admission": step(
        """\
        - step: a
          spec: {policy: {admit: {rules: [{else: {then: {allow: true}}}]}}}
          when: "{{ ctx.go or ctx.run }}"
          tool: {kind: noop}
        """,
        """\
        - step: a
          spec:
            policy:
              admit:
                rules:
                  - {when: "{{ not (ctx.go or ctx.run) }}", then: {allow: false}}
                  - {else: {then: {allow: true}}}
          tool: {kind: noop}
        """,
    ),
    "next as a list": step(
        """\
        - step: a
          tool: {kind: noop}
          next:  # onward
            # first
            - step: b
              when: "{{ event.name == 'call.error' }}"
            - c
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """,
        """\
        - step: a
          tool: {kind: noop}
          next:  # onward
            arcs:
              # first
              - step: b
                when: "{{ event.name == 'step.failed' }}"
              - {step: c}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """,
    ),
    "next as a name": step(
        "- {step: a, tool: {kind: noop}, next: b}\n- {step: b, tool: {kind: noop}}",
        "- {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}\n- {step: b, tool: {kind: noop}}",
    ),
    "next as one arc": step(
        "- step: a\n  next:\n    step: b\n- {step: b, tool: {kind: noop}}",
        "- step: a\n  next:\n    arcs:\n      - step: b\n- {step: b, tool: {kind: noop}}",
    ),
    "next_mode": step(
        "- step: a\n  spec: {next_mode: inclusive, timeout: 3}\n  next: [{step: b}]\n- {step: b, tool: {kind: noop}}",
        "- step: a\n  spec: {timeout: 3}\n  next: {spec: {mode: inclusive}, arcs: [{step: b}]}\n- {step: b, tool: {kind: noop}}",
    ),
    "next_mode of a router": step(
        "- step: a\n  spec: {next_mode: inclusive}\n  next: {arcs: [{step: b}]}\n- {step: b, tool: {kind: noop}}",
        "- step: a\n  next: {spec: {mode: inclusive}, arcs: [{step: b}]}\n- {step: b, tool: {kind: noop}}",
    ),
    "next_mode of a router with other settings": step(
        "- step: a\n  spec: {next_mode: inclusive}\n  next: {spec: {policy: {}}, arcs: [{step: a}]}",
        "- step: a\n  next: {spec: {policy: {}, mode: inclusive}, arcs: [{step: a}]}",
    ),
    "expr with quotes": step(
        "- step: a\n  next: [{step: a, expr: 'ctx.n == \"x\" and ctx.m == ''y'''}]",
        "- step: a\n  next: {arcs: [{step: a, when: '{{ ctx.n == \"x\" and ctx.m == ''y'' }}'}]}",
    ),
    "next_mode without next": step(
        "- step: a\n  spec: {next_mode: inclusive}\n  tool: {kind: noop}", "- step: a\n  tool: {kind: noop}"
    ),
    "scheduling in the loop's policy": step(
        "- step: a\n  loop: {in: [1], iterator: i, spec: {policy: {mode: parallel, max_in_flight: 3}}}\n  tool: {kind: noop}",
        "- step: a\n  loop: {in: [1], iterator: i, spec: {mode: parallel, max_in_flight: 3}}\n  tool: {kind: noop}",
    ),
    "pipe": step(
        "- step: a\n  pipe:\n    - {kind: noop}\n    - pipe: [{kind: noop}]",
        "- step: a\n  tool:\n    - {kind: noop}\n    - {kind: noop}",
    ),
    "pipe under tool": step("- step: a\n  tool: {pipe: [{kind: noop}]}", "- step: a\n  tool: [{kind: noop}]"),
    "vars of a step, set before": step(
        "- step: a\n  vars: {n: 1}\n  tool: {kind: python, input: {code: result = 1}}",
        """\
        - step: a
          tool:
            - {name: init_vars, kind: noop, set: {step.n: 1}}
            - {name: a_task, kind: python, input: {code: result = 1}}
        """,
    ),
    "vars of a step, set after": step(
        '- step: a\n  tool: {kind: noop}\n  vars: {n: "{{ outcome.result }}"}',
        '- step: a\n  tool: {kind: noop}\n  set: {step.n: "{{ output.data }}"}',
    ),
    "args beside input": step(
        "- step: a\n  args: {n: 1, m: 2}  # both\n  input: {n: 3}\n  tool: {kind: noop}",
        "- step: a\n  # both\n  input: {n: 3, m: 2}\n  tool: {kind: noop}",
    ),
    "scheduling on both sides": step(
        "- step: a\n  loop: {in: [1], iterator: i, spec: {mode: parallel, policy: {mode: sequential, exec: local}}}\n  tool: {kind: noop}",
        "- step: a\n  loop: {in: [1], iterator: i, spec: {mode: parallel, policy: {exec: local}}}\n  tool: {kind: noop}",
    ),
    "scheduling of an inner loop": step(
        "- step: a\n  loop: {in: [[1]], iterator: i, loop: {in: [1], iterator: j, spec: {policy: {mode: parallel}}}}\n  tool: {kind: noop}",
        "- step: a\n  loop: {in: [[1]], iterator: i, loop: {in: [1], iterator: j, spec: {mode: parallel}}}\n  tool: {kind: noop}",
    ),
    "eval of a step": step(
        """\
        - step: a
          tool: {kind: noop}
          eval: [{else: {do: break}}]
        """,
        """\
        - step: a
          tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}
        """,
    ),
    "args of a step": step(
        "- step: a\n  args: {n: 1}\n  tool: {kind: noop}", "- step: a\n  input: {n: 1}\n  tool: {kind: noop}"
    ),
}


@pytest.mark.parametrize("before, after", STEPS.values(), ids=STEPS.keys())
def test_an_older_step_becomes_todays(before: str, after: str) -> None:
    result = rewritten(before)
    assert result.text == after
    assert result.notes


CASES = {
    "routing": step(
        """\
        - step: a
          tool: {kind: noop}
          # where to
          case:
            # the good way
            - when: "{{ event.name == 'call.done' }}"
              then: [{next: b}]
            - else: {next: [{step: c}]}
          next: [{step: d}]
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        - {step: d, tool: {kind: noop}}
        """,
        """\
        - step: a
          tool: {kind: noop}
          # where to
          next:
            arcs:
              # the good way
              - {step: b, when: "{{ event.name in ['step.done', 'loop.done'] }}"}
              - {step: c}
              - {step: d}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        - {step: d, tool: {kind: noop}}
        """,
    ),
    "fan-out of one branch": step(
        '- step: a\n  case: [{when: "{{ ctx.x }}", then: {next: [b, c]}}]\n- {step: b, tool: {kind: noop}}\n- {step: c, tool: {kind: noop}}',
        """\
        - step: a
          next:
            spec: {mode: inclusive}
            arcs:
              - {step: b, when: "{{ ctx.x }}"}
              - {step: c, when: "{{ ctx.x }}"}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """,
    ),
    "else with then": step(
        """\
        - step: a
          case:
            - {when: "{{ ctx.x }}", then: {next: a}}
            - else:
                then: {next: b}
        - {step: b, tool: {kind: noop}}
        """,
        """\
        - step: a
          next:
            arcs:
              - {step: a, when: "{{ ctx.x }}"}
              - {step: b}
        - {step: b, tool: {kind: noop}}
        """,
    ),
    "one task each": step(
        '- {step: a, case: [{when: "{{ ctx.x }}", then: {tool: {kind: noop}}}]}',
        '- {step: a, tool: [{name: case, choose: [{when: "{{ ctx.x }}", then: [{kind: noop}]}]}]}',
    ),
    "choosing tasks": step(
        """\
        - step: a
          tool: {kind: noop}
          case:
            - when: "{{ outcome.result }}"
              then: {pipe: [{x: {kind: noop}}]}
        """,
        """\
        - step: a
          tool:
            - {name: a_task, kind: noop}
            - name: case
              choose:
                - when: "{{ output.data }}"
                  then: [{name: x, kind: noop}]
        """,
    ),
}


@pytest.mark.parametrize("before, after", CASES.values(), ids=CASES.keys())
def test_a_case_that_only_routes_or_only_chooses_is_rewritten(before: str, after: str) -> None:
    result = rewritten(before)
    assert " ".join(result.text.split()) == " ".join(after.split())


@pytest.mark.parametrize(
    "case",
    [
        '[{when: "{{ event.name }}", then: {tool: [{kind: noop}]}}]',
        '[{when: "{{ ctx.x }}", then: {next: b, set: {ctx.y: 1}}}]',
        '[{when: "{{ ctx.x }}", then: {next: [b, c]}}, {else: {next: b}}]',
        "{when: true}",
        "[1]",
        '[{when: "{{ ctx.x }}", then: {next: b}}]\n  next: {arcs: []}',
        '[{when: "{{ ctx.x }}", then: {next: [1.5, {when: true}]}}]',
        '[{when: "{{ ctx.x }}", then: {next: {step: b, when: "{{ ctx.y }}"}}}]',
        '[{when: "{{ ctx.x }}", then: [{next: b}, {next: c}]}]',
        "[{then: {next: b}}]",
    ],
)
def test_a_case_without_a_mechanical_replacement_is_left_with_a_note(case: str) -> None:
    text = doc(f"- step: a\n  case: {case}")
    result = rewritten(text)
    assert result.text == text
    assert [message for message in looks(result) if "'case' was left" in message]


BRANCHES = {
    "branches, else first": step(
        """\
        - step: a
          tool: {kind: noop}
          next:
            - else:
                - step: c
            # the good way
            - when: "{{ ctx.x }}"
              then:
                - step: b
            - d
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        - {step: d, tool: {kind: noop}}
        """,
        """\
        - step: a
          tool: {kind: noop}
          next:
            arcs:
              # the good way
              - step: b
                when: "{{ ctx.x }}"
              - {step: d}
              - step: c
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        - {step: d, tool: {kind: noop}}
        """,
    ),
    "several steps of one branch": step(
        '- step: a\n  next: [{when: "{{ ctx.x }}", then: [b, c]}]\n- {step: b, tool: {kind: noop}}\n- {step: c, tool: {kind: noop}}',
        """\
        - step: a
          next: {spec: {mode: inclusive}, arcs: [{step: b, when: "{{ ctx.x }}"}, {step: c, when: "{{ ctx.x }}"}]}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """,
    ),
    "else with then": step(
        '- step: a\n  next: [{when: "{{ ctx.x }}", then: a}, {else: {then: b}}]\n- {step: b, tool: {kind: noop}}',
        '- step: a\n  next: {arcs: [{step: a, when: "{{ ctx.x }}"}, {step: b}]}\n- {step: b, tool: {kind: noop}}',
    ),
}


@pytest.mark.parametrize("before, after", BRANCHES.values(), ids=BRANCHES.keys())
def test_branches_under_next_are_arcs_and_their_author_is_told(before: str, after: str) -> None:
    result = rewritten(before)
    assert " ".join(result.text.split()) == " ".join(after.split())
    assert [message for message in looks(result) if "the first whose guard holds" in message]


@pytest.mark.parametrize(
    "branches",
    [
        '[{when: "{{ ctx.x }}", then: [a, b]}, {else: [a]}]',
        '[{when: "{{ ctx.x }}", then: [{step: a, when: "{{ ctx.y }}"}]}]',
        '[{when: "{{ ctx.x }}", then: [a], set: {ctx.y: 1}}]',
        "[{then: [a]}]",
        '[{when: "{{ ctx.x }}", else: [a]}]',
        '[{when: "{{ ctx.x }}", then: []}]',
        "[{else: {run: [a]}}]",
    ],
)
def test_branches_that_no_router_says_are_left_with_a_note(branches: str) -> None:
    text = doc(f"- step: a\n  next: {branches}")
    result = rewritten(text)
    assert result.text == text
    assert [message for message in looks(result) if "'next' was left" in message]


@pytest.mark.parametrize(
    "body, word",
    [
        ("when: [x]\n  spec: {policy: 1}\n  tool: {kind: noop}", "'when'"),
        ('when: "{{ a }} {{ b }}"\n  spec: {policy: {admit: {rules: []}}}\n  tool: {kind: noop}', "'when'"),
        ("args: 1\n  tool: {kind: noop}", "'args'"),
        ("pipe: [{kind: noop}]\n  tool: {kind: noop}", "'pipe'"),
        ("vars: 1\n  tool: {kind: noop}", "'vars'"),
        ("eval: []\n  tool: [{kind: noop}]", "'eval'"),
    ],
)
def test_a_step_that_cannot_be_rewritten_is_left_with_a_note(body: str, word: str) -> None:
    text = doc(f"- step: a\n  {body}")
    result = rewritten(text)
    assert result.text == text
    assert [message for message in looks(result) if word in message and "left" in message]


ROOTS = {
    "vars": (
        "vars:\n  a: 1  # one\nworkload:\n  b: 2\n",
        "workload:\n  b: 2\n  a: 1  # one\n",
    ),
    "vars without workload": ("vars: {a: 1}\n", "workload: {a: 1}\n"),
    "vars that clash": ("vars: {a: 1}\nworkload: {a: 2}\n", "workload: {a: 2}\n"),
    "executor.kind": ("executor: {kind: local}\n", "executor: {profile: local}\n"),
    "executor.kind beside profile": (
        "executor: {kind: local, profile: auto}\n",
        "executor: {profile: auto}\n",
    ),
    "workbook.tasks": (
        "workbook:\n  # the blocks\n  tasks:\n    one:\n      tool: {kind: noop}\n",
        "workbook:\n  # the blocks\n  one:\n    tool: {kind: noop}\n",
    ),
    "tasks of the workbook": (
        'workbook:\n  tasks:\n    one:\n      kind: http\n      url: "{{ args.u }}"\n',
        'workbook:\n  one:\n    tool:\n      kind: http\n      input:\n        url: "{{ input.u }}"\n',
    ),
    "a list of blocks": (
        "workbook:\n  - name: one\n    tool: {go: {kind: noop}}\n",
        "workbook:\n  - name: one\n    tool: {name: go, kind: noop}\n",
    ),
}


@pytest.mark.parametrize("before, after", ROOTS.values(), ids=ROOTS.keys())
def test_an_older_root_becomes_todays(before: str, after: str) -> None:
    text = doc("- {step: a, tool: {kind: noop}}")
    assert rewritten(text.replace("workflow:", f"{before}workflow:")).text == text.replace(
        "workflow:", f"{after}workflow:"
    )


def test_an_executor_kind_that_is_no_profile_is_pointed_out() -> None:
    text = doc("- {step: a, tool: {kind: noop}}").replace("workflow:", "executor: {kind: moon}\nworkflow:")
    assert "the profile must be one of auto, local, distributed" in looks(rewritten(text))


def test_readers_of_root_vars_read_the_workload() -> None:
    text = doc('- {step: a, tool: {kind: noop, set: {ctx.x: "{{ vars.a + vars.b }}"}}}')
    new = rewritten(text.replace("workflow:", "vars: {a: 1}\nworkflow:")).text
    assert "{{ workload.a + step.b }}" in new
