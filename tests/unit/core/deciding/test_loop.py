"""Loops as the server sees them: bounds, outputs in order, buffered writes, the step's outcome."""

import json

import pytest

from noetl.core.deciding.draft import in_place
from noetl.core.deciding.loop import whole_number
from noetl.core.program.evaluator import EvaluationError
from noetl.core.values.output import externalise, refer
from noetl.core.values.patch import look_up
from noetl.core.values.payload_demand import UnreadablePayload
from tests.unit.core.build import ID, error_of

LOCAL = "- {step: start, loop: {in: '{{ range(3) }}', iterator: x, spec: {mode: %s%s}}, spec: {policy: {failure: {mode: %s}}}, tool: {kind: noop}%s}"


def local(mode="parallel", reduce="", failure="fail_fast", more=""):
    policy = f", policy: {{reduce: {{{reduce}}}}}" if reduce else ""
    return LOCAL % (mode, policy, failure, more)


def through(world, *events, name="loop.done"):
    world.report("start.1", *events, world.event(name, "start.1"), final=True)


def test_a_local_loop_is_one_lease_with_the_whole_share(begin):
    world = begin(local())
    lease = world.state.leases["start.1"]
    assert (lease.lo, lease.hi, lease.share) == (None, None, 10)


@pytest.mark.parametrize("number", [0, -1, "x", None, True, [], float("inf")])
def test_a_bound_is_a_whole_number_of_at_least_one(number):
    if number is None:
        assert whole_number(number, "chunk", 7) == 7
        return
    with pytest.raises(EvaluationError, match="at least 1"):
        whole_number(number, "chunk", 7)


def test_outputs_stand_in_index_order_whatever_order_they_came_in(begin):
    world = begin(local())
    through(world, *(world.item("start.1", index, f"v{index}") for index in (2, 0, 1)))
    assert world.state.output == ["v0", "v1", "v2"]
    assert world.data("loop.done")["output"]["loop"] == {"total": 3, "done": 3, "failed": 0, "skipped": 0}


def test_fail_fast_fails_with_the_lowest_failed_index_and_counts_the_rest_as_skipped(begin):
    world = begin(local())
    through(
        world,
        world.item_failed("start.1", 2, "late"),
        world.item_failed("start.1", 1, "early"),
        name="step.failed",
    )
    failed = world.data("step.failed")
    assert (failed["error"]["kind"], failed["error"]["iteration"]) == ("early", 1)
    assert failed["output"]["data"] is None
    assert (failed["output"]["loop"]["failed"], failed["output"]["loop"]["skipped"]) == (2, 1)


def test_best_effort_ends_well_with_null_for_what_failed(begin):
    world = begin(local(failure="best_effort"))
    through(
        world, world.item("start.1", 0, "a"), world.item_failed("start.1", 1), world.item("start.1", 2, "c")
    )
    assert world.state.output == ["a", None, "c"]
    assert [found["index"] for found in world.data("loop.done")["output"]["loop"]["errors"]] == [1]


def test_an_iteration_that_went_on_after_an_error_is_done(begin):
    world = begin(local())
    event = world.event("loop.iteration.done", "start.1", "[0]", output=error_of("boom"))
    through(world, event, world.item("start.1", 1), world.item("start.1", 2))
    assert world.data("loop.done")["output"]["loop"]["done"] == 3


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_buffered_writes_apply_in_index_order_whatever_order_they_came_in(begin, order):
    world = begin(
        local(reduce="ctx.names: append, ctx.n: sum, step.m: max", more=", set: {ctx.m: '{{ step.m }}'}")
    )
    items = {
        index: world.item(
            "start.1",
            index,
            writes=[
                [["ctx", "names"], index],
                [["ctx", "n"], 1],
                [["step", "m"], index],
                [["ctx", f"k{index}"], index],
            ],
        )
        for index in range(3)
    }
    through(world, *(items[index] for index in order))
    assert world.state.ctx == {"k0": 0, "k1": 1, "k2": 2, "names": [0, 1, 2], "n": 3, "m": 2}


def test_an_existing_value_is_the_first_operand(begin):
    world = begin(
        "- {step: first, tool: {kind: noop}, set: {ctx.n: 10}, next: {arcs: [{step: start}]}}\n"
        + local(reduce="ctx.n: sum"),
        executor="executor: {spec: {entry_step: first}}",
    )
    world.done("first.1")
    through(world, *(world.item("start.1", index, writes=[[["ctx", "n"], 1]]) for index in range(3)))
    assert world.state.ctx == {"n": 13}


