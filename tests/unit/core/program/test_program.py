"""A playbook compiled for running: names, limits, joins, and what must travel or be kept."""

import pytest

from tests.unit.core.build import compiled

ONE = "- {step: start, tool: {kind: noop}}"


def step(text, name="start", **root):
    return compiled(text, **root).steps[name]


def test_the_executor_bounds_the_whole():
    program = compiled(
        ONE,
        executor="executor: {spec: {entry_step: start, final_step: start, on_failure: drain, pool: big, limits: {max_payload_bytes: 9}, policy: {results: {reference_first: true}}}}",
    )
    assert (program.entry, program.final_step, program.drain, program.pool) == ("start", "start", True, "big")
    assert (program.limits["max_payload_bytes"], program.limits["max_takeovers"]) == (9, 3)
    assert program.reference_first


def test_the_defaults_of_the_executor():
    program = compiled("- {step: other}\n- {step: start, next: {arcs: [{step: other}]}}")
    assert (program.entry, program.final_step, program.drain, program.pool) == (
        "start",
        None,
        False,
        "default",
    )
    assert program.limits == {
        "max_task_runs": 100_000, "max_payload_bytes": 65_536, "max_takeovers": 3,
        "max_hydrate_bytes": 16 * 1024 * 1024, "max_visits": None,
    }  # fmt: skip
    assert not program.reference_first


def test_a_step_overrides_the_limits_of_the_executor():
    text = "- {step: start, spec: {limits: {max_takeovers: 1}}, tool: {kind: noop}}"
    assert (
        step(text, executor="executor: {spec: {limits: {max_takeovers: 5, max_task_runs: 7}}}").limits[
            "max_takeovers"
        ]
        == 1
    )
    assert (
        step(text, executor="executor: {spec: {limits: {max_takeovers: 5, max_task_runs: 7}}}").limits[
            "max_task_runs"
        ]
        == 7
    )


@pytest.mark.parametrize(
    "arcs, join",
    [
        ("{arcs: [{step: last}]}", None),
        ("{spec: {mode: inclusive}, arcs: [{step: last}, {step: last, when: '{{ true }}'}]}", "sync"),
    ],
)
def test_only_a_step_with_two_incoming_arcs_joins(arcs, join):
    assert (
        step(f"- {{step: start, next: {arcs}}}\n- {{step: last, tool: {{kind: noop}}}}", "last").join == join
    )


@pytest.mark.parametrize("mode", ["sync", "each", "all", "first"])
def test_the_mode_of_a_join_is_the_authors(mode):
    text = f"""
    - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b}}]}}}}
    - {{step: a, next: {{arcs: [{{step: meet}}]}}}}
    - {{step: b, next: {{arcs: [{{step: meet}}]}}}}
    - {{step: meet, spec: {{join: {mode}}}, tool: {{kind: noop}}}}
    """
    assert (step(text, "meet").join, set(step(text, "meet").sources)) == (mode, {"a", "b"})


def test_a_step_without_tools_and_loop_is_the_servers():
    assert step("- {step: start}").routes_only
    assert not step(ONE).routes_only


def test_labels_are_places_in_the_pipeline_and_jumps_lead_to_them():
    found = step(
        "- {step: start, tool: [{name: one, kind: noop}, {name: two, kind: noop, spec: {policy: {rules: [{when: true, then: {do: jump, to: one}}]}}}]}"
    )
    assert found.pipeline.labels == {"one": 0, "two": 1}
    assert found.pipeline.tasks[1].rules[0].to == 0


def test_inputs_that_are_never_templates_stay_as_they_are_written():
    task = step(
        "- {step: start, tool: {kind: python, input: {code: \"result = '{{ x }}'\", n: '{{ 1 }}'}}}"
    ).pipeline.tasks[0]
    assert task.literal == {"code": "result = '{{ x }}'"}
    assert set(task.input.value) == {"n"}


