"""Runs from the command line: payloads, endings, children, events, and going on after a crash."""

import json
import signal

import pytest

from tests.acceptance.conftest import Noetl
from tests.acceptance.playbooks import Run, document, started
from tests.engine.web import Web

ECHO = document(
    '- {step: start, tool: {kind: noop, output: "{{ workload }}"}}',
    workload="workload: {a: {n: 1, keep: 2}, l: [1]}",
)
WAITS = document("- {step: start, tool: {kind: wait, input: {seconds: 30}}}")
CHILD = document(
    '- {step: start, tool: {kind: noop, output: "{{ workload }}"}}',
    name="child",
    workload="workload: {n: 0, d: {a: 1, b: 2}}",
)


@pytest.fixture(scope="module")
def web():
    service = Web()
    yield service
    service.close()


@pytest.mark.anywhere
def test_the_payload_is_typed_dotted_and_merged_over_the_workload(noetl: Noetl):
    sets = [
        "a.n=41",
        "s=007x",
        "b=true",
        "l=[2, 3]",
        "m={x: 1}",
        "z=null",
        't="5"',
        "f=1.5",
        "q=a=b",
        "new.deep.key=1",
    ]
    arguments = [part for item in sets for part in ("--set", item)]
    run = Run(noetl, ECHO, "--input", "-", *arguments, stdin="a: {n: 9, more: 3}\nx: 1\n")
    assert run.json["output"] == {
        "a": {"n": 41, "keep": 2, "more": 3}, "x": 1, "s": "007x", "b": True, "l": [2, 3], "m": {"x": 1},
        "z": None, "t": "5", "f": 1.5, "q": "a=b", "new": {"deep": {"key": 1}},
    }  # fmt: skip


@pytest.mark.anywhere
def test_the_result_has_every_field_of_the_contract(noetl: Noetl):
    run = Run(noetl, ECHO)
    assert run.json.keys() >= {
        "execution_id", "status", "playbook", "output", "error", "failures", "ctx", "steps", "counts", "duration_ms", "log",
    }  # fmt: skip
    assert run.json["playbook"].keys() >= {"path", "version", "hash"}
    assert run.json["steps"] == {"start": {"runs": 1, "status": "done"}}
    counts = {"steps": 1, "tasks": 1, "iterations": 0, "failed_iterations": 0}
    assert run.json["counts"] == {"events": len(run.events()), **counts}


