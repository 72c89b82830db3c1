"""The executions that are recorded: each feature of the language and of the engine in one of them, at least.

A scenario needs nothing outside its process, so that its log can be carried on anywhere. What a person does
in between is said as data: signals are given when they are waited for, the rest when something waits.
"""

from tests.histories.long_lived import LONG_LIVED
from tests.histories.scenario import ADD, BIG, FAIL, FLAKY, GO, Scenario


def loop(mode: str = "sequential", extra: str = "", items: str = "[1, 2, 3]") -> str:
    """The head of a loop."""
    return f"loop: {{in: {items}, iterator: i, spec: {{mode: {mode}{extra}}}}}"


DISTRIBUTED = ", max_in_flight: 4, chunk: 2, policy: {exec: distributed}"

SCENARIOS: tuple[Scenario, ...] = (
    # ---- routing -----------------------------------------------------------------------------------------
    Scenario("one-step", "- {step: start, tool: {kind: noop, output: {n: 1}}}"),
    Scenario(
        "chain",
        """
        - {step: a, tool: {kind: noop, output: 1}, next: {arcs: [{step: b}]}}
        - {step: b, tool: {kind: noop, output: "{{ a.data + 1 }}"}, next: {arcs: [{step: c}]}}
        - {step: c, tool: {kind: noop, output: "{{ b.data + 1 }}"}}
        """,
    ),
    Scenario(
        "exclusive-arcs",
        """
        - step: a
          tool: {kind: noop, output: "{{ workload.n }}"}
          next: {arcs: [{step: big, when: "{{ output.data > 5 }}"}, {step: small}]}
        - {step: big, tool: {kind: noop, output: big}}
        - {step: small, tool: {kind: noop, output: small}}
        """,
        "workload: {n: 1}",
        payload={"n": 9},
    ),
    Scenario(
        "inclusive-arcs-and-a-join",
        """
        - step: a
          tool: {kind: noop}
          next: {spec: {mode: inclusive}, arcs: [{step: b, set: {ctx.from: a}}, {step: c}]}
        - {step: b, tool: {kind: noop, output: 1}, next: {arcs: [{step: d}]}}
        - {step: c, tool: {kind: noop, output: 2}, next: {arcs: [{step: d}]}}
        - {step: d, tool: {kind: noop, output: "{{ [b.data, c.data, ctx.from] }}"}}
        """,
    ),
    Scenario(
        "join-of-all",
        """
        - {step: a, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}
        - {step: b, tool: {kind: noop, output: 1}, next: {arcs: [{step: d}]}}
        - {step: c, tool: {kind: wait, input: {seconds: 0.01}}, next: {arcs: [{step: d}]}}
        - {step: d, spec: {join: all}, tool: {kind: noop, output: "{{ b.data }}"}}
        """,
    ),
    Scenario(
        "join-of-each",
        """
        - {step: a, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: d}]}}
        - {step: c, tool: {kind: noop}, next: {arcs: [{step: d}]}}
        - {step: d, spec: {join: each}, tool: {kind: noop}, set: {ctx.runs: "{{ (ctx.runs | default(0)) + 1 }}"}}
        """,
    ),
    Scenario(
        "join-of-the-first",
        """
        - {step: a, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}
        - {step: b, tool: {kind: noop, output: b}, next: {arcs: [{step: d}]}}
        - {step: c, tool: {kind: wait, input: {seconds: 0.05}}, next: {arcs: [{step: d}]}}
        - {step: d, spec: {join: first}, tool: {kind: noop, output: "{{ b.data }}"}}
        """,
    ),
    Scenario(
        "join-that-fails",
        """
        - step: a
          tool: {kind: noop}
          next: {arcs: [{step: b, when: "{{ true }}"}, {step: c}]}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: d}]}}
        - {step: c, tool: {kind: noop}, next: {arcs: [{step: d}]}}
        - {step: d, spec: {join: all}, tool: {kind: noop}}
        """,
        ends="failed",
    ),
    Scenario(
        "cycle",
        """
        - step: a
          tool: {kind: noop}
          set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}
          next: {arcs: [{step: a, when: "{{ ctx.n < 4 }}"}, {step: b}]}
        - {step: b, tool: {kind: noop, output: "{{ ctx.n }}"}}
        """,
    ),
    Scenario(
        "refused-at-admission",
        """
        - {step: a, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}
        - step: b
          spec: {policy: {admit: {rules: [{when: "{{ workload.open }}", then: {allow: true}}, {else: {then: {allow: false}}}]}}}
          tool: {kind: noop}
        - {step: c, tool: {kind: noop, output: c}}
        """,
        "workload: {open: false}",
    ),
    Scenario(
        "admitted",
        """
        - {step: a, tool: {kind: noop, output: 3}, next: {arcs: [{step: b}]}}
        - step: b
          input: {n: "{{ a.data }}"}
          spec: {policy: {admit: {rules: [{when: "{{ input.n > 2 }}", then: {allow: true}}]}}}
          tool: {kind: noop, output: "{{ input.n }}"}
        """,
    ),
    Scenario(
        "entry-and-final-step",
        """
        - {step: other, tool: {kind: noop, output: no}}
        - {step: begin, tool: {kind: noop, output: 7}, next: {arcs: [{step: after}]}}
        - {step: after, tool: {kind: noop, output: 8}}
        """,
        "executor: {spec: {entry_step: begin, final_step: begin}}",
    ),
    Scenario(
        "routing-alone",
        """
        - {step: a, tool: {kind: noop, output: 5}, next: {arcs: [{step: b}]}}
        - {step: b, next: {arcs: [{step: c}]}}
        - {step: c, tool: {kind: noop, output: "{{ _prev | default(a.data) }}"}}
        """,
    ),
    # ---- failures ----------------------------------------------------------------------------------------
    Scenario("failed-task", f"- {{step: start, tool: {FAIL}}}", ends="failed"),
    Scenario(
        "failure-that-an-arc-asked-about",
        f"""
        - step: a
          tool: {FAIL}
          next: {{arcs: [{{step: mend, when: "{{{{ event.name == 'step.failed' }}}}"}}, {{step: done}}]}}
        - {{step: mend, tool: {{kind: noop, output: mended}}}}
        - {{step: done, tool: {{kind: noop}}}}
        """,
    ),
    Scenario(
        "failure-that-nobody-asked-about",
        f"""
        - {{step: a, tool: {FAIL}, next: {{arcs: [{{step: b}}]}}}}
        - {{step: b, tool: {{kind: noop, output: 1}}}}
        """,
        ends="failed",
    ),
    Scenario(
        "failure-drains-the-others",
        f"""
        - {{step: a, next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}}}
        - {{step: b, tool: {FAIL}}}
        - {{step: c, tool: {{kind: wait, input: {{seconds: 0.05}}}}, next: {{arcs: [{{step: d}}]}}}}
        - {{step: d, tool: {{kind: noop}}}}
        """,
        "executor: {spec: {on_failure: drain}}",
        ends="failed",
    ),
    Scenario(
        "failure-stops-the-others",
        f"""
        - {{step: a, next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}}}
        - {{step: b, tool: {FAIL}}}
        - {{step: c, tool: {GO}}}
        """,
        ends="failed",
    ),
    Scenario(
        "error-in-a-guard",
        """
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: b, when: "{{ 1 / 0 }}"}]}}
        - {step: b, tool: {kind: noop}}
        """,
        ends="failed",
    ),
    Scenario(
        "error-in-the-input-of-a-step",
        "- {step: a, input: {n: '{{ ctx.missing.n }}'}, tool: {kind: noop}}",
        ends="failed",
    ),
    Scenario(
        "error-in-a-set",
        "- {step: a, tool: {kind: noop}, set: {ctx.n: '{{ 1 / 0 }}'}}",
        ends="failed",
    ),
    Scenario(
        "output-that-does-not-fit",
        "- {step: a, spec: {validate: {output: {type: string}}}, tool: {kind: noop, output: 5}}",
        ends="failed",
    ),
    Scenario(
        "input-that-does-not-fit",
        "- {step: a, input: {n: x}, spec: {validate: {input: {properties: {n: {type: integer}}}}}, tool: {kind: noop}}",
        ends="failed",
    ),
    # ---- pipelines ---------------------------------------------------------------------------------------
    Scenario(
        "pipeline",
        """
        - step: a
          tool:
            - {name: one, kind: noop, output: 1, set: {step.n: 1}}
            - {name: two, kind: noop, output: "{{ one.data + step.n }}"}
            - {name: three, kind: noop, output: "{{ _prev * 10 }}", set: {ctx.n: "{{ output.data }}"}}
        """,
    ),
    Scenario("retried-task", f"- {{step: start, tool: [{FLAKY}, {{name: end, kind: noop, output: 1}}]}}"),
    Scenario(
        "retries-used-up",
        """
        - step: start
          tool: {name: x, kind: python, input: {code: "raise ValueError('no')"}, spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 0.001, backoff: exponential}}]}}}
        """,
        ends="failed",
    ),
    Scenario(
        "jump-and-break",
        """
        - step: start
          tool:
            - {name: page, kind: noop, set: {step.n: "{{ (step.n | default(0)) + 1 }}"}}
            - {name: more, kind: noop, output: "{{ step.n }}", spec: {policy: {rules: [{when: "{{ step.n < 5 }}", then: {do: jump, to: page}}, {else: {then: {do: break}}}]}}}
            - {name: never, kind: noop, output: never}
        """,
    ),
    Scenario(
        "skip-and-continue",
        f"""
        - step: start
          tool:
            - {{name: a, kind: noop, output: 1}}
            - {{name: b, kind: noop, output: 2, spec: {{policy: {{rules: [{{else: {{then: {{do: skip}}}}}}]}}}}}}
            - {{name: c, kind: noop, output: 3, spec: {{policy: {{before: [{{when: true, then: {{do: skip}}}}]}}}}}}
            - {FAIL[:-1]}, spec: {{policy: {{rules: [{{else: {{then: {{do: continue}}}}}}]}}}}}}
            - {{name: d, kind: noop, output: "{{{{ a.data }}}}"}}
        """,
    ),
    Scenario(
        "failed-by-a-rule",
        """
        - step: start
          tool: {name: x, kind: noop, output: 0, spec: {policy: {rules: [{when: "{{ output.data == 0 }}", then: {do: fail, message: "nothing came"}}]}}}
        """,
        ends="failed",
    ),
    Scenario(
        "timed-out-task",
        """
        - step: start
          tool: {name: x, kind: python, input: {code: "import time; time.sleep(30)"}, spec: {timeout: 0.1}}
        """,
        ends="failed",
    ),
    Scenario(
        "timed-out-step",
        f"- {{step: start, spec: {{policy: {{lifecycle: {{timeout_s: 0.1}}}}}}, tool: {GO}}}",
        ends="failed",
    ),
    Scenario(
        "while-until-choose",
        """
        - step: start
          tool:
            - {name: w, while: {when: "{{ (step.n | default(0)) < 3 }}", do: [{name: i, kind: noop, set: {step.n: "{{ (step.n | default(0)) + 1 }}"}}]}}
            - {name: u, until: {when: "{{ step.n == 5 }}", do: [{name: i, kind: noop, set: {step.n: "{{ step.n + 1 }}"}}]}}
            - {name: c, choose: [{when: "{{ step.n == 5 }}", then: [{name: y, kind: noop, output: yes}]}, {else: [{name: n, kind: noop, output: no}]}]}
        """,
    ),
    Scenario(
        "workbook-block",
        """
        - {step: start, tool: {name: twice, kind: workbook, input: {n: 4}}}
        """,
        """
        workbook:
          twice: {input: {n: 1}, tool: [{name: t, kind: noop, output: "{{ input.n * 2 }}"}], set: {ctx.seen: "{{ output.data }}"}}
        """,
    ),
    Scenario(
        "workbook-block-with-a-loop",
        """
        - step: start
          loop: {in: [1, 2], iterator: a}
          tool: {name: inner, kind: workbook, block: each, input: {n: "{{ iter.a }}"}}
        """,
        """
        workbook:
          each: {loop: {in: [10, 20], iterator: b}, tool: {name: t, kind: noop, output: "{{ iter.b + iter.parent.a }}"}}
        """,
    ),
    # ---- loops -------------------------------------------------------------------------------------------
    Scenario("sequential-loop", f"- {{step: start, {loop()}, tool: {ADD}}}"),
    Scenario("parallel-loop", f"- {{step: start, {loop('parallel')}, tool: {ADD}}}"),
    Scenario(
        "distributed-loop",
        f"- {{step: start, {loop('parallel', DISTRIBUTED, '[1, 2, 3, 4, 5, 6, 7]')}, tool: {ADD}}}",
    ),
    Scenario("empty-loop", f"- {{step: start, {loop(items='[]')}, tool: {ADD}}}"),
    Scenario(
        "loop-over-what-is-no-list",
        "- {step: start, loop: {in: '{{ workload.n }}', iterator: i}, tool: {kind: noop}}",
        "workload: {n: 3}",
        ends="failed",
    ),
    Scenario(
        "nested-loop",
        """
        - step: start
          loop: {in: [1, 2], iterator: a, spec: {mode: parallel}, loop: {in: "{{ [iter.a, 5] }}", iterator: b}}
          tool: {kind: noop, output: "{{ iter.parent.a * iter.b }}"}
        """,
    ),
    Scenario(
        "reduced-loop",
        f"""
        - step: start
          {loop("parallel", ", policy: {reduce: {ctx.total: sum, ctx.all: append, ctx.most: max}}")}
          tool: {{kind: noop, set: {{ctx.total: "{{{{ iter.i }}}}", ctx.all: "{{{{ iter.i }}}}", ctx.most: "{{{{ iter.i }}}}"}}}}
          next: {{arcs: [{{step: end}}]}}
        - {{step: end, tool: {{kind: noop, output: "{{{{ ctx }}}}"}}}}
        """,
    ),
    Scenario(
        "writes-in-conflict",
        f"- {{step: start, {loop('parallel')}, tool: {{kind: noop, set: {{ctx.n: '{{{{ iter.i }}}}'}}}}}}",
        ends="failed",
    ),
    Scenario(
        "best-effort-loop",
        f"""
        - step: start
          spec: {{policy: {{failure: {{mode: best_effort}}}}}}
          {loop("parallel")}
          tool: {{name: x, kind: python, input: {{n: "{{{{ iter.i }}}}", code: "result = 6 // (n - 2)"}}}}
        """,
    ),
    Scenario(
        "fail-fast-loop",
        f"""
        - step: start
          {loop()}
          tool: {{name: x, kind: python, input: {{n: "{{{{ iter.i }}}}", code: "result = 6 // (n - 2)"}}}}
        """,
        ends="failed",
    ),
    Scenario(
        "loop-of-pages",
        f"""
        - step: start
          {loop("parallel", items="[a, b]")}
          tool:
            - {{name: page, kind: noop, set: {{iter.n: "{{{{ (iter.n | default(0)) + 1 }}}}"}}}}
            - {{name: more, kind: noop, output: "{{{{ iter.n }}}}", spec: {{policy: {{rules: [{{when: "{{{{ iter.n < 4 }}}}", then: {{do: jump, to: page}}}}]}}}}}}
        """,
    ),
    Scenario(
        "retries-in-a-loop",
        f"- {{step: start, {loop('parallel')}, tool: {FLAKY.replace('step.n', 'iter.n')}}}",
    ),
    Scenario(
        "loop-in-a-chain",
        f"""
        - {{step: list, tool: {{kind: noop, output: [3, 4]}}, next: {{arcs: [{{step: each}}]}}}}
        - {{step: each, {loop(items='"{{ list.data }}"')}, tool: {ADD}, next: {{arcs: [{{step: end}}]}}}}
        - {{step: end, tool: {{kind: noop, output: "{{{{ each.data }}}}"}}}}
        """,
    ),
    Scenario(
        "long-loop",
        f"- {{step: start, {loop('parallel', DISTRIBUTED, chr(34) + '{{ range(60) | list }}' + chr(34))}, tool: {ADD}}}",
    ),
    # ---- large results -----------------------------------------------------------------------------------
    Scenario(
        "large-result",
        f"""
        - {{step: load, tool: {BIG}, next: {{arcs: [{{step: use}}]}}}}
        - {{step: use, tool: {{kind: noop, output: "{{{{ load.data.rows | length }}}}"}}}}
        """,
    ),
    Scenario(
        "large-value-in-ctx",
        f"""
        - {{step: load, tool: {BIG}, set: {{ctx.rows: "{{{{ output.data.rows }}}}"}}, next: {{arcs: [{{step: use}}]}}}}
        - {{step: use, tool: {{kind: noop, output: "{{{{ ctx.rows | length }}}}"}}}}
        """,
    ),
    Scenario(
        "large-results-in-a-loop",
        f"- {{step: load, {loop('parallel')}, tool: {BIG}, next: {{arcs: [{{step: use}}]}}}}\n"
        "- {step: use, tool: {kind: noop, output: '{{ load.data | length }}'}}",
    ),
    Scenario(
        "everything-by-reference",
        """
        - {step: a, tool: {kind: noop, output: {n: 1}}, next: {arcs: [{step: b}]}}
        - {step: b, tool: {kind: noop, output: "{{ a.data.n + 1 }}"}}
        """,
        "executor: {spec: {policy: {results: {reference_first: true}}}}",
    ),
    # ---- waits -------------------------------------------------------------------------------------------
    Scenario("signal", f"- {{step: start, tool: [{GO}, {{name: b, kind: noop}}]}}", signals={"go": {"n": 1}}),
    Scenario(
        "approval",
        "- {step: start, tool: {name: ship, kind: wait, input: {approval: Ship it?}}}",
        signals={"start.ship": {"approved": True}},
    ),
    Scenario(
        "declined-approval",
        "- {step: start, tool: {name: ship, kind: wait, input: {approval: Ship it?}}}",
        signals={"start.ship": {"approved": False, "reason": "no"}},
        ends="failed",
    ),
    Scenario("timer", "- {step: start, tool: {kind: wait, input: {seconds: 0.02}}}"),
    Scenario(
        "signals-in-a-loop",
        f"- {{step: start, {loop('parallel', items='[a, b]')}, tool: {{kind: wait, input: {{signal: '{{{{ iter.i }}}}'}}}}}}",
        signals={"a": 1, "b": 2},
    ),
    Scenario(
        "signals-in-a-distributed-loop",
        f"- {{step: start, {loop('parallel', DISTRIBUTED, '[a, b, c]')}, tool: {{kind: wait, input: {{signal: '{{{{ iter.i }}}}'}}}}}}",
        signals={"a": 1, "b": 2, "c": 3},
    ),
    # ---- children ----------------------------------------------------------------------------------------
    Scenario(
        "child",
        "- {step: start, tool: {name: c, kind: playbook, path: histories/a-child, input: {n: 2}}}",
        children={"histories/a-child": "- {step: start, tool: {kind: noop, output: '{{ workload.n + 1 }}'}}"},
    ),
    Scenario(
        "children-in-a-loop",
        f"- {{step: start, {loop('parallel')}, tool: {{name: c, kind: playbook, path: histories/twice, input: {{n: '{{{{ iter.i }}}}'}}}}}}",
        children={"histories/twice": "- {step: start, tool: {kind: noop, output: '{{ workload.n * 2 }}'}}"},
    ),
    Scenario(
        "failed-child",
        "- {step: start, tool: {name: c, kind: playbook, path: histories/fails}}",
        children={"histories/fails": f"- {{step: start, tool: {FAIL}}}"},
        ends="failed",
    ),
    Scenario(
        "grandchild",
        "- {step: start, tool: {name: c, kind: playbook, path: histories/middle}}",
        children={
            "histories/middle": "- {step: start, tool: {name: c, kind: playbook, path: histories/last}}",
            "histories/last": "- {step: start, tool: {kind: noop, output: 9}}",
        },
    ),
    Scenario(
        "child-that-nobody-waits-for",
        "- {step: start, tool: {name: c, kind: playbook, path: histories/alone, wait: false}, next: {arcs: [{step: b}]}}\n"
        "- {step: b, tool: {kind: noop, output: 1}}",
        children={"histories/alone": "- {step: start, tool: {kind: noop}}"},
    ),
    # ---- synthesis ---------------------------------------------------------------------------------------
    Scenario(
        "synthesized-steps",
        """
        - step: plan
          spec: {synthesize: {from: "{{ output.data }}"}}
          tool: {kind: noop, output: "{{ workload.plan }}"}
        """,
        "workload: {plan: [{step: extra, tool: {kind: noop, output: 5}, next: {arcs: [{step: more}]}}, {step: more, tool: {kind: noop, output: 6}}]}",
    ),
    # ---- what is done to an execution --------------------------------------------------------------------
    Scenario("cancelled", f"- {{step: start, tool: {GO}}}", deed="cancel", ends="cancelled"),
    Scenario(
        "cancelled-with-a-child",
        "- {step: start, tool: {name: c, kind: playbook, path: histories/waits}}",
        children={"histories/waits": f"- {{step: start, tool: {GO}}}"},
        deed="cancel",
        ends="cancelled",
    ),
    Scenario(
        "cancelled-in-a-loop",
        f"- {{step: start, {loop('parallel')}, tool: {GO}}}",
        deed="cancel",
        ends="cancelled",
    ),
    Scenario("paused-and-resumed", f"- {{step: start, tool: [{GO}]}}", deed="pause", signals={"go": 1}),
    Scenario(
        "taken-over",
        f"- {{step: start, tool: [{{name: a, kind: noop, output: 1}}, {GO}, {{name: b, kind: noop, output: '{{{{ a.data }}}}'}}]}}",
        deed="crash",
        signals={"go": 1},
    ),
    Scenario(
        "loop-taken-over",
        f"- {{step: start, {loop('parallel')}, tool: [{ADD}, {GO}, {{name: b, kind: noop, output: '{{{{ add.data }}}}'}}]}}",
        deed="crash",
        signals={"go": 1},
    ),
    Scenario(
        "distributed-loop-taken-over",
        f"- {{step: start, {loop('parallel', DISTRIBUTED, '[1, 2, 3, 4, 5]')}, tool: [{ADD}, {GO}]}}",
        deed="crash",
        signals={"go": 1},
    ),
    Scenario(
        "expired-lease",
        f"- {{step: start, {loop('parallel')}, tool: [{ADD}, {GO}]}}",
        deed="expire",
        signals={"go": 1},
    ),
    *LONG_LIVED,
)
