"""Routing and results between steps: what the language says of them, one row a sentence."""

import pytest

from tests.engine.cases import Case

ROUTING = {
    "exclusive takes the first arc that holds": Case(
        '- {step: start, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ false }}"}, {step: b}, {step: c, when: "{{ true }}"}]}}\n- {step: a, tool: {kind: noop}}\n- {step: b, tool: {kind: noop}}\n- {step: c, tool: {kind: noop}}',
        runs={"a": 0, "b": 1, "c": 0},
    ),
    "inclusive takes every one": Case(
        '- {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: a, when: "{{ false }}"}, {step: b}, {step: c, when: "{{ true }}"}]}}\n- {step: a, tool: {kind: noop}}\n- {step: b, tool: {kind: noop}}\n- {step: c, tool: {kind: noop}}',
        runs={"a": 0, "b": 1, "c": 1},
    ),
    "all guards are evaluated before any arc's set; sets apply in arc order": Case(
        """
        - step: start
          tool: {kind: noop}
          set: {ctx.n: 0}
          next: {spec: {mode: inclusive}, arcs: [{step: a, when: "{{ ctx.n == 0 }}", set: {ctx.n: 1}}, {step: b, when: "{{ ctx.n == 0 }}", set: {ctx.n: "{{ ctx.n + 10 }}"}}]}
        - {step: a, tool: {kind: noop}}
        - {step: b, tool: {kind: noop}}
        """,
        runs={"a": 1, "b": 1},
        ctx={"n": 11},
    ),
    "step set comes before arc conditions": Case(
        """
        - {step: start, tool: {kind: noop}, set: {ctx.go: true}, next: {arcs: [{step: a, when: "{{ ctx.go }}"}]}}
        - {step: a, tool: {kind: noop}}
        """,
        runs={"a": 1},
    ),
    "an arc's set is there when its target is scheduled": Case(
        """
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: a, set: {ctx.v: 4}}]}}
        - {step: a, input: {v: "{{ ctx.v }}"}, tool: {kind: python, input: {v: "{{ input.v }}", code: "result = v"}}}
        """,
        output=4,
    ),
    "arcs see event, output, ctx, step, workload, input, args": Case(
        """
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: a, args: {g: 6}}]}}
        - step: a
          input: {i: 5}
          tool: {kind: python, input: {code: "result = 1"}, set: {ctx.c: 2, step.s: 3}}
          next: {arcs: [{step: z, when: "{{ [event.name, event.step, event.data.output.data, output.data, ctx.c, step.s, workload.w, input.i, args.g] == ['step.done', 'a', 1, 1, 2, 3, 4, 5, 6] }}"}]}
        - {step: z, tool: {kind: noop}}
        """,
        {"workload": "workload: {w: 4}"},
        runs={"z": 1},
    ),
    "args: the consumed token's, overlaid key by key": Case(
        """
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: a, args: {x: 1, y: 1}}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: b, args: {y: 2, z: "{{ args.x + 2 }}"}}]}}
        - {step: b, tool: {kind: python, input: {v: "{{ args }}", code: "result = v"}}}
        """,
        output={"x": 1, "y": 2, "z": 3},
    ),
    "step set applies on failed; entries whose value is missing are left out": Case(
        """
        - step: start
          tool: {kind: python, input: {code: "1/0"}}
          set: {ctx.status: "{{ output.status }}", ctx.n: "{{ output.data.rows }}"}
          next: {arcs: [{step: e, when: "{{ event.name == 'step.failed' }}"}]}
        - {step: e, tool: {kind: noop}}
        """,
        ctx={"status": "error", "n": None},
        events=lambda r: "ctx.n" in str(r.named("step.failed")[0]["data"]["left_out"]),
    ),
    "an error in step set: none of it applies and the run is failed": Case(
        """
        - step: start
          tool: {kind: python, input: {code: "result = 1"}}
          set: {ctx.a: 1, ctx.b: "{{ ctx.none }}"}
          next: {arcs: [{step: e, when: "{{ event.name == 'step.failed' and output.error.kind == 'template' }}"}]}
        - {step: e, tool: {kind: noop}}
        """,
        ctx={"a": None},
        runs={"e": 1},
        events=lambda r: "step.done" not in [e["name"] for e in r.events if e.get("step") == "start"],
    ),
    "an error in step input fails the step before it starts, and its arcs may take it": Case(
        """
        - step: start
          input: {a: "{{ ctx.none }}"}
          tool: {kind: noop}
          next: {arcs: [{step: e, when: "{{ event.name == 'step.failed' and output.error.kind == 'template' }}"}]}
        - {step: e, tool: {kind: noop}}
        """,
        runs={"e": 1},
        events=lambda r: "step.started" not in [e["name"] for e in r.events if e.get("step") == "start"],
    ),
    "an error in an arc's when fails the execution": Case(
        '- {step: start, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ ctx.x + 1 }}"}]}}\n- {step: a, tool: {kind: noop}}',
        error={"kind": "template"},
        says="arc",
    ),
    "an error in an arc's set fails the execution": Case(
        '- {step: start, tool: {kind: noop}, next: {arcs: [{step: a, set: {ctx.x: "{{ ctx.none }}"}}]}}\n- {step: a, tool: {kind: noop}}',
        error={"kind": "template"},
        says="ctx.none",
    ),
    "a reference error in an arc's set": Case(
        '- {step: start, tool: {kind: noop}, next: {arcs: [{step: a, set: {ctx.x_ref: "{{ workload.n }}"}}]}}\n- {step: a, tool: {kind: noop}}',
        {"workload": "workload: {n: 4}"},
        error={"kind": "reference"},
    ),
    "a when that is other text is an error": Case(
        "- {step: start, tool: {kind: noop}, next: {arcs: [{step: a, when: \"{{ 'maybe' }}\"}]}}\n- {step: a, tool: {kind: noop}}",
        error={"kind": "template"},
    ),
    "a failure taken by an unguarded arc is listed and fails the execution": Case(
        '- {step: start, tool: {kind: python, input: {code: "1/0"}}, next: {arcs: [{step: a}]}}\n- {step: a, tool: {kind: noop}}',
        error={"kind": "python", "step": "start"},
        events=lambda r: [(f["taken_by"], f["answered"]) for f in r.result["failures"]] == [("a", False)],
    ),
    "a failure that a guard asked about is listed as answered": Case(
        '- {step: start, tool: {kind: python, input: {code: "1/0"}}, next: {arcs: [{step: a, when: "{{ event.name == \'step.failed\' }}"}]}}\n- {step: a, tool: {kind: noop}}',
        events=lambda r: [(f["taken_by"], f["answered"]) for f in r.result["failures"]] == [("a", True)],
    ),
    "a done that no arc takes ends that branch": Case(
        '- {step: start, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ false }}"}]}}\n- {step: a, tool: {kind: noop}}',
        runs={"a": 0},
    ),
    "a failure that no arc takes cancels the others": Case(
        """
        - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: slow}, {step: bad}]}}
        - {step: slow, tool: {kind: python, input: {code: "import time; time.sleep(5)"}}, next: {arcs: [{step: never}]}}
        - {step: bad, tool: {kind: python, input: {code: "import time; time.sleep(0.1); 1/0"}}}
        - {step: never, tool: {kind: noop}}
        """,
        error={"step": "bad"},
        runs={"never": 0},
        events=lambda r: (
            r.named("step.failed", step="slow")[0]["data"]["error"]["kind"] == "cancelled"
            and r.result["duration_ms"] < 3000
        ),
    ),
    "on_failure drain lets other branches finish": Case(
        """
        - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: slow}, {step: bad}]}}
        - {step: slow, tool: {kind: python, input: {code: "import time; time.sleep(0.3)"}}, next: {arcs: [{step: after}]}}
        - {step: bad, tool: {kind: python, input: {code: "1/0"}}}
        - {step: after, tool: {kind: noop}}
        """,
        {"executor": "executor: {spec: {on_failure: drain}}"},
        error={"step": "bad"},
        runs={"after": 1},
    ),
    "held tokens are discarded when the execution fails": Case(
        """
        - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: bad}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: j}]}}
        - {step: bad, tool: {kind: python, input: {code: "import time; time.sleep(0.2); 1/0"}}, next: {arcs: [{step: j, when: "{{ event.name == 'step.done' }}"}]}}
        - {step: j, tool: {kind: noop}}
        """,
        error={"step": "bad"},
        runs={"j": 0},
        events=lambda r: [e["data"]["reason"] for e in r.named("token.discarded")] == ["execution failed"],
    ),
    "call.done, step.exit and call.error are the old names": Case(
        """
        - step: start
          tool: {kind: python, input: {code: "1/0"}}
          next: {arcs: [{step: no, when: "{{ event.name == 'call.done' }}"}, {step: l, when: "{{ event.name == 'call.error' }}"}]}
        - {step: no, tool: {kind: noop}}
        - {step: l, loop: {in: [1], iterator: x}, tool: {kind: noop}, next: {arcs: [{step: m, when: "{{ event.name == 'step.exit' }}"}]}}
        - {step: m, loop: {in: [1], iterator: x}, tool: {kind: noop}, next: {arcs: [{step: e, when: "{{ event.name == 'call.done' }}"}]}}
        - {step: e, tool: {kind: noop}}
        """,
        runs={"no": 0, "l": 1, "e": 1},
    ),
    "output is the payload of the step run that completed last": Case(
        """
        - {step: start, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: slow}, {step: fast}]}}
        - {step: slow, tool: [{kind: wait, input: {seconds: 0.2}}, {kind: noop, output: slow}]}
        - {step: fast, tool: {kind: noop, output: fast}}
        """,
        output="slow",
    ),
    "a failed step that an arc took leaves the output of the last completed": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: b}]}}
        - {step: b, tool: {kind: python, input: {code: "1/0"}}, next: {arcs: [{step: c, when: "{{ event.name == 'step.failed' }}"}]}}
        - {step: c, tool: {kind: python, input: {code: "result = 3"}}}
        """,
        output=3,
    ),
    "large output in the step's own set and arcs is the payload": Case(
        """
        - step: start
          tool: {kind: python, input: {code: "result = {'rows': ['x' * 100] * 2000, 'n': 5}"}}
          set: {ctx.n: "{{ output.data.n }}"}
          next: {arcs: [{step: e, when: "{{ output.data.rows | length == 2000 }}", set: {ctx.m: "{{ output.data.rows[0] | length }}"}}]}
        - {step: e, tool: {kind: noop}}
        """,
        ctx={"n": 5, "m": 100},
        runs={"e": 1},
    ),
    "a large payload reads as it is in a later step": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 'x' * 100000"}}, next: {arcs: [{step: e}]}}
        - {step: e, tool: {kind: python, input: {v: "{{ start.data }}", code: "result = len(v)"}}}
        """,
        output=100000,
    ),
    "a large payload of a task reads as it is in a later step": Case(
        """
        - {step: start, tool: [{name: a, kind: python, input: {code: "result = 'x' * 100000"}}, {kind: noop, output: 1}], next: {arcs: [{step: e}]}}
        - {step: e, tool: {kind: python, input: {v: "{{ start.results.a.data }}", code: "result = len(v)"}}}
        """,
        output=100000,
    ),
    "a large ctx value is stored by reference and still reads": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 'x' * 100000"}}, set: {ctx.big: "{{ output.data }}"}, next: {arcs: [{step: e, when: "{{ ctx.big | length == 100000 }}"}]}}
        - {step: e, input: {b: "{{ ctx.big }}"}, tool: {kind: python, input: {v: "{{ ctx.big }}", w: "{{ input.b }}", code: "result = [len(v), len(w)]"}}}
        """,
        output=[100000, 100000],
        events=lambda r: max(len(str(e)) for e in r.events) < 80000,
    ),
    "within one pipeline the full payload stays in memory": Case(
        '- {step: start, tool: [{name: a, kind: python, input: {code: "result = \'x\' * 200000"}}, {kind: python, input: {v: "{{ a.data }}", code: "result = len(v)"}}]}',
        output=200000,
    ),
    "reference_first stores every payload": Case(
        '- {step: start, tool: {kind: python, input: {code: "result = [1]"}}, set: {ctx.r_ref: "{{ output.ref }}", ctx.d: "{{ output.data }}"}}',
        {"executor": "executor: {spec: {policy: {results: {reference_first: true}}}}"},
        ctx={"d": [1]},
        events=lambda r: all(
            e["data"]["output"]["data"] is None and e["data"]["output"]["ref"]
            for e in r.named("task.done") + r.named("step.done")
        ),
    ),
    "what a validator warns of is recorded with the request": Case(
        '- {step: start, tool: {kind: python, code: "result = 1"}}',
        output=1,
        events=lambda r: (
            [found["code"] for found in r.named("playbook.request.evaluated")[0]["data"]["diagnostics"]]
            == ["deprecated-input-beside-kind"]
        ),
    ),
    "max_payload_bytes of the executor": Case(
        "- {step: start, tool: {kind: python, input: {code: \"result = 'x' * 5000\"}}}",
        {"executor": "executor: {spec: {policy: {limits: {max_payload_bytes: 2000}}}}"},
        events=lambda r: (
            r.named("step.done")[0]["data"]["output"]["data"] is None
            and r.named("step.done")[0]["data"]["output"]["ref"]["meta"]["bytes"] == 5002
        ),
    ),
}


@pytest.mark.parametrize("rule", ROUTING)
async def test_routing(tmp_path, rule):
    await ROUTING[rule].check(tmp_path)
