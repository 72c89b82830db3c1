"""Tasks, envelopes and policy rules: what the language says of each, one row a sentence."""

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
    return next(
        e["data"]["delay"] for e in ran.named("task.done", task_label=label) if e["attempt"] == attempt
    )


FAILING = '{name: t, kind: python, input: {code: "1/0"}, spec: {policy: {rules: [%s]}}}'
RETRY = """
- step: start
  tool: {name: t, kind: python, input: {code: "1/0"}, spec: {policy: {rules: [{else: {then: {do: retry, %s}}}]}}}
"""

WHOLE = {
    "workload": "workload: {args: {a: 1, more: {n: 2}}, list: [1], query: {query: select 3 as n}, wait: {seconds: 0, x: 1}}"
}
TASKS = {
    "one template gives the input of a step": Case(
        """
        - step: start
          input: "{{ workload.args }}"
          tool: {kind: python, input: {v: "{{ input.a + input.more.n }}", code: "result = v"}}
        """,
        root=WHOLE,
        output=3,
    ),
    "one template gives the input of a task": Case(
        """
        - step: start
          tool: {name: t, kind: sqlite, input: "{{ workload.query }}", output: "{{ [input.query, output.data.rows[0].n] }}"}
        """,
        root=WHOLE,
        output=["select 3 as n", 3],
    ),
    "one template gives the input of a call": Case(
        """- {step: start, tool: {name: t, kind: workbook, block: b, input: "{{ {'n': 4} }}"}}""",
        root=WHOLE
        | {
            "workbook": 'workbook: {b: {input: {m: 1}, tool: {kind: noop, output: "{{ input.n + input.m }}"}}}'
        },
        output=5,
    ),
    "an input that is no mapping is an error that names what it is": Case(
        """- {step: start, tool: {name: t, kind: sqlite, input: "{{ workload.list }}"}}""",
        root=WHOLE,
        error={"kind": "template"},
        says="its template gives a list of 1, and an input must be a mapping",
    ),
    "a step's input that is no mapping is an error that names what it is": Case(
        """- {step: start, input: "{{ none }}", tool: {kind: noop}}""",
        error={"kind": "template"},
        says="its template gives null, and an input must be a mapping",
    ),
    "the keys that a template gives are those of the kind": Case(
        """- {step: start, tool: {name: t, kind: sqlite, input: "{{ workload.args }}"}}""",
        root=WHOLE,
        error={"kind": "input"},
        says="sqlite has no input 'a'",
    ),
    "and those of a kind that the engine carries out": Case(
        """- {step: start, tool: {name: t, kind: wait, input: "{{ workload.wait }}"}}""",
        root=WHOLE,
        error={"kind": "input"},
        says="wait takes no input 'x'",
    ),
    "a secret in an input that one template gives is in no event": Case(
        """
        - step: start
          tool: {name: t, kind: sqlite, input: "{{ {'query': 'select :s as s', 'params': {'s': keychain.k.value}} }}", output: "{{ output.data.rows[0].s | length }}"}
        """,
        root={"keychain": "keychain: [{name: k, kind: static, value: hidden-value}]"},
        output=3,
        events=lambda r: "hidden-value" not in repr(r.events[2:]),
    ),
    "unnamed list items are task_<index>": Case(
        "- {step: start, tool: [{kind: noop}, {kind: noop}]}",
        events=lambda r: labels(r) == ["task_0", "task_1"],
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
        '- {step: start, tool: {name: t, kind: noop, output: "{{ output.data.a.b }}"}}',
        error={"kind": "template", "task": "t"},
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
        "- {step: start, tool: "
        + FAILING % '{else: {then: {do: continue, set: {ctx.x: "{{ ctx.no }}"}}}}'
        + "}",
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
        events=lambda r: (
            set(r.ctx["e"]) == {"kind", "code", "message", "retryable", "details"}
            and "KeyError" in r.ctx["b"]
        ),
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
    "no policy, error: fail": Case(
        '- {step: start, tool: {name: t, kind: python, input: {code: "1/0"}}}', error={"task": "t"}
    ),
    "a policy with no match continues": Case(
        "- {step: start, tool: " + FAILING % '{when: "{{ false }}", then: {do: fail}}' + "}",
        runs={"start": 1},
    ),
    "on_unmatched by_status fails on error": Case(
        '- {step: start, tool: {name: t, kind: python, input: {code: "1/0"}, spec: {policy: {on_unmatched: by_status, rules: [{when: "{{ false }}", then: {do: continue}}]}}}}',
        error={"task": "t"},
    ),
    "first match wins": Case(
        "- {step: start, tool: "
        + FAILING % "{when: true, then: {do: continue, set: {ctx.a: 1}}}, {when: true, then: {do: fail}}"
        + "}",
        ctx={"a": 1},
    ),
    "else: {do: ...}": Case("- {step: start, tool: " + FAILING % "{else: {do: continue}}" + "}"),
    "else with a sibling then": Case(
        "- {step: start, tool: " + FAILING % "{else: , then: {do: continue}}" + "}"
    ),
    "retry counts attempts in total, then fails and keeps the last error": Case(
        RETRY % "attempts: 3, delay: 0",
        error={"attempt": 3},
        says="division",
        events=lambda r: dos(r) == ["retry", "retry", "fail"],
    ),
    "retry defaults to 3 attempts": Case(RETRY % "delay: 0", error={"attempt": 3}),
    "retry defaults to a delay of 1.0": Case(
        RETRY % "attempts: 2", error={"attempt": 2}, events=lambda r: gap(r, "t", 1) == 1.0
    ),
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
        RETRY % "attempts: 3, delay: 0.01, backoff: fixed",
        error={},
        events=lambda r: [gap(r, "t", n) for n in (1, 2)] == [0.01, 0.01],
    ),
    "jitter only lengthens, by a quarter at most": Case(
        RETRY % "attempts: 6, delay: 0.02, jitter: true",
        error={},
        events=lambda r: all(0.02 <= gap(r, "t", n) <= 0.025 for n in range(1, 6)),
    ),
    "delay may be a numeric string": Case(
        RETRY % 'attempts: 2, delay: "0.01"', error={}, events=lambda r: gap(r, "t", 1) == 0.01
    ),
    "delay may be an HTTP date in the past": Case(
        RETRY % 'attempts: 2, delay: "Wed, 21 Oct 2015 07:28:00 GMT"',
        error={},
        events=lambda r: gap(r, "t", 1) == 0,
    ),
    "delay may be an HTTP date": Case(
        RETRY % f'attempts: 2, delay: "{formatdate(time.time() + 86400, usegmt=True)}", max_delay: 0.05',
        error={},
        events=lambda r: gap(r, "t", 1) == 0.05,
    ),
    "a delay that is neither fails with kind template": Case(
        RETRY % 'attempts: 2, delay: "{{ workload.soon }}"',
        {"workload": "workload: {soon: soon}"},
        error={"kind": "template"},
    ),
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
        events=lambda r: (
            [(e["attempt"], e["data"]["do"]) for e in r.named("task.done", task_label="t")]
            == [(1, "retry"), (2, "continue")] * 3
        ),
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
        "- {step: start, tool: "
        + FAILING % '{else: {then: {do: fail, message: "bad {{ output.error.kind }}"}}}'
        + "}",
        error={"task": "t"},
        says="bad ",
    ),
    "fail on an ok output": Case(
        '- {step: start, tool: {name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: fail, message: "not today"}}}]}}}}',
        error={"message": "not today"},
    ),
    "max_task_runs ends with kind limit": Case(
        """
        - step: start
          spec: {limits: {max_task_runs: 20}}
          tool: {name: t, kind: noop, spec: {policy: {rules: [{when: "{{ true }}", then: {do: jump, to: t}}, {else: {then: {do: break}}}]}}}
        """,
        error={"kind": "limit"},
    ),
    "else decides only if no rule holds, wherever it stands": Case(
        """
        - step: start
          tool:
            name: t
            kind: noop
            spec: {policy: {rules: [{else: {then: {do: fail}}}, {when: "{{ output.status == 'ok' }}", then: {do: continue, set: {ctx.by: rule}}}]}}
        """,
        ctx={"by": "rule"},
        events=lambda r: r.named("task.done")[0]["data"]["rule"] == 0,
    ),
    "else in the middle decides when nothing holds": Case(
        """
        - step: start
          tool:
            name: t
            kind: noop
            spec: {policy: {rules: [{when: false, then: {do: fail}}, {else: {then: {do: continue, set: {ctx.by: else}}}}, {when: false, then: {do: fail}}]}}
        """,
        ctx={"by": "else"},
        events=lambda r: r.named("task.done")[0]["data"]["rule"] == "else",
    ),
    "else of a before-rule decides only if no rule holds": Case(
        """
        - step: start
          tool:
            - {name: t, kind: python, input: {code: "result = 'ran'"}, spec: {policy: {before: [{else: {then: {do: skip}}}, {when: "{{ workload.go }}", then: {do: continue}}]}}}
        """,
        root={"workload": "workload: {go: true}"},
        output="ran",
    ),
}

ALL = TASKS | RULES


@pytest.mark.parametrize("rule", ALL)
async def test_tasks(tmp_path, rule):
    await ALL[rule].check(tmp_path)
