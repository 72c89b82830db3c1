"""What a run reads: ctx and finished steps as of its scheduling, plus its own writes, however often it goes out."""

import pytest

from tests.engine.harness import Ran, begin, control, engine, finish, playbook, until

READS = '[{name: hold, kind: wait, input: {signal: go}}, {name: read, kind: noop, output: "{{ [ctx.x, ctx.list.a, ctx.new | default(none), ctx.own | default(none), early.data | default(none)] }}"}]'
WRITES = "{ctx.x: 2, ctx.list.a: 2, ctx.new: 2}"
THEN = [1, 1, None, None, None]


def split(reader: str) -> str:
    """A branch that writes when it is told to, beside one that reads when it is told to."""
    return playbook(f"""
    - step: start
      tool: {{kind: noop}}
      set: {{ctx.x: 1, ctx.list: {{a: 1}}}}
      next: {{spec: {{mode: inclusive}}, arcs: [{{step: reader}}, {{step: writer}}]}}
    - {{step: writer, tool: {{kind: wait, input: {{signal: write}}}}, next: {{arcs: [{{step: early}}]}}}}
    - {{step: early, tool: {{kind: noop}}, set: {WRITES}, next: {{arcs: [{{step: written}}]}}}}
    - {{step: written, tool: {{kind: wait, input: {{signal: never}}}}}}
    - step: reader
      {reader}
      set: {{ctx.seen: "{{{{ output.data }}}}"}}
    """)


async def play(folder, text: str, *, parked: int = 1, reads: int = 1, again: str = "") -> Ran:
    """Let the writer write while the reader waits, send the reader out again, and let it read."""
    async with engine(folder) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: "reader.1" in state.runs and len(state.runs["reader.1"].parked) == parked)
        await control(made, execution_id, "signal", name="write")
        await until(made, lambda: "written.1" in state.runs and state.runs["written.1"].parked)
        if again == "paused":
            await control(made, execution_id, "pause")
            await control(made, execution_id, "resume")
        if again != "crashed":
            return await _read(made, execution_id, reads)
    async with engine(folder, made) as another:
        await another.engine.resume(execution_id)
        return await _read(another, execution_id, reads)


async def _read(made, execution_id: str, reads: int) -> Ran:
    for name in (*["go"] * reads, "never"):
        await control(made, execution_id, "signal", name=name)
    return await finish(made, execution_id)


AGAIN = ["parked", "paused", "crashed"]


@pytest.mark.parametrize("again", AGAIN)
async def test_a_run_that_goes_out_again_reads_ctx_as_of_its_scheduling(tmp_path, again):
    ran = await play(tmp_path, split(f"tool: {READS}"), again=again)
    assert (ran.status, ran.ctx["seen"], ran.ctx["x"]) == ("completed", THEN, 2)


LOOPS = {
    "local": (2, "mode: parallel"),
    "sequential": (1, "mode: sequential"),
    "chunks": (1, "mode: parallel, max_in_flight: 1, chunk: 1, policy: {exec: distributed}"),
}


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("name", LOOPS)
async def test_every_iteration_reads_ctx_as_of_the_scheduling_of_its_run(tmp_path, name, again):
    parked, spec = LOOPS[name]
    reader = f"loop: {{in: [1, 2], iterator: i, spec: {{{spec}}}}}\n      tool: {READS}"
    ran = await play(tmp_path, split(reader), parked=parked, reads=2, again=again)
    assert (ran.status, ran.ctx["seen"]) == ("completed", [THEN, THEN])


@pytest.mark.parametrize("again", AGAIN)
async def test_a_run_that_goes_out_again_reads_its_own_writes(tmp_path, again):
    own = '[{name: own, kind: noop, set: {ctx.own: 5, ctx.list.b: 6}}, {name: hold, kind: wait, input: {signal: go}}, {name: read, kind: noop, output: "{{ [ctx.x, ctx.own, ctx.list] }}"}]'
    ran = await play(tmp_path, split(f"tool: {own}"), again=again)
    assert ran.ctx["seen"] == [1, 5, {"a": 1, "b": 6}]
    assert ran.ctx["list"] == {"a": 2, "b": 6}


async def test_the_iterations_of_a_sequential_loop_read_what_earlier_ones_wrote_and_nothing_else(tmp_path):
    tasks = '[{name: hold, kind: wait, input: {signal: go}}, {name: read, kind: noop, output: "{{ [ctx.x, ctx.own | default(0)] }}", set: {ctx.own: "{{ iter.i }}"}}]'
    reader = f"loop: {{in: [1, 2, 3], iterator: i, spec: {{chunk: 1, policy: {{exec: distributed}}}}}}\n      tool: {tasks}"
    ran = await play(tmp_path, split(reader), reads=3)
    assert ran.ctx["seen"] == [[1, 0], [1, 1], [1, 2]]
    assert (ran.ctx["own"], ran.ctx["x"]) == (3, 2)


async def test_a_large_value_that_was_overwritten_is_still_read_as_it_was(tmp_path):
    text = playbook("""
    - step: start
      tool: {kind: noop, output: "{{ 'x' * 100000 }}"}
      set: {ctx.x: "{{ output.data }}", ctx.list: {a: 1}}
      next: {spec: {mode: inclusive}, arcs: [{step: reader}, {step: writer}]}
    - {step: writer, tool: {kind: wait, input: {signal: write}}, set: {ctx.x: 2}, next: {arcs: [{step: written}]}}
    - {step: written, tool: {kind: wait, input: {signal: never}}}
    - step: reader
      tool: [{name: hold, kind: wait, input: {signal: go}}, {name: read, kind: noop, output: "{{ ctx.x | length }}"}]
      set: {ctx.seen: "{{ output.data }}"}
    """)
    ran = await play(tmp_path, text, again="crashed")
    assert (ran.ctx["seen"], ran.ctx["x"]) == (100_000, 2)


@pytest.mark.parametrize(
    "read, said",
    [
        ("workload.whoo", "workload.whoo is missing; the playbook's workload has: who, when"),
        ("ctx.b", "ctx.b is missing; ctx has nothing of that name"),
    ],
)
async def test_what_is_missing_is_told_without_taking_what_a_worker_was_sent_for_all_there_is(
    tmp_path, read: str, said: str
) -> None:
    steps = f"""
    - step: first
      tool: {{kind: noop}}
      set: {{ctx.a: 1}}
      next: {{arcs: [{{step: start}}]}}
    - step: start
      tool:
        - {{name: one, kind: noop, set: {{ctx.c: 1}}}}
        - {{name: two, kind: noop, output: "{{{{ {read} }}}}"}}
    """
    async with engine(tmp_path) as made:
        ran = await finish(
            made, await begin(made, playbook(steps, workload="workload: {who: you, when: now}"))
        )
    assert (ran.error or {})["message"].endswith(said), ran.error
