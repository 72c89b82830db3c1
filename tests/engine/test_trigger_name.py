"""What templates read as `trigger`: the same for the whole execution, its retries, and those that go on from it."""

from typing import Any

import pytest

from noetl.control.ticks import tick_trigger
from noetl.ports.front import Ask
from noetl.ports.schedule import Schedule
from tests.engine.harness import begin, control, engine, finish, playbook, run, until

UNSAID = {"name": None, "tick": None, "previous_tick": None, "payload": None}
NIGHTLY = tick_trigger(Schedule(name="nightly", path="p", cron="0 3 * * *"), 1_794_798_000_000)
READS = playbook(
    """
    - step: start
      input: {there: "{{ trigger }}"}
      tool: {kind: python, input: {code: "result = task", task: "{{ trigger }}"}}
      set: {ctx.server: "{{ input.there }}", ctx.tick: "{{ trigger.tick }}"}
    """
)


async def test_server_and_worker_read_the_tick_that_an_execution_is_for(tmp_path):
    ran = await run(tmp_path, READS, trigger=NIGHTLY)
    assert ran.output == {**UNSAID, **NIGHTLY, "by": None} == ran.ctx["server"]
    assert (ran.ctx["tick"], ran.output["previous_tick"]) == (
        "2026-11-16T03:00:00.000Z",
        "2026-11-15T03:00:00.000Z",
    )
    assert ran.events[0]["data"]["trigger"] == NIGHTLY


async def test_an_execution_without_a_trigger_was_asked_for_by_hand(tmp_path):
    ran = await run(tmp_path, READS, by="cli")
    assert ran.output == {**UNSAID, "kind": "manual", "by": "cli"}


async def test_the_front_records_who_asked(tmp_path):
    async with engine(tmp_path) as made:
        started = await made.front.start(Ask(text=READS, by="ana"))
        ran = await finish(made, started.execution_id)
    assert ran.events[0]["data"]["trigger"] == {"kind": "manual", "by": "ana"}
    assert ran.output == {**UNSAID, "kind": "manual", "by": "ana"}


async def test_a_child_was_started_by_the_playbook_that_calls_it(tmp_path):
    parent = playbook("- step: start\n  tool: {kind: playbook, path: tests/child}")
    async with engine(tmp_path) as made:
        await made.catalog.register(READS.replace("tests/case", "tests/child"))
        ran = await finish(made, await begin(made, parent, trigger=NIGHTLY))
    assert ran.output == {**UNSAID, "kind": "playbook", "name": "tests/case", "by": "parent"}


@pytest.mark.parametrize(
    ("root", "workflow", "meant"),
    [
        (
            "workload: {trigger: mine}",
            "- step: start\n  tool: {kind: noop}\n  output: '{{ trigger }}'",
            "mine",
        ),
        (
            "",
            "- step: trigger\n  tool: {kind: noop}\n  output: 7\n  next: {arcs: [{step: end}]}\n"
            "- step: end\n  tool: {kind: noop}\n  output: '{{ trigger.data }}'",
            7,
        ),
    ],
)
async def test_what_a_playbook_itself_calls_trigger_is_what_it_means(tmp_path, root, workflow, meant):
    ran = await run(tmp_path, playbook(workflow, root=root), trigger=NIGHTLY)
    assert ran.output == meant


async def test_a_retry_is_for_the_same_tick(tmp_path):
    failing = playbook(
        """
        - step: start
          tool: {kind: python, input: {code: "raise ValueError(tick)", tick: "{{ trigger.tick }}"}}
        """
    )
    async with engine(tmp_path) as made:
        first = await finish(made, await begin(made, failing, trigger=NIGHTLY))
        assert NIGHTLY["tick"] in first.error["message"]
        started = await made.front.retry(first.execution_id, by="ana")
        again = await finish(made, started.execution_id)
    assert again.events[0]["data"]["trigger"] == NIGHTLY
    assert NIGHTLY["tick"] in again.error["message"]


async def test_the_one_that_goes_on_from_a_long_log_is_for_the_same_tick(tmp_path):
    counting = playbook(
        """
        - step: start
          spec: {continue: {after_events: 20, input: {}}}
          tool: {kind: noop, input: {n: "{{ (ctx.n | default(0)) + 1 }}"}}
          set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}", ctx.seen: "{{ trigger.payload }}"}
          next: {arcs: [{step: start, when: "{{ ctx.n < 5 }}"}]}
        """,
        executor="executor: {spec: {limits: {max_payload_bytes: 1024}}}",
    )
    trigger: Any = {**NIGHTLY, "payload": "x" * 5000}
    async with engine(tmp_path) as made:
        first = await begin(made, counting, trigger=trigger)
        await made.engine.until_quiet(first)
        newest = await made.store.newest(first)
        assert newest.execution_id != first
        ran = await finish(made, newest.execution_id)
        whole = await made.front.evaluate(newest.execution_id, "{{ trigger.payload }}")
    assert ran.status == "completed"
    assert ran.events[0]["data"]["trigger"]["tick"] == NIGHTLY["tick"]
    assert whole == trigger["payload"]


LARGE = playbook(
    """
    - step: start
      tool: {kind: wait, input: {signal: go}}
      next: {arcs: [{step: end, when: "{{ trigger.payload | length > 4000 }}"}]}
    - step: end
      tool: {kind: python, input: {code: "result = len(text)", text: "{{ trigger.payload }}"}}
    """,
    executor="executor: {spec: {limits: {max_payload_bytes: 1024}}}",
)


async def test_a_large_payload_rests_aside_and_is_read_after_a_crash_and_by_a_retry(tmp_path):
    trigger: Any = {"kind": "webhook", "name": "push", "payload": "x" * 5000}
    async with engine(tmp_path) as made:
        execution_id = await begin(made, LARGE, trigger=trigger)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: bool(state.runs["start.1"].parked))
    async with engine(tmp_path, made) as again:
        await again.engine.resume(execution_id)
        await control(again, execution_id, "signal", name="go")
        ran = await finish(again, execution_id)
        assert (ran.status, ran.output) == ("completed", 5000)
        assert "x" * 1000 not in str(ran.events[0]["data"]["trigger"])
        started = await again.front.rerun(execution_id, "end")
        assert (await finish(again, started.execution_id)).output == 5000
