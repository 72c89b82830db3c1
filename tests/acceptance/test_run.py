"""`noetl run` as a user meets it: what it prints, where, and the exit code."""

import json
import signal

import pytest

from tests.acceptance.running import Process, audit_all, events, eventually, playbook

HELLO = playbook("""
- step: start
  tool: {kind: python, input: {code: "print('working'); result = {'hello': 'world'}"}}
  set: {ctx.a: "{{ output.data.hello }}"}
""")
BAD = playbook("- {step: a, tool: {kind: nop}}", name="bad")
FAILS = playbook(
    """
    - step: load
      tool:
        name: divide
        kind: python
        input: {a: "{{ workload.a }}", token: "{{ keychain.tok.value }}", code: "print('dividing'); result = a // 0"}
    """,
    workload="workload: {a: 7}",
    keychain="keychain: [{name: tok, kind: env, env: CASE_TOKEN}]",
)
SLOW = playbook("- {step: slow, tool: {kind: shell, input: {command: [sleep, '60']}}}")
STEPS = playbook("""
- step: work
  loop: {in: "{{ range(30) | list }}", iterator: x}
  tool: {kind: shell, input: {command: [sleep, '0.1']}}
  next: {arcs: [{step: end}]}
- {step: end, tool: {kind: noop}}
""")
ECHO = playbook(
    """
    - {step: start, tool: {kind: noop, output: "{{ workload }}"}}
    """,
    workload="workload: {a: {n: 1, keep: yes}, list: [1, 2]}",
)


@pytest.fixture(autouse=True)
def audited(tmp_path):
    yield
    audit_all(tmp_path)


# ---- what is printed ------------------------------------------------------------------------------------


@pytest.mark.anywhere
def test_the_output_is_data_and_the_story_is_not(noetl, write):
    done = noetl("run", write("hello.yaml", HELLO))
    assert (done.returncode, json.loads(done.stdout)) == (0, {"hello": "world"})
    assert done.stderr.startswith("execution ")
    assert "  done     start" in done.stderr
    assert "completed in " in done.stderr.splitlines()[-1]


