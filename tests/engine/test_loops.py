"""Loops: order, bounds, failures, writes, reducers, nesting, both placements."""

import asyncio

import pytest

from noetl.ports.envelope import ok
from noetl.ports.tool import Input, define
from tests.engine.harness import begin, control, engine, finish, playbook, run, until


def loop(
    body: str, spec: str = "", items: str = "[0, 1, 2, 3]", more: str = "", step: str = "desc: x"
) -> str:
    return f"""
    - step: start
      {step}
      loop: {{in: "{{{{ {items} }}}}", iterator: x{", spec: {" + spec + "}" if spec else ""}{more}}}
      tool: {body}
    """


ADD = '{name: a, kind: python, input: {x: "{{ iter.x }}", code: "result = x * 10"}}'
PLACES = pytest.mark.parametrize("place", ["local", "distributed"])
MODES = pytest.mark.parametrize("mode", ["sequential", "parallel"])


@PLACES
@MODES
async def test_the_output_is_in_index_order_in_every_mode(tmp_path, place, mode):
    text = playbook(
        loop(ADD, f"mode: {mode}, max_in_flight: 3, chunk: 2, policy: {{exec: {place}}}", "range(7) | list")
    )
    ran = await run(tmp_path, text)
    assert ran.output == [0, 10, 20, 30, 40, 50, 60]
    end = ran.named("loop.done")[0]
    assert end["source"] == ("worker" if place == "local" else "server")
    assert end["data"]["output"]["loop"] == {"total": 7, "done": 7, "failed": 0, "skipped": 0}
    assert ran.named("step.done") == []


async def test_an_empty_collection_is_a_successful_loop_of_nothing(tmp_path):
    ran = await run(tmp_path, playbook(loop(ADD, items="[]")))
    assert (ran.status, ran.output) == ("completed", [])


async def test_a_mapping_gives_key_and_value(tmp_path):
    body = "{kind: python, input: {p: \"{{ iter.x }}\", code: \"result = [p['key'], p['value']]\"}}"
    ran = await run(tmp_path, playbook(loop(body, items="{'a': 1, 'b': 2}")))
    assert ran.output == [["a", 1], ["b", 2]]


async def test_a_value_that_is_no_collection_fails_the_step_and_names_its_type(tmp_path):
    ran = await run(tmp_path, playbook(loop(ADD, items="'text'")))
    assert ran.status == "failed"
    assert "str" in ran.error["message"]


@PLACES
async def test_best_effort_runs_all_and_keeps_errors_by_index(tmp_path, place):
    body = '{kind: python, input: {x: "{{ iter.x }}", code: "result = 1 // (x - 1)"}}'
    text = playbook(
        loop(
            body,
            f"mode: parallel, policy: {{exec: {place}}}",
            step="spec: {policy: {failure: {mode: best_effort}}}",
        )
    )
    ran = await run(tmp_path, text)
    assert ran.output == [-1, None, 1, 0]
    counts = ran.named("loop.done")[0]["data"]["output"]["loop"]
    assert (counts["done"], counts["failed"], counts["errors"][0]["index"]) == (3, 1, 1)


@PLACES
async def test_fail_fast_starts_nothing_more_and_counts_the_rest_as_skipped(tmp_path, place):
    body = '{kind: python, input: {x: "{{ iter.x }}", code: "result = 1 // (x - 1)"}}'
    ran = await run(tmp_path, playbook(loop(body, f"policy: {{exec: {place}}}")))
    assert ran.status == "failed"
    assert ran.error["iteration"] == 1
    counts = ran.named("step.failed")[0]["data"]["output"]["loop"]
    assert (counts["done"], counts["failed"], counts["skipped"]) == (1, 1, 2)


