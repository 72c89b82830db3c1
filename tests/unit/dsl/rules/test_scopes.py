"""Scopes: what templates may read where, and when a name counts as defined."""

import pytest

from tests.playbook_text import messages

SCOPES = ("scope-not-here", "undefined-name", "iter-outside-loop", "read-too-early", "shadowed-name")


def in_task(value: str, more: str = "") -> str:
    """A playbook that reads a template in the second task of a step."""
    return f"""
workload: {{url: x}}
workflow:
  - step: start
    input: {{given: 1}}
    tool:
      - {{name: first, kind: noop, set: {{ctx.page: 1, step.n: 1}}}}
      - {{name: second, kind: python, input: {{code: "result = x", own: 2, x: "{{{{ {value} }}}}"}}}}
    {more}
"""


def in_rule(value: str) -> str:
    return f"""
workflow:
  - step: start
    tool:
      kind: python
      input: {{code: "result = 1", own: 2}}
      spec: {{policy: {{rules: [{{when: "{{{{ {value} }}}}", then: {{do: fail}}}}, {{else: {{then: {{do: continue}}}}}}]}}}}
"""


def in_arc(value: str, more: str = "") -> str:
    return f"""
workflow:
  - step: start
    input: {{given: 1}}
    tool: [{{name: fetch, kind: noop, set: {{step.n: 1}}}}]
    {more}
    next: {{arcs: [{{step: b, when: "{{{{ {value} }}}}"}}]}}
  - {{step: b, tool: {{kind: noop}}}}
"""


def in_loop(value: str) -> str:
    """A playbook that reads a template in the second of three nested loops' tasks."""
    return f"""
workload: {{cities: []}}
workflow:
  - step: start
    loop:
      in: "{{{{ workload.cities }}}}"
      iterator: city
      loop: {{in: "{{{{ iter.city.hotels }}}}", iterator: hotel}}
    tool:
      - {{name: init, kind: noop, set: {{iter.page: 1}}}}
      - {{name: use, kind: python, input: {{code: "result = x", x: "{{{{ {value} }}}}"}}}}
"""


@pytest.mark.parametrize(
    "value",
    [
        "workload.url", "workload.from_the_request", "ctx.page", "step.n", "input.given", "execution_id",
        "output.data", "first.data", "_prev", "_task", "_attempt", "range(3)",
        "ctx.missing | default(1)", "missing | default(1)", "ctx.missing is defined",
        "ctx.missing.deep if ctx.missing is defined else 0", "ctx", "step", "workload",
        "ctx.get('missing')", "first.status",
    ],
)  # fmt: skip
def test_what_a_task_may_read_is_no_finding(value):
    assert messages(in_task(value), *SCOPES) == []


@pytest.mark.parametrize(
    "value, said",
    [
        ("event.name", "'event.name' is read in a task's input, where there is no event"),
        ("ctx.pge", "'ctx.pge' is read in a task's input, but no set writes it"),
        ("step.m", "'step.m' is read in a task's input, but no set of this step writes it"),
        ("input.own", "'input.own' is read in a task's input, but it is not in the input"),
        ("args.x", "'args.x' is read in a task's input, but no arc passes it"),
        ("nothing", "'nothing' is read in a task's input, but nothing there defines it"),
        ("second.data", "'second.data' is read in a task's input, but that task cannot have run yet"),
        ("workload.ulr", "'workload.ulr' is read in a task's input, but workload has no such default"),
    ],
)
def test_what_nothing_defines_in_a_task_is_reported(value, said):
    assert messages(in_task(value), *SCOPES) == [said]


@pytest.mark.parametrize("value", ["output.status", "input.own", "start_task.data", "_attempt > 1"])
def test_a_rule_sees_its_own_task_and_its_input(value):
    assert messages(in_rule(value), *SCOPES) == []


@pytest.mark.parametrize("value", ["event.name", "output.data", "step.n", "input.given", "start.data"])
def test_an_arc_sees_the_event_the_output_and_the_finished_step(value):
    assert messages(in_arc(value), *SCOPES) == []