@pytest.mark.anywhere
def test_quiet_leaves_only_the_data(noetl, write):
    done = noetl("run", write("hello.yaml", HELLO), "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"hello": "world"}


def test_json_is_one_object_of_the_contract(noetl, write):
    done = noetl("run", write("hello.yaml", HELLO), "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert result["status"] == "completed"
    assert result["playbook"] | {"hash": ""} == {"path": "tests/case", "version": 1, "hash": ""}
    assert (result["output"], result["error"], result["failures"]) == ({"hello": "world"}, None, [])
    assert (result["ctx"], result["steps"]) == ({"a": "world"}, {"start": {"runs": 1, "status": "done"}})
    assert result["counts"].keys() == {"events", "steps", "tasks", "iterations", "failed_iterations"}
    assert result["duration_ms"] >= 0
    assert result["log"].endswith(".noetl/noetl.db")


@pytest.mark.anywhere
def test_events_are_printed_in_order_and_nothing_else_is(noetl, write):
    done = noetl("run", write("hello.yaml", HELLO), "--events")
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in shown] == list(range(1, len(shown) + 1))
    assert shown[-1]["name"] == "playbook.processed"
    assert shown == events(noetl)


def test_a_reader_that_goes_away_leaves_an_execution_that_can_be_resumed(noetl, write):
    name = write("steps.yaml", STEPS)
    done = noetl.shell(f"set -o pipefail; noetl run {name} --events | head -1")
    assert done.returncode == 141
    resumed = noetl("execution", "resume", "@last", "--json")
    assert json.loads(resumed.stdout)["status"] == "completed"


def test_a_failure_shows_step_task_input_error_and_the_next_command(noetl, write):
    done = noetl("run", write("fails.yaml", FAILS), CASE_TOKEN="s3cret-canary")
    assert (done.returncode, done.stdout) == (1, "")
    told = done.stderr
    assert "error[python]: ZeroDivisionError" in told
    assert "in     step load, task divide, attempt 1" in told
    assert 'input  {"a":7,"token":"***"}' in told
    assert "log    dividing" in told
    assert "try: noetl execution why " in told
    assert "s3cret-canary" not in told


def test_a_failed_run_in_json_names_its_place(noetl, write):
    done = noetl("run", write("fails.yaml", FAILS), "--json", CASE_TOKEN="s3cret-canary")
    result = json.loads(done.stdout)
    assert (done.returncode, result["status"], result["output"]) == (1, "failed", None)
    error = result["error"]
    assert (error["kind"], error["step"], error["task"], error["attempt"]) == ("python", "load", "divide", 1)
    assert {"kind", "message", "step", "task", "iteration", "attempt", "details"} <= error.keys()


def test_a_missing_secret_refuses_the_run_by_name(noetl, write):
    done = noetl("run", write("fails.yaml", FAILS), "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (1, "keychain")
    assert "CASE_TOKEN" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.anywhere
def test_a_failure_that_nothing_asked_about_fails_the_run_and_stands_in_the_tally(noetl, write):
    text = playbook("""
    - {step: a, tool: {kind: python, input: {code: "1 // 0"}}, next: {arcs: [{step: b}]}}
    - {step: b, tool: {kind: noop}}
    """)
    done = noetl("run", write("taken.yaml", text))
    assert done.returncode == 1
    assert "failed  a, taken by the arc to b, which does not ask about it: ZeroDiv" in done.stderr
    assert done.stdout == ""


@pytest.mark.anywhere
def test_failed_iterations_of_a_best_effort_loop_are_seen_and_fail_the_run_when_that_is_asked_for(
    noetl, write
):
    text = playbook("""
    - step: load
      loop: {in: [1, 0, 2], iterator: x}
      spec: {policy: {failure: {mode: best_effort}}}
      tool: {kind: python, input: {x: "{{ iter.x }}", code: "result = 1 // x"}}
    """)
    file = write("some.yaml", text)
    done = noetl("run", file)
    assert done.returncode == 0
    assert "3 iterations (1 failed)" in done.stderr
    assert "the failed one alone: noetl execution retry" in done.stderr
    strict = noetl("run", file, "--fail-on-errors", "--json")
    result = json.loads(strict.stdout)
    assert (strict.returncode, result["status"], result["counts"]["failed_iterations"]) == (1, "completed", 1)
    assert noetl("run", file, "--fail-on-errors", "--detach").returncode == 2


# ---- what is given --------------------------------------------------------------------------------------


@pytest.mark.anywhere
def test_set_is_typed_as_yaml_and_reaches_into_maps(noetl, write):
    name = write("echo.yaml", ECHO)
    done = noetl("run", name, "--set", "a.n=41", "--set", "list=[3]", "--set", "t=a: b", "--set", "e=", "-q")
    assert json.loads(done.stdout) == {"a": {"n": 41, "keep": "yes"}, "list": [3], "t": {"a": "b"}, "e": ""}


@pytest.mark.parametrize("text", ['{"a": {"n": 5}}', "a:\n  n: 5\n"])
def test_input_is_json_or_yaml_and_set_goes_over_it(noetl, write, text):
    name = write("echo.yaml", ECHO)
    done = noetl("run", name, "--input", "-", "--set", "a.keep=no", "-q", stdin=text)
    assert json.loads(done.stdout)["a"] == {"n": 5, "keep": "no"}


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["nowhere.yaml"], "no such file"),
        (["tests/nowhere"], "no playbook with that path"),
        ([], "name a playbook"),
        (["hello.yaml", "--set", "x"], "--set takes key=value"),
        (["hello.yaml", "--input", "nowhere.json"], "cannot read the input"),
        (["hello.yaml", "--until", "nowhere"], "no step 'nowhere'"),
        (["hello.yaml", "--timeout", "0"], "0"),
        (["hello.yaml", "--json", "--events"], "cannot be used together"),
        (["hello.yaml", "--idempotency-key", ""], "the idempotency key is empty"),
        (["hello.yaml", "--resume"], "takes no playbook"),
        (["--resume", "--set", "a=1"], "cannot be used with --set"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_exit_code_2(noetl, write, arguments, told):
    write("hello.yaml", HELLO)
    done = noetl("run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_registered_path_and_standard_input_run_like_a_file(noetl, write):
    assert noetl("run", write("hello.yaml", HELLO), "-q").returncode == 0
    assert json.loads(noetl("run", "tests/case", "-q").stdout) == {"hello": "world"}
    assert json.loads(noetl("run", "-", "-q", stdin=HELLO).stdout) == {"hello": "world"}
    near = noetl("run", "tests/cas")
    assert "did you mean 'tests/case'?" in near.stderr


def test_a_path_means_the_file_as_it_is_now(noetl, write):
    noetl("run", write("hello.yaml", HELLO), "-q")
    write("hello.yaml", HELLO.replace("'world'", "'you'"))
    done = noetl("run", "tests/case", "--json")
    assert json.loads(done.stdout)["output"] == {"hello": "you"}
    assert json.loads(done.stdout)["playbook"]["version"] == 2


@pytest.mark.anywhere
def test_a_playbook_with_errors_is_not_run(noetl, write):
    name = write("bad.yaml", BAD)
    done = noetl("run", name, "--json")
    shown = json.loads(done.stdout)
    assert (done.returncode, shown["status"]) == (1, "rejected")
    assert shown["diagnostics"][0]["code"] == "unknown-kind"
    text = noetl("run", name)
    assert (text.returncode, text.stdout) == (1, "")
    assert "error[unknown-kind]" in text.stderr
    assert "bad.yaml:5" in text.stderr
    streamed = noetl("run", name, "--events")
    assert (streamed.returncode, streamed.stdout) == (1, "")
    assert noetl("execution", "list", "--json", "--path", "tests/bad").stdout == "[]\n"


# ---- how long, how far ----------------------------------------------------------------------------------


def test_a_run_that_takes_too_long_is_cancelled(noetl, write):
    done = noetl("run", write("slow.yaml", SLOW), "--json", "--timeout", "0.5")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (124, "timeout")
    assert json.loads(noetl("execution", "show", "@last", "--json").stdout)["status"] == "cancelled"


@pytest.mark.anywhere
def test_until_pauses_before_a_step_and_resume_goes_on(noetl, write):
    text = playbook("""
    - {step: a, tool: {kind: noop}, set: {ctx.a: 1}, next: {arcs: [{step: b}]}}
    - {step: b, tool: {kind: noop}, set: {ctx.b: 1}}
    """)
    done = noetl("run", write("two.yaml", text), "--json", "--until", "b")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (5, "paused")
    assert json.loads(done.stdout)["ctx"] == {"a": 1}
    resumed = noetl("run", "--resume", "--json")
    assert (resumed.returncode, json.loads(resumed.stdout)["ctx"]) == (0, {"a": 1, "b": 1})
    again = noetl("run", "--resume")
    assert (again.returncode, "already completed" in again.stderr) == (2, True)


def test_a_detached_run_is_finished_by_another_process(noetl, write):
    done = noetl("run", write("steps.yaml", STEPS.replace("range(30)", "range(3)")), "--detach")
    execution_id = done.stdout.strip()
    assert (done.returncode, len(execution_id)) == (0, 32)
    watched = noetl("execution", "watch", execution_id, "--json")
    assert (watched.returncode, json.loads(watched.stdout)["status"]) == (0, "completed")
    assert [event["attempt"] for event in events(noetl, "task.started")] == [1, 1, 1, 1]


# ---- once ------------------------------------------------------------------------------------------------


@pytest.mark.anywhere
def test_the_same_key_runs_once(noetl, write):
    name, key = write("hello.yaml", HELLO), noetl.folder.name
    first = json.loads(noetl("run", name, "--json", "--idempotency-key", key).stdout)
    second = noetl("run", name, "--json", "--idempotency-key", key)
    assert (second.returncode, json.loads(second.stdout)["execution_id"]) == (0, first["execution_id"])
    other = noetl("run", name, "--json", "--idempotency-key", key, "--set", "x=1")
    assert (other.returncode, other.stdout) == (2, "")
    assert first["execution_id"] in other.stderr


@pytest.mark.anywhere
def test_a_repeat_while_it_runs_waits_for_the_same_execution(noetl, write):
    name, key = write("steps.yaml", STEPS.replace("range(30)", "range(15)")), noetl.folder.name
    running = [Process(noetl, "run", name, "--json", "--idempotency-key", key) for _ in range(2)]
    results = [json.loads(process.wait().stdout) for process in running]
    assert results[0]["execution_id"] == results[1]["execution_id"]
    assert {result["status"] for result in results} == {"completed"}


# ---- interrupted -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_interrupt_finishes_the_running_task_and_hands_the_rest_back(noetl, write, number):
    running = Process(noetl, "run", write("steps.yaml", STEPS))
    eventually(lambda: len(events(noetl, "loop.iteration.done")) > 3, "a few iterations")
    running.send(number)
    done = running.wait()
    assert done.returncode == 130
    assert "stopping: tasks that run have 10 seconds to end" in done.stderr
    assert "go on with: noetl execution resume " in done.stderr
    before = len(events(noetl, "loop.iteration.done"))
    assert before < 30
    resumed = noetl("execution", "resume", "@last", "--json")
    assert json.loads(resumed.stdout)["counts"]["iterations"] == 30
    assert [event["attempt"] for event in events(noetl, "task.started")].count(1) == 31


def test_a_second_interrupt_stops_at_once(noetl, write):
    running = Process(noetl, "run", write("slow.yaml", SLOW))
    eventually(lambda: events(noetl, "task.started"), "the task")
    running.send(signal.SIGINT)
    running.send(signal.SIGTERM)
    done = running.wait()
    assert done.returncode == 130
    listed = json.loads(noetl("execution", "list", "--json").stdout)
    assert (listed[0]["status"], listed[0]["interrupted"]) == ("running", True)


# ---- on a terminal ---------------------------------------------------------------------------------------


@pytest.mark.anywhere
def test_a_terminal_shows_a_tree_with_a_bar(noetl, write):
    shown = noetl.on_a_terminal("run", write("steps.yaml", STEPS.replace("range(30)", "range(8)")))
    assert shown.startswith("execution ")
    assert "/8 ok · 1 running" in shown
    assert "━" in shown
    assert "ETA" in shown
    assert "8/8 ok" in shown
    assert "✓" in shown
    assert "completed" in shown


def test_a_terminal_that_cannot_be_drawn_on_gets_plain_lines(noetl, write):
    shown = noetl.on_a_terminal("run", write("hello.yaml", HELLO), TERM="dumb")
    assert "\x1b" not in shown
    assert "  done     start" in shown