def test_different_values_on_one_path_without_a_reducer_fail_the_step_with_kind_conflict(begin):
    world = begin(local())
    through(world, *(world.item("start.1", index, writes=[[["ctx", "n"], index]]) for index in range(3)))
    assert (world.state.error["kind"], world.state.ctx) == ("conflict", {})
    assert "ctx.n" in world.state.error["message"]
    assert world.data("step.failed")["output"]["loop"]["done"] == 3


def test_a_failed_loop_applies_none_of_its_writes(begin):
    world = begin(local(more=", set: {ctx.m: '{{ step.m }}'}"))
    item = world.item("start.1", 0, writes=[[["ctx", "n"], 1], [["step", "m"], 2]])
    through(world, item, world.item_failed("start.1", 1, writes=[[["ctx", "k"], 1]]), name="step.failed")
    assert world.state.ctx == {"m": 2}


def test_in_a_sequential_loop_step_writes_merge_with_the_highest_index_winning(begin):
    world = begin(local("sequential", more=", set: {ctx.m: '{{ step.m }}'}"))
    through(
        world,
        *(
            world.item("start.1", index, writes=[[["step", "m"], index], [["ctx", "n"], index]])
            for index in range(3)
        ),
    )
    assert world.state.ctx == {"n": 2, "m": 2}


def test_a_reduced_key_of_a_sequential_loop_is_reduced_at_its_end(begin):
    world = begin(local("sequential", reduce="ctx.n: sum"))
    through(world, *(world.item("start.1", index, writes=[[["ctx", "n"], 2]]) for index in range(3)))
    assert world.state.ctx == {"n": 6}


def marked(world, value):
    """A written value as a worker reports one that it has put aside."""
    ref, payload = externalise(ID, value)
    world.hydrated[payload.key] = value
    return {"$stored": ref}


@pytest.mark.parametrize(
    "first, target, before, result",
    [
        ("[0]", "ctx.n", None, [0, "a", "b", "c", 5]),
        ("'{{ output.data }}'", "ctx.n", ["x" * 2000], ["x" * 2000, "a", "b", "c", 5]),
        ("'{{ output.data }}'", "ctx.m.n", {"n": [1], "k": "x" * 2000}, [1, "a", "b", "c", 5]),
        ("5", "ctx.m.n", None, ["a", "b", "c", 5]),
    ],
)
def test_operands_and_existing_values_that_rest_elsewhere_are_read(begin, first, target, before, result):
    key = target.split(".")[1]
    world = begin(
        f"- {{step: first, tool: {{kind: noop}}, set: {{ctx.{key}: {first}}}, next: {{arcs: [{{step: start}}]}}}}\n"
        + local(reduce=f"{target}: append"),
        executor="executor: {spec: {entry_step: first, limits: {max_payload_bytes: 1000}}}",
    )
    world.done("first.1", before)
    values = [marked(world, "a"), {"$operands": marked(world, ["b", "c"])}, 5]
    items = [
        world.item("start.1", index, writes=[[target.split("."), value]])
        for index, value in enumerate(values)
    ]
    through(world, *items)
    found = in_place(world.state.ctx, world.hydrated)
    assert look_up(found, target.split(".")[1:]) == result


def test_operands_that_rest_elsewhere_may_not_fit_the_reducer(begin):
    world = begin(local(reduce="ctx.n: sum"))
    values = [marked(world, "a" * 100_000), 1, 2]
    through(
        world,
        *(world.item("start.1", index, writes=[[["ctx", "n"], value]]) for index, value in enumerate(values)),
    )
    assert world.state.error["kind"] == "conflict"
    assert len(world.state.error["message"]) < 200


def test_operands_of_a_step_that_rest_elsewhere_leave_ctx_alone(begin):
    world = begin(local(reduce="step.n: last"))
    through(
        world,
        *(world.item("start.1", index, writes=[[["step", "n"], marked(world, "a")]]) for index in range(3)),
    )
    assert world.state.ctx == {}


def away(world, index):
    ref, payload = externalise(ID, [index])
    return (
        world.event("loop.iteration.done", "start.1", f"[{index}]", output={"status": "ok", "ref": ref}),
        ref,
        payload,
    )


def test_outputs_that_rest_as_payloads_or_in_packs_make_a_manifest(begin):
    world = begin(local())
    event, ref, _ = away(world, 0)
    part = world.event("loop.iteration.done", "start.1", "[1]", output={"status": "ok", "part": ["pack", 4]})
    through(world, event, part, world.item("start.1", 2, "c"))
    output = world.data("loop.done")["output"]
    assert output["data"] is None
    listed = json.loads(world.payloads[output["ref"]["locator"]["key"]])
    assert listed == {"items": [{"ref": ref}, {"part": ["pack", 4]}, {"value": "c"}]}
    assert world.state.output == output["ref"]


