"""Where an execution stands, as its graph shows it: of a whole log, and of every part of one."""

import asyncio
from typing import Any

from noetl.control.history import events
from noetl.core.event import Event
from noetl.core.reading.progress import Progress
from noetl.core.state import canonical
from tests.engine.harness import begin, control, engine, finish, playbook

Log = list[tuple[int, Event]]


async def log_of(folder: Any, workflow: str, **root: str) -> Log:
    async with engine(folder) as made:
        execution_id = await begin(made, playbook(workflow, **root))
        await finish(made, execution_id)
        return [item async for item in events(made.store, execution_id)]


def read(log: Log, upto: int | None = None) -> Any:
    progress = Progress("e")
    for seq, event in log[:upto]:
        progress.read(seq, event)
    return progress.view()


async def until(folder: Any, workflow: str, name: str) -> Log:
    """A log up to the first event of a name; the execution is cancelled afterwards."""
    async with engine(folder) as made:
        execution_id = await begin(made, playbook(workflow))
        while True:
            log = [item async for item in events(made.store, execution_id)]
            if any(event.name == name for _, event in log):
                break
            await asyncio.sleep(0.01)
        await control(made, execution_id, "cancel")
        await finish(made, execution_id)
    return log


async def test_arcs_tell_what_became_of_them_and_what_they_saw(tmp_path):
    found = read(
        await log_of(
            tmp_path,
            """
            - step: a
              tool: {kind: noop}
              set: {ctx.n: 3}
              next: {arcs: [{step: b, when: "{{ ctx.n > 5 }}"}, {step: c, when: "{{ ctx.n == 3 }}"}, {step: b}]}
            - {step: b, tool: {kind: noop}}
            - {step: c, tool: {kind: noop}}
            """,
        )
    )
    told = [
        (arc["to"], arc["taken"], arc["not_taken"], arc["not_asked"], arc["seen"]) for arc in found["arcs"]
    ]
    assert told == [("b", 0, 1, 0, {"ctx.n": 3}), ("c", 1, 0, 0, {"ctx.n": 3}), ("b", 0, 0, 1, {})]
    assert {name: step["status"] for name, step in found["steps"].items()} == {"a": "done", "c": "done"}
    assert [turn["status"] for turn in found["history"]] == ["pending", "running", "completed"]
    assert found["tokens"] == []


async def test_a_refused_token_is_told_with_its_rule_and_colours_the_step(tmp_path):
    found = read(
        await log_of(
            tmp_path,
            """
            - {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}
            - step: b
              spec: {policy: {admit: {rules: [{when: "{{ workload.stop }}", then: {allow: false}}, {else: {then: {allow: true}}}]}}}
              tool: {kind: noop}
            """,
            workload="workload: {stop: true}",
        )
    )
    assert found["steps"]["b"]["status"] == "refused"
    (refusal,) = found["refused"]
    assert (refusal["from"], refusal["step"], refusal["rule"]) == ("a", "b", 0)
    assert refusal["guards"][0]["seen"] == {"workload.stop": True}


LOOP = """
- step: a
  loop: {in: [1, 2, 3], iterator: n, spec: {mode: sequential}}
  spec: {policy: {failure: {mode: best_effort}}}
  tool:
    kind: python
    input: {n: "{{ iter.n }}", code: "if n == 2:\\n  raise ValueError('broken')"}
    spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0.01}}, {else: {then: {do: continue}}}]}}
"""


async def test_a_loop_is_one_node_with_its_counts_at_every_event(tmp_path):
    log = await log_of(tmp_path, LOOP)
    counts = [read(log, upto)["steps"].get("a", {}).get("loop") for upto in range(1, len(log) + 1)]
    for told in filter(None, counts):
        assert told["total"] == told["done"] + told["failed"] + told["running"] + told["queued"] == 3
    assert counts[-1] == {"total": 3, "done": 2, "failed": 1, "running": 0, "queued": 0}
    assert {told["running"] for told in filter(None, counts)} == {0, 1}
    assert read(log)["steps"]["a"]["retries"] == 1


async def test_a_failed_run_tells_its_error_and_how_far_its_loop_came(tmp_path):
    found = read(
        await log_of(
            tmp_path,
            """
            - step: a
              loop: {in: [1, 2], iterator: n}
              tool: {kind: python, input: {code: "raise ValueError('broken')"}}
            """,
        )
    )
    step = found["steps"]["a"]
    assert (step["status"], step["failed"], step["done"]) == ("failed", 1, 0)
    assert step["error"]["message"] == "ValueError: broken"
    assert step["loop"]["total"] == 2
    assert found["error"]["step"] == "a"


HELD = """
- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: quick}, {step: ask}]}}
- {step: quick, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
- {step: ask, tool: {kind: wait, input: {signal: go}, spec: {timeout: 600}}, next: {arcs: [{step: meet}]}}
- {step: meet, tool: {kind: noop}}
"""


