"""Pause, resume, cancel and signal from another process, and when nobody runs the execution."""

import json
import signal
from functools import partial

import pytest

from tests.acceptance.running import Process, audit_all, events, eventually, is_run, playbook

UNTIL_RELEASED = "until [ -e released ]; do sleep 0.02; done"
WORK = playbook(f"""
- step: work
  loop: {{in: "{{{{ range(25) | list }}}}", iterator: x}}
  tool: {{kind: shell, input: {{command: "[ {{{{ x }}}} -lt 5 ] || {UNTIL_RELEASED}"}}}}
  next: {{arcs: [{{step: end}}]}}
- {{step: end, tool: {{kind: noop}}}}
""")
HOLD = playbook("""
- step: hold
  tool: {kind: wait, input: {signal: go}}
  set: {ctx.got: "{{ output.data }}"}
""")

ROUNDS = playbook("""
- step: round
  spec: {continue: {after_events: 10}}
  tool: {kind: wait, input: {signal: go}}
  set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}
  next: {arcs: [{step: round, when: "{{ event.ok and ctx.n < 3 }}"}]}
""")


@pytest.fixture(autouse=True)
def audited(tmp_path):
    yield
    audit_all(tmp_path)


def release(noetl):
    """Let the tasks that wait for it come to their end."""
    (noetl.folder / "released").touch()


@pytest.fixture
def working(noetl, write):
    """A run that has done some of its iterations."""
    process = Process(noetl, "run", write("work.yaml", WORK), "--json")
    eventually(lambda: len(events(noetl, "loop.iteration.done")) > 2, "a few iterations")
    return process


@pytest.fixture
def holding(noetl, write):
    """A run that waits for its signal."""
    process = Process(noetl, "run", write("hold.yaml", HOLD), "--json")
    eventually(lambda: events(noetl, "task.parked"), "the wait")
    return process


def test_a_run_is_paused_and_resumed_by_others(noetl, working):
    paused = noetl("execution", "pause", "@last", "--why", "lunch")
    assert paused.returncode == 0
    release(noetl)
    done = working.wait()
    assert (done.returncode, json.loads(done.stdout)["status"]) == (5, "paused")
    assert events(noetl, "execution.paused")[0]["data"]["why"] == "lunch"
    again = noetl("execution", "pause", "@last")
    assert (again.returncode, "already paused" in again.stderr) == (2, True)
    resumed = noetl("execution", "resume", "@last", "--json")
    assert (resumed.returncode, json.loads(resumed.stdout)["counts"]["iterations"]) == (0, 25)
    assert len(events(noetl, "loop.iteration.done")) == 25


def test_a_run_is_cancelled_by_another_process(noetl, working):
    assert noetl("execution", "cancel", "@last", "--why", "enough").returncode == 0
    done = working.wait()
    result = json.loads(done.stdout)
    assert (done.returncode, result["status"]) == (4, "cancelled")
    assert result["error"]["message"] == "enough"
    again = noetl("execution", "cancel", "@last")
    assert (again.returncode, "already cancelled" in again.stderr) == (2, True)


def test_a_waiting_task_gets_its_signal_from_another_process(noetl, holding):
    sent = noetl("execution", "signal", "@last", "go", "--payload", "{n: 1}")
    assert (sent.returncode, json.loads(holding.wait().stdout)["ctx"]) == (0, {"got": {"n": 1}})


def test_a_signal_that_nothing_waits_for_is_kept_and_said_so(noetl, holding):
    early = noetl("execution", "signal", "@last", "og")
    assert early.returncode == 0
    assert "nothing waits for og yet, so it is kept; it waits for: go\n" in early.stderr
    awaited = noetl("execution", "signal", "@last", "go", "--payload", "{n: 1}")
    assert (awaited.returncode, "nothing waits" in awaited.stderr) == (0, False)
    assert holding.wait().returncode == 0


def listed(noetl):
    """How all executions stand, the newest first."""
    printed = noetl("execution", "list", "--continued", "--json").stdout
    return ["continued" if row["continued_as"] else row["status"] for row in json.loads(printed or "[]")]