@pytest.mark.parametrize(
    "when, asks",
    [
        ("", False),
        (", when: true", False),
        (", when: false", False),
        (", when: '{{ true }}'", False),
        (", when: '{{ output.data.status }}'", False),
        (", when: '{{ output.http.status == 404 }}'", False),
        (", when: '{{ ctx.error or other.status }}'", False),
        (", when: '{{ output is defined }}'", False),
        (", when: '{{ event.ok }}'", True),
        (", when: '{{ event.failed and ctx.n }}'", True),
        (", when: \"{{ event.name == 'step.failed' }}\"", True),
        (", when: \"{{ output.status == 'ok' }}\"", True),
        (", when: \"{{ output['status'] == 'ok' }}\"", True),
        (", when: '{{ output.error is none }}'", True),
        (", when: '{{ output.error.kind }}'", True),
        (", when: \"{{ start.status == 'ok' }}\"", True),
        (", when: '{{ start.error.kind }}'", True),
        (", when: \"{{ outcome.status == 'error' }}\"", True),
    ],
)
def test_an_arc_asks_when_its_guard_reads_how_the_step_ended(when, asks):
    arc = step(f"- {{step: start, next: {{arcs: [{{step: last{when}}}]}}}}\n- {{step: last}}").arcs[0]
    assert arc.asks is asks


@pytest.mark.parametrize(
    "reader, wants_ref, read_later",
    [
        ("input: {x: '{{ start.ref }}'}", True, True),
        ("input: {x: '{{ start.data }}'}", False, True),
        ("input: {x: '{{ start }}'}", False, True),
        ("spec: {timeout: '{{ start.data }}'}", False, True),
        ("spec: {policy: {lifecycle: {deadline_s: '{{ start.data }}'}}}", False, True),
        ("spec: {policy: {admit: {rules: [{when: '{{ start.data }}', then: {allow: true}}]}}}", False, True),
        ("loop: {in: '{{ start.data }}', iterator: x}", False, True),
        (
            "loop: {in: [1], iterator: x, spec: {mode: parallel, max_in_flight: '{{ start.data }}'}}",
            False,
            True,
        ),
        ("set: {ctx.x: '{{ start.data }}'}", False, True),
        ("output: '{{ start.data }}'", False, True),
        ("spec: {synthesize: {from: '{{ start.data }}'}}", False, True),
        ("next: {arcs: [{step: end, when: '{{ start.data }}'}]}", False, True),
        ("next: {arcs: [{step: end, set: {ctx.x_ref: '{{ start.ref }}'}}]}", True, True),
        ("input: {x: 1}", False, False),
    ],
)
def test_a_step_knows_what_others_read_of_it(reader, wants_ref, read_later):
    text = f"- {{step: start, tool: {{kind: noop}}, next: {{arcs: [{{step: last}}]}}}}\n- {{step: last, {reader}, tool: {{kind: noop}}}}\n- {{step: end}}"
    found = step(text)
    assert (found.wants_ref, found.read_later) == (wants_ref, read_later)


@pytest.mark.parametrize(
    "task",
    [
        "kind: noop, output: '{{ start.data }}'",
        "kind: noop, set: {ctx.x: '{{ start.data }}'}",
        "kind: python, auth: '{{ start.data }}', input: {code: x}",
        "kind: python, input: {code: x, n: '{{ start.data }}'}",
        "kind: python, input: {code: x}, spec: {timeout: '{{ start.data }}'}",
        "kind: noop, spec: {policy: {rules: [{when: '{{ start.data }}', then: {do: continue}}]}}",
        "kind: noop, spec: {policy: {before: [{when: '{{ start.data }}', then: {do: skip}}]}}",
        "kind: noop, spec: {policy: {rules: [{when: true, then: {do: fail, message: '{{ start.data }}'}}]}}",
        "kind: playbook, path: '{{ start.data }}'",
    ],
)
def test_every_template_of_a_task_counts(task):
    text = f"- {{step: start, tool: {{kind: noop}}, next: {{arcs: [{{step: last}}]}}}}\n- {{step: last, tool: {{name: t, {task}}}}}"
    assert step(text).read_later
    assert "start" in step(text, "last").mentions.bare()


@pytest.mark.parametrize(
    "spec",
    [
        "spec: {http: {timeout: '{{ start.data }}'}}",
        "loop: {in: [1], iterator: x, spec: {timeout: '{{ start.data }}'}}",
    ],
)
def test_what_tasks_inherit_from_a_spec_counts(spec):
    text = f"- {{step: start, tool: {{kind: noop}}, next: {{arcs: [{{step: last}}]}}}}\n- {{step: last, {spec}, tool: {{kind: http, input: {{url: u}}}}}}"
    assert step(text).read_later
    assert "start" in step(text, "last").mentions.bare()


