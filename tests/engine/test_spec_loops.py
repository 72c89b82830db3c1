"""Loops: what the language says of them, one row a sentence."""

import pytest

from tests.engine.cases import Case

NESTED_REDUCE = """
- {step: start, tool: {kind: noop}, set: {ctx.v: "{{ workload.v }}"}, next: {arcs: [{step: nested}]}}
- step: nested
  loop:
    in: [1, 2]
    iterator: a
    spec: {mode: parallel, policy: {reduce: {ctx.v: %s}}}
    loop: {in: [10, 20], iterator: b, spec: {mode: parallel, policy: {reduce: {ctx.v: %s}}}}
  tool: {kind: noop, set: {ctx.v: "{{ iter.parent.a + iter.b }}"}}
"""
LOOP = """
- step: start
  loop: {in: %s, iterator: x, spec: {%s}}
  tool: %s
"""
ECHO = '{kind: python, input: {x: "{{ iter.x }}", code: "result = x"}}'
FAILS = '{kind: python, input: {x: "{{ iter.x }}", code: "result = 12 // (x - 2)"}}'
ENDS = """
  next: {arcs: [{step: ok, when: "{{ event.name == 'loop.done' }}"}, {step: bad, when: "{{ event.name == 'step.failed' }}"}]}
- {step: ok, tool: {kind: noop}}
- {step: bad, tool: {kind: noop}}
"""


def peak(ran):
    """The most iterations in flight at any moment of the log."""
    live, most = 0, 0
    for event in ran.events:
        if event["name"] == "loop.iteration.started":
            live += 1
        elif event["name"] in ("loop.iteration.done", "loop.iteration.failed"):
            live -= 1
        most = max(most, live)
    return most


def names(ran):
    return [event["name"] for event in ran.events]


