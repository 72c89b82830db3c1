"""Migration of what arcs hand on: args become set on the arc and input of the step."""

import pytest

from tests.unit.dsl.documents import doc
from tests.unit.dsl.migrating import looks, rewritten, step

PAYLOADS = {
    "a name every token brings is an input": step(
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, args: {n: 1}}]}
        - step: b
          desc: reads it
          tool: {kind: python, input: {m: "{{ args.n }}", k: "{{ n }}", code: "result = m"}}
        """,
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, set: {ctx.b.n: 1}}]}
        - step: b
          desc: reads it
          input: {n: "{{ ctx.b.n }}"}
          tool: {kind: python, input: {m: "{{ input.n }}", k: "{{ n }}", code: "result = m"}}
        """,
    ),
    "a name that may be missing is read where it is kept": step(
        """\
        - step: start
          tool: {kind: noop, set: {ctx.p: "{{ args.page | default(1) }}"}}
          next: {arcs: [{step: start, args: {page: 2}}]}
        """,
        """\
        - step: start
          tool: {kind: noop, set: {ctx.p: "{{ ctx.start.page | default(1) }}"}}
          next: {arcs: [{step: start, set: {ctx.start.page: 2}}]}
        """,
    ),
    "a name travels through steps that do not mention it": step(
        """\
        - step: start
          next: {arcs: [{step: b, args: {n: 1}}]}
        - step: b
          next: {arcs: [{step: c}]}
        - step: c
          tool: {kind: noop, set: {ctx.m: "{{ args.n }}"}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.b.n: 1}}]}
        - step: b
          input: {n: "{{ ctx.b.n }}"}
          next: {arcs: [{step: c, set: {ctx.c.n: "{{ input.n }}"}}]}
        - step: c
          input: {n: "{{ ctx.c.n }}"}
          tool: {kind: noop, set: {ctx.m: "{{ input.n }}"}}
        """,
    ),
    "the step's own input hands it on": step(
        """\
        - step: start
          next: {arcs: [{step: b, args: {n: 1}}]}
        - step: b
          input: {n: "{{ args.n }}", m: "{{ n }}"}
          tool: {kind: noop, set: {ctx.m: "{{ args.n }}"}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.b.n: 1}}]}
        - step: b
          input: {n: "{{ ctx.b.n }}", m: "{{ ctx.b.n }}"}
          tool: {kind: noop, set: {ctx.m: "{{ input.n }}"}}
        """,
    ),
    "a task's own input does not hide it": step(
        """\
        - step: start
          next: {arcs: [{step: b, args: {n: 1}}]}
        - step: b
          tool: {kind: noop, input: {n: 5, m: "{{ args.n }}"}, set: {ctx.m: "{{ args.n }}"}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.b.n: 1}}]}
        - step: b
          input: {n: "{{ ctx.b.n }}"}
          tool: {kind: noop, input: {n: 5, m: "{{ input.n }}"}, set: {ctx.m: "{{ ctx.b.n }}"}}
        """,
    ),
    "a reference is kept under a name that says so": step(
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, args: {rows: "{{ outcome.result_ref }}"}}]}
        - step: b
          tool: {kind: resolve, input: {ref: "{{ args.rows }}"}}
        """,
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, set: {ctx.b.rows_ref: "{{ output.ref }}"}}]}
        - step: b
          input: {rows: "{{ ctx.b.rows_ref }}"}
          tool: {kind: resolve, input: {ref: "{{ input.rows }}"}}
        """,
    ),
    "args that are one template": step(
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, args: "{{ outcome.result }}"}]}
        - step: b
          tool: {kind: noop, set: {ctx.m: "{{ args.n }}"}}
        """,
        """\
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: b, set: {ctx.b: "{{ output.data }}"}}]}
        - step: b
          tool: {kind: noop, set: {ctx.m: "{{ ctx.b.n }}"}}
        """,
    ),
    "an input of the same name for something else": step(
        """\
        - step: start
          next: {arcs: [{step: b, args: {n: 1}}]}
        - step: b
          input: {n: 5}
          tool: {kind: noop, set: {ctx.m: "{{ args.n + input.n }}"}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.b.n: 1}}]}
        - step: b
          input: {n: 5}
          tool: {kind: noop, set: {ctx.m: "{{ ctx.b.n + input.n }}"}}
        """,
    ),
    "all of args": step(
        """\
        - step: start
          next: {arcs: [{step: b, args: {n: 1, "a-b": 2}}]}
        - step: b
          tool: {kind: noop, set: {ctx.m: "{{ args }}"}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.b.n: 1, "ctx.b.a-b": 2}}]}
        - step: b
          input: {a-b: "{{ ctx.b['a-b'] }}", n: "{{ ctx.b.n }}"}
          tool: {kind: noop, set: {ctx.m: "{{ input }}"}}
        """,
    ),
    "what may be missing is handed on as nothing": step(
        """\
        - step: start
          next: {arcs: [{step: b}, {step: start, args: {n: 1}}]}
        - step: b
          tool: {kind: noop, set: {ctx.m: "{{ args.n }}"}}
        """,
        """\
        - step: start
          next:
            arcs:
              - {step: b, set: {ctx.b.n: "{{ ctx.start.n | default(none) }}"}}
              - {step: start, set: {ctx.start.n: 1}}
        - step: b
          tool: {kind: noop, set: {ctx.m: "{{ ctx.b.n }}"}}
        """,
    ),
    "empty args": step(
        "- step: start\n  next: {arcs: [{step: start, args: {}}]}",
        "- step: start\n  next: {arcs: [{step: start}]}",
    ),
    "args beside set": step(
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.x: 1}, args: {n: 2}}]}
        - {step: b, tool: {kind: noop}}
        """,
        """\
        - step: start
          next: {arcs: [{step: b, set: {ctx.x: 1, ctx.b.n: 2}}]}
        - {step: b, input: {n: "{{ ctx.b.n }}"}, tool: {kind: noop}}
        """,
    ),
}


