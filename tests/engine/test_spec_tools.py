"""Tool kinds as playbooks meet them: inputs, data, errors and types."""

import base64

import pytest

from tests.engine.cases import Case


def code(text, **more):
    """A step with python code as a block, and other inputs as they are written."""
    lines = "\n".join(f"        {line}" for line in text.strip().splitlines())
    extra = "".join(f"      {key}: {value}\n" for key, value in more.items())
    return (
        f"- step: start\n  tool:\n    name: t\n    kind: python\n    input:\n{extra}      code: |\n{lines}\n"
    )


PYTHON = {
    "result is the data": Case(code("result = {'a': 1}"), output={"a": 1}),
    "without result the data is null": Case(code("x = 1"), output=None),
    "inputs are variables": Case(code("result = a + b", a=1, b='"{{ 1 + 1 }}"'), output=3),
    "main takes what it names": Case(code("def main(a, b=5):\n    return [a, b]", a=1, c=9), output=[1, 5]),
    "main may take any keyword": Case(
        code("def main(**given):\n    return sorted(given)", a=1, c=9), output=["a", "c"]
    ),
    "main without arguments": Case(code("def main():\n    return 4"), output=4),
    "main sees other inputs as variables": Case(
        code("def main(a):\n    return [a, c]", a=1, c=9), output=[1, 9]
    ),
    "an async main is awaited": Case(code("async def main(a):\n    return a", a=1), output=1),
    "main missing an argument is an error": Case(
        code("def main(a, z):\n    return a", a=1), error={"task": "t"}, says="z"
    ),
    "datetime, Decimal, UUID, bytes, tuple and set convert": Case(
        code(
            "import datetime, decimal, uuid\nresult = [datetime.datetime(2024, 1, 2, 3, 4, 5), datetime.date(2024, 1, 2), decimal.Decimal('1.5'), uuid.UUID(int=1), b'ab', (1, 2), {3}]"
        ),
        output=[
            "2024-01-02T03:04:05",
            "2024-01-02",
            1.5,
            "00000000-0000-0000-0000-000000000001",
            base64.b64encode(b"ab").decode(),
            [1, 2],
            [3],
        ],
    ),
    "a Decimal that a float would change is text": Case(
        code("import decimal\nresult = decimal.Decimal('0.1234567890123456789')"),
        output="0.1234567890123456789",
    ),
    "NaN is error kind value": Case(code("result = float('nan')"), error={"kind": "value", "task": "t"}),
    "an infinity is error kind value": Case(code("result = [float('inf')]"), error={"kind": "value"}),
    "any other object is error kind value": Case(code("result = object()"), error={"kind": "value"}),
    "a lone surrogate is error kind value": Case(code("result = chr(0xd800)"), error={"kind": "value"}),
    "an exception carries its type and traceback": Case(
        code("def f():\n    raise ValueError('bad')\nf()")
        + '    spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.p: "{{ output.py }}", ctx.m: "{{ output.error.message }}"}}}}]}}\n',
        events=lambda r: (
            r.ctx["p"]["exception_type"] == "ValueError"
            and "line 2" in r.ctx["p"]["traceback"]
            and "bad" in r.ctx["m"]
        ),
    ),
    "input timeout ends the code": Case(
        code("import time\ntime.sleep(5)", timeout=0.3), error={"kind": "timeout"}
    ),
    "a syntax error is told with its line": Case(code("x = = 1"), error={"task": "t"}, says="line 1"),
    "sys.exit does not end the engine": Case(code("import sys\nsys.exit(3)"), error={"task": "t"}),
    "printed text does not disturb the result": Case(code("print('hello')\nresult = 1"), output=1),
    "braces in code are left alone": Case(code("result = '{{ 1 }}' + f'{2}'"), output="{{ 1 }}2"),
    "a variable called result may be read from input": Case(code("result = result + 1", result=1), output=2),
    "large integers keep their digits": Case(
        code("result = 12345678901234567890"), output=12345678901234567890
    ),
    "keys of other types become text": Case(code("result = {1: 'a'}"), output={"1": "a"}),
}
HTTP = {
    "parsed JSON is the data; helpers are beside it": Case(
        '- {step: start, tool: {kind: http, input: {url: "$web/echo"}}, set: {ctx.h: "{{ output.http }}"}}',
        events=lambda r: (
            r.output["method"] == "GET"
            and r.ctx["h"]["status"] == 200
            and r.ctx["h"]["headers"]["x-mixed-case"] == "yes"
            and r.ctx["h"]["request_id"] == "r1"
        ),
    ),
    "params, headers and json": Case(
        '- {step: start, tool: {kind: http, input: {method: POST, url: "$web/echo", params: {a: 1, b: [x, y]}, headers: {X-One: "1"}, json: {k: [1]}}}}',
        events=lambda r: (
            r.output["query"]["a"] == "1"
            and r.output["headers"]["x-one"] == "1"
            and r.output["body"].replace(" ", "") == '{"k":[1]}'
        ),
    ),
    "form": Case(
        '- {step: start, tool: {kind: http, input: {method: POST, url: "$web/echo", form: {a: 1, b: "x y"}}}}',
        events=lambda r: (
            r.output["body"] == "a=1&b=x+y" and "x-www-form-urlencoded" in r.output["headers"]["content-type"]
        ),
    ),
    "body": Case(
        '- {step: start, tool: {kind: http, input: {method: PUT, url: "$web/echo", body: "raw text"}}}',
        events=lambda r: r.output["body"] == "raw text",
    ),
    "files": Case(
        '- {step: start, tool: {kind: http, input: {method: POST, url: "$web/echo", files: {f: {content: "hello", filename: a.txt}}}}}',
        events=lambda r: (
            "hello" in r.output["body"] and "multipart/form-data" in r.output["headers"]["content-type"]
        ),
    ),
    "methods": Case(
        '- {step: start, loop: {in: [DELETE, PATCH, PUT, post], iterator: m}, tool: {kind: http, input: {method: "{{ iter.m }}", url: "$web/echo"}, output: "{{ output.data.method }}"}}',
        output=["DELETE", "PATCH", "PUT", "POST"],
    ),
    "HEAD has no body": Case(
        '- {step: start, tool: {kind: http, input: {method: HEAD, url: "$web/echo"}}}', output=None
    ),
    "204 is null": Case('- {step: start, tool: {kind: http, input: {url: "$web/empty"}}}', output=None),
    "text is text": Case(
        '- {step: start, tool: {kind: http, input: {url: "$web/text"}}}', output="plain words"
    ),
    "bytes are base64": Case(
        '- {step: start, tool: {kind: http, input: {url: "$web/bytes"}}}',
        output=base64.b64encode(bytes(range(8))).decode(),
    ),
    "response text keeps JSON as text": Case(
        '- {step: start, tool: {kind: http, input: {url: "$web/status/200", response: text}}}',
        output='{"code": 200}',
    ),
    "a non-2xx answer is an error with the body in data": Case(
        """
        - step: start
          tool: {kind: http, input: {url: "$web/status/404"}, spec: {policy: {rules: [{when: "{{ output.status == 'error' and output.http.status == 404 }}", then: {do: continue, set: {ctx.d: "{{ output.data }}", ctx.e: "{{ output.error }}"}}}]}}}
        """,
        ctx={"d": {"code": 404}},
        events=lambda r: r.ctx["e"]["retryable"] is False and str(r.ctx["e"]["code"]) == "404",
    ),
    "408, 425, 429 and 5xx are retryable": Case(
        """
        - step: start
          loop: {in: [408, 425, 429, 500, 503, 400, 401, 404], iterator: c, spec: {policy: {reduce: {ctx.r: append}}}}
          tool: {kind: http, input: {url: "$web/status/{{ iter.c }}"}, spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.r: "{{ output.error.retryable }}"}}}}]}}}
        """,
        ctx={"r": [True, True, True, True, True, False, False, False]},
    ),
    "a redirect is followed": Case(
        '- {step: start, tool: {kind: http, input: {url: "$web/moved"}, output: "{{ output.http.url }}"}}',
        events=lambda r: r.output.endswith("/echo"),
    ),
    "unless it is not to be": Case(
        '- {step: start, tool: {kind: http, input: {url: "$web/moved", follow_redirects: false}, spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.s: "{{ output.http.status }}"}}}}]}}}}',
        ctx={"s": 302},
    ),
    "a refused connection is retryable": Case(
        '- {step: start, tool: {kind: http, input: {url: "http://127.0.0.1:9/"}, spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.r: "{{ output.error.retryable }}"}}}}]}}}}',
        ctx={"r": True},
    ),
    "a read timeout is a retryable timeout": Case(
        '- {step: start, tool: {kind: http, input: {url: "$web/slow/3"}, spec: {timeout: {connect: 1, read: 0.2}, policy: {rules: [{else: {then: {do: continue, set: {ctx.e: "{{ [output.error.kind, output.error.retryable] }}"}}}}]}}}}',
        ctx={"e": ["timeout", True]},
    ),
    "http.timeout of the executor": Case(
        '- {step: start, tool: {kind: http, input: {url: "$web/slow/3"}}}',
        {"executor": "executor: {spec: {http: {timeout: {read: 0.2}}}}"},
        error={"kind": "timeout"},
    ),
    "Retry-After gives the delay": Case(
        """
        - step: start
          tool: {name: t, kind: http, input: {url: "$web/after/0"}, spec: {policy: {rules: [{when: "{{ output.http.status == 429 }}", then: {do: retry, attempts: 3, delay: "{{ output.http.headers['retry-after'] | default(2) }}"}}]}}}
        """,
        events=lambda r: [e["data"].get("delay") for e in r.named("task.done")] == [0, None],
    ),
    "a broken JSON body is an error": Case(
        '- {step: start, tool: {name: t, kind: http, input: {url: "$web/broken"}}}', error={"task": "t"}
    ),
    "a bad url is an error": Case(
        '- {step: start, tool: {name: t, kind: http, input: {url: "{{ workload.u }}"}}}',
        {"workload": "workload: {u: not a url}"},
        error={"task": "t"},
    ),
    "the idempotency key is sent when asked": Case(
        '- {step: start, tool: {kind: http, input: {method: POST, url: "$web/echo"}, spec: {idempotency: true}}, set: {ctx.k: "{{ output.meta.idempotency_key }}"}}',
        events=lambda r: r.output["headers"].get("idempotency-key") == r.ctx["k"],
    ),
}
SHELL = {
    "a string runs in a shell": Case(
        '- {step: start, tool: {kind: shell, input: {command: "echo hi | tr a-z A-Z"}}}',
        output={"exit_code": 0, "stdout": "HI\n", "stderr": ""},
    ),
    "a list is an argv": Case(
        "- {step: start, tool: {kind: shell, input: {command: [echo, 'a b', '$HOME']}}, output: \"{{ output.data.stdout }}\"}",
        output="a b $HOME\n",
    ),
    "env, stdin and cwd": Case(
        '- {step: start, tool: {kind: shell, input: {command: "cat; echo $A; pwd", env: {A: 5}, stdin: "in ", cwd: /tmp}}, output: "{{ output.data.stdout }}"}',
        output="in 5\n/tmp\n",
    ),
    "non-zero is an error with the data kept": Case(
        '- {step: start, tool: {kind: shell, input: {command: "echo out; echo err >&2; exit 3"}, spec: {policy: {rules: [{else: {then: {do: continue, set: {ctx.d: "{{ output.data }}"}}}}]}}}}',
        ctx={"d": {"exit_code": 3, "stdout": "out\n", "stderr": "err\n"}},
    ),
    "an unknown program is an error": Case(
        "- {step: start, tool: {name: t, kind: shell, input: {command: [no-such-program-here]}}}",
        error={"task": "t"},
    ),
    "programs of PATH are found and HOME is set": Case(
        '- {step: start, tool: {kind: shell, input: {command: "test -n \\"$HOME\\" && command -v sh >/dev/null && echo ok"}, output: "{{ output.data.stdout }}"}}',
        output="ok\n",
    ),
}
SQL = {
    "rows, row_count and columns": Case(
        '- {step: start, tool: {kind: sqlite, input: {database: "$folder/a.db", query: "select 1 as a, \'x\' as b union all select 2, null"}}}',
        output={"rows": [{"a": 1, "b": "x"}, {"a": 2, "b": None}], "row_count": 2, "columns": ["a", "b"]},
    ),
    "several statements: the last that returned rows, and statements beside": Case(
        '- {step: start, tool: {kind: sqlite, input: {database: "$folder/b.db", command: "create table t (a int); insert into t values (1), (2); select a from t order by a; delete from t where a = 1"}}}',
        events=lambda r: (
            r.output["rows"] == [{"a": 1}, {"a": 2}]
            and len(r.output["statements"]) == 4
            and r.output["statements"][1]["row_count"] == 2
        ),
    ),
    "params are bound": Case(
        '- {step: start, tool: {kind: sqlite, input: {database: "$folder/c.db", query: "select ? as a, ? as b", params: ["{{ 5 }}", "O\'x"]}}, output: "{{ output.data.rows }}"}',
        output=[{"a": 5, "b": "O'x"}],
    ),
    "named params are bound": Case(
        '- {step: start, tool: {kind: sqlite, input: {database: "$folder/c.db", query: "select :n as a", params: {n: 7}}}, output: "{{ output.data.rows[0].a }}"}',
        output=7,
    ),
    "data.command_<n> resolves": Case(
        """
        - {step: start, tool: {kind: sqlite, input: {database: "$folder/d.db", command: "select 1 as a; select 2 as a"}}, set: {ctx.x: "{{ output.data.command_0.rows[0].a }}", ctx.y: "{{ output.data.command_1.rows[0].a }}"}}
        """,
        ctx={"x": 1, "y": 2},
    ),
    "a wrong statement is an error": Case(
        '- {step: start, tool: {name: t, kind: sqlite, input: {database: "$folder/e.db", query: "select from"}}}',
        error={"task": "t"},
    ),
    "store gives a relational reference": Case(
        """
        - {step: start, tool: {kind: sqlite, input: {database: "$folder/f.db", command: "create table t (a int); insert into t values (1), (2)", store: {table: t}}}, set: {ctx.t_ref: "{{ output.ref }}"}, next: {arcs: [{step: e}]}}
        - {step: e, tool: {kind: resolve, input: {ref: "{{ ctx.t_ref }}"}}}
        """,
        events=lambda r: (
            r.ctx["t_ref"]["type"] == "relational"
            and [row["a"] for row in (r.output["rows"] if isinstance(r.output, dict) else r.output)] == [1, 2]
        ),
    ),
}
FILES = {
    "write and read json": Case(
        """
        - {step: start, tool: {kind: file, input: {action: write, path: "$folder/x.json", format: json, content: {a: [1]}}}, set: {ctx.f_ref: "{{ output.ref }}"}, next: {arcs: [{step: e}]}}
        - {step: e, tool: [{name: r, kind: file, input: {action: read, path: "$folder/x.json", format: json}}, {name: s, kind: resolve, input: {ref: "{{ ctx.f_ref }}"}}, {kind: python, input: {v: "{{ [r.data, s.data] }}", code: "result = v"}}]}
        """,
        output=[{"a": [1]}, {"a": [1]}],
    ),
    "csv rows": Case(
        """
        - {step: start, tool: [{kind: file, input: {action: write, path: "$folder/x.csv", format: csv, content: [{a: 1, b: x}, {a: 2, b: y}]}}, {kind: file, input: {action: read, path: "$folder/x.csv", format: csv}}]}
        """,
        events=lambda r: (
            [row["b"] for row in (r.output if isinstance(r.output, list) else r.output["rows"])] == ["x", "y"]
        ),
    ),
    "text": Case(
        '- {step: start, tool: [{kind: file, input: {action: write, path: "$folder/x.txt", content: "hé"}}, {kind: file, input: {action: read, path: "$folder/x.txt", format: text}}]}',
        output="hé",
    ),
    "list and delete": Case(
        """
        - {step: start, tool: [{kind: file, input: {action: write, path: "$folder/l/x.txt", content: a}}, {name: l, kind: file, input: {action: list, path: "$folder/l"}}, {kind: file, input: {action: delete, path: "$folder/l/x.txt"}}, {name: m, kind: file, input: {action: list, path: "$folder/l"}}, {kind: python, input: {v: "{{ [l.data | length, m.data | length] }}", code: "result = v"}}]}
        """,
        output=[1, 0],
    ),
    "a missing file is an error": Case(
        '- {step: start, tool: {name: t, kind: file, input: {action: read, path: "$folder/none.json"}}}',
        error={"task": "t"},
    ),
}
OTHER = {
    "parameters are put into a circuit": Case(
        """
        - step: start
          loop: {in: ["0", "pi"], iterator: angle}
          tool:
            - {name: job, kind: quantum, input: {action: submit, shots: 8, circuit: "OPENQASM 3; qubit q; rx({{ iter.angle }}) q;"}}
            - {name: counts, kind: quantum, input: {action: result, job: "{{ job.data.job }}"}, output: "{{ output.data.counts }}"}
        """,
        output=[{"0": 8}, {"1": 8}],
    ),
    "a moment without a zone is no moment": Case(
        """- {step: start, tool: {kind: wait, input: {until: "{{ '2026-01-01T00:00:00' }}"}}}""",
        error={"kind": "value"},
        says="names no time zone",
    ),
    "resolve selects and limits": Case(
        """
        - {step: make, tool: {kind: python, input: {code: "result = {'rows': [{'i': i, 's': 'x' * 100} for i in range(2000)]}"}}, next: {arcs: [{step: e}]}}
        - {step: e, tool: [{name: a, kind: resolve, input: {ref: "{{ make.ref }}", select: "rows[1:3].i"}}, {name: b, kind: resolve, input: {ref: "{{ make.ref }}", select: "rows[].i", limit: 2}}, {kind: python, input: {v: "{{ [a.data, b.data] }}", code: "result = v"}}]}
        """,
        output=[[1, 2], [0, 1]],
    ),
    "resolve of rows takes a slice": Case(
        """
        - {step: make, tool: {kind: python, input: {code: "result = [{'i': i, 's': 'x' * 100} for i in range(2000)]"}}, next: {arcs: [{step: e}]}}
        - {step: e, tool: {kind: resolve, input: {ref: "{{ make.ref }}", limit: 2}, output: "{{ output.data | map(attribute='i') | list }}"}}
        """,
        output=[0, 1],
    ),
    "resolve of a missing reference is kind reference": Case(
        "- {step: start, tool: {name: t, kind: resolve, input: {ref: {type: blob, locator: {store: results, key: gone/x}, auth_reference: null, meta: {}}}}}",
        error={"kind": "reference", "task": "t"},
    ),
    "wait seconds": Case(
        "- {step: start, tool: {kind: wait, input: {seconds: 0.1}}}",
        output=None,
        events=lambda r: r.result["duration_ms"] >= 100,
    ),
    "wait until a moment that is past": Case(
        "- {step: start, tool: {kind: wait, input: {until: '2020-01-01T00:00:00Z'}}}", output=None
    ),
    "wait until nonsense is an error the rules see": Case(
        '- {step: start, tool: {name: t, kind: wait, input: {until: "{{ workload.u }}"}, spec: {policy: {rules: [{when: "{{ output.error.kind == \'value\' }}", then: {do: continue}}]}}}}',
        {"workload": "workload: {u: soon}"},
    ),
    "a python script file": Case(
        '- {step: start, tool: {kind: python, input: {script: "$folder/s.py", a: 4}}}', output=[4, "s.py"]
    ),
    "duckdb": Case(
        '- {step: start, tool: {kind: duckdb, input: {query: "select 1 as a, cast(1.5 as decimal(5,2)) as d, date \'2024-01-02\' as t"}}, output: "{{ output.data.rows }}"}',
        output=[{"a": 1, "d": 1.5, "t": "2024-01-02"}],
    ),
}
ALL = PYTHON | HTTP | SHELL | SQL | FILES | OTHER


@pytest.mark.parametrize("rule", ALL)
async def test_tools(tmp_path, web, rule):
    (tmp_path / "s.py").write_text("import os\nresult = [a, os.path.basename(__file__)]\n")
    await ALL[rule].check(tmp_path, web=web.url, folder=str(tmp_path))
