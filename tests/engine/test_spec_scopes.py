"""Results by name, scopes and sets: what the language says of each, one row a sentence."""

import pytest

from tests.engine.cases import Case

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
        '- {step: start, tool: [{kind: noop, set: {iter.x: 1}}, {kind: python, input: {v: "{{ iter.x }}", code: "result = v"}}]}',
        output=1,
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
        '- {step: start, tool: {kind: noop}, set: {ctx.x_ref: "{{ workload.a }}"}}',
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
        '- {step: start, tool: {name: t, kind: noop, set: {ctx.x: "{{ [output.ref][0] }}"}}}',
        error={"kind": "reference", "task": "t"},
    ),
    "a reference inside a larger value sits under a _ref key": Case(
        "- {step: start, tool: {name: t, kind: noop, set: {ctx.x: \"{{ {'a': {'b': output.ref}} }}\"}}}",
        error={"kind": "reference", "task": "t"},
    ),
    "the _ref rule does not apply to input": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: e}]}}
        - {step: e, input: {r: "{{ start.ref }}", x_ref: 5}, tool: {kind: resolve, input: {ref: "{{ input.r }}"}}}
        """,
        output=1,
    ),
}
ALL = RESULTS | SCOPES


@pytest.mark.parametrize("rule", ALL)
async def test_scopes(tmp_path, rule):
    await ALL[rule].check(tmp_path)
