"""How an event stays within its bound: what is put aside first, what comes in portions, what is said in short."""

import pytest

from noetl.core.deciding.draft import Draft
from noetl.core.pipeline.recorded_output import recorded, recorded_together
from noetl.core.program.evaluator import EvaluationError, TemplateEvaluator
from noetl.core.reading.explain import explain
from noetl.core.reading.log_history import LogHistory
from noetl.core.shapes import ErrorObject
from noetl.core.state import State
from noetl.core.values.event_size import (
    ENVELOPE_BYTES,
    ERRORS_BYTES,
    bounded_errors,
    largest,
    leaves,
    portions,
)
from noetl.core.values.output import size_of
from noetl.core.values.patch import rests_elsewhere
from tests.unit.core.build import ID, T0, Pipe, compiled, ok_of

LIMIT = 65_536
BOUND = LIMIT + ENVELOPE_BYTES
FULL = "x" * 60_000


def draft():
    return Draft(State(ID), compiled("- {step: start}"), TemplateEvaluator(), T0, {})


def test_the_largest_values_go_first_and_small_ones_never():
    assert largest([10, 20], 30) == []
    assert largest([5_000, 60_000, 50_000], 60_000) == [1]
    assert largest([5_000, 60_000, 50_000], 10_000) == [1, 2]
    assert largest([1_000] * 5, 2_000) == []
    assert largest([1_000, 9_000], 100) == [1]


def test_portions_keep_the_order_and_one_that_is_too_large_is_alone():
    pairs = [("a", "x" * 10), ("b", "x" * 50), ("c", 1), ("d", 2)]
    assert [[name for name, _ in some] for some in portions(pairs, 40)] == [["a"], ["b"], ["c", "d"]]
    assert list(portions([], 40)) == []


def test_mappings_are_taken_apart_as_far_as_needed():
    marker = draft().store(FULL * 2)
    scope = {"a": {"b": "x" * 30, "c": {"d": 1}}, "e": {"f": 1}, "g": marker, "h": {}}
    assert list(leaves(scope, 20)) == [
        (["a", "b"], "x" * 30), (["a", "c"], {"d": 1}), (["e"], {"f": 1}), (["g"], marker), (["h"], {}),
    ]  # fmt: skip


def test_a_loops_errors_are_whole_while_there_is_room_and_then_in_short():
    errors: list[tuple[int, ErrorObject | None]] = [
        (n, {"kind": "boom", "message": "e" * 2000, "details": {"n": n}}) for n in range(100)
    ]
    listed = bounded_errors(errors)
    assert [one["index"] for one in listed] == list(range(100))
    assert listed[0]["error"] == errors[0][1]
    assert listed[-1]["error"] == {"kind": "boom", "message": "e" * 50 + "…", "shortened": True}
    assert size_of(listed) <= ERRORS_BYTES + 2000
    small: list[tuple[int, ErrorObject | None]] = [(0, {"kind": "a", "message": "b"}), (7, None)]
    assert bounded_errors(small) == [{"index": index, "error": error} for index, error in small]


def test_values_that_fit_together_stay_and_others_are_put_aside():
    made = draft()
    small = [1, None, "a", {"b": [True]}]
    assert made.kept(small) == small
    assert made.kept([FULL]) == [FULL]
    kept = made.kept([FULL, "y" * 20_000, 3])
    assert [rests_elsewhere(value) for value in kept] == [True, False, False]
    assert made.load(kept[0]) == FULL
    assert rests_elsewhere(made.kept(["z" * 30_000], lambda: LIMIT)[0])
    assert rests_elsewhere(made.kept([{"$stored": 1}])[0])


def test_too_many_small_values_cannot_be_judged():
    with pytest.raises(EvaluationError, match="120 values take 108240 bytes") as raised:
        draft().kept(["x" * 900] * 120)
    assert raised.value.kind == "limit"


def test_an_output_is_slimmed_by_the_payloads_of_its_tasks():
    made = draft()
    output = {
        **ok_of("a"),
        "results": {"p": ok_of(FULL), "q": ok_of(FULL + "y", ref={"known": 1}), "r": ok_of(1)},
    }
    slim = made.slim(output)
    assert slim["results"]["q"] == {**ok_of(None), "ref": {"known": 1}}
    assert slim["results"]["p"] == ok_of(FULL)
    assert made.slim(slim) == slim
    aside = made.slim(ok_of(FULL), LIMIT)
    assert (aside["data"], made.hydrated[aside["ref"]["locator"]["key"]]) == (None, FULL)


