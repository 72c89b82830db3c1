"""Steps, admission, joins, lifecycle: what the language says of each, one row a sentence."""

import pytest

from tests.engine.cases import Case

PY = '{kind: python, input: {code: "%s"}}'
GUARDED = """
- {step: start, tool: {kind: noop}, next: {arcs: [{step: g}]}}
- step: g
  spec: {policy: {admit: {rules: %s}}}
  tool: {kind: noop}
"""
MEET = """
- step: start
  tool: {kind: noop}
  next: {spec: {mode: inclusive}, arcs: [{step: a, args: {x: 1, y: 1}}, {step: b, args: {y: 2, z: 2}}]}
- {step: a, tool: {kind: noop}, next: {arcs: [{step: j, args: {w: a, from: a}}]}}
- {step: b, tool: {kind: python, input: {code: "import time; time.sleep(0.1)"}}, next: {arcs: [{step: j, args: {from: b}}]}}
- {step: j, spec: {join: %s}, tool: {kind: python, input: {a: "{{ args }}", code: "result = a"}}}
"""


def guards(ran):
    return [event["data"] for event in ran.named("token.refused")]


ENTRY = {
    "a step without a tool passes on the output of the step its token came from": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 7"}}, next: {arcs: [{step: route}]}}
        - {step: route, next: {arcs: [{step: low, when: "{{ output.data < 5 }}"}, {step: high, when: "{{ output.data == 7 }}"}]}}
        - {step: low, tool: {kind: noop}}
        - {step: high, tool: {kind: python, input: {code: "result = v", v: "{{ route.data }}"}}}
        """,
        output=7,
        runs={"low": 0, "high": 1, "route": 1},
        events=lambda ran: [e["source"] for e in ran.named("step.done", step="route")] == ["server"],
    ),
    "a failure passed on by a routing step keeps its error": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "1/0"}}, next: {arcs: [{step: route, when: "{{ event.failed }}"}]}}
        - {step: route, set: {ctx.kind: "{{ output.error.kind }}", ctx.status: "{{ output.status }}"}, next: {arcs: [{step: end}]}}
        - {step: end, tool: {kind: noop}}
        """,
        ctx={"status": "error"},
    ),
    "a step with neither tool nor next is a plain end marker": Case(
        '- {step: start, tool: {kind: python, input: {code: "result = 3"}}, next: {arcs: [{step: end}]}}\n- {step: end}',
        output=3,
    ),
    "the first step in the list is the entry without a step named start": Case(
        "- {step: one, tool: {kind: noop}}\n- {step: two, tool: {kind: noop}}", runs={"one": 1, "two": 0}
    ),
    "the step named start is the entry wherever it stands": Case(
        "- {step: one, tool: {kind: noop}}\n- {step: start, tool: {kind: noop}}", runs={"one": 0, "start": 1}
    ),
    "entry_step is the entry": Case(
        "- {step: start, tool: {kind: noop}}\n- {step: two, tool: {kind: noop}}",
        {"executor": "executor: {spec: {entry_step: two}}"},
        runs={"start": 0, "two": 1},
    ),
    "final_step gives the output": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: two}]}}
        - {step: two, tool: {kind: python, input: {code: "result = 2"}}}
        """,
        {"executor": "executor: {spec: {final_step: start}}"},
        output=1,
    ),
    "final_step that did not run gives null": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: two, when: "{{ false }}"}]}}
        - {step: two, tool: {kind: python, input: {code: "result = 2"}}}
        """,
        {"executor": "executor: {spec: {final_step: two}}"},
        output=None,
    ),
    "a failed execution has no output": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: two}]}}
        - {step: two, tool: {kind: python, input: {code: "1/0"}}}
        """,
        output=None,
        error={"step": "two"},
    ),
    "distributed also runs embedded": Case(
        "- {step: start, tool: {kind: noop}}", {"executor": "executor: {profile: distributed, version: '1'}"}
    ),
    "validate input fails the step before it starts": Case(
        "- {step: start, input: {n: x}, spec: {validate: {input: {type: object, properties: {n: {type: integer}}}}}, tool: {kind: noop}}",
        error={"kind": "validation", "step": "start"},
        events=lambda ran: not ran.named("step.started"),
    ),
    "validate output fails the step": Case(
        "- {step: start, spec: {validate: {output: {type: integer}}}, tool: {kind: python, input: {code: \"result = 'x'\"}}}",
        error={"kind": "validation", "step": "start"},
    ),
    "validate on a task fails the task and its rules see it": Case(
        """
        - step: start
          tool:
            name: t
            kind: python
            input: {code: "result = 'x'"}
            spec: {validate: {output: {type: integer}}, policy: {rules: [{when: "{{ output.error.kind == 'validation' }}", then: {do: continue, set: {ctx.seen: "{{ output.data }}"}}}]}}
        """,
        ctx={"seen": "x"},
    ),
    "validate input on a task keeps the tool from running": Case(
        """
        - step: start
          tool: {name: t, kind: python, input: {n: x, code: "result = 1"}, spec: {validate: {input: {properties: {n: {type: integer}}}}}}
        """,
        error={"kind": "validation", "task": "t"},
    ),
    "an unreachable schema is still a schema: output by reference is checked as the payload": Case(
        """
        - step: start
          spec: {validate: {output: {type: array, minItems: 100}}}
          tool: {kind: python, input: {code: "result = ['x' * 1000 for i in range(200)]"}}
        """
    ),
}

ADMISSION = {
    "else decides only if no rule holds, wherever it stands": Case(
        """
        - step: start
          spec: {policy: {admit: {rules: [{else: {then: {allow: false}}}, {when: "{{ workload.go }}", then: {allow: true}}]}}}
          tool: {kind: noop}
        """,
        root={"workload": "workload: {go: true}"},
        runs={"start": 1},
        events=lambda r: r.named("token.claimed")[0]["data"]["rule"] == 0,
    ),
    "no rule holds, some rule allows: refused": Case(
        GUARDED % '[{when: "{{ false }}", then: {allow: true}}]',
        runs={"g": 0},
        events=lambda r: guards(r)[0]["rule"] == "default",
    ),
    "no rule holds, rules only refuse: allowed": Case(
        GUARDED % '[{when: "{{ false }}", then: {allow: false}}]', runs={"g": 1}
    ),
    "the first rule that holds decides": Case(
        GUARDED % '[{when: "{{ true }}", then: {allow: false}}, {when: "{{ true }}", then: {allow: true}}]',
        runs={"g": 0},
        events=lambda r: guards(r)[0]["rule"] == 0,
    ),
    "else as else: {then: ...}": Case(
        GUARDED % '[{when: "{{ false }}", then: {allow: true}}, {else: {then: {allow: false}}}]',
        runs={"g": 0},
    ),
    "else as else: {allow: ...}": Case(
        GUARDED % '[{when: "{{ false }}", then: {allow: true}}, {else: {allow: false}}]', runs={"g": 0}
    ),
    "else with a sibling then": Case(
        GUARDED % '[{when: "{{ false }}", then: {allow: true}}, {else: , then: {allow: false}}]',
        runs={"g": 0},
    ),
    "admission sees ctx, workload, input, args and event": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 5"}}, set: {ctx.c: 1}, next: {arcs: [{step: g, args: {k: 2}}]}}
        - step: g
          input: {i: 3}
          spec: {policy: {admit: {rules: [{when: "{{ ctx.c == 1 and args.k == 2 and input.i == 3 and workload.w == 4 and event.name == 'step.done' and event.step == 'start' and event.data.output.data == 5 and event.data.error is none }}", then: {allow: true}}]}}}
          tool: {kind: noop}
        """,
        {"workload": "workload: {w: 4}"},
        runs={"g": 1},
    ),
    "event of the entry token is workflow.started": Case(
        """
        - step: start
          spec: {policy: {admit: {rules: [{when: "{{ event.name == 'workflow.started' }}", then: {allow: true}}]}}}
          tool: {kind: noop}
        """,
        runs={"start": 1},
    ),
    "a refused entry token ends the workflow well": Case(
        "- {step: start, spec: {policy: {admit: {rules: [{else: {then: {allow: false}}}]}}}, tool: {kind: noop}}",
        runs={"start": 0},
        output=None,
    ),
    "an error in admission fails the execution with the place": Case(
        GUARDED % '[{when: "{{ ctx.x + 1 > 2 }}", then: {allow: true}}]',
        error={"kind": "template"},
        says="admission",
    ),
    "a refusal records the values it saw": Case(
        GUARDED % '[{when: "{{ workload.go }}", then: {allow: true}}]',
        {"workload": "workload: {go: false}"},
        events=lambda r: "workload.go" in str(guards(r)[0]),
    ),
    "a missing value in when is false": Case(
        GUARDED % '[{when: "{{ ctx.nothing.there }}", then: {allow: true}}]', runs={"g": 0}
    ),
}