def test_an_arc_reads_a_task_through_its_step():
    assert messages(in_arc("fetch.data"), *SCOPES) == [
        "'fetch' is read in an arc, but nothing there defines it"
    ]
    assert messages(in_arc("start.results.fetch.data"), *SCOPES, "fall-through-field") == []


@pytest.mark.parametrize(
    "value",
    [
        "iter.hotel",
        "iter.index",
        "iter.count",
        "iter.page",
        "iter.parent.city",
        "iter.parent.index",
        "iter.parent",
    ],
)
def test_an_iteration_has_its_item_its_number_and_its_parent(value):
    assert messages(in_loop(value), *SCOPES) == []


@pytest.mark.parametrize(
    "value, said",
    [
        ("iter.city", "'iter.city' is read in a task's input, but the iteration has no 'city'"),
        ("iter.pge", "'iter.pge' is read in a task's input, but the iteration has no 'pge'"),
        ("iter.parent.page", "'iter.parent.page' is read in a task's input, but the iteration has no 'page'"),
        (
            "iter.parent.parent.x",
            "'iter.parent.parent.x' is read in a task's input, but only 2 loops are around it",
        ),
    ],
)
def test_an_iteration_has_nothing_else(value, said):
    assert messages(in_loop(value), *SCOPES) == [said]


def test_an_inner_loop_sees_the_outer_iteration_only():
    text = in_loop("iter.hotel").replace("iter.city.hotels", "iter.hotel.rooms")
    assert messages(text, *SCOPES) == [
        "'iter.hotel.rooms' is read in an inner loop's in, but the iteration has no 'hotel'"
    ]


def test_after_a_loop_there_is_no_iteration():
    text = """
workflow:
  - step: start
    loop: {in: [1], iterator: item}
    tool: {kind: noop}
    set: {ctx.a: "{{ iter.item }}"}
    next: {arcs: [{step: b, when: "{{ iter.index }}"}]}
  - {step: b, tool: {kind: noop}}
"""
    assert messages(text, *SCOPES) == [
        "'iter.item' is read in a step's set, where there is no iter",
        "'iter.index' is read in an arc, where there is no iter",
    ]


def test_iter_without_loop_is_said_once_for_each_step():
    text = """
workflow:
  - step: start
    tool:
      - {name: a, kind: noop, set: {iter.n: 1, iter.m: 2}}
      - {name: b, kind: noop, set: {step.x: "{{ iter.n }}"}}
    next: {arcs: [{step: c, when: "{{ iter.n }}"}]}
  - {step: c, tool: {kind: noop, set: {iter.k: 1}}}
"""
    assert messages(text, *SCOPES) == [
        "iter is used in step 'start', which has no loop: it lasts the whole run",
        "iter is used in step 'c', which has no loop: it lasts the whole run",
    ]


class TestTheFirstTask:
    def test_nothing_has_completed_before_it(self):
        text = in_task("1").replace(
            "set: {ctx.page: 1, step.n: 1}",
            'output: "{{ output.data }}", spec: {timeout: "{{ output.data }}"}',
        )
        assert messages(text, "scope-not-here") == [
            "'output.data' is read in a task's spec of the first task 'first', when nothing has completed"
        ]

    def test_a_jump_back_brings_an_output(self):
        text = """
workflow:
  - step: start
    tool:
      - {name: a, kind: python, input: {code: "result = x", x: "{{ output.data }}"}}
      - name: b
        kind: noop
        spec: {policy: {rules: [{when: "{{ output.data }}", then: {do: jump, to: a}}, {else: {then: {do: continue}}}]}}
"""
        assert messages(text, *SCOPES) == []


def test_what_a_call_names_is_a_template_like_any_other():
    text = """
workflow:
  - {step: start, tool: {kind: playbook, path: "{{ nope.x }}/{{ event.name }}"}}
"""
    assert messages(text, *SCOPES) == [
        "'event.name' is read in what a call names, where there is no event",
        "'nope' is read in what a call names, but nothing there defines it",
    ]