PLACES = {"local": "mode: parallel", "distributed": "mode: parallel, policy: {exec: distributed}, chunk: 2"}
LOOPS = {
    "iter.index and iter.count are bound": Case(
        LOOP
        % (
            "[a, b]",
            "mode: parallel",
            '{kind: python, input: {v: "{{ [iter.x, iter.index, iter.count, x] }}", code: "result = v"}}',
        ),
        output=[["a", 0, 2, "a"], ["b", 1, 2, "b"]],
    ),
    "a mapping gives items as {key, value}": Case(
        LOOP % ('"{{ workload.m }}"', "mode: sequential", ECHO),
        {"workload": "workload: {m: {a: 1, b: 2}}"},
        output=[{"key": "a", "value": 1}, {"key": "b", "value": 2}],
    ),
    "a literal mapping too": Case(
        LOOP % ("{a: 1}", "mode: sequential", ECHO), output=[{"key": "a", "value": 1}]
    ),
    "ranges and tuples are collections": Case(
        LOOP % ('"{{ range(3) }}"', "mode: sequential", ECHO), output=[0, 1, 2]
    ),
    "a tuple is a collection": Case(LOOP % ('"{{ (1, 2) }}"', "mode: sequential", ECHO), output=[1, 2]),
    "a string is no collection; its type is named": Case(
        LOOP % ('"{{ workload.s }}"', "mode: sequential", ECHO),
        {"workload": "workload: {s: abc}"},
        error={"step": "start"},
        says="str",
    ),
    "a number is no collection": Case(
        LOOP % ('"{{ 5 }}"', "mode: sequential", ECHO), error={"step": "start"}, says="int"
    ),
    "an empty collection is a successful loop": Case(
        LOOP % ("[]", "mode: parallel", ECHO) + ENDS,
        runs={"ok": 1},
        events=lambda r: names(r).count("loop.done") == 1,
    ),
    "a missing in fails the step before it starts": Case(
        LOOP % ('"{{ ctx.none }}"', "mode: parallel", ECHO),
        error={"kind": "template", "step": "start"},
        events=lambda r: "step.started" not in names(r),
    ),
    "sequential goes in index order one at a time": Case(
        LOOP % ('"{{ range(5) }}"', "mode: sequential", ECHO),
        output=[0, 1, 2, 3, 4],
        events=lambda r: peak(r) == 1,
    ),
    "the terminal event is loop.done and never also step.done": Case(
        LOOP % ("[1]", "mode: sequential", ECHO),
        events=lambda r: names(r).count("loop.done") == 1 and "step.done" not in names(r),
    ),
    "mode and max_in_flight are accepted under policy": Case(
        LOOP
        % (
            '"{{ range(8) }}"',
            "policy: {mode: parallel, max_in_flight: 2}",
            "{kind: wait, input: {seconds: 0.01}}",
        ),
        events=lambda r: peak(r) == 2,
    ),
    "max_in_flight defaults to 10": Case(
        LOOP % ('"{{ range(30) }}"', "mode: parallel", "{kind: wait, input: {seconds: 0.02}}"),
        events=lambda r: peak(r) == 10,
    ),
    "max_in_flight may be a template": Case(
        LOOP
        % (
            '"{{ range(8) }}"',
            'mode: parallel, max_in_flight: "{{ workload.m }}"',
            "{kind: wait, input: {seconds: 0.01}}",
        ),
        {"workload": "workload: {m: 3}"},
        events=lambda r: peak(r) == 3,
    ),
    "max_in_flight holds over the whole distributed loop": Case(
        LOOP
        % (
            '"{{ range(24) }}"',
            "mode: parallel, max_in_flight: 3, chunk: 2, policy: {exec: distributed}",
            "{kind: wait, input: {seconds: 0.01}}",
        ),
        events=lambda r: peak(r) <= 3 and [e["source"] for e in r.named("loop.started")] == ["server"],
    ),
    "local: loop.started and loop.done are the worker's": Case(
        LOOP % ("[1]", "mode: parallel", ECHO),
        events=lambda r: (
            [e["source"] for e in r.events if e["name"] in ("loop.started", "loop.done")]
            == ["worker", "worker"]
        ),
    ),
    "a distributed sequential loop carries ctx from one iteration to the next": Case(
        LOOP
        % (
            '"{{ range(5) }}"',
            "chunk: 1, policy: {exec: distributed}",
            '{kind: noop, set: {ctx.n: "{{ ctx.n | default(0) + 1 }}"}}',
        ),
        ctx={"n": 5},
    ),
    "a sequential loop carries ctx and step": Case(
        LOOP
        % (
            '"{{ range(4) }}"',
            "mode: sequential",
            '{kind: noop, set: {ctx.n: "{{ ctx.n | default(0) + iter.x }}", step.m: "{{ step.m | default(0) + 1 }}"}}',
        )
        + '  set: {ctx.m: "{{ step.m }}"}',
        ctx={"n": 6, "m": 4},
    ),
    "iter is one iteration's": Case(
        LOOP
        % (
            "[1, 2]",
            "mode: sequential",
            '[{kind: noop, set: {iter.n: "{{ iter.n | default(0) + 1 }}"}}, {kind: python, input: {v: "{{ iter.n }}", code: "result = v"}}]',
        ),
        output=[1, 1],
    ),
    "break is done": Case(
        LOOP
        % (
            "[1, 2]",
            "mode: sequential",
            '[{name: a, kind: python, input: {code: "result = 5"}, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}, {name: b, kind: python, input: {code: "1/0"}}]',
        )
        + '  set: {ctx.l: "{{ output.loop }}"}',
        output=[5, 5],
        events=lambda r: (r.ctx["l"]["done"], r.ctx["l"]["total"]) == (2, 2),
    ),
    "fail_fast: the first failure fails the step, the rest is skipped": Case(
        LOOP % ('"{{ range(6) }}"', "mode: sequential", FAILS)
        + '  set: {ctx.l: "{{ output.loop }}", ctx.d: "{{ output.data }}", ctx.e: "{{ output.error.kind }}"}'
        + ENDS,
        runs={"bad": 1},
        events=lambda r: (
            {k: r.ctx["l"][k] for k in ("total", "done", "failed", "skipped")}
            == {"total": 6, "done": 2, "failed": 1, "skipped": 3}
            and r.ctx["d"] is None
        ),
    ),
    "fail_fast in a parallel loop cancels what runs": Case(
        LOOP
        % (
            "[2, 9, 9, 9]",
            "mode: parallel",
            '{kind: python, input: {x: "{{ iter.x }}", code: "import time; time.sleep(0 if x == 2 else 3); result = 1 // (x - 2)"}}',
        )
        + '  set: {ctx.l: "{{ output.loop }}"}'
        + ENDS,
        events=lambda r: (
            r.ctx["l"]["skipped"] == 3 and r.ctx["l"]["failed"] == 1 and r.result["duration_ms"] < 2500
        ),
    ),
    "best_effort: all run, null for the failed, errors kept, status ok": Case(
        LOOP % ('"{{ range(4) }}"', "mode: parallel", FAILS)
        + '  spec: {policy: {failure: {mode: best_effort}}}\n  set: {ctx.l: "{{ output.loop }}", ctx.s: "{{ output.status }}"}'
        + ENDS,
        runs={"ok": 1},
        ctx={"s": "ok"},
        events=lambda r: (
            r.named("loop.done")[0]["data"]["output"]["data"] == [-6, -12, None, 12]
            and r.ctx["l"]["errors"][0]["index"] == 2
        ),
    ),
    "best_effort keeps the first 100 errors": Case(
        LOOP
        % (
            '"{{ range(120) }}"',
            "mode: parallel",
            "{name: t, kind: noop, spec: {policy: {before: [{else: {then: {do: fail}}}]}}}",
        )
        + '  spec: {policy: {failure: {mode: best_effort}}}\n  set: {ctx.n: "{{ output.loop.errors | length }}", ctx.f: "{{ output.loop.failed }}"}',
        ctx={"n": 100, "f": 120},
    ),
    "an untaken loop failure names the iteration": Case(
        LOOP % ('"{{ range(6) }}"', "mode: sequential", FAILS),
        error={"step": "start", "task": "start_task"},
        events=lambda r: r.error["iteration"] is not None,
    ),
    "a continued error inside an iteration keeps its data": Case(
        LOOP
        % (
            "[1]",
            "mode: sequential",
            '{kind: python, input: {code: "1/0"}, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}',
        ),
        output=[None],
    ),
    "different values to one path without a reducer are a conflict": Case(
        LOOP % ("[1, 2]", "mode: parallel", '{kind: noop, set: {ctx.v: "{{ iter.x }}"}}'),
        error={"kind": "conflict"},
        says="ctx.v",
    ),
    "equal values to one path are no conflict": Case(
        LOOP % ("[1, 2]", "mode: parallel", "{kind: noop, set: {ctx.v: 7}}"), ctx={"v": 7}
    ),
    "different paths are no conflict": Case(
        LOOP
        % ("[1, 2]", "mode: parallel", "{kind: python, input: {code: 'result = 1'}, set: {ctx.same: 1}}"),
        ctx={"same": 1},
    ),
    "a failed loop applies none of its ctx writes": Case(
        LOOP % ("[2, 3]", "mode: parallel", "[{kind: noop, set: {ctx.v: 7}}, " + FAILS + "]") + ENDS,
        ctx={"v": None},
        runs={"bad": 1},
    ),
    "failed iterations contribute nothing": Case(
        LOOP
        % (
            "[1, 2, 3]",
            "mode: parallel, policy: {reduce: {ctx.n: append}}",
            '[{kind: noop, set: {ctx.n: "{{ iter.x }}"}}, ' + FAILS + "]",
        )
        + "  spec: {policy: {failure: {mode: best_effort}}}",
        ctx={"n": [1, 3]},
    ),
    "reading a reduced key inside the loop gives its value at loop start": Case(
        """
        - {step: start, tool: {kind: noop}, set: {ctx.n: 100}, next: {arcs: [{step: l}]}}
        - step: l
          loop: {in: [1, 2], iterator: x, spec: {mode: parallel, policy: {reduce: {ctx.n: sum}}}}
          tool: [{kind: noop, set: {ctx.n: "{{ iter.x }}"}}, {kind: python, input: {v: "{{ ctx.n }}", code: "result = v"}}]
        """,
        output=[100, 100],
        ctx={"n": 103},
    ),
    "in a sequential loop too": Case(
        """
        - {step: start, tool: {kind: noop}, set: {ctx.n: 100}, next: {arcs: [{step: l}]}}
        - step: l
          loop: {in: [1, 2], iterator: x, spec: {policy: {reduce: {ctx.n: sum}}}}
          tool: [{kind: noop, set: {ctx.n: "{{ iter.x }}"}}, {kind: python, input: {v: "{{ ctx.n }}", code: "result = v"}}]
        """,
        output=[100, 100],
        ctx={"n": 103},
    ),
    "step writes merge in index order, the highest index winning": Case(
        LOOP
        % (
            "[3, 1, 2]",
            "mode: parallel",
            '[{kind: wait, input: {seconds: "{{ 0.03 - iter.index * 0.01 }}"}}, {kind: noop, set: {step.v: "{{ iter.x }}"}}]',
        )
        + '  set: {ctx.v: "{{ step.v }}"}',
        ctx={"v": 2},
    ),
    "step writes by a declared reducer": Case(
        LOOP
        % (
            "[3, 1, 2]",
            "mode: parallel, policy: {reduce: {step.v: sum}}",
            '{kind: noop, set: {step.v: "{{ iter.x }}"}}',
        )
        + '  set: {ctx.v: "{{ step.v }}"}',
        ctx={"v": 6},
    ),
    "inner loop: iter.parent, nested lists, counts of the outer": Case(
        """
        - step: start
          loop:
            in: "{{ workload.c }}"
            iterator: c
            spec: {mode: parallel}
            loop: {in: "{{ iter.c.h }}", iterator: h, spec: {mode: parallel, max_in_flight: 2}}
          tool: {kind: python, input: {v: "{{ [iter.parent.c.n, iter.h, iter.index, iter.parent.index, iter.count, iter.parent.count, c.n, h] }}", code: "result = v"}}
          set: {ctx.l: "{{ output.loop }}"}
        """,
        {"workload": "workload: {c: [{n: a, h: [1, 2]}, {n: b, h: []}, {n: d, h: [3]}]}"},
        output=[
            [["a", 1, 0, 0, 2, 3, "a", 1], ["a", 2, 1, 0, 2, 3, "a", 2]],
            [],
            [["d", 3, 0, 2, 1, 3, "d", 3]],
        ],
        events=lambda r: r.ctx["l"] == {"total": 3, "done": 3, "failed": 0, "skipped": 0},
    ),
    "three levels": Case(
        """
        - step: start
          loop: {in: [1, 2], iterator: a, loop: {in: [10], iterator: b, loop: {in: [100, 200], iterator: c}}}
          tool: {kind: python, input: {v: "{{ iter.parent.parent.a + iter.parent.b + iter.c }}", code: "result = v"}}
        """,
        output=[[[111, 211]], [[112, 212]]],
    ),
    "reduce in an inner loop, in (index, write) order": Case(
        """
        - step: start
          loop:
            in: [1, 2]
            iterator: a
            spec: {mode: parallel, policy: {reduce: {ctx.all: append}}}
            loop: {in: [10, 20], iterator: b, spec: {mode: parallel}}
          tool: {kind: noop, set: {ctx.all: "{{ iter.parent.a + iter.b }}"}}
        """,
        ctx={"all": [11, 21, 12, 22]},
    ),
    "one reducer at two levels counts the existing value once and every write": Case(
        NESTED_REDUCE % ("sum", "sum"), {"workload": "workload: {v: 100}"}, ctx={"v": 166}
    ),
    "a list that is appended to at two levels is flat": Case(
        NESTED_REDUCE % ("append", "append"),
        {"workload": "workload: {v: [0]}"},
        ctx={"v": [0, 11, 21, 12, 22]},
    ),
    "another reducer at the inner level gives the outer one operand per iteration": Case(
        NESTED_REDUCE % ("sum", "max"), {"workload": "workload: {v: 100}"}, ctx={"v": 143}
    ),
    "a value and a part of it, written by two iterations, are a conflict": Case(
        LOOP
        % (
            "[1, 2]",
            "mode: parallel",
            "[{name: a, kind: noop, set: {ctx.v: {b: 1}}, spec: {policy: {before: [{when: '{{ iter.x == 2 }}', then: {do: skip}}]}}}, "
            "{name: b, kind: noop, set: {ctx.v.b: 1}, spec: {policy: {before: [{when: '{{ iter.x == 1 }}', then: {do: skip}}]}}}]",
        ),
        error={"kind": "conflict"},
        says="ctx.v.b",
    ),
    "a value and a part of it, written by one iteration, are written in order": Case(
        LOOP
        % (
            "[1]",
            "mode: parallel",
            "[{kind: noop, set: {ctx.v.b: 1}}, {kind: noop, set: {ctx.v: {c: 2}}}, {kind: noop, set: {ctx.v.b: 3}}]",
        ),
        ctx={"v": {"c": 2, "b": 3}},
    ),
    "true is not 1": Case(
        LOOP % ("[1, true]", "mode: parallel", '{kind: noop, set: {ctx.v: "{{ iter.x }}"}}'),
        error={"kind": "conflict"},
        says="ctx.v",
    ),
    "1.0 is not 1": Case(
        LOOP % ("[1, 1.0]", "mode: parallel", '{kind: noop, set: {ctx.v: "{{ iter.x }}"}}'),
        error={"kind": "conflict"},
    ),
    "union keeps what differs by type": Case(
        LOOP
        % (
            "[1, true, 1.0, '1', 1]",
            "mode: parallel, policy: {reduce: {ctx.v: union}}",
            '{kind: noop, set: {ctx.v: "{{ iter.x }}"}}',
        ),
        events=lambda r: repr(r.ctx["v"]) == "[1, True, 1.0, '1']",
    ),
    "a conflict in an inner parallel loop fails the step": Case(
        """
        - step: start
          loop: {in: [1], iterator: a, loop: {in: [10, 20], iterator: b, spec: {mode: parallel}}}
          tool: {kind: noop, set: {ctx.v: "{{ iter.b }}"}}
        """,
        error={"kind": "conflict"},
        says="ctx.v",
    ),
    "best_effort holds at each level": Case(
        """
        - step: start
          spec: {policy: {failure: {mode: best_effort}}}
          loop: {in: [1, 2], iterator: a, loop: {in: [0, 1], iterator: b}}
          tool: {kind: python, input: {a: "{{ iter.parent.a }}", b: "{{ iter.b }}", code: "result = a // b"}}
        """,
        output=[[None, 1], [None, 2]],
    ),
    "an inner collection that is none fails the iteration with its type": Case(
        """
        - step: start
          loop: {in: [1], iterator: a, loop: {in: "{{ iter.a }}", iterator: b}}
          tool: {kind: noop}
        """,
        error={"step": "start"},
        says="int",
    ),
    "a distributed loop with an inner loop": Case(
        """
        - step: start
          loop: {in: [1, 2, 3], iterator: a, spec: {mode: parallel, chunk: 1, policy: {exec: distributed}}, loop: {in: [1, 2], iterator: b}}
          tool: {kind: python, input: {v: "{{ iter.parent.a * iter.b }}", code: "result = v"}}
        """,
        output=[[1, 2], [2, 4], [3, 6]],
    ),
    "a reference as in is resolved": Case(
        """
        - {step: make, tool: {kind: python, input: {code: "result = [{'i': i, 's': 'x' * 100} for i in range(1500)]"}}, set: {ctx.rows_ref: "{{ output.ref }}"}, next: {arcs: [{step: l}]}}
        - step: l
          loop: {in: "{{ ctx.rows_ref }}", iterator: r, spec: {mode: parallel, max_in_flight: 50}}
          tool: {kind: noop}
          set: {ctx.n: "{{ output.loop.done }}"}
        """,
        ctx={"n": 1500},
    ),
    "a small reference as in": Case(
        """
        - {step: make, tool: {kind: python, input: {code: "result = [1, 2]"}}, next: {arcs: [{step: l}]}}
        - {step: l, loop: {in: "{{ make.ref }}", iterator: r}, tool: {kind: python, input: {v: "{{ iter.r }}", code: "result = v * 2"}}}
        """,
        output=[2, 4],
    ),
    "a reference to a mapping": Case(
        """
        - {step: make, tool: {kind: python, input: {code: "result = {'a': 1}"}}, next: {arcs: [{step: l}]}}
        - {step: l, loop: {in: "{{ make.ref }}", iterator: r}, tool: {kind: python, input: {v: "{{ iter.r }}", code: "result = v"}}}
        """,
        output=[{"key": "a", "value": 1}],
    ),
    "a missing reference is kind reference": Case(
        LOOP % ('"{{ workload.r }}"', "mode: parallel", ECHO),
        {
            "workload": "workload: {r: {type: blob, locator: {store: results, key: gone/1}, auth_reference: null, meta: {}}}"
        },
        error={"kind": "reference", "step": "start"},
    ),
    "a missing reference in an inner loop is kind reference": Case(
        """
        - step: start
          loop: {in: [1], iterator: a, loop: {in: "{{ workload.r }}", iterator: b}}
          tool: {kind: noop}
        """,
        {
            "workload": "workload: {r: {type: blob, locator: {store: results, key: gone/1}, auth_reference: null, meta: {}}}"
        },
        error={"kind": "reference", "step": "start"},
    ),
    "a large loop output goes by reference and resolves": Case(
        """
        - {step: l, loop: {in: "{{ range(100) }}", iterator: i, spec: {mode: parallel}}, tool: {kind: python, input: {i: "{{ iter.i }}", code: "result = [i, 'y' * 3000]"}}, set: {ctx.r_ref: "{{ output.ref }}", ctx.n: "{{ output.data | length }}"}, next: {arcs: [{step: g}]}}
        - {step: g, tool: [{name: get, kind: resolve, input: {ref: "{{ ctx.r_ref }}"}}, {kind: python, input: {d: "{{ get.data }}", code: "result = [len(d), d[99][0]]"}}]}
        """,
        ctx={"n": 100},
        output=[100, 99],
    ),
    "iterations whose own output is large": Case(
        """
        - {step: l, loop: {in: "{{ range(3) }}", iterator: i, spec: {mode: parallel}}, tool: {kind: python, input: {i: "{{ iter.i }}", code: "result = [i, 'y' * 100000]"}}, set: {ctx.r_ref: "{{ output.ref }}", ctx.n: "{{ output.data[2][0] }}"}, next: {arcs: [{step: g}]}}
        - {step: g, tool: [{name: get, kind: resolve, input: {ref: "{{ ctx.r_ref }}"}}, {kind: python, input: {d: "{{ get.data }}", code: "result = [len(d), d[2][0], len(d[1][1])]"}}]}
        """,
        ctx={"n": 2},
        output=[3, 2, 100000],
    ),
    "a step set of a loop step reads output.data": Case(
        LOOP % ("[1, 2]", "mode: parallel", ECHO) + '  set: {ctx.d: "{{ output.data }}"}', ctx={"d": [1, 2]}
    ),
    "a step's output on a loop step": Case(
        LOOP % ("[1, 2]", "mode: parallel", ECHO) + '  output: "{{ output.data | sum }}"', output=3
    ),
    "a loop step's name reads its data and counts later": Case(
        LOOP % ("[1, 2]", "mode: parallel", ECHO)
        + '  next: {arcs: [{step: e}]}\n- {step: e, tool: {kind: python, input: {v: "{{ [start.data, start.loop.total] }}", code: "result = v"}}}',
        output=[[1, 2], 2],
    ),
    "pagination inside an iteration counts visits per iteration": Case(
        LOOP
        % (
            "[1, 3]",
            "mode: parallel",
            '[{name: i, kind: noop, set: {iter.n: 0}}, {name: p, kind: noop, set: {iter.n: "{{ iter.n + 1 }}"}, spec: {policy: {rules: [{when: "{{ iter.n < iter.x }}", then: {do: jump, to: p}}, {else: {then: {do: continue}}}]}}}, {kind: python, input: {v: "{{ iter.n }}", code: "result = v"}}]',
        ),
        output=[1, 3],
    ),
    "a loop inside a step that runs twice": Case(
        """
        - step: start
          loop: {in: [1], iterator: x}
          tool: {kind: noop, set: {ctx.n: "{{ ctx.n | default(0) + 1 }}"}}
          next: {arcs: [{step: start, when: "{{ ctx.n < 3 }}"}]}
        """,
        runs={"start": 3},
        ctx={"n": 3},
    ),
}
REDUCERS = {
    "sum": ("5", "[1, 2]", 8),
    "min": ("5", "[7, 2]", 2),
    "max": ("5", "[7, 2]", 7),
    "append": ("[0]", "[1, [2]]", [0, 1, [2]]),
    "union": ("[1]", "[1, 2, 2]", [1, 2]),
    "merge": ("{a: {x: 1}}", "[{a: {y: 2}}, {b: 3}]", {"a": {"x": 1, "y": 2}, "b": 3}),
    "first": ("9", "[1, 2]", 9),
    "last": ("9", "[1, 2]", 2),
}


@pytest.mark.parametrize("rule", LOOPS)
async def test_loops(tmp_path, rule):
    await LOOPS[rule].check(tmp_path)


@pytest.mark.parametrize(
    "mode", ["parallel", "sequential", "parallel, chunk: 1, policy: {exec: distributed, X}"]
)
@pytest.mark.parametrize("how", REDUCERS)
async def test_a_reducer_takes_the_existing_value_first_and_then_every_write(tmp_path, how, mode):
    existing, values, expected = REDUCERS[how]
    reduce = f"reduce: {{ctx.v: {how}}}"
    spec = mode.replace("X", reduce) if "X" in mode else f"{mode}, policy: {{{reduce}}}"
    workflow = f"""
- {{step: start, tool: {{kind: noop}}, set: {{ctx.v: {existing}}}, next: {{arcs: [{{step: l}}]}}}}
- {{step: l, loop: {{in: {values}, iterator: x, spec: {{mode: {spec}}}}}, tool: {{kind: noop, set: {{ctx.v: "{{{{ iter.x }}}}"}}}}}}
"""
    await Case(workflow, ctx={"v": expected}).check(tmp_path)