JOINS = {
    "sync merges args key by key in arrival order": Case(
        MEET % "sync", runs={"j": 1}, output={"x": 1, "y": 2, "z": 2, "w": "a", "from": "b"}
    ),
    "each runs once per token": Case(MEET % "each", runs={"j": 2}),
    "all takes one token from every source": Case(MEET % "all", runs={"j": 1}),
    "first runs for the first token and refuses the others": Case(
        MEET % "first",
        runs={"j": 1},
        events=lambda r: [e["data"]["reason"] for e in r.named("token.refused")] == ["join"],
    ),
    "the event of a merged token is its last arrival's": Case(
        """
        - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: b, tool: {kind: python, input: {code: "import time; time.sleep(0.1)"}}, next: {arcs: [{step: j}]}}
        - {step: j, input: {s: "{{ event.step }}"}, tool: {kind: python, input: {s: "{{ input.s }}", code: "result = s"}}}
        """,
        output="b",
    ),
    "all whose source can no longer come fails with kind join when it never ran": Case(
        """
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: j, spec: {join: all}, tool: {kind: noop}}
        """,
        error={"kind": "join"},
        events=lambda r: [e["data"]["reason"] for e in r.named("token.discarded")] == ["join impossible"],
    ),
    "the entry token is a source of all": Case(
        """
        - {step: start, spec: {join: all}, tool: {kind: noop}, next: {arcs: [{step: b}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: start}, {step: start, when: "{{ false }}"}]}}
        """,
        error={"kind": "join"},
        runs={"start": 0},
    ),
    "a branch refused by admission lets the join go on": Case(
        """
        - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: b, spec: {policy: {admit: {rules: [{else: {then: {allow: false}}}]}}}, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: j, tool: {kind: noop}}
        """,
        runs={"j": 1, "b": 0},
    ),
    "an ordinary cycle with one token runs at once": Case(
        """
        - {step: start, tool: {kind: noop}, set: {ctx.n: 0}, next: {arcs: [{step: w}]}}
        - step: w
          tool: {kind: noop, set: {ctx.n: "{{ ctx.n + 1 }}"}}
          next: {arcs: [{step: w, when: "{{ ctx.n < 4 }}"}, {step: end}]}
        - {step: end, tool: {kind: noop}}
        """,
        runs={"w": 4, "end": 1},
        ctx={"n": 4},
    ),
    "joins that wait only on one another release the one with the oldest token": Case(
        """
        - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: x}, {step: y}]}}
        - {step: x, tool: {kind: noop}, next: {arcs: [{step: y, when: "{{ ctx.go | default(0) < 2 }}", set: {ctx.go: "{{ ctx.go | default(0) + 1 }}"}}]}}
        - {step: y, tool: {kind: noop}, next: {arcs: [{step: x, when: "{{ ctx.go | default(0) < 2 }}", set: {ctx.go: "{{ ctx.go | default(0) + 1 }}"}}]}}
        """,
    ),
    "first: a descendant of the run opens a new wave": Case(
        """
        - {step: start, tool: {kind: noop}, set: {ctx.n: 0}, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: b, tool: {kind: python, input: {code: "import time; time.sleep(0.1)"}}, next: {arcs: [{step: j}]}}
        - step: j
          spec: {join: first}
          tool: {kind: noop, set: {ctx.n: "{{ ctx.n + 1 }}"}}
          next: {arcs: [{step: again, when: "{{ ctx.n < 2 }}"}]}
        - {step: again, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        """,
        runs={"j": 2},
        events=lambda r: len(r.named("token.refused")) == 1,
    ),
    "step input is rendered before admission": Case(
        """
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: g}]}}
        - step: g
          input: {n: "{{ ctx.missing }}"}
          spec: {policy: {admit: {rules: [{else: {then: {allow: false}}}]}}}
          tool: {kind: noop}
        """,
        error={"kind": "template", "step": "g"},
        says="ctx.missing",
    ),
}