@pytest.mark.parametrize(
    ("how", "before", "expected"),
    [
        ("sum", None, 6), ("sum", 10, 16), ("min", None, 0), ("max", 9, 9), ("append", None, [0, 1, 2, 3]),
        ("append", [9], [9, 0, 1, 2, 3]), ("union", [1], [1, 0, 2, 3]), ("first", None, 0), ("last", 7, 3),
    ],
)  # fmt: skip
async def test_reducers_take_every_write_and_the_existing_value_first(tmp_path, how, before, expected):
    first = "{}" if before is None else f"{{ctx.v: {before}}}"
    text = playbook(f"""
    - {{step: start, tool: {{kind: noop}}, set: {first}, next: {{arcs: [{{step: work}}]}}}}
    - step: work
      loop: {{in: "{{{{ range(4) | list }}}}", iterator: x, spec: {{mode: parallel, policy: {{reduce: {{ctx.v: {how}}}}}}}}}
      tool: {{kind: noop, set: {{ctx.v: "{{{{ iter.x }}}}"}}}}
    """)
    ran = await run(tmp_path, text)
    assert ran.ctx["v"] == expected


async def test_different_values_without_a_reducer_conflict_and_equal_ones_do_not(tmp_path):
    body = '{kind: noop, set: {ctx.v: "{{ iter.x }}"}}'
    ran = await run(tmp_path, playbook(loop(body, "mode: parallel")))
    assert ran.error["kind"] == "conflict"
    assert "ctx.v" in ran.error["message"]
    same = await run(tmp_path, playbook(loop("{kind: noop, set: {ctx.v: 1}}", "mode: parallel")))
    assert same.ctx == {"v": 1}


@PLACES
async def test_in_a_sequential_loop_the_next_iteration_sees_ctx_and_step_writes(tmp_path, place):
    text = playbook(f"""
    - {{step: start, tool: {{kind: noop}}, set: {{ctx.n: 0}}, next: {{arcs: [{{step: work}}]}}}}
    - step: work
      loop: {{in: "{{{{ range(5) | list }}}}", iterator: x, spec: {{chunk: 2, policy: {{exec: {place}}}}}}}
      tool: {{kind: noop, set: {{ctx.n: "{{{{ ctx.n + 1 }}}}", step.m: "{{{{ (step.m | default(0)) + 1 }}}}"}}}}
      set: {{ctx.m: "{{{{ step.m }}}}"}}
    """)
    ran = await run(tmp_path, text)
    assert ran.ctx == {"n": 5, "m": 5}


async def test_nested_loops_give_nested_lists_and_reach_their_parents(tmp_path):
    text = playbook("""
    - step: start
      loop:
        in: "{{ [[1, 2], [3]] }}"
        iterator: row
        spec: {mode: parallel, max_in_flight: 2}
        loop: {in: "{{ iter.row }}", iterator: cell, spec: {mode: parallel, max_in_flight: 2}}
      tool: {kind: python, input: {a: "{{ iter.cell }}", b: "{{ iter.parent.index }}", c: "{{ iter.index }}", d: "{{ iter.count }}", code: "result = [a, b, c, d]"}}
    """)
    ran = await run(tmp_path, text)
    assert ran.output == [[[1, 0, 0, 2], [2, 0, 1, 2]], [[3, 1, 0, 1]]]
    assert {e["iteration_id"] for e in ran.named("loop.iteration.done")} == {
        "start.1[0]", "start.1[1]", "start.1[0][0]", "start.1[0][1]", "start.1[1][0]",
    }  # fmt: skip


async def test_a_block_with_its_own_loop_sees_the_calling_iteration(tmp_path):
    text = playbook(
        """
        - step: start
          loop: {in: "{{ [1, 2] }}", iterator: x}
          tool: {name: call, kind: workbook, block: inner, input: {base: "{{ iter.x * 100 }}"}}
        """,
        workbook="""
        workbook:
          inner:
            input: {base: 0, extra: 7}
            loop: {in: "{{ [10, 20] }}", iterator: y}
            tool: {kind: python, input: {b: "{{ input.base }}", e: "{{ input.extra }}", y: "{{ iter.y }}", p: "{{ iter.parent.x }}", code: "result = b + y + p + e"}}
        """,
    )
    ran = await run(tmp_path, text)
    assert ran.output == [[118, 128], [219, 229]]
    assert ran.named("task.done")[0]["task_label"].startswith("call/")