class TestBlocks:
    def block(self, value: str, call: str = "input: {passed: 1}") -> str:
        return f"""
workflow:
  - {{step: start, tool: {{kind: workbook, block: b, {call}}}, next: {{arcs: [{{step: end, args: {{a: 1}}}}]}}}}
  - {{step: end, tool: {{kind: noop}}}}
workbook:
  b:
    input: {{own: 1}}
    tool:
      - {{name: t, kind: noop, set: {{step.n: 1}}}}
      - {{name: u, kind: python, input: {{code: "result = x", x: "{{{{ {value} }}}}"}}}}
"""

    @pytest.mark.parametrize(
        "value", ["input.own", "input.passed", "step.n", "t.data", "iter.parent.anything"]
    )
    def test_a_block_sees_its_own_and_what_the_caller_passes(self, value):
        assert messages(self.block(value), *SCOPES) == []

    @pytest.mark.parametrize(
        "value, said",
        [
            ("start.data", "'start' is read in a task's input of a block, but nothing there defines it"),
            ("args.a", "'args.a' is read in a task's input of a block, where there is no args"),
            ("event.name", "'event.name' is read in a task's input of a block, where there is no event"),
            ("input.other", "'input.other' is read in a task's input of a block, but it is not in the input"),
        ],
    )
    def test_a_block_does_not_see_its_surroundings(self, value, said):
        assert messages(self.block(value), *SCOPES) == [said]

    def test_a_block_without_loop_has_only_what_it_writes_to_its_iteration(self):
        assert messages(self.block("iter.x"), *SCOPES) == [
            "iter is used in block 'b', which has no loop: it lasts the whole run",
            "'iter.x' is read in a task's input of a block, but the iteration has no 'x'",
        ]

    def test_the_input_of_a_block_nobody_calls_is_not_known(self):
        text = self.block("input.other").replace("kind: workbook, block: b, input: {passed: 1}", "kind: noop")
        assert messages(text, *SCOPES) == []


def test_a_synthesised_fragment_may_write_any_ctx():
    text = """
workflow:
  - step: plan
    spec: {synthesize: {from: "{{ output.data }}"}}
    tool: {kind: noop}
    set: {ctx.a: "{{ ctx.from_fragment }}"}
"""
    assert messages(text, *SCOPES) == []


def test_spec_values_are_read_at_their_own_boundary():
    text = """
executor: {spec: {timeout: 5, http: {timeout: "{{ ctx.t }}"}}}
workflow:
  - step: start
    spec: {timeout: "{{ input.t }}", policy: {lifecycle: {deadline_s: "{{ output.data }}"}}}
    input: {t: 3}
    loop: {in: [1], iterator: item, spec: {mode: parallel, max_in_flight: "{{ step.n }}"}}
    tool: {kind: noop}
"""
    found = messages(text, *SCOPES)
    assert "'ctx.t' is read in executor.spec, but no set writes it" in found
    assert "'output.data' is read in a step's spec, where there is no output" in found
    assert "'step.n' is read in loop.in, where there is no step" in found
    assert len(found) == 3


def test_the_condition_of_sugar_is_called_so():
    text = """
workflow:
  - step: start
    tool:
      - {name: init, kind: noop, set: {step.i: 0}}
      - name: count
        while: {when: "{{ step.j }}", do: [{name: inc, kind: noop, set: {step.i: 1}}]}
"""
    assert messages(text, *SCOPES) == [
        "'step.j' is read in the condition of 'count', but no set of this step writes it"
    ]


def test_the_set_of_a_block_is_called_so():
    text = """
workflow:
  - {step: start, tool: {kind: workbook, block: b}}
workbook:
  b: {tool: {kind: noop}, set: {ctx.a: "{{ event.name }}"}}
"""
    assert messages(text, *SCOPES) == ["'event.name' is read in a block's set, where there is no event"]


@pytest.mark.parametrize(
    "key, is_reported", [("api_ulr", True), ("api_urls", True), ("api_url_v1", False), ("key", False)]
)
def test_a_workload_key_is_reported_only_when_it_looks_misspelt(key, is_reported):
    text = f"""
workload: {{api_url: x}}
workflow:
  - {{step: start, tool: {{kind: http, input: {{url: "{{{{ workload.{key} }}}}"}}}}}}
"""
    assert bool(messages(text, "undefined-name")) is is_reported
