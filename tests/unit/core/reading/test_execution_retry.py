"""What a retry or rerun keeps of an ended execution, shown by running it again with the real engine."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from noetl.control import rerun_request
from noetl.control.history import events
from noetl.core.reading.execution_retry import (
    failed_before,
    past_of,
    retained_by_rerun,
    retained_by_retry,
)
from noetl.errors import Conflict, NotFound
from noetl.wiring.embedded import Embedded, new_execution_id
from tests.engine.harness import Ran, begin, control, engine, finish, playbook
from tests.engine.test_continue import COUNTING, FLAWED, last_of
from tests.unit.core.build import World, compiled

# A task that fails until the file `flag` is there, and counts its calls in the folder `seen`.
WORK = (
    "import pathlib, uuid; folder = pathlib.Path(seen); folder.mkdir(exist_ok=True); "
    "(folder / f'{name}-{uuid.uuid4().hex}').touch(); "
    "assert not fails or pathlib.Path(flag).exists(), 'not yet'; result = name"
)


def task(name: str, *, fails: bool = False) -> str:
    return (
        f'{{kind: python, input: {{name: "{name}", fails: {str(fails).lower()}, '
        f'flag: "{{{{ workload.flag }}}}", seen: "{{{{ workload.seen }}}}", code: "{WORK}"}}}}'
    )


@pytest.fixture
def payload(tmp_path: Path) -> dict[str, Any]:
    return {"flag": str(tmp_path / "flag"), "seen": str(tmp_path / "seen")}


def calls(payload: dict[str, Any]) -> list[str]:
    """The names of the tasks that were called, sorted."""
    folder = Path(payload["seen"])
    return sorted(file.name.rpartition("-")[0] for file in folder.iterdir())


def allow(payload: dict[str, Any]) -> None:
    """From now on everything succeeds, and calls are counted anew."""
    Path(payload["flag"]).touch()
    for file in Path(payload["seen"]).iterdir():
        file.unlink()


async def go_on(made: Embedded, request: Any) -> Ran:
    start, program = request
    execution_id = new_execution_id()
    await made.engine.start(execution_id, await made.checked(start, program))
    return await finish(made, execution_id)


async def retried(made: Embedded, ran: Ran, step: str | None = None) -> Ran:
    return await go_on(made, await rerun_request.retry(made.catalog, made.payloads, ran.execution_id, step))


async def rerun(made: Embedded, ran: Ran, start: str, text: str | None = None) -> Ran:
    return await go_on(
        made, await rerun_request.rerun(made.catalog, made.payloads, ran.execution_id, start, text)
    )


CHAIN = playbook(f"""
- {{step: a, tool: {task("a")}, set: {{ctx.va: "{{{{ output.data }}}}"}}, next: {{arcs: [{{step: b}}]}}}}
- step: b
  input: {{from_a: "{{{{ a.data }}}}"}}
  tool:
    - {{name: note, kind: noop, set: {{ctx.tries: "{{{{ (ctx.tries | default(0)) + 1 }}}}"}}}}
    - {task("b", fails=True)}
  next: {{arcs: [{{step: c, when: "{{{{ event.name == 'step.done' }}}}"}}]}}
