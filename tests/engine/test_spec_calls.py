"""Workbook blocks and sugar: what the language says of each, one row a sentence."""

import pytest

from tests.engine.cases import Case


def labels(ran, name="task.done"):
    return [event["task_label"] for event in ran.named(name)]


CALL = "- {step: start, tool: {name: c, kind: workbook, block: b, input: {x: 2}}}"
WORKBOOK = {
    "blocks that call one another without end are a limit": Case(
        "- {step: start, tool: {kind: workbook, block: a}}",
        root={
            "workbook": "workbook: {a: {tool: {name: x, kind: workbook, block: b}}, b: {tool: {name: y, kind: workbook, block: a}}}"
        },
        error={"kind": "limit"},
        says="more than 32 deep",
    ),
    "a block that calls itself 32 deep comes back": Case(
        "- {step: start, tool: {kind: workbook, block: down, input: {n: 31}}}",
        root={
            "workbook": """
            workbook:
              down:
                loop: {in: "{{ range([input.n, 1] | min) | list }}", iterator: once}
                tool: {name: again, kind: workbook, block: down, input: {n: "{{ input.n - 1 }}"}}
            """
        },
        status="completed",
    ),
    "a block's output is the last task's": Case(
        CALL,
        {
            "workbook": 'workbook: {b: {tool: {kind: python, input: {x: "{{ input.x }}", code: "result = x * 2"}}}}'
        },
        output=4,
    ),
    "block is by default the task's name": Case(
        "- {step: start, tool: {name: b, kind: workbook}}",
        {"workbook": 'workbook: {b: {tool: {kind: python, input: {code: "result = 1"}}}}'},
        output=1,
    ),
    "its declared input are defaults that the caller's overlay": Case(
        CALL,
        {
            "workbook": 'workbook: {b: {input: {x: 1, y: "{{ workload.w }}"}, tool: {kind: python, input: {v: "{{ [input.x, input.y] }}", code: "result = v"}}}}',
            "workload": "workload: {w: 9}",
        },
        output=[2, 9],
    ),
    "its labels are <task>/<inner>": Case(
        CALL,
        {"workbook": "workbook: {b: {tool: [{name: one, kind: noop}, {name: two, kind: noop}]}}"},
        events=lambda r: set(labels(r)) == {"c", "c/one", "c/two"},
    ),
    "output of a block": Case(
        CALL,
        {
            "workbook": 'workbook: {b: {output: "{{ output.data + 1 }}", tool: {kind: python, input: {code: "result = 1"}}}}'
        },
        output=2,
    ),
    "set of a block writes ctx": Case(
        CALL,
        {
            "workbook": 'workbook: {b: {set: {ctx.v: "{{ output.data }}"}, tool: {kind: python, input: {code: "result = 1"}}}}'
        },
        ctx={"v": 1},
    ),
    "a block's tasks write ctx and read ctx and workload": Case(
        """
        - {step: start, tool: [{kind: noop, set: {ctx.a: 1}}, {name: c, kind: workbook, block: b}, {kind: python, input: {v: "{{ ctx.r }}", code: "result = v"}}]}
        """,
        {
            "workbook": 'workbook: {b: {tool: {kind: noop, set: {ctx.r: "{{ [ctx.a, workload.w] }}"}}}}',
            "workload": "workload: {w: 2}",
        },
        output=[1, 2],
        ctx={"r": [1, 2]},
    ),
    "its step scope, task names and output are its own": Case(
        """
        - step: start
          tool:
            - {name: a, kind: python, input: {code: "result = 'outer'"}, set: {step.s: outer}}
            - {name: c, kind: workbook, block: b}
            - {name: z, kind: python, input: {v: "{{ [step.s, a.data, c.data] }}", code: "result = v"}}
        """,
        {
            "workbook": "workbook: {b: {tool: [{name: a, kind: python, input: {v: \"{{ [step.s | default('none'), a.data | default('none')] }}\", code: \"result = v\"}, set: {step.s: inner}}]}}"
        },
        output=["outer", "outer", ["none", "none"]],
    ),
    "iter.parent is the calling iteration": Case(
        "- {step: start, loop: {in: [5, 6], iterator: o}, tool: {name: c, kind: workbook, block: b}}",
        {
            "workbook": 'workbook: {b: {tool: {kind: python, input: {v: "{{ iter.parent.o }}", code: "result = v"}}}}'
        },
        output=[5, 6],
    ),
    "a block has its own loop": Case(
        "- {step: start, loop: {in: [5, 6], iterator: o, spec: {mode: parallel}}, tool: {name: c, kind: workbook, block: b, input: {l: [1, 2]}}}",
        {
            "workbook": 'workbook: {b: {loop: {in: "{{ input.l }}", iterator: i, spec: {mode: parallel}}, tool: {kind: python, input: {v: "{{ iter.parent.o * 10 + iter.i }}", code: "result = v"}}}}'
        },
        output=[[51, 52], [61, 62]],
    ),
    "reduce in a block's loop": Case(
        "- {step: start, tool: {name: c, kind: workbook, block: b}}",
        {
            "workbook": 'workbook: {b: {loop: {in: [1, 2, 3], iterator: i, spec: {mode: parallel, policy: {reduce: {ctx.s: sum}}}}, tool: {kind: noop, set: {ctx.s: "{{ iter.i }}"}}}}'
        },
        ctx={"s": 6},
    ),
    "a failing block fails the calling task, whose rules see it": Case(
        """
        - {step: start, tool: {name: c, kind: workbook, block: b, spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: continue, set: {ctx.m: "{{ output.error.message }}"}}}]}}}}
        """,
        {"workbook": 'workbook: {b: {tool: {name: t, kind: python, input: {code: "1/0"}}}}'},
        events=lambda r: "division" in r.ctx["m"],
    ),
    "a failing block's ctx writes before the failure count": Case(
        """
        - {step: start, tool: {name: c, kind: workbook, block: b, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}}
        """,
        {
            "workbook": 'workbook: {b: {tool: [{kind: noop, set: {ctx.w: 1}}, {name: t, kind: python, input: {code: "1/0"}}]}}'
        },
        ctx={"w": 1},
    ),
    "a block calls a block": Case(
        "- {step: start, tool: {name: c, kind: workbook, block: a}}",
        {
            "workbook": 'workbook: {a: {tool: {name: d, kind: workbook, block: b, input: {n: 4}}}, b: {input: {n: 0}, tool: {name: e, kind: python, input: {v: "{{ input.n }}", code: "result = v"}}}}'
        },
        output=4,
        events=lambda r: "c/d/e" in labels(r),
    ),
    "a list of blocks is accepted": Case(
        CALL,
        {"workbook": 'workbook: [{name: b, tool: {kind: python, input: {code: "result = 3"}}}]'},
        output=3,
    ),
    "the old workbook.tasks is accepted": Case(
        CALL,
        {"workbook": 'workbook: {tasks: {b: {tool: {kind: python, input: {code: "result = 3"}}}}}'},
        output=3,
    ),
    "break inside ends the block": Case(
        "- {step: start, tool: [{name: c, kind: workbook, block: b}, {name: z, kind: noop}]}",
        {
            "workbook": 'workbook: {b: {tool: [{kind: python, input: {code: "result = 1"}, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}, {kind: python, input: {code: "result = 2"}}]}}'
        },
        output=1,
    ),
    "a missing value in a block's loop is an error of the calling task": Case(
        CALL,
        {"workbook": 'workbook: {b: {loop: {in: "{{ ctx.none }}", iterator: i}, tool: {kind: noop}}}'},
        error={"kind": "template", "task": "c"},
    ),
    "a missing value in a block's input is an error of the calling task": Case(
        CALL,
        {"workbook": 'workbook: {b: {input: {q: "{{ ctx.none }}"}, tool: {kind: noop}}}'},
        error={"kind": "template", "task": "c"},
    ),
    "an error in a block's output is an error of the calling task": Case(
        CALL,
        {"workbook": 'workbook: {b: {output: "{{ output.data.none.x }}", tool: {kind: noop}}}'},
        error={"kind": "template", "task": "c"},
    ),
    "a collection of a block that is none": Case(
        CALL,
        {"workbook": 'workbook: {b: {loop: {in: "{{ input.x }}", iterator: i}, tool: {kind: noop}}}'},
        error={"task": "c"},
        says="int",
    ),
    "a call retried runs the block again": Case(
        """
        - {step: start, tool: {name: c, kind: workbook, block: b, spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 3, delay: 0}}]}}}}
        """,
        {
            "workbook": 'workbook: {b: {tool: {name: t, kind: python, input: {n: "{{ ctx.n | default(0) }}", code: "result = 1 // (0 if n < 2 else 1)"}, spec: {policy: {before: [{else: {then: {do: continue, set: {ctx.n: "{{ ctx.n | default(0) + 1 }}"}}}}]}}}}}'
        },
        output=1,
        ctx={"n": 2},
    ),
    "a workbook task's timeout bounds it": Case(
        "- {step: start, tool: {name: c, kind: workbook, block: b, spec: {timeout: 0.2}}}",
        {"workbook": "workbook: {b: {tool: {kind: wait, input: {seconds: 3}}}}"},
        error={"kind": "timeout", "task": "c"},
    ),
}
COUNT = '{name: c, kind: python, input: {n: "{{ step.i }}", code: "result = n"}, set: {step.i: "{{ step.i + 1 }}"}}'
SUGAR = {
    "the else of choose is taken only if no branch is, wherever it stands": Case(
        """
        - step: start
          tool:
            - name: pick
              choose:
                - else: [{name: a, kind: python, input: {code: "result = 'else'"}}]
                - {when: "{{ workload.go }}", then: [{name: b, kind: python, input: {code: "result = 'when'"}}]}
        """,
        root={"workload": "workload: {go: true}"},
        output="when",
    ),
    "while checks before": Case(
        '- step: start\n  tool:\n    - {name: i, kind: noop, set: {step.i: 0}}\n    - {name: w, while: {when: "{{ step.i < 3 }}", do: ['
        + COUNT
        + "]}}\n",
        output=2,
        events=lambda r: labels(r).count("w.c") == 3,
    ),
    "a while that never holds runs nothing": Case(
        '- step: start\n  tool:\n    - {name: i, kind: python, input: {code: "result = 9"}, set: {step.i: 5}}\n    - {name: w, while: {when: "{{ step.i < 3 }}", do: ['
        + COUNT
        + "]}}\n",
        output=9,
    ),
    "while over max is kind limit": Case(
        '- step: start\n  tool:\n    - {name: i, kind: noop, set: {step.i: 0}}\n    - {name: w, while: {when: "{{ true }}", max: 4, do: ['
        + COUNT
        + "]}}\n",
        error={"kind": "limit"},
        events=lambda r: labels(r).count("w.c") == 4,
    ),
    "until checks after": Case(
        '- step: start\n  tool:\n    - {name: i, kind: noop, set: {step.i: 0}}\n    - {name: u, until: {when: "{{ output.data == 2 }}", delay: 0, do: ['
        + COUNT
        + "]}}\n",
        output=2,
        events=lambda r: labels(r).count("u.c") == 3,
    ),
    "until over max is kind limit": Case(
        '- step: start\n  tool:\n    - {name: i, kind: noop, set: {step.i: 0}}\n    - {name: u, until: {when: "{{ false }}", max: 3, delay: 0, do: ['
        + COUNT
        + "]}}\n",
        error={"kind": "limit"},
        events=lambda r: labels(r).count("u.c") == 3,
    ),
    "until waits its delay": Case(
        '- step: start\n  tool:\n    - {name: i, kind: noop, set: {step.i: 0}}\n    - {name: u, until: {when: "{{ output.data == 2 }}", delay: 0.1, do: ['
        + COUNT
        + "]}}\n",
        events=lambda r: 200 <= r.result["duration_ms"] < 1500,
    ),
    "choose takes the first branch that holds": Case(
        """
        - step: start
          tool:
            - {name: s, kind: noop, set: {step.k: b}}
            - name: pick
              choose:
                - {when: "{{ step.k == 'a' }}", then: [{name: v, kind: python, input: {code: "result = 'a'"}}]}
                - {when: "{{ step.k == 'b' }}", then: [{name: x, kind: python, input: {code: "result = 'b'"}}]}
                - else: [{name: y, kind: python, input: {code: "result = 'else'"}}]
            - {name: after, kind: python, input: {v: "{{ [pick.data, _prev, output.data] }}", code: "result = v"}}
        """,
        output=["b", "b", "b"],
    ),
    "choose takes else": Case(
        """
        - step: start
          tool:
            - name: pick
              choose:
                - {when: "{{ false }}", then: [{name: x, kind: noop}]}
                - else: [{name: y, kind: python, input: {code: "result = 'else'"}}]
        """,
        output="else",
    ),
    "choose without a match goes on": Case(
        """
        - step: start
          tool:
            - {name: p, kind: python, input: {code: "result = 1"}}
            - {name: pick, choose: [{when: "{{ false }}", then: [{name: x, kind: noop}]}]}
            - {name: z, kind: noop}
        """,
        output=1,
    ),
    "break inside ends the pipeline": Case(
        """
        - step: start
          tool:
            - {name: i, kind: noop, set: {step.i: 0}}
            - {name: w, while: {when: "{{ true }}", do: [{name: c, kind: python, input: {code: "result = 7"}, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}]}}
            - {name: z, kind: python, input: {code: "result = 8"}}
        """,
        output=7,
    ),
    "sugar nests": Case(
        """
        - step: start
          tool:
            - {name: i, kind: noop, set: {step.i: 0, step.odd: 0}}
            - name: w
              while:
                when: "{{ step.i < 5 }}"
                do:
                  - {name: c, kind: noop, set: {step.i: "{{ step.i + 1 }}"}}
                  - {name: p, choose: [{when: "{{ step.i % 2 == 1 }}", then: [{name: o, kind: noop, set: {step.odd: "{{ step.odd + 1 }}"}}]}]}
            - {name: z, kind: python, input: {v: "{{ [step.i, step.odd] }}", code: "result = v"}}
        """,
        output=[5, 3],
    ),
    "an error inside a while fails the step": Case(
        '- step: start\n  tool:\n    - {name: w, while: {when: "{{ true }}", do: [{name: c, kind: python, input: {code: "1/0"}}]}}\n',
        error={"task": "w.c"},
    ),
    "a retry inside sugar": Case(
        """
        - step: start
          tool:
            - {name: i, kind: noop, set: {step.i: 0}}
            - {name: w, while: {when: "{{ step.i < 2 }}", do: [{name: c, kind: python, input: {a: "{{ _attempt }}", code: "result = 1 // (a - 1)"}, set: {step.i: "{{ step.i + 1 }}"}, spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}}]}}}]}}
        """,
        output=1,
    ),
    "sugar in a parallel loop": Case(
        """
        - step: start
          loop: {in: [2, 4], iterator: n, spec: {mode: parallel}}
          tool:
            - {name: i, kind: noop, set: {iter.i: 0}}
            - {name: w, while: {when: "{{ iter.i < iter.n }}", do: [{name: c, kind: noop, set: {iter.i: "{{ iter.i + 1 }}"}}]}}
            - {name: z, kind: python, input: {v: "{{ iter.i }}", code: "result = v"}}
        """,
        output=[2, 4],
    ),
    "sugar in a workbook block": Case(
        "- {step: start, tool: {name: c, kind: workbook, block: b}}",
        {
            "workbook": 'workbook: {b: {tool: [{name: i, kind: noop, set: {step.i: 0}}, {name: w, while: {when: "{{ step.i < 3 }}", do: [{name: q, kind: python, input: {v: "{{ step.i }}", code: "result = v"}, set: {step.i: "{{ step.i + 1 }}"}}]}}]}}'
        },
        output=2,
    ),
}