WRONG = {
    "an unknown file": ["run", "nope.yaml"],
    "an unknown flag": ["run", "case.yaml", "--nope"],
    "a set without a value": ["run", "case.yaml", "--set", "x"],
    "an input file that is not there": ["run", "case.yaml", "--input", "nope.json"],
    "an unknown step to run to": ["run", "case.yaml", "--until", "nope"],
    "an unknown execution": ["execution", "events", "0190b6d0000070008000000000000000"],
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.anywhere
def test_wrong_usage_ends_with_2(noetl: Noetl, what: str):
    (noetl.folder / "case.yaml").write_text(ECHO)
    done = noetl(*WRONG[what])
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.anywhere
def test_a_playbook_with_errors_is_rejected_and_not_run(noetl: Noetl):
    run = Run(noetl, document("- {step: start, tool: {kind: nope}}"))
    assert (run.code, run.json["status"]) == (1, "rejected")
    assert run.json["diagnostics"][0].keys() >= {
        "code",
        "severity",
        "message",
        "line",
        "column",
        "path",
        "hint",
    }


@pytest.mark.anywhere
def test_a_missing_kind_that_executor_requires_refuses_the_execution(noetl: Noetl):
    run = Run(
        noetl,
        document(
            "- {step: start, tool: {kind: noop}}", executor="executor: {requires: {tools: [noop, teleport]}}"
        ),
    )
    assert (run.code, run.json["status"]) == (1, "failed")
    assert "teleport" in run.error["message"]


@pytest.mark.anywhere
def test_a_failed_execution_ends_with_1_and_says_where(noetl: Noetl):
    run = Run(
        noetl,
        document(
            '- {step: s, loop: {in: [1], iterator: x}, tool: {name: t, kind: shell, input: {command: "exit 3"}}}'
        ),
    )
    assert (run.code, run.json["status"], run.json["output"]) == (1, "failed", None)
    assert (run.error["step"], run.error["task"], run.error["attempt"]) == ("s", "t", 1)
    assert run.error["iteration"] is not None
    assert run.error.keys() >= {"kind", "message", "step", "task", "iteration", "attempt", "details"}


@pytest.mark.anywhere
def test_until_pauses_with_5_before_the_step_and_resume_goes_on(noetl: Noetl):
    workflow = """
    - {step: a, tool: {kind: noop}, set: {ctx.x: 1}, next: {arcs: [{step: b}]}}
    - {step: b, tool: {kind: noop}, set: {ctx.x: 2}}
    """
    run = Run(noetl, document(workflow), "--until", "b")
    assert (run.code, run.json["status"], run.json["ctx"]) == (5, "paused", {"x": 1})
    again = noetl("execution", "resume", run.json["execution_id"], "--json")
    assert (again.returncode, json.loads(again.stdout)["ctx"]) == (0, {"x": 2})
    run.replayed()


def test_timeout_cancels_with_124(noetl: Noetl):
    run = Run(noetl, WAITS, "--timeout", "0.3")
    assert (run.code, run.json["status"]) == (124, "timeout")
    assert [event["name"] for event in run.events()][-2:] == ["workflow.finished", "playbook.processed"]


def test_an_interrupt_ends_with_130_and_the_execution_can_go_on(noetl: Noetl):
    (noetl.folder / "case.yaml").write_text(WAITS)
    process = started(noetl, "run", "case.yaml", "--events")
    assert process.stdout is not None
    while b"task.parked" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert noetl("execution", "replay", "@last").returncode == 0


@pytest.mark.anywhere
def test_cancel_from_elsewhere_ends_the_run_with_4(noetl: Noetl):
    (noetl.folder / "case.yaml").write_text(WAITS)
    process = started(noetl, "run", "case.yaml", "--events")
    assert process.stdout is not None
    while b"task.parked" not in process.stdout.readline():
        pass
    assert noetl("execution", "cancel", "@last").returncode == 0
    process.communicate(timeout=20)
    assert process.returncode == 4
    assert noetl("execution", "replay", "@last").returncode == 0


@pytest.mark.anywhere
def test_an_idempotency_key_gives_the_same_execution_and_refuses_another_payload(noetl: Noetl):
    key = noetl.folder.name
    first, second = (Run(noetl, ECHO, "--idempotency-key", key) for _ in range(2))
    assert first.json["execution_id"] == second.json["execution_id"]
    (noetl.folder / "case.yaml").write_text(ECHO)
    assert noetl("run", "case.yaml", "--idempotency-key", key, "--set", "a.n=2").returncode == 2


@pytest.mark.anywhere
def test_events_are_ndjson_as_they_happen_and_can_be_filtered(noetl: Noetl):
    (noetl.folder / "case.yaml").write_text(ECHO)
    lines = [json.loads(line) for line in noetl("run", "case.yaml", "--events").stdout.splitlines()]
    assert [event["seq"] for event in lines] == list(range(1, len(lines) + 1))
    execution = lines[0]["execution_id"]

    def seqs(*arguments: str) -> list[int]:
        done = noetl("execution", "events", execution, "--json", *arguments)
        return [json.loads(line)["seq"] for line in done.stdout.splitlines()]

    assert seqs("--from", "5") == list(range(5, len(lines) + 1))
    assert seqs("--name", "step.*") == [event["seq"] for event in lines if event["name"].startswith("step.")]


def test_a_killed_run_goes_on_at_the_page_it_had_reached(noetl: Noetl, web: Web):
    workflow = f"""
    - step: start
      tool:
        - {{name: i, kind: noop, set: {{iter.p: 0}}}}
        - {{name: f, kind: http, input: {{url: "{web.url}/slow/0.1/killed"}}, set: {{iter.p: "{{{{ iter.p + 1 }}}}"}}, spec: {{policy: {{rules: [{{when: "{{{{ iter.p < 10 }}}}", then: {{do: jump, to: f}}}}]}}}}}}
        - {{name: r, kind: noop, output: "{{{{ iter.p }}}}"}}
    """
    (noetl.folder / "case.yaml").write_text(document(workflow))
    process = started(noetl, "run", "case.yaml")
    web.wait_for("/slow/0.1/killed", 5)
    process.kill()
    process.communicate()
    before = web.hits["/slow/0.1/killed"]
    done = noetl("execution", "resume", "@last", "--json")
    assert json.loads(done.stdout)["output"] == 10
    assert web.hits["/slow/0.1/killed"] - before <= 10 - before + 2
    assert noetl("execution", "replay", "@last").returncode == 0


def test_a_killed_loop_runs_only_iterations_without_an_accepted_end_again(noetl: Noetl, web: Web):
    workflow = f"""
    - step: start
      loop: {{in: "{{{{ range(16) }}}}", iterator: i, spec: {{mode: parallel, max_in_flight: 4}}}}
      tool: {{kind: http, input: {{url: "{web.url}/slow/0.2/loop"}}, output: "{{{{ iter.i }}}}"}}
    """
    (noetl.folder / "case.yaml").write_text(document(workflow))
    process = started(noetl, "run", "case.yaml")
    web.wait_for("/slow/0.2/loop", 10)
    process.kill()
    process.communicate()
    done = noetl("execution", "resume", "@last", "--json")
    assert json.loads(done.stdout)["output"] == list(range(16))
    assert web.hits["/slow/0.2/loop"] <= 16 + 8
    assert noetl("execution", "replay", "@last").returncode == 0


CALLS = {
    "a file beside the caller": (
        "path: sub/child.yaml, input: {n: 4, d: {b: 3}}",
        {"n": 4, "d": {"a": 1, "b": 3}},
    ),
    "a catalog path of the project": ("path: tests/child", {"n": 0, "d": {"a": 1, "b": 2}}),
    "a version of it": ("path: tests/child, version: 1", {"n": 0, "d": {"a": 1, "b": 2}}),
}


@pytest.mark.anywhere
def test_a_child_is_found_and_its_workload_overlaid(noetl: Noetl):
    (noetl.folder / "sub").mkdir()
    (noetl.folder / "sub" / "child.yaml").write_text(CHILD)
    tasks = [f"{{name: t{n}, kind: playbook, {call}}}" for n, (call, _) in enumerate(CALLS.values())]
    results = ", ".join(f"t{n}.data" for n in range(len(tasks)))
    tasks.append(f'{{name: all, kind: noop, output: "{{{{ [{results}] }}}}"}}')
    run = Run(noetl, document(f"- {{step: start, tool: [{', '.join(tasks)}]}}"))
    assert run.json["output"] == [expected for _, expected in CALLS.values()]


FAILING = {
    "a child that fails": ('- {step: s, tool: {kind: shell, input: {command: "exit 4"}}}', {}, "exit code 4"),
    "a child that is not valid": ("- {step: s, tool: {kind: nope}}", {}, "nope"),
    "a child whose keychain is missing": (
        "- {step: s, tool: {kind: noop}}",
        {"keychain": "keychain: [{name: k, kind: env, env: NOT_SET}]"},
        "'k'",
    ),
}


def test_a_failed_child_is_kind_child_with_its_id_and_error(noetl: Noetl):
    tasks, shown = [], []
    for number, (workflow, root, _) in enumerate(FAILING.values()):
        (noetl.folder / f"c{number}.yaml").write_text(document(workflow, name=f"c{number}", **root))
        go_on = (
            "spec: {policy: {rules: [{when: \"{{ output.error.kind == 'child' }}\", then: {do: continue}}]}}"
        )
        tasks.append(f"{{name: t{number}, kind: playbook, path: c{number}.yaml, {go_on}}}")
        shown.append(f"[t{number}.error.message, t{number}.error.details.execution_id, t{number}.status]")
    tasks.append(f'{{name: all, kind: noop, output: "{{{{ [{", ".join(shown)}] }}}}"}}')
    run = Run(noetl, document(f"- {{step: start, tool: [{', '.join(tasks)}]}}"))
    assert run.json["status"] == "completed", run.json
    for (message, child, status), (_, _, told) in zip(run.json["output"], FAILING.values(), strict=True):
        assert told in message
        assert status == "error"
        assert noetl("execution", "replay", child).returncode == 0


def test_a_child_nobody_waits_for_runs_to_its_end(noetl: Noetl):
    (noetl.folder / "child.yaml").write_text(
        document(
            "- {step: s, tool: [{kind: wait, input: {seconds: 0.3}}, {kind: noop, output: 5}]}", name="child"
        )
    )
    run = Run(
        noetl, document("- {step: start, tool: {name: c, kind: playbook, path: child.yaml, wait: false}}")
    )
    child = json.loads(noetl("execution", "show", run.json["output"]["execution_id"], "--json").stdout)
    assert (child["status"], child["output"]) == ("completed", 5)


@pytest.mark.anywhere
def test_a_parent_that_times_out_cancels_the_child_it_waits_for(noetl: Noetl):
    (noetl.folder / "child.yaml").write_text(WAITS.replace("case", "child"))
    run = Run(
        noetl,
        document("- {step: start, spec: {timeout: 0.5}, tool: {name: c, kind: playbook, path: child.yaml}}"),
    )
    assert run.error["kind"] == "timeout"
    child = run.events("--name", "task.parked")[0]["data"]["child"]
    assert json.loads(noetl("execution", "show", child, "--json").stdout)["status"] == "cancelled"


@pytest.mark.anywhere
def test_playbooks_nest_at_most_32_deep(noetl: Noetl):
    run = Run(noetl, document("- {step: start, tool: {name: c, kind: playbook, path: case.yaml}}"))
    assert run.code == 1
    details = run.error["details"]
    assert (run.error["kind"], details["error"]["kind"], len(details["path"])) == ("child", "limit", 32)


@pytest.mark.anywhere
def test_a_synthesized_fragment_runs_between_the_step_and_its_next(noetl: Noetl):
    workflow = """
    - step: plan
      spec: {synthesize: {from: "{{ output.data }}", limits: {max_steps: 5}}}
      tool: {kind: noop, output: {workflow: [{step: one, tool: {kind: noop}, next: {arcs: [{step: two}]}}, {step: two, tool: {kind: noop, output: made}}]}}
      next: {arcs: [{step: end, when: "{{ event.name == 'step.done' }}", set: {ctx.seen: "{{ output.data }}"}}]}
    - {step: end, tool: {kind: noop}}
    """
    run = Run(noetl, document(workflow))
    assert run.json["status"] == "completed", run.json
    assert run.json["ctx"] == {"seen": "made"}
    assert {"plan.1.one", "plan.1.two", "end"} <= set(run.json["steps"])


@pytest.mark.anywhere
def test_an_invalid_fragment_fails_the_step_with_kind_synthesis(noetl: Noetl):
    run = Run(
        noetl,
        document(
            '- {step: plan, spec: {synthesize: {from: "{{ output.data }}"}}, tool: {kind: noop, output: {workflow: [{step: one, tool: {kind: nope}}]}}}'
        ),
    )
    assert (run.error["kind"], run.error["step"]) == ("synthesis", "plan")
