"""The work order of a lease: all a worker needs and nothing it does not name."""

from typing import Any

import msgspec

from noetl.core.deciding.work_order import build_order, put_in_place, read_ctx, read_workload
from noetl.core.event import Event
from noetl.core.message import WorkOrder
from tests.unit.core.build import T0, marker_of, ok_of

READS = """
- {step: start, tool: {kind: noop}, set: {ctx.a: 1, ctx.b: 2}, next: {arcs: [{step: work}]}}
- {step: other, tool: {kind: noop}}
- step: work
  input: {i: 1}
  tool: {kind: python, input: {code: "result = 1", x: "{{ ctx.a }}", y: "{{ workload.w }}", z: "{{ start.data }}", k: "{{ bare }}"}}
"""


def test_only_what_the_steps_templates_name_travels(begin):
    world = begin(
        READS,
        workload="workload: {w: 1, bare: 2, unread: 3}",
        executor="executor: {spec: {entry_step: start, pool: big}}",
    )
    world.done("start.1", 7)
    order = world.order("work.1")
    assert (order.ctx, order.workload, order.input) == ({"a": 1}, {"w": 1, "bare": 2}, {"i": 1})
    assert order.results == {"start": {"status": "ok", "data": 7}}
    assert (order.pool, order.lease, order.epoch, order.started, order.loop) == (
        "big",
        "work.1",
        1,
        False,
        None,
    )
    assert isinstance(order, WorkOrder)


def test_a_step_that_reads_a_scope_as_a_whole_has_all_of_it_and_others_know_what_it_declares(begin):
    whole = "- step: start\n  tool: {kind: python, input: {code: 'result = 1', w: '{{ workload }}', c: '{{ ctx }}'}}"
    world = begin(whole, workload="workload: {w: 1, unread: 2}")
    order = world.order("start.1")
    assert read_workload(order, world.program) is order.workload
    assert read_ctx(order, world.program) is order.ctx
    world = begin(READS, workload="workload: {w: 1, bare: 2, unread: 3}")
    world.done("start.1", 7)
    order = world.order("work.1")
    excerpt: Any = read_workload(order, world.program)
    assert (excerpt, set(excerpt.declared)) == ({"w": 1, "bare": 2}, {"w", "bare", "unread"})
    excerpt_of_ctx: Any = read_ctx(order, world.program)
    assert (excerpt_of_ctx, excerpt_of_ctx.declared) == ({"a": 1}, {})


def test_inside_a_fragment_finished_steps_are_found_by_the_names_their_author_wrote(begin):
    world = begin("- {step: start, spec: {synthesize: {from: '{{ output.data }}'}}, tool: {kind: noop}}")
    fragment = [
        {"step": "one", "tool": {"kind": "noop"}, "next": {"arcs": [{"step": "two"}]}},
        {
            "step": "two",
            "tool": {
                "kind": "python",
                "input": {"code": "result = n", "n": "{{ one.data }}", "m": "{{ none | default(1) }}"},
            },
        },
    ]
    world.done("start.1", fragment)
    world.done("start.1.one.1", 5)
    order = world.order("start.1.two.1")
    assert order.results == {"one": {"status": "ok", "data": 5}}
    assert [one["origin"] for one in order.fragments] == ["start.1"]


def test_an_order_says_when_the_step_has_started_and_what_waits(begin):
    world = begin("- {step: start, tool: {kind: noop}}")
    world.begun("start.1")
    world.report(
        "start.1",
        world.event("task.parked", "start.1", None, "t", signal="go"),
        frames={"": {"pc": "t"}},
        returned=True,
    )
    order = world.order("start.1")
    assert (order.started, order.waiting, order.answers, order.frames) == (True, [""], {}, {"": {"pc": "t"}})