async def test_a_break_counts_as_done(tmp_path):
    body = '{kind: python, input: {x: "{{ iter.x }}", code: "result = x"}, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}'
    ran = await run(tmp_path, playbook(loop(body)))
    assert ran.output == [0, 1, 2, 3]


@PLACES
async def test_pause_stops_a_loop_at_a_task_boundary_and_resume_runs_the_rest_once(tmp_path, place):
    body = '{kind: python, input: {x: "{{ iter.x }}", code: "import time; time.sleep(0.03); result = x"}}'
    text = playbook(
        loop(
            body, f"mode: parallel, max_in_flight: 2, chunk: 4, policy: {{exec: {place}}}", "range(20) | list"
        )
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: state.iterations >= 2)
        await control(made, execution_id, "pause")
        paused = await finish(made, execution_id)
        assert paused.status == "paused"
        assert 2 <= paused.result["counts"]["iterations"] < 20
        await control(made, execution_id, "resume")
        ran = await finish(made, execution_id)
    assert ran.output == list(range(20))
    assert len(ran.named("task.started")) == 20


@PLACES
async def test_cancel_ends_at_once_and_counts_the_unfinished_as_skipped(tmp_path, place):
    body = "{kind: wait, input: {seconds: 3}}"
    text = playbook(loop(body, f"mode: parallel, max_in_flight: 2, policy: {{exec: {place}}}"))
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        await control(made, execution_id, "cancel", why="enough")
        ran = await finish(made, execution_id)
    assert ran.status == "cancelled"
    counts = ran.named("step.failed")[0]["data"]["output"]["loop"]
    assert counts["skipped"] == 4
    assert ran.named("step.failed")[0]["data"]["error"]["kind"] == "cancelled"


@PLACES
async def test_large_outputs_of_many_iterations_rest_in_packs_and_read_as_one_list(tmp_path, place):
    text = playbook(f"""
    - step: start
      loop: {{in: "{{{{ range(300) | list }}}}", iterator: x, spec: {{mode: parallel, chunk: 100, policy: {{exec: {place}}}}}}}
      tool: {{kind: python, input: {{x: "{{{{ iter.x }}}}", code: "result = [x] * 30000"}}}}
      set: {{ctx.all_ref: "{{{{ output.ref }}}}"}}
      next: {{arcs: [{{step: use}}]}}
    - step: use
      tool: [{{name: all, kind: resolve, input: {{ref: "{{{{ ctx.all_ref }}}}"}}}}, {{name: n, kind: python, input: {{d: "{{{{ all.data }}}}", code: "result = [len(d), d[299][0], d[7][29999]]"}}}}]
    """)
    ran = await run(tmp_path, text)
    assert ran.output == [300, 299, 7]
    assert ran.ctx["all_ref"]["meta"]["content_type"].endswith("manifest+json")


async def test_a_step_that_reads_its_loops_data_gets_packed_outputs_in_place(tmp_path):
    text = playbook(
        """
    - step: start
      loop: {in: "{{ range(200) | list }}", iterator: x, spec: {mode: parallel}}
      tool: {kind: python, input: {x: "{{ iter.x }}", code: "result = str(x) * 30000"}}
      set: {ctx.n: "{{ output.data | length }}", ctx.last: "{{ output.data[199][:3] }}"}
    """,
        executor="executor: {spec: {limits: {max_hydrate_bytes: 100000000}}}",
    )
    ran = await run(tmp_path, text)
    assert ran.ctx == {"n": 200, "last": "199"}