def pages(by, **more):
    extra = "".join(f"          {key}: {value}\n" for key, value in more.items())
    return f'- step: start\n  tool:\n    - name: pages\n      paginate:\n          by: {by}\n{extra}    - {{name: z, kind: python, input: {{v: "{{{{ pages.data }}}}", code: "result = v"}}}}\n'


ITEMS = '"{{ output.data.data }}"'
URL = '{kind: http, input: {url: "$web/%s"}}'
PAGES = {
    "by page with more": Case(
        pages(
            "page",
            request=URL % "pages/5",
            params="{page: page, size: pageSize}",
            size=2,
            items=ITEMS,
            more='"{{ output.data.paging.hasMore }}"',
            collect="true",
        ),
        output=[0, 1, 2, 3, 4],
    ),
    "by page, a short page ends it": Case(
        pages(
            "page",
            request=URL % "pages/5",
            params="{page: page, size: pageSize}",
            size=2,
            items=ITEMS,
            collect="true",
        ),
        output=[0, 1, 2, 3, 4],
    ),
    "by page from another start": Case(
        pages(
            "page",
            request=URL % "pages/5",
            params="{page: page, size: pageSize}",
            start=2,
            size=2,
            items=ITEMS,
            collect="true",
        ),
        output=[2, 3, 4],
    ),
    "by offset": Case(
        pages(
            "offset",
            request=URL % "pages/5",
            params="{offset: offset, size: limit}",
            size=2,
            items=ITEMS,
            collect="true",
            start=0,
        ),
        output=[0, 1, 2, 3, 4],
    ),
    "by cursor": Case(
        pages(
            "cursor",
            request=URL % "cursor/5",
            params="{cursor: cursor}",
            items=ITEMS,
            next='"{{ output.data.paging.next }}"',
            collect="true",
        ),
        output=[0, 1, 2, 3, 4],
    ),
    "by link": Case(
        pages("link", request=URL % "link/5", items=ITEMS, collect="true"), output=[0, 1, 2, 3, 4]
    ),
    "max_pages is kind limit": Case(
        pages(
            "page",
            request=URL % "pages/50",
            params="{page: page, size: pageSize}",
            size=2,
            items=ITEMS,
            max_pages=3,
            collect="true",
        ),
        error={"kind": "limit"},
    ),
    "each runs once per page and sees iter.items, iter.page and output": Case(
        pages(
            "page",
            request=URL % "pages/5",
            params="{page: page, size: pageSize}",
            size=2,
            items=ITEMS,
            each='[{name: e, kind: noop, set: {ctx.seen: "{{ (ctx.seen | default([])) + [[iter.page, iter.items, output.data.data | length]] }}"}}]',
            collect="true",
        ),
        output=[0, 1, 2, 3, 4],
        ctx={"seen": [[1, [0, 1], 2], [2, [2, 3], 2], [3, [4], 1]]},
    ),
    "a request's own rules hold for each page": Case(
        pages(
            "page",
            request='{kind: http, input: {url: "$web/flaky/1/pages"}, spec: {policy: {rules: [{when: "{{ output.status == \'error\' }}", then: {do: retry, attempts: 3, delay: 0}}]}}}',
            params="{page: page}",
            items='"{{ [output.data.n] }}"',
            more='"{{ output.data.n < 4 }}"',
            collect="true",
        ),
        output=[2, 3, 4],
    ),
    "two paginations in one pipeline": Case(
        """
        - step: start
          tool:
            - {name: a, paginate: {by: page, request: {kind: http, input: {url: "$web/pages/3"}}, params: {page: page, size: pageSize}, size: 2, items: "{{ output.data.data }}", collect: true}}
            - {name: b, paginate: {by: cursor, request: {kind: http, input: {url: "$web/cursor/3"}}, params: {cursor: cursor}, next: "{{ output.data.paging.next }}", items: "{{ output.data.data }}", collect: true}}
            - {name: z, kind: python, input: {v: "{{ [a.data, b.data] }}", code: "result = v"}}
        """,
        output=[[0, 1, 2], [0, 1, 2]],
    ),
    "pagination in a parallel loop": Case(
        """
        - step: start
          loop: {in: [3, 5], iterator: t, spec: {mode: parallel}}
          tool: [{name: a, paginate: {by: page, request: {kind: http, input: {url: "$web/pages/{{ iter.t }}"}}, params: {page: page, size: pageSize}, size: 2, items: "{{ output.data.data }}", collect: true}}]
        """,
        output=[[0, 1, 2], [0, 1, 2, 3, 4]],
    ),
}
ALL = WORKBOOK | SUGAR | PAGES


@pytest.mark.parametrize("rule", ALL)
async def test_calls_and_sugar(tmp_path, web, rule):
    await ALL[rule].check(tmp_path, web=web.url)