def test_a_worker_keeps_the_results_of_its_tasks_together():
    frame = Pipe(compiled("- {step: start, tool: {kind: noop}}")).frame
    output, results = recorded_together(frame, ok_of(1), {"a": ok_of(FULL), "b": ok_of("y" * 9_000)})
    assert (output, results["b"]) == (ok_of(1), ok_of("y" * 9_000))
    assert results["a"]["data"] is None
    assert recorded_together(frame, ok_of(1), {}) == (ok_of(1), {})
    assert recorded(frame, ok_of(FULL), beside=60_000)["data"] is None


def test_a_frame_that_waits_with_much_is_put_aside_in_parts():
    pipe = Pipe(compiled("- {step: start, tool: {kind: noop}}"))
    frame = pipe.frame
    frame.iter = {f"v{n}": "x" * 16_000 for n in range(10)}
    frame.writes = [[["step", "s"], "y" * 15_000]]
    assert size_of(frame.checkpoint()) <= LIMIT


def test_many_frames_of_one_report_come_in_several_events(begin):
    world = begin(
        "- {step: start, loop: {in: '{{ range(4) }}', iterator: i, spec: {mode: parallel}}, tool: {kind: noop}}"
    )
    frames = {f"[{n}]": {"prev": "x" * 40_000, "sent": [[["ctx", f"k{n}"], n]]} for n in range(4)}
    world.report("start.1", frames=frames)
    assert len(world.named("step.checkpointed")) == 4
    assert max(size_of(event.data) for event in world.events) <= BOUND
    assert world.state.ctx == {f"k{n}": n for n in range(4)}
    assert len(world.state.runs["start.1"].frame) == 4


def test_a_merged_patch_comes_in_portions(begin):
    world = begin("- {step: start, tool: {kind: noop}}")
    writes = [[["ctx", f"k{n}"], "x" * 30_000] for n in range(4)] + [[["step", "s"], 1]]
    world.report("start.1", world.event("step.done", "start.1", output=ok_of(1), writes=writes), final=True)
    assert [len(event.data["patch"]) for event in world.named("ctx.patched")] == [2, 2]


def test_a_token_has_room_for_args_and_for_the_output_it_brings(begin):
    world = begin(
        "- {step: start, tool: {kind: noop}, next: {arcs: [{step: r, args: {a: \"{{ 'y' * 50000 }}\"}}]}}\n"
        '- {step: r, next: {arcs: [{step: e, when: "{{ event.data.output.data | length == 60000 }}"}]}}\n'
        "- {step: e, tool: {kind: noop}}"
    )
    world.done("start.1", FULL)
    assert world.live == ["e.1"]
    assert max(size_of(event.data) for event in world.events) <= BOUND


def test_a_fragment_over_the_limit_is_an_error(begin):
    world = begin("- {step: start, tool: {kind: noop}, spec: {synthesize: {from: '{{ output.data }}'}}}")
    large = {"step": "one", "tool": {"kind": "noop", "output": "x" * 63_000}, "desc": "y" * 3_000}
    world.done("start.1", [large])
    assert (world.state.error["kind"], world.state.status) == ("limit", "failed")
    assert "more than limits.max_payload_bytes" in world.state.error["message"]


def test_what_a_retry_keeps_is_restored_from_portions(world):
    it = world(
        "- {step: start, tool: {kind: noop}, next: {arcs: [{step: e}]}}\n- {step: e, loop: {in: [1, 2], iterator: x}, tool: {kind: noop}}"
    )
    state = {
        "ctx": {"deep": {"a": FULL, "b": FULL}, "c": 1},
        "results": {"start": ok_of(FULL), "other": ok_of(FULL)},
        "failures": [{"step": "s", "error": {"message": "x" * 40_000}, "taken_by": "e"}] * 2,
        "signals": [{"name": "go", "payload": FULL}],
        "steps": {"start": {"runs": 1, "status": "done"}},
        "output": "o",
    }
    loop = {"total": 2, "collection": [FULL, 2], "iterations": {"0": {"output": ok_of(FULL)}}}
    it.start(retry_of="e0", kept={"state": state, "tokens": [{"step": "e", "loop": loop}]})
    assert max(size_of(event.data) for event in it.events if event.data) <= BOUND
    assert (it.state.ctx, it.state.results, it.state.output) == (state["ctx"], state["results"], "o")
    assert (it.state.failures, it.state.signals) == (state["failures"], state["signals"])
    assert it.state.steps["start"].runs == 1
    assert len(it.named("execution.restored")) > 3
    assert [bool(event.data["iterations"]) for event in it.named("loop.restored")] == [False, True]
    assert LogHistory.of(ID, it.events).base["ctx"] == state["ctx"]
    told = [
        reason
        for reason in explain(ID, list(enumerate(it.events, 1)), None).reasons
        if "kept of" in reason.text
    ]
    assert len(told) == 1