def test_what_rests_in_the_result_store_is_put_back_in_its_place(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, set: {ctx.a: '{{ output.data }}'}, next: {arcs: [{step: work}]}}\n"
        "- {step: work, tool: {kind: python, input: {code: 'result = 1', x: '{{ ctx.a }}'}}}",
        executor="executor: {spec: {limits: {max_payload_bytes: 1000}}}",
    )
    world.done("start.1", "x" * 1500)
    assert "$stored" in world.state.ctx["a"]
    assert world.order("work.1").ctx == {"a": "x" * 1500}


def test_an_order_has_markers_for_what_is_large(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, set: {ctx.a: '{{ output.data }}'}, next: {arcs: [{step: work, args: {b: '{{ output.data }}'}}]}}\n"
        "- {step: work, input: {c: '{{ ctx.a }}', d: '{{ workload.w }}'}, tool: {kind: python, input: {code: 'result = 1', x: '{{ [ctx.a, workload.w, args.b, input.c] }}'}}}",
        executor="executor: {spec: {limits: {max_payload_bytes: 1000}}}",
        workload=f"workload: {{w: {'y' * 1500}, v: 1}}",
    )
    first = build_order(world.state, world.program, world.state.leases["start.1"], world.hydrated)
    assert (first.aside, first.workload) == (False, {})  # it reads nothing
    world.done("start.1", "x" * 1500)
    order = build_order(world.state, world.program, world.state.leases["work.1"], world.hydrated)
    assert order.aside
    assert len(msgspec.json.encode(order)) < 5000
    put_in_place(order, world.hydrated)
    assert (order.ctx["a"], (order.workload or {})["w"], order.args["b"]) == (
        "x" * 1500,
        "y" * 1500,
        "x" * 1500,
    )
    assert order.input == {"c": "x" * 1500, "d": "y" * 1500}


def test_in_a_sequential_loop_on_another_worker_earlier_step_writes_are_there(begin):
    world = begin(
        """
        - step: start
          loop: {in: "{{ range(4) }}", iterator: x, spec: {chunk: 2, policy: {exec: distributed}}}
          tool: {kind: noop}
    """
    )
    items = [world.item("start.1", index, writes=[[["step", "n"], index]]) for index in range(2)]
    world.report("start.1:0", *items, final=True)
    assert world.order("start.1:2").step_scope == {"n": 1}


def test_writes_that_a_checkpoint_put_aside_are_put_back_too(begin):
    world = begin("- {step: start, loop: {in: [1], iterator: x, spec: {mode: parallel}}, tool: {kind: noop}}")
    marker = marker_of("k")
    world.hydrated["k"] = "whole"
    world.report("start.1", frames={"[0]": {"prev": marker, "writes": [[["ctx", "a"], marker]]}})
    assert world.order("start.1").frames == {"[0]": {"prev": "whole", "writes": [[["ctx", "a"], "whole"]]}}


def test_scopes_and_outputs_that_a_checkpoint_put_aside_are_put_back_too(begin):
    world = begin("- {step: start, tool: {name: t, kind: noop}}")
    world.hydrated |= {"k": "whole", "o": ok_of(1)}
    away, whole = {"a": marker_of("k")}, {"a": "whole"}
    frame = {"output": marker_of("o"), "iter": away, "step": away, "results": {"t": marker_of("o")}}
    world.report("start.1", frames={"": frame})
    back = {"output": ok_of(1), "iter": whole, "step": whole, "results": {"t": ok_of(1)}}
    assert world.order("start.1").frames == {"": back}


def test_writes_that_an_inner_iteration_put_aside_are_put_back_too(begin):
    world = begin("- {step: start, loop: {in: [1], iterator: x}, tool: {kind: noop}}")
    world.hydrated["k"] = "whole"
    writes = [[["ctx", "a"], marker_of("k")]]
    world.report(
        "start.1", Event("loop.iteration.done", T0, "w", "start.1", "[0]/inner[1]", data={"writes": writes})
    )
    assert world.order("start.1").outcomes == {"[0]/inner[1]": {"writes": [[["ctx", "a"], "whole"]]}}