async def test_a_wait_says_what_it_waits_for(tmp_path):
    log = await until(tmp_path, HELD, "task.parked")
    parked = next(place for place, (_, event) in enumerate(log, 1) if event.name == "task.parked")
    found = read(log, parked)
    (wait,) = found["waits"]
    assert (wait["step"], wait["signal"], wait["child"], wait["until"]) == ("ask", "go", None, None)
    assert wait["expires"] > wait["since"]
    assert found["steps"]["ask"]["status"] == "waiting"


async def test_a_token_that_is_held_has_the_steps_it_waits_for(tmp_path):
    log = await until(tmp_path, HELD, "token.held")
    held = next(place for place, (_, event) in enumerate(log, 1) if event.name == "token.held")
    (token,) = [one for one in read(log, held)["tokens"] if one["held"]]
    assert (token["step"], token["from"], token["hold"]["waits_for"]) == ("meet", "quick", ["ask"])
    assert {one["hold"] for one in read(log, 4)["tokens"]} == {None}


async def test_a_wait_for_a_time_tells_until_when(tmp_path):
    log = await until(tmp_path, "- {step: a, tool: {kind: wait, input: {seconds: 600}}}", "task.parked")
    (wait,) = read(log)["waits"]
    assert wait["until"] > wait["since"]


async def test_what_is_scheduled_and_not_started_is_queued(tmp_path):
    log = await log_of(tmp_path, "- {step: a, tool: {kind: noop}}")
    scheduled = next(place for place, (_, event) in enumerate(log, 1) if event.name == "step.scheduled")
    started = next(place for place, (_, event) in enumerate(log, 1) if event.name == "step.started")
    assert read(log, scheduled)["steps"]["a"]["status"] == "queued"
    assert read(log, started)["steps"]["a"]["status"] == "running"


async def test_a_wait_that_was_answered_is_over(tmp_path):
    log = await until(tmp_path, "- {step: a, tool: {kind: wait, input: {signal: go}}}", "task.parked")
    parked = next(place for place, (_, event) in enumerate(log, 1) if event.name == "task.parked")
    seq, event = log[parked - 1]
    answered = Event(
        "task.resumed", event.ts, run=event.run, at=event.at, data={"output": {"status": "ok", "data": 1}}
    )
    found = read([*log[:parked], (seq + 1, answered)])
    assert found["waits"] == []
    assert found["steps"]["a"]["status"] == "running"


async def test_pause_and_resume_stand_in_the_history_with_who_and_why():
    progress = Progress("e")
    progress.read(1, Event("playbook.execution.requested", 1000, data={"path": "p", "by": "cli"}))
    progress.read(2, Event("workflow.started", 1000, data={}))
    progress.read(3, Event("execution.paused", 2000, data={"by": "ada", "why": "lunch"}))
    progress.read(4, Event("execution.resumed", 3000, data={}))
    turns = progress.view()["history"]
    assert [turn["status"] for turn in turns] == ["pending", "running", "paused", "running"]
    assert (turns[2]["by"], turns[2]["why"]) == ("ada", "lunch")


async def test_reading_on_gives_what_reading_anew_gives(tmp_path):
    log = await log_of(tmp_path, LOOP)
    live = Progress("e")
    for place, (seq, event) in enumerate(log, 1):
        live.read(seq, event)
        assert canonical(live.view()) == canonical(read(log, place))


def test_a_loop_that_was_cut_off_shows_how_far_it_came():
    progress = Progress("e")
    log = [
        Event("playbook.execution.requested", 1, data={"path": "p", "by": "cli"}),
        Event("token.enqueued", 1, data={"token": "t1", "step": "a"}),
        Event("step.scheduled", 1, run="a.1", data={"step": "a", "tokens": ["t1"], "total": 3}),
        Event("step.failed", 9, run="a.1", data={"error": {"kind": "timeout", "message": "too long"}}),
    ]
    for seq, event in enumerate(log, 1):
        progress.read(seq, event)
    assert progress.view()["steps"]["a"]["loop"] == {
        "total": 3,
        "done": 0,
        "failed": 0,
        "running": 0,
        "queued": 3,
    }


async def test_steps_that_a_rerun_keeps_are_told_from_those_that_never_ran(tmp_path):
    workflow = """
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}
        - {step: b, tool: {kind: python, input: {code: "raise ValueError('broken')"}}}
        """
    async with engine(tmp_path) as made:
        execution_id = await begin(made, playbook(workflow))
        await finish(made, execution_id)
        again = (await made.front.retry(execution_id)).execution_id
        await finish(made, again)
        log = [item async for item in events(made.store, again)]
    assert {name: step["status"] for name, step in read(log)["steps"].items()} == {"a": "kept", "b": "failed"}
