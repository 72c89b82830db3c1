"""A run that is killed: nothing accepted is done again, and the execution is finished by whoever resumes it."""

import json

import pytest

from tests.acceptance.running import (
    PagedApi,
    Process,
    audit_all,
    events,
    eventually,
    is_run,
    pages_of,
    playbook,
)

PAGES = 6


@pytest.fixture(autouse=True)
def audited(tmp_path):
    yield
    audit_all(tmp_path)


@pytest.fixture
def api():
    served = PagedApi(PAGES)
    yield served
    served.close()


def fetched(noetl) -> set[tuple[str, int]]:
    """The pages whose fetch the log has accepted: the n-th visit of an iteration is its n-th page."""
    found = set()
    for event in events(noetl, "task.done"):
        if event["task_label"] == "get":
            iteration = event["task_run_id"].partition("[")[2].partition("]")[0]
            found.add(("abc"[int(iteration)], int(event["task_run_id"].rpartition(".")[2])))
    return found


def test_a_killed_pagination_goes_on_at_its_page(noetl, write, tmp_path, api):
    api.hold("a", 4)
    running = Process(noetl, "run", write("pages.yaml", pages_of(tmp_path)), "--set", f"url={api.url}", "-q")
    api.asked("a", 4)
    eventually(lambda: len(fetched(noetl)) == 3 + 2 * PAGES, "every other page in the log")
    running.kill()
    accepted, before = fetched(noetl), api.hits.copy()
    assert ("a", 3) in accepted
    api.let_go()
    done = noetl("execution", "resume", "@last", "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, result["status"]) == (0, "completed"), done.stderr
    assert result["ctx"]["totals"] == [2 * PAGES] * 3
    repeated = {page for page in accepted if api.hits[page] > before[page]}
    assert not repeated
    assert all(api.hits[name, page] >= 1 for name in "abc" for page in range(1, PAGES + 1))
    assert max(api.hits.values()) == 2  # only the page that was under way was asked for again
    replayed = noetl("execution", "replay", "@last", "--json")
    assert (replayed.returncode, json.loads(replayed.stdout)["ok"]) == (0, True)


def test_a_run_killed_early_is_resumed_by_run_itself(noetl, write, tmp_path, api):
    api.hold("b", 1)
    running = Process(noetl, "run", write("pages.yaml", pages_of(tmp_path)), "--set", f"url={api.url}", "-q")
    api.asked("b", 1)
    running.kill()
    api.let_go()
    shown = noetl("execution", "show", "@last")
    assert "status     interrupted after" in shown.stdout
    assert "go on with: noetl execution resume" in shown.stderr
    done = noetl("run", "--resume", "--json")
    assert (done.returncode, json.loads(done.stdout)["ctx"]["totals"]) == (0, [2 * PAGES] * 3)


def test_a_parent_killed_while_its_child_runs_finds_the_child_again(noetl, write):
    write("child.yaml", playbook("- {step: hold, tool: {kind: wait, input: {signal: go}}}", name="child"))
    parent = playbook(
        """
        - {step: call, tool: {kind: playbook, path: child.yaml}, set: {ctx.got: "{{ output.data }}"}}
        """
    )
    running = Process(noetl, "run", write("parent.yaml", parent), "-q")
    child = eventually(
        lambda: next((event["data"]["child"] for event in events(noetl, "task.parked")), None), "the child"
    )
    eventually(lambda: events(noetl, "task.parked", child), "the child waits")
    running.kill()
    resumed = Process(noetl, "execution", "resume", "@last", "--json")
    eventually(lambda: is_run(noetl, child), "the child goes on")
    assert noetl("execution", "signal", child, "go", "--payload", "7").returncode == 0
    done = resumed.wait()
    assert json.loads(done.stdout)["ctx"] == {"got": 7}
    listed = json.loads(noetl("execution", "list", "--all", "--json").stdout)
    assert [item["status"] for item in listed] == ["completed", "completed"]


def test_an_execution_that_runs_is_not_taken_over(noetl, write):
    text = playbook("- {step: hold, tool: {kind: wait, input: {signal: go}}}")
    running = Process(noetl, "run", write("hold.yaml", text), "--json")
    eventually(lambda: events(noetl, "task.parked"), "the wait")
    refused = noetl("execution", "resume", "@last")
    assert refused.returncode == 2
    assert "another process runs it" in refused.stderr
    assert noetl("execution", "signal", "@last", "go").returncode == 0
    assert json.loads(running.wait().stdout)["status"] == "completed"


def test_two_processes_share_one_store(noetl, write):
    text = playbook("""
    - step: work
      loop: {in: "{{ range(40) | list }}", iterator: x, spec: {mode: parallel, max_in_flight: 4}}
      tool: {kind: python, input: {x: "{{ iter.x }}", code: "result = x"}}
    """)
    name = write("work.yaml", text)
    running = [Process(noetl, "run", name, "--json") for _ in range(3)]
    results = [json.loads(process.wait().stdout) for process in running]
    assert [result["output"] for result in results] == [list(range(40))] * 3
    assert len({result["execution_id"] for result in results}) == 3