def test_what_went_on_as_another_is_not_said_to_wait_for_nothing(noetl, write):
    """Its signals may be sent to the id that it had at first."""
    running = Process(noetl, "run", write("rounds.yaml", ROUNDS), "--json")
    eventually(lambda: listed(noetl) == ["waiting"], "the wait")
    first = events(noetl)[0]["execution_id"]
    for gone in (1, 2):
        sent = noetl("execution", "signal", first, "go")
        assert (sent.returncode, "nothing waits" in sent.stderr) == (0, False)
        eventually(
            partial(lambda gone: listed(noetl) == ["waiting"] + gone * ["continued"], gone), "the next"
        )
    early = noetl("execution", "signal", first, "og")
    assert "nothing waits for og yet, so it is kept; it waits for: go\n" in early.stderr
    assert noetl("execution", "signal", first, "go").returncode == 0
    assert json.loads(running.wait().stdout)["ctx"] == {"n": 3}


def test_a_run_is_watched_from_another_process(noetl, working):
    watching = Process(noetl, "execution", "watch", "@last")
    streaming = Process(noetl, "execution", "watch", "@last", "--events")
    release(noetl)
    assert working.wait().returncode == 0
    watched = watching.wait()
    assert watched.returncode == 0
    assert "  done     work  25/25 ok" in watched.stderr
    seen = [json.loads(line)["seq"] for line in streaming.wait().stdout.splitlines()]
    assert seen == list(range(1, len(events(noetl)) + 1))


def test_what_nobody_runs_is_told_directly(noetl, holding):
    holding.send(signal.SIGTERM)
    assert holding.wait().returncode == 130
    assert not is_run(noetl)
    assert noetl("execution", "signal", "@last", "go", "--payload", "7").returncode == 0
    assert noetl("execution", "pause", "@last").returncode == 0
    done = noetl("execution", "resume", "@last", "--json")
    assert (done.returncode, json.loads(done.stdout)["ctx"]) == (0, {"got": 7})


def test_an_interrupted_execution_can_be_cancelled(noetl, holding):
    holding.kill()
    assert noetl("execution", "cancel", "@last").returncode == 0
    assert json.loads(noetl("execution", "show", "@last", "--json").stdout)["status"] == "cancelled"
    resumed = noetl("execution", "resume", "@last")
    assert resumed.returncode == 2
    assert "noetl execution retry" in resumed.stderr


def test_watching_an_execution_that_nobody_runs_says_so(noetl, holding):
    holding.kill()
    done = noetl("execution", "watch", "@last")
    assert done.returncode == 130
    assert "nobody runs this execution any more" in done.stderr
    assert "noetl execution resume" in done.stderr


def test_pause_and_cancel_reach_a_child(noetl, write):
    write("child.yaml", playbook("- {step: hold, tool: {kind: wait, input: {signal: go}}}", name="child"))
    parent = playbook("- {step: call, tool: {kind: playbook, path: child.yaml}}")
    running = Process(noetl, "run", write("parent.yaml", parent), "-q")
    eventually(lambda: events(noetl, "task.parked"), "the child")
    child = events(noetl, "task.parked")[0]["data"]["child"]
    eventually(lambda: events(noetl, "task.parked", child), "the child waits")
    assert noetl("execution", "cancel", "@last").returncode == 0
    assert running.wait().returncode == 4
    listed = json.loads(noetl("execution", "list", "--all", "--json").stdout)
    assert [item["status"] for item in listed] == ["cancelled", "cancelled"]
    assert [item["parent"] is None for item in listed] == [False, True]
    assert len(json.loads(noetl("execution", "list", "--json").stdout)) == 1


