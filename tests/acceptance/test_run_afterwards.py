"""What can be done with an execution that is over: explain, compare, export, evaluate, retry and rerun it."""

import json
import sqlite3
from xml.etree import ElementTree

import pytest

from tests.acceptance.running import audit_all, events, playbook

XES = "{http://www.xes-standard.org/}"
STORY = playbook(
    r"""
    - step: load
      loop: {in: "{{ [1, 2, 0, 4] }}", iterator: x}
      tool:
        name: divide
        kind: python
        input: {x: "{{ iter.x }}", ok: "{{ workload.ok }}", code: "print(f'x is {x} <&>'); result = 12 // (x or ok)"}
      next:
        arcs:
          - {step: never, when: "{{ workload.ok > 5 }}"}
          - {step: end, when: "{{ event.name == 'loop.done' }}", set: {ctx.all: "{{ output.data }}"}}
    - {step: never, tool: {kind: noop}}
    - {step: end, tool: {kind: noop, output: "{{ ctx.all }}"}}
    """,
    workload="workload: {ok: 0}",
)
FIXED = STORY.replace("(x or ok)", "(x or 3)")


@pytest.fixture(autouse=True)
def audited(tmp_path):
    yield
    audit_all(tmp_path)


@pytest.fixture
def failed(noetl, write):
    """A run whose loop failed in its third iteration."""
    done = noetl("run", write("story.yaml", STORY), "--json")
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)["execution_id"]


@pytest.mark.anywhere
def test_a_retry_repeats_only_what_failed(noetl, write, failed):
    again = noetl("execution", "retry", failed, "--json")
    assert (again.returncode, json.loads(again.stdout)["retry_of"]) == (1, failed)
    started = [event["data"]["input"]["x"] for event in events(noetl, "task.started")]
    assert started == [0]