- {{step: c, tool: {task("c")}, set: {{ctx.vc: "{{{{ a.data }}}}{{{{ output.data }}}}"}}}}
""")


async def test_a_retry_runs_what_failed_and_keeps_the_rest(tmp_path, payload):
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, CHAIN, payload))
        assert (failed.status, calls(payload)) == ("failed", ["a", "b"]), failed.error
        allow(payload)
        done = await retried(made, failed)
    assert calls(payload) == ["b", "c"]
    assert (done.status, done.output) == ("completed", "c")
    assert done.result["retry_of"] == failed.execution_id
    assert done.ctx == {"va": "a", "tries": 1, "vc": "ac"}
    assert (done.runs("a"), done.runs("b"), done.runs("c")) == (1, 1, 1)


async def test_the_log_of_the_failed_execution_stays_as_it_was(tmp_path, payload):
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, CHAIN, payload))
        allow(payload)
        await retried(made, failed)
        assert await made.store.end(failed.execution_id) == len(failed.events)


async def test_a_retry_that_fails_can_be_retried(tmp_path, payload):
    async with engine(tmp_path) as made:
        first = await finish(made, await begin(made, CHAIN, payload))
        second = await retried(made, first)
        assert second.status == "failed"
        allow(payload)
        third = await retried(made, second)
    assert (third.status, calls(payload), third.ctx) == (
        "completed",
        ["b", "c"],
        {"va": "a", "tries": 1, "vc": "ac"},
    )


FAN = playbook(f"""
- {{step: a, tool: {task("a")}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}}}
- step: b
  tool: {task("b")}
  next: {{arcs: [{{step: join, set: {{ctx.vb: 1}}}}]}}
- step: c
  tool: {task("c", fails=True)}
  next: {{arcs: [{{step: join, when: "{{{{ event.name == 'step.done' }}}}"}}]}}
- step: join
  spec: {{join: $mode}}
  tool: {task("join")}
""")


@pytest.mark.parametrize("mode", ["sync", "all", "first"])
async def test_a_token_that_waited_at_a_join_is_kept(tmp_path, payload, mode):
    drained = FAN.replace("workflow:", "executor: {spec: {on_failure: drain}}\nworkflow:")
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, drained.replace("$mode", mode), payload))
        assert failed.status == "failed"
        before = calls(payload)
        allow(payload)
        done = await retried(made, failed)
    assert done.status == "completed"
    assert done.ctx == {"vb": 1}
    assert done.runs("join") == 1
    assert sorted([*before, *calls(payload)]).count("b") == 1
    assert "c" in calls(payload)


LOOP = playbook(f"""
- step: load
  spec: {{policy: {{failure: {{mode: $failure}}}}}}
  loop:
    in: "{{{{ range(4) | list }}}}"
    iterator: x
    spec: {{mode: $mode, max_in_flight: 1, chunk: 1, policy: {{exec: $exec, reduce: {{ctx.sum: sum}}}}}}
  tool:
    kind: python
    input:
      name: "{{{{ 'i' ~ iter.x }}}}"
      fails: "{{{{ iter.x in [1, 3] }}}}"
      flag: "{{{{ workload.flag }}}}"
      seen: "{{{{ workload.seen }}}}"
      code: "{WORK}"
    set: {{ctx.sum: "{{{{ iter.x }}}}", ctx.last: "{{{{ 'same' }}}}"}}
  next: {{arcs: [{{step: end, when: "{{{{ event.name == 'loop.done' and output.loop.failed == 0 }}}}"}}]}}
- {{step: end, tool: {{kind: noop}}, set: {{ctx.names: "{{{{ load.data }}}}"}}}}
""")


@pytest.mark.parametrize("place", ["local", "distributed"])
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
async def test_of_a_loop_only_the_iterations_run_again_that_did_not_end_well(tmp_path, payload, mode, place):
    text = LOOP.replace("$mode", mode).replace("$exec", place).replace("$failure", "fail_fast")
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text, payload))
        assert (failed.status, calls(payload)) == ("failed", ["i0", "i1"])
        allow(payload)
        done = await retried(made, failed)
    assert calls(payload) == ["i1", "i2", "i3"]
    assert done.status == "completed"
    assert done.ctx == {"sum": 6, "last": "same", "names": ["i0", "i1", "i2", "i3"]}
    assert done.named("loop.done")[0]["data"]["output"]["loop"] == {
        "total": 4, "done": 4, "failed": 0, "skipped": 0,
    }  # fmt: skip


@pytest.mark.parametrize("step", [None, "load"])
async def test_of_a_loop_that_went_on_after_failures_the_failed_iterations_run_again(tmp_path, payload, step):
    text = LOOP.replace("$mode", "parallel").replace("$exec", "local").replace("$failure", "best_effort")
    async with engine(tmp_path) as made:
        ended = await finish(made, await begin(made, text, payload))
        assert (ended.status, ended.runs("end")) == ("completed", 0)
        assert ended.result["counts"]["failed_iterations"] == 2
        allow(payload)
        done = await retried(made, ended, step)
        with pytest.raises(Conflict, match="nothing to retry"):
            await retried(made, done)
    assert calls(payload) == ["i1", "i3"]
    assert done.ctx["names"] == ["i0", "i1", "i2", "i3"]
    assert done.ctx["sum"] == 6
    assert done.result["counts"]["failed_iterations"] == 0


NESTED = """
- step: load
  loop:
    in: [[0, 1], [2], [3]]
    iterator: outer
    loop: {in: "{{ iter.outer }}", iterator: x}
  spec: {policy: {failure: {mode: best_effort}}}
  tool: $task