def test_results_of_tasks_that_others_name_are_wanted():
    text = "- {step: start, tool: [{name: one, kind: noop}], next: {arcs: [{step: last}]}}\n- {step: last, input: {x: '{{ start.results.one.data }}'}, tool: {kind: noop}}"
    assert step(text).wants_results == {"one"}


@pytest.mark.parametrize(
    "reads, wanted",
    [
        ("input: {x: '{{ event.data.output.data }}'}", True),
        ("input: {x: '{{ event.name }}'}", False),
        ("loop: {in: '{{ event.data.output.data }}', iterator: x}", True),
        (
            "spec: {policy: {admit: {rules: [{when: '{{ event.data.error }}', then: {allow: true}}, {else: {then: {allow: true}}}]}}}",
            True,
        ),
        ("spec: {timeout: 5}", False),
    ],
)
def test_the_data_of_an_event_travels_only_where_it_is_read(reads, wanted):
    assert step(f"- {{step: start, {reads}, tool: {{kind: noop}}}}").wants_event is wanted


@pytest.mark.parametrize(
    "reads, payload",
    [
        ("set: {ctx.x: '{{ output.data.n }}'}", True),
        ("set: {ctx.x: '{{ output.n }}'}", True),
        ("set: {ctx.x: '{{ output.status }}'}", False),
        ("spec: {validate: {output: {type: object}}}", True),
        ("set: {ctx.x: 1}", False),
    ],
)
def test_the_payload_is_needed_at_the_boundary_only_when_it_is_read_there(reads, payload):
    assert (
        step(f"- {{step: start, tool: {{kind: noop}}, {reads}}}").boundary.reads("output", "data") is payload
    )


WORKBOOK = {
    "workbook": """
    workbook:
      outer: {input: {a: "{{ ctx.a }}"}, tool: [{name: call, kind: workbook, block: inner}, {name: again, kind: workbook, block: inner}]}
      inner: {loop: {in: "{{ ctx.b }}", iterator: x, spec: {mode: parallel, max_in_flight: "{{ ctx.c }}"}}, tool: [{name: t, kind: noop, set: {ctx.x: "{{ ctx.d }}"}}], set: {ctx.y: "{{ ctx.e }}"}, output: "{{ ctx.f }}"}
      unused: {tool: [{name: t, kind: noop, set: {ctx.x: "{{ ctx.g }}"}}]}
    """
}


def test_a_worker_gets_what_the_blocks_it_calls_read_however_deep():
    found = step("- {step: start, tool: {name: outer, kind: workbook}}", **WORKBOOK)
    assert found.mentions.below("ctx") == set("abcdef")


def test_an_inner_loop_is_rendered_by_the_worker():
    found = step(
        "- {step: start, loop: {in: '{{ ctx.a }}', iterator: x, loop: {in: '{{ ctx.b }}', iterator: y}}, tool: {kind: noop}}"
    )
    assert found.mentions.below("ctx") == {"b"}
    assert found.loop.inner.iterator == "y"


def test_a_loop_is_compiled_with_its_reducers_as_paths():
    loop = step(
        "- {step: start, loop: {in: [1], iterator: x, spec: {mode: parallel, policy: {exec: distributed, reduce: {ctx.a.b: sum}}}}, tool: {kind: noop}}"
    ).loop
    assert (loop.parallel, loop.distributed, loop.reduce) == (True, True, {("ctx", "a", "b"): "sum"})


@pytest.mark.parametrize(
    "set_, ref, meta",
    [
        ("{ctx.x_ref: '{{ output.ref }}'}", True, False),
        ("{ctx.x_ref: '{{ t.ref }}'}", True, False),
        ("{ctx.x: '{{ output.meta.attempt }}'}", False, True),
        ("{ctx.x: '{{ output.data }}'}", False, False),
    ],
)
def test_a_pipeline_knows_whether_references_or_meta_are_read(set_, ref, meta):
    pipeline = step(f"- {{step: start, tool: [{{name: t, kind: noop, set: {set_}}}]}}").pipeline
    assert (pipeline.wants_ref, pipeline.wants_meta) == (ref, meta)


def test_a_block_called_inside_sugar_is_found_by_its_authors_name():
    text = "- {step: start, tool: [{name: item, while: {when: '{{ false }}', do: [{name: outer, kind: workbook}]}}]}"
    assert step(text, **WORKBOOK).mentions.below("ctx") == set("abcdef")