@pytest.mark.anywhere
def test_a_rerun_with_a_changed_playbook_comes_to_an_end(noetl, write, failed):
    write("fixed.yaml", FIXED)
    done = noetl("execution", "rerun", failed, "--from", "load", "--playbook", "fixed.yaml", "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, result["output"], result["retry_of"]) == (0, [12, 6, 4, 3], failed)
    assert result["playbook"]["version"] >= 2
    found = json.loads(noetl("execution", "diff", failed, "@last", "--json").stdout)
    assert (found["same"], found["status"]) == (False, ["failed", "completed"])
    assert found["ctx"] == [{"path": "all", "b": [12, 6, 4, 3]}]
    told = noetl("execution", "diff", failed, "@last").stdout
    assert "+ load.1 done" in told
    assert "+ all = [12,6,4,3]" in told


@pytest.mark.anywhere
def test_a_rerun_refuses_what_it_cannot_do(noetl, write, failed):
    unknown = noetl("execution", "rerun", failed, "--from", "nowhere")
    assert (unknown.returncode, "never ran" in unknown.stderr) == (2, True)
    bad = noetl("execution", "rerun", failed, "--from", "load", "--playbook", write("bad.yaml", "a: 1"))
    assert bad.returncode == 1
    assert "error[" in bad.stderr


@pytest.mark.anywhere
def test_why_tells_the_story_with_the_values_seen(noetl, failed):
    told = noetl("execution", "why", failed)
    assert told.returncode == 0
    assert "it failed because step 'load' failed and no arc took the failure" in told.stdout
    assert "task 'divide' in iteration [2] failed after python: ZeroDivisionError" in told.stdout
    assert "the arc to 'never' was not taken: its condition did not hold (workload.ok = 0)" in told.stdout
    one = json.loads(noetl("execution", "why", failed, "--step", "never", "--json").stdout)
    assert (one["status"], one["step"], len(one["reasons"])) == ("failed", "never", 2)
    assert one["reasons"][0]["facts"]["seen"] == {"workload.ok": 0}
    unknown = noetl("execution", "why", failed, "--step", "lod")
    assert (unknown.returncode, "did you mean 'load'?" in unknown.stderr) == (2, True)


@pytest.mark.anywhere
def test_events_are_chosen_by_number_name_and_step(noetl, failed):
    def seen(*arguments: str) -> list[dict]:
        done = noetl("execution", "events", failed, "--json", *arguments)
        return [json.loads(line) for line in done.stdout.splitlines()]

    whole = seen()
    assert [event["seq"] for event in whole] == list(range(1, len(whole) + 1))
    assert seen("--from", "10") == whole[9:]
    assert {event["name"] for event in seen("--name", "task.*")} == {"task.started", "task.done"}
    assert {event["step"] for event in seen("--step", "load")} == {"load"}
    text = noetl("execution", "events", failed).stdout
    assert len(text.splitlines()) == len(whole)


@pytest.mark.anywhere
def test_logs_have_their_step_task_and_iteration(noetl, failed):
    text = noetl("execution", "logs", failed).stdout
    assert "load[0]/divide  x is 1 <&>" in text
    lines = [json.loads(line) for line in noetl("execution", "logs", failed, "--json").stdout.splitlines()]
    printed = [line["iteration"] for line in lines if line.get("level") != "error"]
    assert printed == ["[0]", "[1]", "[2]"]
    assert {line["iteration"] for line in lines if line.get("level") == "error"} == {"[2]"}
    assert {(line["step"], line["task"], line["attempt"]) for line in lines} == {("load", "divide", 1)}
    assert noetl("execution", "logs", failed, "--step", "end").stdout == ""


@pytest.mark.anywhere
def test_show_and_list_tell_how_it_stands(noetl, failed):
    assert json.loads(noetl("execution", "show", failed, "--json").stdout)["error"]["task"] == "divide"
    text = noetl("execution", "show", failed).stdout
    assert "status     failed after " in text
    assert "step       load  failed" in text
    listed = json.loads(noetl("execution", "list", "--status", "failed", "--json", "--limit", "1").stdout)
    assert [item["execution_id"] for item in listed] == [failed]
    assert failed in noetl("execution", "list", "--path", "tests/case").stdout
    assert noetl("execution", "list", "--path", "tests/nowhere", "--json").stdout == "[]\n"


def test_show_names_what_an_execution_goes_on_from_and_as(noetl, write):
    rounds = playbook(
        """
        - step: round
          spec: {continue: {after_events: 10}}
          tool: {kind: noop}
          set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}
          next: {arcs: [{step: round, when: "{{ event.ok and ctx.n < 3 }}"}]}
        """
    )
    write("rounds.yaml", rounds)
    noetl("run", "rounds.yaml")
    listed = json.loads(noetl("execution", "list", "--continued", "--json").stdout)
    last, before = (item["execution_id"] for item in listed[:2])
    assert f"\ncontinued  from {before}\n" in noetl("execution", "show", last).stdout
    assert f"\ncontinued  as {last}\n" in noetl("execution", "show", before).stdout


@pytest.mark.anywhere
def test_an_export_as_json_lines_is_what_events_prints(noetl, tmp_path, failed):
    noetl("execution", "export", failed, "-o", "log.jsonl")
    log = noetl("execution", "events", failed, "--json").stdout
    assert (tmp_path / "log.jsonl").read_text() == log
    assert noetl("execution", "export", failed, "--json").stdout == log
    wrong = noetl("execution", "export", failed, "-o", "no/such/folder")
    assert (wrong.returncode, "choose another place" in wrong.stderr) == (2, True)


def test_a_filter_that_no_event_passes_prints_nothing_and_says_so(noetl, failed):
    done = noetl("execution", "events", failed, "--step", "nowhere", "--json")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"no such events; see all with: noetl execution events {failed}" in done.stderr


def test_an_export_as_xes_is_valid_xml_whatever_a_task_printed(noetl, write):
    text = playbook(r"""
    - step: a
      tool:
        kind: python
        input:
          code: |
            print("\x00\x1b<&>'\ufffe")
            result = "tab\there \x07"
    """)
    noetl("run", write("odd.yaml", text), "-q")
    tree = ElementTree.fromstring(noetl("execution", "export", "@last", "--format", "xes").stdout)
    found = tree.findall(f"{XES}trace/{XES}event")
    assert len(found) == len(events(noetl))
    names = {part.get("value") for item in found for part in item if part.get("key") == "concept:name"}
    assert {"a", "a_task"} <= names
    assert all(item.find(f"{XES}date[@key='time:timestamp']") is not None for item in found)
    data = [item.get("value") for item in tree.iter(f"{XES}string") if item.get("key") == "noetl_data"]
    assert any("tab\\there" in (text or "") for text in data)


@pytest.mark.parametrize(
    "expression, printed",
    [
        ("{{ workload.ok }}", "0\n"),
        ("load.loop.done", "2\n"),
        ("{{ load.status }} {{ 1 + 1 }}", "error 2\n"),
        ("{{ event.name }}", "playbook.processed\n"),
        ("[execution_id | length]", "[\n  32\n]\n"),
    ],
)
@pytest.mark.anywhere
def test_a_template_is_evaluated_against_the_end_of_an_execution(noetl, failed, expression, printed):
    done = noetl("render", expression, "--at", failed)
    assert (done.returncode, done.stdout) == (0, printed)


@pytest.mark.anywhere
def test_a_template_is_evaluated_at_an_event(noetl, write):
    text = playbook("""
    - {step: a, tool: {kind: noop, output: 1}, set: {ctx.n: 1}, next: {arcs: [{step: b}]}}
    - {step: b, tool: {kind: noop, output: 2}, set: {ctx.n: 2}}
    """)
    noetl("run", write("two.yaml", text), "-q")
    done = next(event["seq"] for event in events(noetl, "task.done"))
    patched = [event["seq"] for event in events(noetl, "ctx.patched")]
    assert noetl("render", "output.data", "--at", f"@last:{done}").stdout == "1\n"
    assert noetl("render", "ctx.n", "--at", f"@last:{patched[0]}").stdout == "1\n"
    assert noetl("render", "ctx.n", "--at", "@last", "--json").stdout == "2\n"
    early = noetl("render", "ctx.n", "--at", "@last:1")
    assert (early.returncode, "ctx.n is missing" in early.stderr) == (2, True)
    late = noetl("render", "ctx.n", "--at", "@last:999")
    assert (late.returncode, "events, not 999" in late.stderr) == (2, True)
    wrong = noetl("render", "ctx.n", "--at", "@last:x")
    assert wrong.returncode == 2


@pytest.mark.parametrize("kept", [b"{", b"\xff", b"[]", b"{}", b'{"counts": {}, "failures": [1]}'])
def test_a_kept_result_that_cannot_be_read_is_said_in_words(noetl, write, tmp_path, kept):
    noetl("run", write("story.yaml", FIXED))
    with sqlite3.connect(tmp_path / ".noetl" / "noetl.db") as store:
        (whole,) = store.execute("select result from executions").fetchone()
        store.execute("update executions set result = ?", [kept])
    store.close()
    listed = noetl("execution", "list")
    assert (listed.returncode, "completed" in listed.stdout) == (0, True), listed.stderr
    shown = noetl("execution", "show", "@last")
    assert shown.returncode == 3, shown.stderr
    assert "error[backend]: what was kept of execution" in shown.stderr
    assert "noetl execution replay" in shown.stderr
    with sqlite3.connect(tmp_path / ".noetl" / "noetl.db") as store:
        store.execute("update executions set result = ?", [whole])
    store.close()