- step: block
  tool: {kind: workbook, block: each}
  spec: {policy: {failure: {mode: best_effort}}}
"""
BLOCKS = """
workbook:
  each: {loop: {in: [4, 5], iterator: x}, tool: $task}
"""
ONE_OF_THEM = (
    '{kind: python, input: {name: "i{{ iter.x }}", fails: "{{ iter.x in [1, 5] }}", '
    f'flag: "{{{{ workload.flag }}}}", seen: "{{{{ workload.seen }}}}", code: "{WORK}"}}}}'
)


async def test_inner_iterations_that_best_effort_went_on_without_are_counted_and_retried(tmp_path, payload):
    workflow = NESTED.replace("- step: block", "  next: {arcs: [{step: block}]}\n- step: block")
    text = playbook(workflow.replace("$task", ONE_OF_THEM), workbook=BLOCKS.replace("$task", ONE_OF_THEM))
    async with engine(tmp_path) as made:
        ended = await finish(made, await begin(made, text, payload))
        assert ended.result["counts"]["failed_iterations"] == 2
        assert ended.named("loop.done")[0]["data"]["output"]["loop"]["failed"] == 0
        allow(payload)
        done = await retried(made, ended)
    assert calls(payload) == ["i0", "i1", "i4", "i5"]  # of the outer loop the iteration that was flawed
    assert done.result["counts"]["failed_iterations"] == 0
    assert done.output == ["i4", "i5"]


async def test_failed_iterations_that_a_retry_keeps_are_still_counted(tmp_path, payload):
    loop = LOOP.replace("$mode", "parallel").replace("$exec", "local").replace("$failure", "best_effort")
    text = loop.replace("and output.loop.failed == 0", "").replace(
        "{step: end, tool: {kind: noop},", f"{{step: end, tool: {task('end', fails=True)},"
    )
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text, payload))
        assert (failed.status, failed.error["step"]) == ("failed", "end")
        allow(payload)
        done = await retried(made, failed)
        assert (done.status, done.result["counts"]["failed_iterations"]) == ("completed", 2)
        with pytest.raises(Conflict, match=f"are of execution {failed.execution_id}"):
            await retried(made, done)
        with pytest.raises(NotFound, match=f"kept it of execution {failed.execution_id}") as refused:
            await retried(made, done, "load")
        assert f"noetl execution retry {failed.execution_id} --step load" in str(refused.value.hint)
    assert calls(payload) == ["end"]


async def test_a_retry_goes_on_from_a_failure_that_nothing_asked_about(tmp_path, payload):
    text = playbook(f"""
    - {{step: start, tool: {task("start")}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b}}]}}}}
    - {{step: a, tool: {task("a", fails=True)}, set: {{ctx.a: 1}}, next: {{arcs: [{{step: meet}}]}}}}
    - {{step: b, tool: {task("b")}, next: {{arcs: [{{step: meet}}]}}}}
    - {{step: meet, tool: {task("meet")}, set: {{ctx.met: "{{{{ (ctx.met | default(0)) + 1 }}}}"}}}}
    """)
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text, payload))
        assert (failed.status, failed.error["step"], failed.output) == ("failed", "a", None)
        assert calls(payload) == ["a", "b", "meet", "start"]
        allow(payload)
        done = await retried(made, failed)
    assert calls(payload) == ["a", "meet"]  # what ran after the failure runs again, the other branch does not
    assert (done.status, done.output, done.result["failures"]) == ("completed", "meet", [])
    assert done.ctx == {"a": 1, "met": 1}


async def test_a_step_without_a_failure_is_not_retried(tmp_path, payload):
    allow_all = payload | {"flag": str(tmp_path)}
    async with engine(tmp_path) as made:
        done = await finish(made, await begin(made, CHAIN, allow_all))
        assert done.status == "completed"
        with pytest.raises(Conflict, match="nothing that failed"):
            await retried(made, done, "c")
        with pytest.raises(NotFound, match="never ran"):
            await retried(made, done, "nowhere")


async def test_a_cancelled_execution_goes_on_with_what_was_cut_off(tmp_path, payload):
    text = playbook(f"""
    - {{step: a, tool: {task("a")}, set: {{ctx.va: 1}}, next: {{arcs: [{{step: hold}}]}}}}
    - {{step: hold, tool: {{kind: wait, input: {{signal: go}}}}, set: {{ctx.got: "{{{{ output.data }}}}"}}}}
    """)
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text, payload)
        await parked(made, execution_id)
        await control(made, execution_id, "cancel", why="enough")
        cancelled = await finish(made, execution_id)
        assert cancelled.status == "cancelled"
        start, program = await rerun_request.retry(made.catalog, made.payloads, execution_id)
        second = new_execution_id()
        await made.engine.start(second, await made.checked(start, program))
        await parked(made, second)
        await control(made, second, "signal", name="go", payload=7)
        done = await finish(made, second)
    assert (done.status, done.ctx, calls(payload)) == ("completed", {"va": 1, "got": 7}, ["a"])


async def parked(made: Embedded, execution_id: str) -> None:
    async with asyncio.timeout(10):
        while True:
            state = made.engine.live_state(execution_id)
            if state is not None and any(run.parked for run in state.runs.values()):
                return
            await asyncio.sleep(0.005)


async def test_an_execution_that_is_not_over_is_not_run_again(tmp_path):
    text = playbook("- {step: hold, tool: {kind: wait, input: {signal: go}}}")
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        await parked(made, execution_id)
        with pytest.raises(Conflict, match="only an ended one"):
            await rerun_request.retry(made.catalog, made.payloads, execution_id)


async def test_a_rerun_begins_at_the_step_and_keeps_what_does_not_depend_on_it(tmp_path, payload):
    text = playbook(f"""
    - {{step: a, tool: {task("a")}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}}}
    - {{step: b, tool: {task("b")}, set: {{ctx.vb: "{{{{ output.data }}}}"}}, next: {{arcs: [{{step: d}}]}}}}
    - {{step: c, tool: {task("c")}, set: {{ctx.vc: "{{{{ output.data }}}}"}}, next: {{arcs: [{{step: d}}]}}}}
    - {{step: d, tool: {task("d")}, set: {{ctx.vd: "{{{{ b.data }}}}{{{{ c.data }}}}"}}}}
    """)
    async with engine(tmp_path) as made:
        done = await finish(made, await begin(made, text, payload))
        assert done.status == "completed"
        allow(payload)
        second = await rerun(made, done, "b")
    assert calls(payload) == ["b", "d"]
    assert second.ctx == {"vb": "b", "vc": "c", "vd": "bc"}
    assert second.runs("d") == 1


async def test_a_rerun_may_bring_a_changed_playbook(tmp_path, payload):
    changed = CHAIN.replace("{step: c}", "{step: extra}").replace("step: c,", "step: extra,")
    changed = changed.replace("ctx.vc:", "ctx.vextra:").replace("arcs: [{step: c,", "arcs: [{step: extra,")
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, CHAIN, payload))
        allow(payload)
        done = await rerun(made, failed, "b", changed)
        with pytest.raises(Conflict, match="no step 'b'"):
            await rerun(made, failed, "b", playbook("- {step: other, tool: {kind: noop}}"))
    assert (done.status, done.ctx) == ("completed", {"va": "a", "tries": 1, "vextra": "ac"})


CYCLE = playbook("""
- step: count
  tool: {kind: noop}
  set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}", ctx.seen: "{{ (ctx.seen | default([])) + [ctx.n | default(0)] }}"}
  next: {arcs: [{step: count, when: "{{ ctx.n < 3 }}"}, {step: end}]}
