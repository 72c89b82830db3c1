"""Large and odd values: where they go, and that no event grows beyond its bound."""

import pytest

from tests.engine.cases import Case

LIMIT = 140_000  # of an event as JSON: one payload of 64 KiB and its envelope, with room for a second one


def small(ran):
    return max(len(str(event)) for event in ran.events) < LIMIT


BIG = "{kind: python, input: {code: \"result = 'x' * 100000\"}"
SIZES = {
    "a task writes much to ctx": Case(
        "- {step: start, tool: ["
        + BIG
        + ', set: {ctx.b: "{{ output.data }}", step.c: "{{ output.data }}", iter.d: "{{ output.data }}"}}, {kind: python, input: {v: "{{ [ctx.b, step.c, iter.d] }}", code: "result = [len(i) for i in v]"}}], next: {arcs: [{step: e, when: "{{ step.c | length == 100000 }}"}]}}\n'
        + '- {step: e, tool: {kind: python, input: {v: "{{ ctx.b }}", code: "result = len(v)"}}}',
        output=100000,
        events=small,
    ),
    "a jumping pipeline carries much": Case(
        "- {step: start, tool: ["
        + BIG
        + ', set: {iter.d: "{{ output.data }}", step.s: "{{ output.data }}", iter.n: 0}}, {name: j, kind: noop, set: {iter.n: "{{ iter.n + 1 }}"}, spec: {policy: {rules: [{when: "{{ iter.n < 3 }}", then: {do: jump, to: w}}, {else: {then: {do: jump, to: z}}}]}}}, {name: w, kind: wait, input: {seconds: 0.15}, spec: {policy: {rules: [{else: {then: {do: jump, to: j}}}]}}}, {name: z, kind: python, input: {v: "{{ [iter.d, step.s] }}", code: "result = [len(i) for i in v]"}}]}',
        output=[100000, 100000],
        events=small,
    ),
    "iterations of a parallel loop write much": Case(
        '- {step: start, loop: {in: "{{ range(4) }}", iterator: i, spec: {mode: parallel, policy: {reduce: {ctx.all: append}}}}, tool: '
        + BIG
        + ', set: {ctx.all: "{{ output.data }}"}}, set: {ctx.n: "{{ ctx.all | length }}"}, next: {arcs: [{step: e}]}}\n'
        + '- {step: e, tool: {kind: python, input: {v: "{{ ctx.all }}", code: "result = [len(i) for i in v]"}}}',
        output=[100000] * 4,
        events=small,
    ),
    "an operand of a reducer is large": Case(
        '- {step: start, loop: {in: "{{ range(3) }}", iterator: i, spec: {mode: parallel, policy: {reduce: {ctx.all: append}}}}, tool: '
        + BIG.replace("100000", "300000")
        + ', set: {ctx.all: "{{ output.data }}"}}, next: {arcs: [{step: e}]}}\n'
        + '- {step: e, loop: {in: [1, 2], iterator: i, spec: {mode: parallel, policy: {reduce: {ctx.all: append}}}}, tool: {kind: noop, set: {ctx.all: "{{ iter.i }}"}}, next: {arcs: [{step: f}]}}\n'
        + '- {step: f, tool: {kind: python, input: {v: "{{ ctx.all }}", code: "result = [len(i) if isinstance(i, str) else i for i in v]"}}}',
        output=[300000] * 3 + [1, 2],
        events=small,
    ),
    "an iteration gives a reducer many operands": Case(
        '- {step: start, loop: {in: [1, 2], iterator: i, spec: {mode: parallel, policy: {reduce: {ctx.all: append}}}}, tool: [{name: a, kind: python, input: {code: "result = \'x\' * 3000"}, set: {ctx.all: "{{ output.data }}", ctx.same: "{{ output.data }}", iter.n: "{{ (iter.n | default(0)) + 1 }}"}, spec: {policy: {rules: [{when: "{{ iter.n < 60 }}", then: {do: jump, to: a}}]}}}]'
        + ", next: {arcs: [{step: e}]}}\n"
        + '- {step: e, tool: {kind: python, input: {v: "{{ ctx.all }}", code: "result = [len(v), len(v[0]), len(v[-1])]"}}}',
        output=[120, 3000, 3000],
        events=small,
    ),
    "a reducer that does not take what is large": Case(
        "- {step: start, loop: {in: [1, 2], iterator: i, spec: {mode: parallel, policy: {reduce: {ctx.all: sum}}}}, tool: "
        + BIG
        + ', set: {ctx.all: "{{ output.data }}"}}}',
        error={"kind": "conflict"},
        says="sum",
    ),
    "an iteration answers and writes as much as fits": Case(
        """
        - step: start
          loop: {in: [1, 2], iterator: i, spec: {mode: parallel, policy: {reduce: {ctx.all: append}}}}
          tool: [{name: a, kind: noop, output: "{{ 'x' * 60000 }}", set: {ctx.all: "{{ output.data[:15000] }}", ctx.b: "{{ output.data[:15000] }}", ctx.c: "{{ output.data[:15000] }}", ctx.d: "{{ output.data[:15000] }}"}}]
          set: {ctx.n: "{{ [output.data[1] | length, ctx.all[1] | length, ctx.d | length] }}"}
        """,
        ctx={"n": [60000, 15000, 15000]},
    ),
    "a step leaves many values behind": Case(
        """
        - step: start
          tool: [{name: a, kind: noop, output: "{{ 'x' * 15000 }}", set: {step.a: "{{ output.data }}", step.b: "{{ output.data }}", step.c: "{{ output.data }}", step.d: "{{ output.data }}", step.e: "{{ output.data }}", step.f: "{{ output.data }}", step.g: "{{ output.data }}", step.h: "{{ output.data }}", step.i: "{{ output.data }}", step.j: 7}}]
          set: {ctx.n: "{{ [step.a | length, step.i | length, step.j] }}"}
        """,
        ctx={"n": [15000, 15000, 7]},
        events=small,
    ),
    "many tasks are read later": Case(
        """
        - step: start
          tool: [{name: a, kind: noop, output: "{{ 'x' * 60000 }}"}, {name: b, kind: noop, output: "{{ 'x' * 60001 }}"}, {name: c, kind: noop, output: "{{ 'x' * 60002 }}"}]
          next: {arcs: [{step: e}]}
        - {step: e, tool: {kind: noop, output: "{{ [start.results.a.data | length, start.results.b.data | length, start.results.c.data | length] }}"}}
        """,
        output=[60000, 60001, 60002],
    ),
    "iterations of a sequential loop write much": Case(
        '- {step: start, loop: {in: "{{ range(3) }}", iterator: i}, tool: '
        + BIG
        + ', set: {ctx.last: "{{ output.data }}"}}, next: {arcs: [{step: e}]}}\n'
        + '- {step: e, tool: {kind: python, input: {v: "{{ ctx.last }}", code: "result = len(v)"}}}',
        output=100000,
        events=small,
    ),
    "a write below a large value": Case(
        """
        - {step: start, tool: {kind: python, input: {code: "result = {'big': 'x' * 300000, 'n': {'a': 1}}"}}, set: {ctx.v: "{{ output.data }}"}, next: {arcs: [{step: e, set: {ctx.v.m: 5}}]}}
        - {step: e, tool: [{kind: noop, set: {ctx.v.n.b: 2}}, {kind: python, input: {v: "{{ ctx.v }}", code: "result = [len(v['big']), v['n'], v['m']]"}}], next: {arcs: [{step: f}]}}
        - {step: f, tool: {kind: python, input: {v: "{{ ctx.v }}", code: "result = [len(v['big']), v['n'], v['m']]"}}, set: {ctx.ok: "{{ ctx.v.n.b + ctx.v.m }}"}}
        """,
        output=[300000, {"a": 1, "b": 2}, 5],
        ctx={"ok": 7},
        events=small,
    ),
    "one iteration writes much": Case(
        '- {step: start, loop: {in: [300000, 3], iterator: i, spec: {mode: parallel}}, tool: [{name: a, kind: python, input: {i: "{{ iter.i }}", code: "result = \'x\' * i"}}, {kind: noop, spec: {policy: {before: [{when: "{{ iter.i == 3 }}", then: {do: skip}}]}}, set: {ctx.big: "{{ a.data }}", step.big: "{{ a.data }}"}}], set: {ctx.n: "{{ [ctx.big | length, step.big | length] }}"}}',
        ctx={"n": [300000, 300000]},
        events=small,
    ),
    "a sequential loop carries much": Case(
        '- {step: start, loop: {in: [1, 2, 3], iterator: i, spec: {policy: {exec: distributed}, chunk: 1}}, tool: {kind: python, input: {b: "{{ ctx.b | default(\'\') }}", s: "{{ step.s | default(\'\') }}", code: "result = b + \'x\' * 100000"}, set: {ctx.b: "{{ output.data }}", step.s: "{{ output.data }}"}}, set: {ctx.n: "{{ [ctx.b | length, step.s | length] }}"}}',
        ctx={"n": [300000, 300000]},
        events=small,
    ),
    "event.data of a large output in admission": Case(
        "- {step: start, tool: "
        + BIG
        + '}, next: {arcs: [{step: e}]}}\n- {step: e, spec: {policy: {admit: {rules: [{when: "{{ event.data.output.data | length == 100000 }}", then: {allow: true}}]}}}, tool: {kind: noop}}',
        runs={"e": 1},
        events=small,
    ),
    "args, step input and event data are large": Case(
        "- {step: start, tool: "
        + BIG
        + '}, next: {arcs: [{step: e, args: {a: "{{ output.data }}"}}]}}\n'
        + '- {step: e, input: {i: "{{ args.a }}", k: "{{ event.data.output.data | length }}"}, tool: {kind: python, input: {v: "{{ [args.a, input.i] }}", k: "{{ input.k }}", code: "result = [len(i) for i in v] + [k]"}}, next: {arcs: [{step: f, when: "{{ args.a | length == 100000 }}"}]}}\n'
        + '- {step: f, tool: {kind: noop, output: "{{ args.a | length }}"}}',
        output=100000,
        events=small,
    ),
    "a routing step passes on a large output": Case(
        "- {step: start, tool: "
        + BIG
        + '}, next: {arcs: [{step: r}]}}\n- {step: r, set: {ctx.n: "{{ output.data | length }}"}, next: {arcs: [{step: e, when: "{{ output.data | length == 100000 }}"}]}}\n- {step: e, tool: [{name: g, kind: resolve, input: {ref: "{{ r.ref }}"}}, {kind: python, input: {v: "{{ g.data }}", code: "result = len(v)"}}]}',
        output=100000,
        ctx={"n": 100000},
        events=small,
    ),
    "a large collection": Case(
        '- {step: start, loop: {in: "{{ workload.rows }}", iterator: r, spec: {mode: parallel, max_in_flight: 20}}, tool: {kind: noop, output: "{{ iter.r | length }}"}, output: "{{ output.data | sum }}"}',
        payload={"rows": ["y" * 1000] * 300},
        output=300_000,
        events=small,
    ),
    "a large workload": Case(
        '- {step: start, tool: {kind: python, input: {w: "{{ workload.b }}", code: "result = len(w)"}}, set: {ctx.n: "{{ workload.b | length }}"}}',
        payload={"b": "z" * 200_000},
        output=200_000,
        ctx={"n": 200_000},
        events=small,
    ),
    "a large error": Case(
        "- {step: start, tool: {name: t, kind: python, input: {code: \"raise ValueError('e' * 1000000)\"}}}",
        error={"step": "start"},
        events=small,
    ),
    "a large error that is continued": Case(
        '- {step: start, tool: {name: t, kind: python, input: {code: "raise ValueError(\'e\' * 1000000)"}, spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.m: "{{ output.error.message | length > 10 }}"}}}}]}}}}',
        ctx={"m": True},
        events=small,
    ),
    "much printed": Case(
        "- {step: start, tool: {kind: python, input: {code: \"print('p' * 3000000); result = 1\"}}}",
        output=1,
        events=small,
    ),
    "a large error data of a shell": Case(
        "- {step: start, tool: {name: t, kind: shell, input: {command: \"head -c 3000000 /dev/zero | tr '\\\\0' a; exit 2\"}}}",
        error={"step": "start"},
        events=small,
    ),
    "a large message of a rule": Case(
        "- {step: start, tool: {name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: fail, message: \"{{ 'm' * 200000 }}\"}}}]}}}}",
        error={"step": "start"},
        events=small,
    ),
    "a large input of a child's step": Case(
        '- {step: start, input: {b: "{{ workload.b }}"}, tool: {name: c, kind: workbook, block: k, input: {v: "{{ input.b }}"}}}',
        {
            "workbook": 'workbook: {k: {tool: {kind: python, input: {v: "{{ input.v }}", code: "result = len(v)"}}}}'
        },
        payload={"b": "z" * 200_000},
        output=200_000,
        events=small,
    ),
    "a guard that reads much": Case(
        '- {step: start, tool: {kind: noop}, next: {arcs: [{step: e, when: "{{ workload.b | length > 5 }}"}]}}\n- {step: e, tool: {kind: noop}}',
        payload={"b": "z" * 200_000},
        runs={"e": 1},
        events=small,
    ),
    "a nested value as deep as JSON allows comes back or is an error": Case(
        '- {step: start, tool: {name: t, kind: python, input: {code: "x = []\\nfor i in range(5000): x = [x]\\nresult = x"}}}',
        error={"task": "t"},
        events=small,
    ),
    "odd texts survive": Case(
        '- {step: start, tool: {kind: python, input: {t: "{{ workload.t }}", code: "result = t"}}, set: {ctx.t: "{{ output.data }}"}}',
        payload={"t": "é\u2028 \U0001f600 \"'\\ \t\n{{ x }} {% y %}"},
        output="é\u2028 \U0001f600 \"'\\ \t\n{{ x }} {% y %}",
    ),
    "a value that looks like a template is data": Case(
        '- {step: start, tool: {kind: noop, output: "{{ workload.t }}"}, set: {ctx.a: "{{ output.data }}"}, next: {arcs: [{step: e, set: {ctx.b: "{{ ctx.a }}"}}]}}\n- {step: e, input: {x: "{{ ctx.b }}"}, tool: {kind: noop, output: "{{ input.x }}"}}',
        payload={"t": "{{ 1 + 1 }}"},
        output="{{ 1 + 1 }}",
    ),
    "what holds its own value of before grows no deeper for ever": Case(
        '- {step: start, tool: {name: t, kind: noop, set: {ctx.x: ["{{ ctx.x | default(0) }}"]}}, next: {arcs: [{step: start, when: "{{ not event.failed }}"}]}}',
        error={"kind": "limit", "task": "t"},
        says="nested deeper",
    ),
    "args that hold those of before grow no deeper for ever": Case(
        '- {step: start, tool: {kind: noop}, next: {arcs: [{step: start, args: {x: ["{{ args.x | default(0) }}"]}}]}}',
        error={"kind": "limit"},
        says="nested deeper",
    ),
    "a NUL is refused where it enters": Case(
        '- {step: start, tool: {name: t, kind: python, input: {code: "result = chr(0)"}}}',
        error={"kind": "value"},
    ),
    "big and small numbers keep": Case(
        '- {step: start, tool: {kind: python, input: {n: "{{ workload.n }}", code: "result = n"}}}',
        payload={"n": [2**53 + 1, -(2**60), 1e-300, 0.1, 1e22]},
        output=[2**53 + 1, -(2**60), 1e-300, 0.1, 1e22],
    ),
    "integers beyond 64 bits keep": Case(
        '- {step: start, tool: {kind: python, input: {n: "{{ workload.n }}", code: "result = n + 1"}}, set: {ctx.n: "{{ output.data }}"}}',
        payload={"n": 2**70},
        output=2**70 + 1,
    ),
    "best_effort in a distributed loop": Case(
        '- {step: start, spec: {policy: {failure: {mode: best_effort}}}, loop: {in: "{{ range(7) }}", iterator: x, spec: {mode: parallel, chunk: 2, policy: {exec: distributed}}}, tool: {kind: python, input: {x: "{{ iter.x }}", code: "result = 6 // (x % 3)"}}, set: {ctx.l: "{{ output.loop }}"}}',
        events=lambda r: (
            {k: r.ctx["l"][k] for k in ("total", "done", "failed", "skipped")}
            == {"total": 7, "done": 4, "failed": 3, "skipped": 0}
            and r.output == [None, 6, 3, None, 6, 3, None]
        ),
    ),
    "fail_fast in a distributed loop": Case(
        '- {step: start, loop: {in: "{{ range(40) }}", iterator: x, spec: {mode: parallel, max_in_flight: 4, chunk: 5, policy: {exec: distributed}}}, tool: [{kind: wait, input: {seconds: 0.02}}, {kind: noop, spec: {policy: {before: [{when: "{{ iter.x == 6 }}", then: {do: fail, message: six}}]}}}], set: {ctx.l: "{{ output.loop }}"}}',
        error={"message": "six"},
        events=lambda r: (
            (r.ctx["l"]["failed"], r.ctx["l"]["total"]) == (1, 40)
            and sum(r.ctx["l"][k] for k in ("done", "failed", "skipped")) == 40
            and r.ctx["l"]["skipped"] > 20
        ),
    ),
    "trace steps drops task detail at the end and replay still holds": Case(
        '- {step: start, tool: {kind: python, input: {code: "result = 1"}}}',
        {"executor": "executor: {spec: {trace: steps}}"},
        output=1,
    ),
}


@pytest.mark.parametrize("rule", SIZES)
async def test_sizes(tmp_path, rule):
    await SIZES[rule].check(tmp_path)
