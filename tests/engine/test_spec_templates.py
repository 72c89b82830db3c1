"""Templates: native values, truth, missing values, filters and bounds, as a run meets them."""

import pytest

from tests.engine.cases import Case

SET = "- {step: start, tool: {kind: noop}, set: {ctx.v: %s}}"
WHEN = """
- {step: start, tool: {kind: noop}, next: {arcs: [{step: yes, when: %s}, {step: no}]}}
- {step: yes, tool: {kind: noop}}
- {step: no, tool: {kind: noop}}
"""
WORKLOAD = {
    "workload": """
    workload:
      d: {items: 1, keys: 2, get: 3, values: [4]}
      l: [3, 1, 2]
      s: "007"
      t: "2024-02-29T12:30:00Z"
      rows: [{n: a, v: 1}, {n: b, v: 2}]
      q: "O'Brien"
      none: null
    """
}
VALUES = {
    "'{{ 1 }}'": 1,
    "'{{ 1.0 }}'": 1.0,
    "'{{ true }}'": True,
    "'{{ none }}'": None,
    "'{{ [1, {\"a\": none}] }}'": [1, {"a": None}],
    "' {{ 1 }}'": " 1",
    "'{{ 1 }}{{ 2 }}'": "12",
    "'{{ workload.s }}'": "007",
    "'{{ workload.s | int }}'": 7,
    "'{{ workload.d.items }}'": 1,
    "'{{ workload.d.keys }}'": 2,
    "'{{ workload.d.get }}'": 3,
    "'{{ workload.d.values }}'": [4],
    "'{{ workload.d[\"items\"] }}'": 1,
    "'{{ a.b.c | default(0) }}'": 0,
    "'{{ workload.none.deeper | default(\"x\") }}'": "x",
    "'{% if workload.s %}yes{% else %}no{% endif %}'": "yes",
    "'{{ workload.rows | tojson }}'": '[{"n": "a", "v": 1}, {"n": "b", "v": 2}]',
    "'{{ \"[1, 2]\" | fromjson }}'": [1, 2],
    "'{{ \"hé\" | b64encode }}'": "aMOp",
    "'{{ \"aMOp\" | b64decode }}'": "hé",
    "'{{ \"a\" | sha256 }}'": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    "'{{ \"a b&c\" | urlencode }}'": "a%20b%26c",
    '\'{{ {"a": 1, "b": "x y"} | urlencode }}\'': "a=1&b=x+y",
    "'{{ (workload.t | to_datetime).year }}'": 2024,
    '\'{{ "ab12" | regex_search("[0-9]+") }}\'': "12",
    '\'{{ "ab12" | regex_replace("[0-9]+", "-") }}\'': "ab-",
    "'{{ workload.q | sql_literal }}'": "'O''Brien'",
    "'{{ 5 | sql_literal }}'": "5",
    "'{{ none | sql_literal }}'": "NULL",
    "'{{ workload.rows | jmespath(\"[].v\") }}'": [1, 2],
    "'{{ workload.rows | map(attribute=\"v\") | list }}'": [1, 2],
    "'{{ workload.rows | map(attribute=\"v\") | sum }}'": 3,
    '\'{{ workload.rows | selectattr("v", "gt", 1) | list }}\'': [{"n": "b", "v": 2}],
    "'{{ workload.l | sort }}'": [1, 2, 3],
    "'{{ workload.l | sort | first }}'": 1,
    "'{{ workload.l | max }}'": 3,
    "'{{ workload.l[1:] }}'": [1, 2],
    "'{{ workload.l | join(\",\") }}'": "3,1,2",
    "'{{ range(3) }}'": [0, 1, 2],
    "'{{ (1, 2) }}'": [1, 2],
    "'{{ workload.d | length }}'": 4,
    "'{{ \"x\" ~ 1 }}'": "x1",
    "'{{ workload.rows[0].n }}'": "a",
    "'{{ workload.rows[-1].n }}'": "b",
    "'{{ 7 // 2 }}'": 3,
    "'{{ {} }}'": {},
    "{a: '{{ 1 }}', b: ['{{ 2 }}', c]}": {"a": 1, "b": [2, "c"]},
}
TRUTH = {
    "true": True,
    "'{{ true }}'": True,
    "'{{ 0 }}'": False,
    "'{{ 2 }}'": True,
    "'{{ [] }}'": False,
    "'{{ [0] }}'": True,
    "'{{ {} }}'": False,
    "'{{ \"TRUE\" }}'": True,
    "'{{ \"False\" }}'": False,
    "'{{ \"\" }}'": False,
    "'{{ none }}'": False,
    "'{{ ctx.nothing }}'": False,
    "'{{ ctx.a.b.c }}'": False,
    "'{{ not ctx.nothing }}'": True,
    "'{{ workload.s == \"007\" and 1 }}'": True,
    "'{% if 1 %}true{% endif %}'": True,
}
ERRORS = {
    "a missing value in set names the path and what was there": Case(
        SET % "'{{ workload.d.itemz }}'", WORKLOAD, error={"kind": "template"}, says="workload.d.itemz"
    ),
    "a missing value inside a larger value": Case(
        SET % "{a: '{{ ctx.nope }}'}", error={"kind": "template"}, says="ctx.nope"
    ),
    "a missing value inside text": Case(
        SET % "'x {{ ctx.nope }}'", error={"kind": "template"}, says="ctx.nope"
    ),
    "a division by zero is an error of the boundary": Case(
        SET % "'{{ 1 // 0 }}'", error={"kind": "template", "step": "start"}
    ),
    "a huge repetition is an error of the boundary": Case(
        SET % "'{{ \"x\" * 1000000000 }}'", error={"kind": "template"}
    ),
    "a huge power is an error of the boundary": Case(
        SET % "'{{ 9 ** 9999999 }}'", error={"kind": "template"}
    ),
    "a huge range is an error of the boundary": Case(
        SET % "'{{ range(1000000000) | list }}'", error={"kind": "template"}
    ),
    "a huge loop is an error of the boundary": Case(
        SET % "'{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}'",
        error={"kind": "template"},
    ),
    "a list repeated too often is an error of the boundary": Case(
        SET % "'{{ [0] * 1000000000 }}'", error={"kind": "template"}
    ),
    "a bound exceeded in a task's input is the task's error": Case(
        '- {step: start, tool: {name: t, kind: python, input: {v: "{{ \'x\' * 1000000000 }}", code: "result = 1"}}}',
        error={"kind": "template", "task": "t"},
    ),
    "private attributes are out of reach": Case(
        SET % "'{{ (\"\").__class__.__mro__ }}'", error={"kind": "template"}
    ),
    "a wrong filter argument is an error of the boundary": Case(
        SET % "'{{ \"[\" | fromjson }}'", error={"kind": "template"}
    ),
    "a bad pattern is an error of the boundary": Case(
        SET % '\'{{ "a" | regex_search("(") }}\'', error={"kind": "template"}
    ),
    "other text in when is kind template": Case(WHEN % "'{{ \"perhaps\" }}'", error={"kind": "template"}),
}


@pytest.mark.parametrize("template", VALUES)
async def test_a_value_keeps_its_type(tmp_path, template):
    await Case(SET % template, WORKLOAD, ctx={"v": VALUES[template]}).check(tmp_path)


@pytest.mark.parametrize("when", TRUTH)
async def test_truth(tmp_path, when):
    taken = TRUTH[when]
    await Case(WHEN % when, WORKLOAD, runs={"yes": int(taken), "no": int(not taken)}).check(tmp_path)


@pytest.mark.parametrize("rule", ERRORS)
async def test_errors(tmp_path, rule):
    await ERRORS[rule].check(tmp_path)