LIFECYCLE = {
    "lifecycle.timeout_s fails the step with kind timeout": Case(
        '- {step: start, spec: {policy: {lifecycle: {timeout_s: 0.2}}}, tool: {kind: python, input: {code: "import time; time.sleep(5)"}}}',
        error={"kind": "timeout", "step": "start"},
    ),
    "a step's spec.timeout is the same": Case(
        "- {step: start, spec: {timeout: 0.2}, tool: {kind: wait, input: {seconds: 4}}}",
        error={"kind": "timeout"},
    ),
    "the step's timeout runs over retries and delays": Case(
        """
        - step: start
          spec: {timeout: 0.3}
          tool: {kind: python, input: {code: "1/0"}, spec: {policy: {rules: [{else: {then: {do: retry, attempts: 50, delay: 0.1}}}]}}}
        """,
        error={"kind": "timeout"},
    ),
    "a step timeout goes over its arcs": Case(
        """
        - {step: start, spec: {timeout: 0.1}, tool: {kind: wait, input: {seconds: 4}}, next: {arcs: [{step: late, when: "{{ event.name == 'step.failed' and output.error.kind == 'timeout' }}"}]}}
        - {step: late, tool: {kind: noop}}
        """,
        runs={"late": 1},
    ),
    "deadline_s counts from execution start": Case(
        """
        - {step: start, tool: {kind: wait, input: {seconds: 0.3}}, next: {arcs: [{step: two}]}}
        - {step: two, spec: {policy: {lifecycle: {deadline_s: 0.5}}}, tool: {kind: wait, input: {seconds: 3}}}
        """,
        error={"kind": "timeout", "step": "two"},
    ),
    "a deadline that passed before the step was scheduled fails it": Case(
        """
        - {step: start, tool: {kind: wait, input: {seconds: 0.3}}, next: {arcs: [{step: two}]}}
        - {step: two, spec: {policy: {lifecycle: {deadline_s: 0.1}}}, tool: {kind: wait, input: {seconds: 3}}}
        """,
        error={"kind": "timeout", "step": "two"},
    ),
    "a task's timeout bounds one attempt, is retryable, and its rules see it": Case(
        """
        - step: start
          tool:
            kind: python
            input: {code: "import time; time.sleep(5 if n == 1 else 0); result = n", n: "{{ _attempt }}"}
            spec: {timeout: 0.3, policy: {rules: [{when: "{{ output.error.kind == 'timeout' and output.error.retryable }}", then: {do: retry, attempts: 2, delay: 0}}]}}
        """,
        output=2,
    ),
    "a task's timeout without rules fails the step": Case(
        '- {step: start, tool: {name: t, kind: shell, input: {command: "sleep 5"}, spec: {timeout: 0.2}}}',
        error={"kind": "timeout", "task": "t"},
    ),
    "a wait is bounded by the task's timeout": Case(
        "- {step: start, tool: {name: t, kind: wait, input: {seconds: 3}, spec: {timeout: 0.2}}}",
        error={"kind": "timeout", "task": "t"},
    ),
    "a task's timeout may be a template": Case(
        '- {step: start, tool: {name: t, kind: shell, input: {command: "sleep 5"}, spec: {timeout: "{{ workload.t }}"}}}',
        {"workload": "workload: {t: 0.2}"},
        error={"kind": "timeout", "task": "t"},
    ),
    "a loop step's timeout ends it": Case(
        """
        - step: start
          spec: {timeout: 0.3}
          loop: {in: [1, 2, 3], iterator: x, spec: {mode: parallel}}
          tool: {kind: wait, input: {seconds: 3}}
        """,
        error={"kind": "timeout", "step": "start"},
    ),
    "defaults.timeouts of the executor bound every task that has none": Case(
        '- {step: start, tool: {name: t, kind: python, input: {code: "import time; time.sleep(5)"}}}',
        {"executor": "executor: {spec: {policy: {defaults: {timeouts: 0.2}}}}"},
        error={"kind": "timeout", "task": "t"},
    ),
    "executor.spec.timeout bounds every task that has none": Case(
        "- {step: start, tool: {kind: wait, input: {seconds: 4}}}",
        {"executor": "executor: {spec: {timeout: 0.3}}"},
        error={"kind": "timeout"},
    ),
}
ALL = ENTRY | ADMISSION | JOINS | LIFECYCLE


@pytest.mark.parametrize("rule", ALL)
async def test_steps(tmp_path, rule):
    await ALL[rule].check(tmp_path)