def test_a_paused_run_ends_when_the_tasks_of_its_children_have_ended(noetl, write):
    tool = f'{{kind: shell, input: {{command: "{UNTIL_RELEASED}"}}}}'
    work = f"- {{step: work, tool: {tool}, next: {{arcs: [{{step: end}}]}}}}"
    write("child.yaml", playbook(f"{work}\n- {{step: end, tool: {{kind: noop}}}}", name="child"))
    parent = playbook("- {step: call, tool: {kind: playbook, path: child.yaml}}")
    running = Process(noetl, "run", write("parent.yaml", parent), "-q")
    eventually(lambda: events(noetl, "task.parked"), "the child")
    child = events(noetl, "task.parked")[0]["data"]["child"]
    eventually(lambda: events(noetl, "task.started", child), "the child works")
    assert noetl("execution", "pause", "@last").returncode == 0
    release(noetl)
    assert running.wait().returncode == 5
    assert len(events(noetl, "step.done", child)) == 1
    assert noetl("execution", "resume", "@last", "-q").returncode == 0
    assert len(events(noetl, "task.started", child)) == 2


def test_a_wish_answers_json_and_one_that_is_refused_says_what_to_do(noetl, holding):
    def wished(*arguments):
        told = json.loads(noetl("execution", *arguments, "--json").stdout)
        return told["execution_id"], told["status"]

    execution = events(noetl)[0]["execution_id"]
    assert wished("signal", "@last", "{other}") == (execution, "waiting")
    assert wished("pause", "@last") == (execution, "paused")
    assert f"noetl execution resume {execution}" in noetl("execution", "pause", "@last").stderr
    assert wished("cancel", "@last") == (execution, "cancelled")
    for what in ("cancel", "pause", "resume"):
        refused = noetl("execution", what, "@last")
        assert (refused.returncode, "noetl execution retry" in refused.stderr) == (2, True)
    holding.wait()


@pytest.mark.parametrize("what", ["show", "events", "why", "pause", "resume", "retry", "replay", "watch"])
def test_an_execution_that_is_not_there_is_named(noetl, write, what):
    missing = noetl("execution", what, "@last")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert not (noetl.folder / ".noetl").exists()
    noetl("run", write("hold.yaml", HOLD), "--until", "hold", "-q")
    unknown = noetl("execution", what, "zzz")
    assert unknown.returncode == 2
    assert "there is no execution 'zzz'" in unknown.stderr


def test_the_beginning_of_an_id_is_enough_when_it_is_the_only_one(noetl, write):
    name = write("hold.yaml", HOLD)
    first = json.loads(noetl("run", name, "--until", "hold", "--json").stdout)["execution_id"]
    assert json.loads(noetl("execution", "show", first[:8], "--json").stdout)["execution_id"] == first
    noetl("run", name, "--until", "hold", "-q")
    several = noetl("execution", "show", "0")
    assert several.returncode == 2
    assert "the beginning of several executions" in several.stderr


def test_a_paused_run_whose_process_lives_is_resumed_there(noetl, write):
    text = playbook("""
    - step: long
      tool: {kind: shell, input: {command: [sh, -c, 'until [ -e go ]; do sleep 0.05; done']}}
      next: {arcs: [{step: end}]}
    - {step: end, tool: {kind: noop}}
    """)
    running = Process(noetl, "run", write("long.yaml", text), "--json")
    eventually(lambda: events(noetl, "step.started"), "the step")
    assert noetl("execution", "pause", "@last").returncode == 0
    resuming = Process(noetl, "execution", "resume", "@last", "--json")
    eventually(lambda: events(noetl, "execution.resumed"), "the resumption")
    (noetl.folder / "go").touch()
    resumed = resuming.wait()
    assert (resumed.returncode, json.loads(resumed.stdout)["status"]) == (0, "completed")
    assert (running.wait().returncode, len(events(noetl, "task.started"))) == (0, 2)


def test_a_playbook_that_is_started_without_waiting_is_finished_too(noetl, write):
    write("child.yaml", playbook("- {step: rest, tool: {kind: wait, input: {seconds: 1}}}", name="child"))
    parent = playbook("- {step: call, tool: {kind: playbook, path: child.yaml, wait: false}}")
    done = noetl("run", write("parent.yaml", parent))
    child = json.loads(done.stdout)["execution_id"]
    assert (done.returncode, f"waiting for what it started: {child}" in done.stderr) == (0, True)
    assert json.loads(noetl("execution", "show", child, "--json").stdout)["status"] == "completed"