@pytest.mark.parametrize("at_hand", [True, False])
def test_the_steps_own_templates_read_every_output_in_its_place(begin, at_hand):
    world = begin(local(more=", set: {ctx.all: '{{ output.data }}'}"))
    event, _, payload = away(world, 0)
    _, pack = refer(ID, b'["b"]', "application/json")
    if at_hand:
        world.hydrated |= {payload.key: [0], pack.key: ["b"]}
    part = world.event(
        "loop.iteration.done", "start.1", "[1]", output={"status": "ok", "part": [pack.key, 0]}
    )
    through(world, event, part, world.item("start.1", 2, "c"))
    assert world.state.ctx["all"] == ([[0], "b", "c"] if at_hand else [None, None, "c"])


NEXT = ", next: {arcs: [{step: last}]}}\n- {step: last, input: {n: '{{ start.data | length }}'}, tool: {kind: noop}"


@pytest.mark.parametrize("limit, kind", [(10_000, None), (300, "limit")])
def test_what_follows_reads_the_parts_of_an_output_that_are_at_hand(begin, limit, kind):
    executor = f"executor: {{spec: {{limits: {{max_hydrate_bytes: {limit}}}}}}}"
    world = begin(local(more=NEXT), executor=executor)
    event, _, payload = away(world, 0)
    world.hydrated |= {payload.key: [0], "pack": ["b"]}
    part = world.event("loop.iteration.done", "start.1", "[1]", output={"status": "ok", "part": ["pack", 0]})
    through(world, event, part, world.item("start.1", 2, "c"))
    error = world.state.error or {}
    assert error.get("kind") == kind
    assert kind is not None or world.state.runs["last.1"].input == {"n": 3}
    assert kind is None or "the result of start was stored with at least" in error["message"]


def test_an_output_of_which_a_part_could_not_be_had_is_an_error_of_who_reads_it(begin):
    world = begin(local(more=NEXT))
    event, _, payload = away(world, 0)
    world.hydrated[payload.key] = UnreadablePayload("reference", "it is gone")
    through(world, event, world.item("start.1", 1, "b"), world.item("start.1", 2, "c"))
    assert "start.data: it is gone" in world.state.error["message"]


def test_only_the_first_hundred_errors_are_kept(begin):
    world = begin(local(failure="best_effort").replace("range(3)", "range(150)"))
    through(world, *(world.item_failed("start.1", index) for index in reversed(range(150))))
    loop = world.data("loop.done")["output"]["loop"]
    assert (loop["failed"], len(loop["errors"])) == (150, 100)
    assert [loop["errors"][0]["index"], loop["errors"][-1]["index"]] == [0, 99]


def test_a_takeover_runs_only_iterations_that_have_not_ended(begin):
    world = begin(local(failure="best_effort"))
    world.report("start.1", world.item("start.1", 0, "a"), world.item_failed("start.1", 2))
    order = world.order("start.1")
    assert order.loop.finished == {"0": {}, "2": {"error": {"kind": "boom", "message": "boom!"}}}
    assert (order.loop.items, order.loop.total, order.loop.share) == ([0, 1, 2], 3, 10)


@pytest.mark.parametrize(
    "told, name, why",
    [
        (2, "loop.done", "told nothing of 1 of 3 iterations"),
        (0, "loop.done", "told nothing of 3 of 3 iterations"),
        (3, "step.failed", "no iteration that it told of had failed"),
    ],
)
def test_a_loop_never_ends_as_its_iterations_do_not_bear_out(begin, told, name, why):
    world = begin(local())
    through(world, *(world.item("start.1", index, index) for index in range(told)), name=name)
    error = world.data("step.failed")["error"]
    assert (error["kind"], world.state.status) == ("internal", "failed")
    assert why in error["message"]
    assert world.data("step.failed")["output"]["loop"]["done"] == told


def test_a_loop_whose_set_cannot_be_judged_says_what_it_was(begin):
    world = begin("""
    - step: start
      loop: {in: "{{ [1] }}", iterator: x}
      tool: {kind: noop}
      set: {ctx.m: "{{ output.data.nothing.here }}"}
    """)
    world.report(
        "start.1",
        world.event("loop.iteration.done", "start.1", "[0]"),
        world.event("loop.done", "start.1"),
        final=True,
    )
    failed = next(event for event in world.events if event.name == "step.failed")
    assert failed.data["was"] == "loop.done"
    assert world.state.status == "failed"