@pytest.mark.parametrize("before, after", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_args_of_an_arc_become_set_and_input(before: str, after: str) -> None:
    result = rewritten(before)
    assert result.text == after
    assert result.notes


def test_a_bare_name_that_may_be_missing_falls_back_to_the_workload() -> None:
    text = doc(
        """\
        - step: start
          tool: {kind: noop, set: {ctx.p: "{{ page + 1 }}"}}
          next: {arcs: [{step: start, args: {page: 2}}]}
        """
    ).replace("workflow:", "workload: {page: 1}\nworkflow:")
    assert 'ctx.p: "{{ (ctx.start.page | default(page)) + 1 }}"' in rewritten(text).text


@pytest.mark.parametrize(
    "spec, asked", [("", False), ("spec: {join: each}, ", True), ("spec: {join: first}, ", True)]
)
def test_a_target_with_several_tokens_in_flight_is_pointed_out(spec: str, asked: bool) -> None:
    text = doc(
        f"""\
        - step: start
          next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}
        - {{step: b, next: {{arcs: [{{step: d, args: {{n: 1}}}}]}}}}
        - {{step: c, next: {{arcs: [{{step: d, args: {{n: 2}}}}]}}}}
        - {{step: d, {spec}tool: {{kind: noop, set: {{ctx.m: "{{{{ args.n }}}}"}}}}}}
        """
    )
    assert any("several tokens" in message for message in looks(rewritten(text))) is asked


def test_tokens_of_a_split_inside_a_cycle_are_pointed_out() -> None:
    text = doc(
        """\
        - step: start
          next: {spec: {mode: inclusive}, arcs: [{step: start}, {step: b, args: {n: 1}}]}
        - {step: b, tool: {kind: noop}}
        """
    )
    assert any("several tokens" in message for message in looks(rewritten(text)))


def test_a_reference_that_may_be_missing_is_pointed_out() -> None:
    text = doc(
        """\
        - step: start
          tool: {kind: noop, input: {x: "{{ args.rows | default(none) }}"}}
          next: {arcs: [{step: start, args: {rows: "{{ outcome.result_ref }}"}}]}
        """
    )
    assert any("kept as 'ctx.start.rows_ref'" in message for message in looks(rewritten(text)))


def test_an_arc_whose_set_is_no_mapping_is_left_with_a_note() -> None:
    text = doc("- step: start\n  next: {arcs: [{step: start, set: 1, args: {n: 1}}]}")
    result = rewritten(text)
    assert result.text == text
    assert looks(result)
