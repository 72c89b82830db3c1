"""Tasks, envelopes, policy rules, results and scopes: what the language says of each, one row a sentence."""

import time
from email.utils import formatdate

import pytest
from tests.engine.cases import Case


def labels(ran, name="task.done"):
    return [event["task_label"] for event in ran.named(name)]


def dos(ran):
    return [event["data"].get("do") for event in ran.named("task.done")]


def gap(ran, label, attempt):
    """Seconds between the end of an attempt and the start of the next, as recorded."""
    return next(e["data"]["delay"] for e in ran.named("task.done", task_label=label) if e["attempt"] == attempt)


FAILING = '{name: t, kind: python, input: {code: "1/0"}, spec: {policy: {rules: [%s]}}}'
RETRY = """
- step: start
  tool: {name: t, kind: python, input: {code: "1/0"}, spec: {policy: {rules: [{else: {then: {do: retry, %s}}}]}}}
"""

TASKS = {
    "unnamed list items are task_<index>": Case(
        "- {step: start, tool: [{kind: noop}, {kind: noop}]}", events=lambda r: labels(r) == ["task_0", "task_1"]
    ),
    "a single unnamed task is <step>_task": Case(
        "- {step: start, tool: {kind: noop}}", events=lambda r: labels(r) == ["start_task"]
    ),
    "a label map names its task": Case(
        "- {step: start, tool: [{first: {kind: noop}}]}", events=lambda r: labels(r) == ["first"]
    ),
    "tool inputs beside kind and args fold into input; input wins": Case(
        """
        - {step: start, tool: {kind: python, code: "result = [a, b]", args: {a: 1, b: 1}, input: {b: 2}}}
        """,
        output=[1, 2],
    ),
    "noop answers with _prev": Case(
        '- {step: start, tool: [{kind: python, input: {code: "result = 4"}}, {kind: noop}]}', output=4
    ),
    "a first noop answers null": Case("- {step: start, tool: {kind: noop}}", output=None),
    "_prev, _task and _attempt": Case(
        """
        - step: start
          tool:
            - {name: a, kind: python, input: {code: "result = 1"}}
            - {name: b, kind: python, input: {p: "{{ _prev }}", t: "{{ _task }}", n: "{{ _attempt }}", code: "result = [p, t, n]"}}
        """,
        output=[1, "b", 1],
    ),
    "while input is rendered, input is the step's and output the previous task's": Case(
        """
        - step: start
          input: {x: 1}
          tool:
            - {name: a, kind: python, input: {x: "{{ input.x + 1 }}", code: "result = x"}}
            - {name: b, kind: python, input: {x: "{{ input.x }}", o: "{{ output.data }}", s: "{{ output.status }}", code: "result = [x, o, s]"}}
        """,
        output=[1, 2, "ok"],
    ),
    "in a task's set and rules input is the task's over the step's": Case(
        """
        - step: start
          input: {x: 1, y: 1}
          tool:
            name: a
            kind: python
            input: {x: 2, code: "result = 0"}
            set: {ctx.a: "{{ [input.x, input.y] }}"}
            spec: {policy: {rules: [{when: "{{ input.x == 2 and input.y == 1 }}", then: {do: continue, set: {ctx.b: "{{ input.x }}"}}}]}}
        """,
        ctx={"a": [2, 1], "b": 2},
    ),
    "the tool receives only the task's own input": Case(
        """
        - {step: start, input: {x: 1}, tool: {kind: python, input: {code: "result = 'x' in globals()"}}}
        """,
        output=False,
    ),
    "a render error is an output with error.kind template": Case(
        """
        - step: start
          tool:
            name: a
            kind: python
            input: {v: "{{ ctx.nope.deeper }}", code: "result = 1"}
            spec: {policy: {rules: [{when: "{{ output.error.kind == 'template' }}", then: {do: continue, set: {ctx.m: "{{ output.error.message }}"}}}]}}
        """,
        events=lambda r: "ctx.nope" in r.ctx["m"],
    ),
    "output of a task replaces data before its set": Case(
        """
        - step: start
          tool: {kind: python, input: {code: "result = {'a': [1, 2]}"}, output: "{{ output.data.a }}", set: {ctx.v: "{{ output.data }}"}}
        """,
        output=[1, 2],
        ctx={"v": [1, 2]},
    ),
    "output of a task is left alone on an error": Case(
        """
        - step: start
          tool: {kind: python, input: {code: "1/0"}, output: "{{ 5 }}", set: {ctx.v: 1}, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}
          set: {ctx.status: "{{ output.status }}"}
        """,
        ctx={"v": None, "status": "error"},
        output=None,
    ),
    "an error in a task's output turns the output into an error": Case(
        '- {step: start, tool: {name: t, kind: noop, output: "{{ output.data.a.b }}"}}', error={"kind": "template", "task": "t"}
    ),
    "an error in a task's set turns the output into an error the rules see": Case(
        """
        - step: start
          tool: {kind: noop, set: {ctx.a: "{{ ctx.no }}"}, spec: {policy: {rules: [{when: "{{ output.status == 'error' and output.error.kind == 'template' }}", then: {do: continue, set: {ctx.seen: 1}}}]}}}
        """,
        ctx={"seen": 1, "a": None},
    ),
    "an error in a rule fails the pipeline with kind template": Case(
        "- {step: start, tool: " + FAILING % '{when: "{{ ctx.a + 1 > 1 }}", then: {do: continue}}' + "}",
        error={"kind": "template", "task": "t"},
    ),
    "an error in a rule's set fails the pipeline with kind template": Case(
        "- {step: start, tool: " + FAILING % '{else: {then: {do: continue, set: {ctx.x: "{{ ctx.no }}"}}}}' + "}",
        error={"kind": "template", "task": "t"},
    ),
    "output of a step is rendered before its set": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 2"}}, output: "{{ output.data * 10 }}", set: {ctx.v: "{{ output.data }}"}}
        """,
        output=20,
        ctx={"v": 20},
    ),
    "a continued last error leaves output.status error on step.done": Case(
        """
        - step: start
          tool: {kind: python, input: {code: "1/0"}, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}
          next: {arcs: [{step: e, when: "{{ event.name == 'step.done' and output.status == 'error' }}"}]}
        - {step: e, tool: {kind: noop}}
        """,
        runs={"e": 1},
    ),
    "a pipeline's output is that of the last task that ran and was not skipped": Case(
        """
        - step: start
          tool:
            - {name: a, kind: python, input: {code: "result = 1"}}
            - {name: b, kind: python, input: {code: "result = 2"}, spec: {policy: {rules: [{else: {then: {do: skip}}}]}}}
            - {name: c, kind: python, input: {code: "result = 3"}, spec: {policy: {before: [{else: {then: {do: skip}}}]}}}
        """,
        output=1,
    ),
    "spec values are templates": Case(
        """
        - step: start
          tool: {kind: python, input: {code: "1/0"}, spec: {policy: {rules: [{else: {then: {do: retry, attempts: "{{ workload.n }}", delay: "{{ 0 }}"}}}]}}}
        """,
        {"workload": "workload: {n: 4}"},
        error={"attempt": 4},
    ),
    "the envelope has its parts": Case(
        """
        - step: start
          tool:
            - {name: a, kind: python, input: {code: "result = [1]"}}
            - {name: b, kind: python, input: {m: "{{ a.meta }}", s: "{{ a.status }}", code: "result = [sorted(m), s, m['attempt'], m['bytes']]"}}
        """,
        output=[["attempt", "bytes", "duration_ms", "idempotency_key", "trace_id", "ts"], "ok", 1, 3],
    ),
    "a kind of the engine's own has its meta too": Case(
        """
        - step: start
          tool: [{name: a, kind: wait, input: {seconds: 0}}, {name: b, kind: noop, output: "{{ a.meta | length }}"}]
        """,
        output=6,
    ),
    "an error has kind, code, message, retryable and details; python adds py": Case(
        """
        - step: start
          tool: {name: a, kind: python, input: {code: "raise KeyError('x')"}, spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.e: "{{ output.error }}", ctx.t: "{{ output.py.exception_type }}", ctx.b: "{{ output.py.traceback }}"}}}}]}}}
        """,
        ctx={"t": "KeyError"},
        events=lambda r: set(r.ctx["e"]) == {"kind", "code", "message", "retryable", "details"} and "KeyError" in r.ctx["b"],
    ),
    "the v10 view: outcome.result is the payload, its fields fall through": Case(
        """
        - step: start
          tool: {name: a, kind: python, input: {code: "result = {'n': 1, 'data': {'m': 2}}"}, spec: {policy: {rules: [{when: "{{ outcome.status == 'ok' }}", then: {do: continue, set_ctx: {a: "{{ outcome.result.n }}", b: "{{ outcome.result.data.n }}", c: "{{ outcome.result }}"}}}]}}}
        """,
        ctx={"a": 1, "b": 1, "c": {"n": 1, "data": {"m": 2}}},
    ),
}

RULES = {
    "no policy, error: fail": Case('- {step: start, tool: {name: t, kind: python, input: {code: "1/0"}}}', error={"task": "t"}),
    "a policy with no match continues": Case(
        "- {step: start, tool: " + FAILING % '{when: "{{ false }}", then: {do: fail}}' + "}", runs={"start": 1}
    ),
    "on_unmatched by_status fails on error": Case(
        '- {step: start, tool: {name: t, kind: python, input: {code: "1/0"}, spec: {policy: {on_unmatched: by_status, rules: [{when: "{{ false }}", then: {do: continue}}]}}}}',
        error={"task": "t"},
    ),
    "first match wins": Case(
        "- {step: start, tool: " + FAILING % '{when: true, then: {do: continue, set: {ctx.a: 1}}}, {when: true, then: {do: fail}}' + "}", ctx={"a": 1}
    ),
    "else: {do: ...}": Case("- {step: start, tool: " + FAILING % '{else: {do: continue}}' + "}"),
    "else with a sibling then": Case("- {step: start, tool: " + FAILING % '{else: , then: {do: continue}}' + "}"),
    "retry counts attempts in total, then fails and keeps the last error": Case(
        RETRY % "attempts: 3, delay: 0", error={"attempt": 3}, says="division", events=lambda r: dos(r) == ["retry", "retry", "fail"]
    ),
    "retry defaults to 3 attempts": Case(RETRY % "delay: 0", error={"attempt": 3}),
    "retry defaults to a delay of 1.0": Case(RETRY % "attempts: 2", error={"attempt": 2}, events=lambda r: gap(r, "t", 1) == 1.0),
    "linear backoff": Case(
        RETRY % "attempts: 4, delay: 0.02, backoff: linear",
        error={},
        events=lambda r: [gap(r, "t", n) for n in (1, 2, 3)] == pytest.approx([0.02, 0.04, 0.06]),
    ),
    "exponential backoff, capped": Case(
        RETRY % "attempts: 5, delay: 0.02, backoff: exponential, max_delay: 0.05",
        error={},
        events=lambda r: [gap(r, "t", n) for n in (1, 2, 3, 4)] == pytest.approx([0.02, 0.04, 0.05, 0.05]),
    ),
    "backoff fixed is none": Case(
        RETRY % "attempts: 3, delay: 0.01, backoff: fixed", error={}, events=lambda r: [gap(r, "t", n) for n in (1, 2)] == [0.01, 0.01]
    ),
    "jitter only lengthens, by a quarter at most": Case(
        RETRY % "attempts: 6, delay: 0.02, jitter: true",
        error={},
        events=lambda r: all(0.02 <= gap(r, "t", n) <= 0.025 for n in range(1, 6)),
    ),
    "delay may be a numeric string": Case(RETRY % 'attempts: 2, delay: "0.01"', error={}, events=lambda r: gap(r, "t", 1) == 0.01),
    "delay may be an HTTP date in the past": Case(
        RETRY % 'attempts: 2, delay: "Wed, 21 Oct 2015 07:28:00 GMT"', error={}, events=lambda r: gap(r, "t", 1) == 0
    ),
    "delay may be an HTTP date": Case(
        RETRY % f'attempts: 2, delay: "{formatdate(time.time() + 86400, usegmt=True)}", max_delay: 0.05',
        error={},
        events=lambda r: gap(r, "t", 1) == 0.05,
    ),
    "a delay that is neither fails with kind template": Case(RETRY % 'attempts: 2, delay: "{{ workload.soon }}"', {"workload": "workload: {soon: soon}"}, error={"kind": "template"}),
    "one counter per visit is shared by all rules": Case(
        """
        - step: start
          tool:
            name: t
            kind: python
            input: {code: "raise ValueError(n)", n: "{{ _attempt }}"}
            spec: {policy: {rules: [{when: "{{ _attempt == 1 }}", then: {do: retry, attempts: 3, delay: 0}}, {else: {then: {do: retry, attempts: 3, delay: 0}}}]}}
        """,
        error={"attempt": 3},
    ),
    "a retry's set applies on every match, the exhausted one included": Case(
        """
        - step: start
          tool: {name: t, kind: python, input: {code: "1/0"}, spec: {policy: {rules: [{else: {then: {do: retry, attempts: 3, delay: 0, set: {ctx.n: "{{ ctx.n | default(0) + 1 }}"}}}}]}}}
          next: {arcs: [{step: e, when: "{{ event.name == 'step.failed' }}"}]}
        - {step: e, tool: {kind: noop}}
        """,
        ctx={"n": 3},
    ),
    "a successful output may be retried": Case(
        """
        - step: start
          tool: {name: t, kind: python, input: {code: "result = n", n: "{{ _attempt }}"}, spec: {policy: {rules: [{when: "{{ output.data < 3 }}", then: {do: retry, attempts: 5, delay: 0}}]}}}
        """,
        output=3,
    ),
    "retries used up on a successful output fail the step": Case(
        """
        - step: start
          tool: {name: t, kind: python, input: {code: "result = 1"}, spec: {policy: {rules: [{else: {then: {do: retry, attempts: 2, delay: 0}}}]}}}
        """,
        error={"task": "t", "attempt": 2},
    ),
    "skip drops the output, keeps _prev and the task's set": Case(
        """
        - step: start
          tool:
            - {name: a, kind: python, input: {code: "result = 1"}}
            - {name: b, kind: python, input: {code: "result = 2"}, set: {ctx.b: "{{ output.data }}"}, spec: {policy: {rules: [{else: {then: {do: skip}}}]}}}
            - {name: c, kind: python, input: {p: "{{ _prev }}", o: "{{ output.data }}", b: "{{ b.data | default('none') }}", code: "result = [p, o, b]"}}
        """,
        output=[1, 1, "none"],
        ctx={"b": 2},
    ),
    "skip in before: the tool is not run, the task's set is not applied": Case(
        """
        - step: start
          tool:
            - {name: a, kind: python, input: {code: "result = 1"}}
            - {name: b, kind: python, input: {code: "raise SystemExit"}, set: {ctx.b: 1}, spec: {policy: {before: [{when: "{{ output.data == 1 }}", then: {do: skip, set: {ctx.c: 1}}}]}}}
        """,
        output=1,
        ctx={"b": None, "c": 1},
        events=lambda r: labels(r, "task.started") == ["a"],
    ),
    "before may break, jump and fail": Case(
        """
        - step: start
          tool:
            - {name: a, kind: python, input: {code: "result = 1"}}
            - {name: b, kind: python, input: {code: "result = 2"}, spec: {policy: {before: [{when: "{{ ctx.n | default(0) == 0 }}", then: {do: jump, to: d, set: {ctx.n: 1}}}, {when: "{{ ctx.n == 2 }}", then: {do: break}}]}}}
            - {name: c, kind: python, input: {code: "result = 3"}}
            - {name: d, kind: python, input: {code: "result = 4"}, spec: {policy: {rules: [{else: {then: {do: jump, to: b, set: {ctx.n: 2}}}}]}}}
        """,
        output=4,
    ),
    "before fail with a message": Case(
        '- {step: start, tool: {name: t, kind: noop, spec: {policy: {before: [{else: {then: {do: fail, message: "no {{ 1 + 1 }}"}}}]}}}}',
        error={"task": "t"},
        says="no 2",
    ),
    "before runs once per visit, not per attempt": Case(
        """
        - step: start
          tool: {name: t, kind: python, input: {code: "1/0"}, spec: {policy: {before: [{else: {then: {do: continue, set: {ctx.n: "{{ ctx.n | default(0) + 1 }}"}}}}], rules: [{else: {then: {do: retry, attempts: 3, delay: 0}}}]}}}
          next: {arcs: [{step: e, when: "{{ event.name == 'step.failed' }}"}]}
        - {step: e, tool: {kind: noop}}
        """,
        ctx={"n": 1},
    ),
    "a jump starts a new visit with attempt 1": Case(
        """
        - step: start
          tool:
            - {name: t, kind: python, input: {code: "1/0 if n == 1 else None; result = n", n: "{{ _attempt }}"}, spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}}]}}}
            - {name: j, kind: noop, set: {step.i: "{{ step.i | default(0) + 1 }}"}, spec: {policy: {rules: [{when: "{{ step.i < 3 }}", then: {do: jump, to: t}}]}}}
        """,
        events=lambda r: [(e["attempt"], e["data"]["do"]) for e in r.named("task.done", task_label="t")] == [(1, "retry"), (2, "continue")] * 3,
    ),
    "break ends the step well with that output": Case(
        """
        - step: start
          tool:
            - {name: a, kind: python, input: {code: "result = 1"}, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}
            - {name: b, kind: python, input: {code: "result = 2"}}
        """,
        output=1,
    ),
    "fail with a message": Case(
        "- {step: start, tool: " + FAILING % '{else: {then: {do: fail, message: "bad {{ output.error.kind }}"}}}' + "}", error={"task": "t"}, says="bad "
    ),
    "fail on an ok output": Case(
        '- {step: start, tool: {name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: fail, message: "not today"}}}]}}}}', error={"message": "not today"}
    ),
    "max_task_runs ends with kind limit": Case(
        """
        - step: start
          spec: {limits: {max_task_runs: 20}}
          tool: {name: t, kind: noop, spec: {policy: {rules: [{when: "{{ true }}", then: {do: jump, to: t}}, {else: {then: {do: break}}}]}}}
        """,
        error={"kind": "limit"},
    ),
}

RESULTS = {
    "finished tasks by name": Case(
        """
        - step: start
          tool:
            - {name: a, kind: python, input: {code: "result = {'n': 1}"}}
            - {name: b, kind: noop}
            - {name: c, kind: python, input: {v: "{{ [a.data.n, a.status, a.n] }}", code: "result = v"}}
        """,
        output=[1, "ok", 1],
    ),
    "finished steps by name, their tasks under results": Case(
        """
        - step: load
          tool: [{name: a, kind: python, input: {code: "result = {'n': 1}"}}, {name: b, kind: python, input: {code: "result = {'count': 2, 'status': 'mine'}"}}]
          next: {arcs: [{step: use}]}
        - step: use
          tool: {kind: python, input: {v: "{{ [load.data.count, load.status, load.results.a.data.n, load.results.a.n, load.count] }}", code: "result = v"}}
        """,
        output=[2, "ok", 1, 1, 2],
    ),
    "a field that is no part of the envelope falls through to the payload": Case(
        """
        - {step: load, tool: {kind: python, input: {code: "result = {'items': [1, 2], 'keys': 'k', 'get': 5}"}}, next: {arcs: [{step: use}]}}
        - {step: use, tool: {kind: python, input: {v: "{{ [load.items, load.keys, load.get, load.data.items] }}", code: "result = v"}}}
        """,
        output=[[1, 2], "k", 5, [1, 2]],
    ),
    "a step that ran often reads as its latest completed run": Case(
        """
        - {step: start, tool: {kind: noop}, set: {ctx.n: 0}, next: {arcs: [{step: w}]}}
        - step: w
          tool: {kind: python, input: {n: "{{ ctx.n }}", code: "result = n"}, set: {ctx.n: "{{ ctx.n + 1 }}"}}
          next: {arcs: [{step: w, when: "{{ ctx.n < 3 }}"}, {step: e}]}
        - {step: e, tool: {kind: python, input: {v: "{{ w.data }}", code: "result = v"}}}
        """,
        output=2,
    ),
    "failed runs are readable": Case(
        """
        - {step: bad, tool: {kind: python, input: {code: "1/0"}}, next: {arcs: [{step: e, when: "{{ event.name == 'step.failed' }}"}]}}
        - {step: e, tool: {kind: python, input: {v: "{{ [bad.status, bad.error.kind] }}", code: "result = v"}}}
        """,
        events=lambda r: r.output[0] == "error",
    ),
    "a step reads its own earlier run": Case(
        """
        - step: start
          tool: {kind: python, input: {v: "{{ start.data | default(0) }}", code: "result = v + 1"}}
          next: {arcs: [{step: start, when: "{{ output.data < 3 }}"}]}
        """,
        output=3,
    ),
    "arcs and step set read finished steps": Case(
        """
        - {step: a, tool: {kind: python, input: {code: "result = 4"}}, next: {arcs: [{step: b}]}}
        - {step: b, tool: {kind: noop}, set: {ctx.v: "{{ a.data }}"}, next: {arcs: [{step: c, when: "{{ a.data == 4 }}", set: {ctx.w: "{{ a.data + 1 }}"}}]}}
        - {step: c, input: {x: "{{ a.data }}"}, tool: {kind: noop}}
        """,
        ctx={"v": 4, "w": 5},
        runs={"c": 1},
    ),
    "a finished step's output is an Envelope inside ctx too: only its plain value is written": Case(
        """
        - {step: a, tool: {kind: python, input: {code: "result = {'x': 1}"}}, next: {arcs: [{step: b}]}}
        - {step: b, tool: {kind: noop}, set: {ctx.v: "{{ a.data }}"}}
        """,
        ctx={"v": {"x": 1}},
    ),
    "the whole envelope of a finished step can be written": Case(
        """
        - {step: a, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: b}]}}
        - {step: b, tool: {kind: noop}, set: {ctx.v: "{{ a }}"}}
        """,
        events=lambda r: r.ctx["v"]["status"] == "ok" and r.ctx["v"]["data"] == 1,
    ),
}

SCOPES = {
    "bare names: iterator, input, args, ctx, step, iter, workload, tasks, steps": Case(
        """
        - {step: a0, tool: {kind: python, input: {code: "result = 's'"}}, set: {ctx.n3: ctx, ctx.n4: ctx}, next: {arcs: [{step: use, args: {n2: args, n3: args, n1: args}}]}}
        - step: use
          input: {n1: input, n0: input}
          loop: {in: [it], iterator: n0}
          tool:
            - {name: t1, kind: noop, set: {step.n4: step, step.n5: step, iter.n5: iter, iter.n6: iter}}
            - {name: a0, kind: python, input: {code: "result = 't'"}}
            - {name: out, kind: python, input: {v: "{{ [n0, n1, n2, n3, n4, n5, n6, n7, a0.data] }}", code: "result = v"}}
        """,
        {"workload": "workload: {n7: workload, n6: workload, n5: workload, a1: x}"},
        output=[["it", "input", "args", "args", "ctx", "step", "iter", "workload", "t"]],
    ),
    "a bare name in an arc": Case(
        """
        - {step: start, tool: {kind: noop}, set: {ctx.page: 2}, next: {arcs: [{step: e, when: "{{ page == 2 }}"}]}}
        - {step: e, tool: {kind: noop}}
        """,
        runs={"e": 1},
    ),
    "flat, deep, nested and bare targets": Case(
        """
        - step: start
          tool:
            - {kind: noop, set: {ctx.a.b.c: 1, ctx: {d: {e: 2}}, bare: 3}}
            - {kind: noop, set: {ctx.a.b.x: 4, ctx.bare: "{{ step.bare }}"}}
        """,
        ctx={"a": {"b": {"c": 1, "x": 4}}, "d": {"e": 2}, "bare": 3},
    ),
    "set_ctx and set_iter are the v10 spelling": Case(
        """
        - step: start
          tool: [{name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {x: 1}, set_iter: {y: 2}}}}]}}}, {name: b, kind: noop, set: {ctx.y: "{{ iter.y }}"}}]
        """,
        ctx={"x": 1, "y": 2},
    ),
    "outside a loop iter is one implicit scope of the step run": Case(
        '- {step: start, tool: [{kind: noop, set: {iter.x: 1}}, {kind: python, input: {v: "{{ iter.x }}", code: "result = v"}}]}', output=1
    ),
    "all values of one set are rendered against the state before it": Case(
        """
        - {step: start, tool: {kind: noop}, set: {ctx.a: 1, ctx.b: 2}, next: {arcs: [{step: e}]}}
        - {step: e, tool: {kind: noop}, set: {ctx.a: "{{ ctx.b }}", ctx.b: "{{ ctx.a }}"}}
        """,
        ctx={"a": 2, "b": 1},
    ),
    "step is one step run's": Case(
        """
        - step: start
          tool: {kind: noop, set: {step.x: 1}}
          next: {arcs: [{step: e, when: "{{ step.x == 1 }}", set: {ctx.x: "{{ step.x }}"}}]}
        - {step: e, tool: {kind: python, input: {v: "{{ step.x | default('gone') }}", code: "result = v"}}}
        """,
        ctx={"x": 1},
        output="gone",
    ),
    "writes made before a failure count": Case(
        """
        - step: start
          tool: [{kind: noop, set: {ctx.a: 1}}, {kind: python, input: {code: "1/0"}}]
          next: {arcs: [{step: e, when: "{{ event.name == 'step.failed' }}"}]}
        - {step: e, tool: {kind: noop}}
        """,
        ctx={"a": 1},
    ),
    "a run reads ctx as of its scheduling plus its own writes": Case(
        """
        - {step: start, tool: {kind: noop}, set: {ctx.v: 0}, next: {spec: {mode: inclusive}, arcs: [{step: slow}, {step: fast}]}}
        - {step: slow, tool: [{kind: python, input: {code: "import time; time.sleep(0.3)"}}, {name: r, kind: python, input: {v: "{{ ctx.v }}", code: "result = v"}}], set: {ctx.read: "{{ output.data }}", ctx.now: "{{ ctx.v }}"}}
        - {step: fast, tool: {kind: noop, set: {ctx.v: 1}}}
        """,
        ctx={"read": 0, "now": 1, "v": 1},
    ),
    "execution_id is readable everywhere": Case(
        """
        - {step: start, input: {a: "{{ execution_id }}"}, tool: {kind: python, input: {a: "{{ input.a }}", b: "{{ execution_id }}", code: "result = a == b"}}, set: {ctx.id: "{{ execution_id }}"}}
        """,
        output=True,
        events=lambda r: r.ctx["id"] == r.execution_id,
    ),
    "workload cannot be changed": Case(
        '- {step: start, tool: {kind: python, input: {w: "{{ workload.a }}", code: "w.append(1); result = w"}}, set: {ctx.w: "{{ workload.a }}"}}',
        {"workload": "workload: {a: [0]}"},
        ctx={"w": [0]},
    ),
    "a _ref target must receive a reference": Case(
        "- {step: start, tool: {kind: noop}, set: {ctx.x_ref: \"{{ workload.a }}\"}}",
        {"workload": "workload: {a: 5}"},
        error={"kind": "reference", "step": "start"},
    ),
    "null and a list of references are allowed under a _ref name": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 1"}}, set: {ctx.x_ref: "{{ workload.a }}", ctx.y_ref: "{{ [output.ref, output.ref] }}", ctx.z: "{{ {'in_ref': output.ref} }}"}}
        """,
        {"workload": "workload: {a: null}"},
        events=lambda r: len(r.ctx["y_ref"]) == 2 and r.ctx["z"]["in_ref"]["type"],
    ),
    "any other target must not receive a reference": Case(
        '- {step: start, tool: {name: t, kind: noop, set: {ctx.x: "{{ [output.ref][0] }}"}}}', error={"kind": "reference", "task": "t"}
    ),
    "a reference inside a larger value sits under a _ref key": Case(
        '- {step: start, tool: {name: t, kind: noop, set: {ctx.x: "{{ {\'a\': {\'b\': output.ref}} }}"}}}', error={"kind": "reference", "task": "t"}
    ),
    "the _ref rule does not apply to input": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: e}]}}
        - {step: e, input: {r: "{{ start.ref }}", x_ref: 5}, tool: {kind: resolve, input: {ref: "{{ input.r }}"}}}
        """,
        output=1,
    ),
}
ALL = TASKS | RULES | RESULTS | SCOPES


@pytest.mark.parametrize("rule", ALL)
async def test_tasks(tmp_path, rule):
    await ALL[rule].check(tmp_path)