async def test_parallel_inner_loops_conflict_like_outer_ones_and_pass_operands_outward(tmp_path):
    def nested(reduce: str) -> str:
        return playbook(f"""
        - step: start
          loop:
            in: "{{{{ [1, 2] }}}}"
            iterator: a
            spec: {{mode: parallel{reduce}}}
            loop: {{in: "{{{{ [10, 20] }}}}", iterator: b, spec: {{mode: parallel}}}}
          tool: {{kind: noop, set: {{ctx.v: "{{{{ iter.b + iter.parent.a }}}}"}}}}
        """)

    assert (await run(tmp_path, nested(""))).error["kind"] == "conflict"
    summed = await run(tmp_path, nested(", policy: {reduce: {ctx.v: sum}}"))
    assert summed.ctx == {"v": 66}


@PLACES
async def test_a_loop_whose_set_fails_after_its_writes_replays_as_it_was_decided(tmp_path, place):
    text = playbook(f"""
    - step: start
      loop: {{in: "{{{{ [1, 2, 3] }}}}", iterator: x, spec: {{mode: parallel, policy: {{exec: {place}, reduce: {{ctx.n: sum}}}}}}}}
      tool: {{kind: noop, set: {{ctx.n: "{{{{ iter.x }}}}"}}}}
      set: {{ctx.m: "{{{{ output.data.nothing.here }}}}"}}
      next: {{arcs: [{{step: end, when: "{{{{ event.name == 'step.failed' }}}}"}}]}}
    - {{step: end, tool: {{kind: noop}}}}
    """)
    ran = await run(tmp_path, text)
    assert (ran.status, ran.ctx) == ("completed", {"n": 6})
    assert ran.named("step.failed", step="start")[0]["data"]["was"] == "loop.done"


async def test_a_parallel_loop_that_fails_while_reports_are_on_their_way_fails(tmp_path, monkeypatch):
    text = playbook("""
    - step: start
      loop: {in: "{{ range(1000) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 50}}
      tool: {kind: noop, output: "{{ 1 // (300 - iter.n) }}"}
    """)
    async with engine(tmp_path) as made:
        commit = made.store.commit

        async def slow(append):
            for _ in range(50):  # so that lanes are still waiting for a report when the loop fails
                await asyncio.sleep(0)
            await commit(append)

        monkeypatch.setattr(made.store, "commit", slow)
        ran = await finish(made, await begin(made, text))
    assert (ran.status, made.trouble) == ("failed", None)
    assert ran.error["iteration"] == 300


class Command(Input):
    """What a shell is given."""

    command: str


class Gate:
    """A tool whose calls wait until so many of them are there at once; it counts the most there ever were."""

    def __init__(self, full: int) -> None:
        self.full, self.now, self.most, self.opened = full, 0, 0, asyncio.Event()

    def tool(self, kind):
        return define(kind, "Waits.", Command, self.call)

    async def call(self, values, call):
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self.full:
            self.opened.set()
        await self.opened.wait()
        await asyncio.sleep(0)
        self.now -= 1
        return ok()


@pytest.mark.parametrize(
    "place, items, limit, chunk",
    [
        ("local", 16, 8, None), ("distributed", 16, 8, None), ("distributed", 16, 8, 100),
        ("distributed", 16, 8, 1), ("distributed", 64, 4, None), ("distributed", 12, 10, None),
        ("distributed", 100, 20, None), ("distributed", 100, 20, 7), ("distributed", 500, 40, None),
    ],
)  # fmt: skip
async def test_as_many_iterations_run_at_once_as_may_and_never_more(tmp_path, place, items, limit, chunk):
    gate = Gate(min(items, limit))
    hint = f"chunk: {chunk}, " if chunk else ""
    spec = f"mode: parallel, max_in_flight: {limit}, {hint}policy: {{exec: {place}}}"
    async with engine(tmp_path) as made:
        made.pool.toolbox.tool = gate.tool
        ran = await finish(
            made,
            await begin(made, playbook(loop("{kind: shell, input: {command: x}}", spec, f"range({items})"))),
        )
    assert (ran.status, gate.most) == ("completed", limit)
    assert len(ran.named("loop.started")) == 1
    assert place == "local" or chunk == 100 or len(ran.named("lease.granted")) > 1