- {step: end, tool: {kind: noop}}
""")


@pytest.mark.parametrize(
    "start, runs, seen", [("count", 3, [0, 1, 2]), ("count.3", 3, [0, 1, 2]), ("end", 3, [0, 1, 2])]
)
async def test_a_rerun_begins_with_the_first_run_of_a_step_or_with_the_run_named(tmp_path, start, runs, seen):
    async with engine(tmp_path) as made:
        done = await finish(made, await begin(made, CYCLE))
        second = await rerun(made, done, start)
    assert (second.status, second.runs("count"), second.ctx["seen"]) == ("completed", runs, seen)


async def test_a_failure_that_an_arc_asked_about_is_kept_as_such(tmp_path, payload):
    text = playbook(f"""
    - {{step: a, tool: {task("a", fails=True)}, next: {{arcs: [{{step: b, when: "{{{{ event.failed }}}}"}}]}}}}
    - {{step: b, tool: {task("b", fails=True)}}}
    """)
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text, payload))
        allow(payload)
        done = await retried(made, failed)
    assert calls(payload) == ["b"]
    assert [(item["step"], item["answered"]) for item in done.result["failures"]] == [("a", True)]


async def test_a_synthesised_fragment_runs_again_as_a_whole(tmp_path, payload):
    text = playbook("""
    - step: plan
      tool: {kind: python, input: {plan: "{{ workload.plan }}", code: "result = plan"}}
      spec: {synthesize: {from: "{{ output.data }}"}}
      next: {arcs: [{step: end, when: "{{ event.name == 'step.done' }}"}]}
    - {step: end, tool: {kind: noop}, set: {ctx.end: 1}}
    """)
    steps = [
        {"step": "one", "tool": yaml.safe_load(task("one")), "next": {"arcs": [{"step": "two"}]}},
        {"step": "two", "tool": yaml.safe_load(task("two", fails=True))},
    ]
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text, payload | {"plan": steps}))
        assert (failed.status, calls(payload)) == ("failed", ["one", "two"])
        allow(payload)
        done = await retried(made, failed)
    assert (done.status, done.ctx, calls(payload)) == ("completed", {"end": 1}, ["one", "two"])


async def test_a_request_that_never_began_is_simply_made_again(tmp_path):
    text = playbook(
        "- {step: a, tool: {kind: noop}}",
        keychain="keychain: [{name: tok, kind: env, env: NOT_SET_ANYWHERE}]",
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        refused = await finish(made, execution_id)
        assert refused.error["kind"] == "keychain"
        start, _ = await rerun_request.retry(made.catalog, made.payloads, execution_id)
    assert (start.kept, start.retry_of) == (None, execution_id)


async def test_large_values_are_kept_by_reference(tmp_path, payload):
    text = playbook(f"""
    - step: a
      tool: {{kind: python, input: {{code: "result = 'x' * 100000"}}}}
      set: {{ctx.big: "{{{{ output.data }}}}"}}
      next: {{arcs: [{{step: b}}]}}
    - step: b
      tool:
        - {task("b", fails=True)}
        - {{name: size, kind: noop, output: "{{{{ ctx.big | length }}}}"}}
    """)
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text, payload))
        allow(payload)
        done = await retried(made, failed)
    assert (done.status, done.output) == ("completed", 100000)


def test_an_execution_in_which_nothing_had_begun_keeps_nothing():
    world = World(compiled("- {step: a, tool: {kind: noop}}"))
    world.start(problem={"kind": "keychain", "message": "no such name"})
    past = past_of("e1", world.events)
    assert retained_by_retry(past, world.program) is None
    assert retained_by_rerun(past, world.program, "a") is None


async def test_iterations_are_kept_over_more_than_one_retry(tmp_path, payload):
    text = LOOP.replace("$mode", "sequential").replace("$exec", "local").replace("$failure", "fail_fast")
    async with engine(tmp_path) as made:
        first = await finish(made, await begin(made, text, payload))
        second = await retried(made, first)
        assert (second.status, calls(payload)) == ("failed", ["i0", "i1", "i1"])
        allow(payload)
        third = await retried(made, second)
    assert calls(payload) == ["i1", "i2", "i3"]
    assert (third.status, third.ctx["sum"], third.ctx["names"]) == ("completed", 6, ["i0", "i1", "i2", "i3"])


async def test_a_loop_that_went_well_before_the_failure_is_not_repeated(tmp_path, payload):
    text = playbook(f"""
    - step: pairs
      loop: {{in: "{{{{ [[1, 2], [3]] }}}}", iterator: pair, loop: {{in: "{{{{ iter.pair }}}}", iterator: x}}}}
      tool: {{kind: noop, output: "{{{{ iter.x }}}}"}}
      next: {{arcs: [{{step: b}}]}}
    - {{step: b, tool: {task("b", fails=True)}, set: {{ctx.pairs: "{{{{ pairs.data }}}}"}}}}
    """)
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text, payload))
        allow(payload)
        done = await retried(made, failed)
    assert (done.status, done.ctx) == ("completed", {"pairs": [[1, 2], [3]]})
    assert not done.named("loop.iteration.started")


async def test_of_nested_loops_the_outer_iteration_runs_again(tmp_path, payload):
    text = playbook(f"""
    - step: pairs
      loop: {{in: "{{{{ ['a', 'b'] }}}}", iterator: outer, loop: {{in: "{{{{ [1, 2] }}}}", iterator: x}}}}
      tool:
        kind: python
        input:
          name: "{{{{ iter.parent.outer ~ iter.x }}}}"
          fails: "{{{{ iter.parent.outer == 'b' and iter.x == 2 }}}}"
          flag: "{{{{ workload.flag }}}}"
          seen: "{{{{ workload.seen }}}}"
          code: "{WORK}"
    """)
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text, payload))
        allow(payload)
        done = await retried(made, failed)
    assert calls(payload) == ["b1", "b2"]
    assert done.output == [["a1", "a2"], ["b1", "b2"]]


async def test_many_kept_iterations_are_restored_in_portions(tmp_path, payload):
    text = playbook("""
    - step: load
      loop: {in: "{{ range(30) | list }}", iterator: x, spec: {mode: parallel, max_in_flight: 4}}
      tool: {kind: noop, output: "{{ 'x' * 5000 }}"}
      output: "{{ output.data | length }}"
      set: {ctx.ok: "{{ workload.known }}"}
    """)
    async with engine(tmp_path) as made:
        failed = await finish(made, await begin(made, text, payload))
        assert (failed.status, failed.error["kind"]) == ("failed", "template")
        again_failed = await retried(made, failed)
    restored = again_failed.named("loop.restored")
    assert len(restored) > 1
    assert sum(len(event["data"]["iterations"]) for event in restored) == 30
    assert not again_failed.named("loop.iteration.started")


@pytest.mark.parametrize(("text", "fails"), [(FLAWED, True), (COUNTING, False)])
async def test_what_failed_before_an_execution_went_on_is_in_the_log_before_it(tmp_path, text, fails):
    async with engine(tmp_path) as made:
        first = await begin(made, text, {"flag": str(tmp_path / "flag")} if fails else None)
        await last_of(made, first)
        second = (await made.store.summary(first)).continued_as
        past = {
            execution_id: past_of(
                execution_id, [event async for _, event in events(made.store, execution_id)]
            )
            for execution_id in (first, second)
        }
    assert failed_before(past[first]) is None
    assert failed_before(past[second]) == (first if fails else None)
