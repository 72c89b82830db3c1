"""Playbooks run in the caller's own process: durable, resumable, and without a trace on that process."""

import asyncio
import datetime
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
from decimal import Decimal
from pathlib import Path

import pytest

import noetl
from noetl.errors import Conflict, MissingExtra, NotFound, PlaybookError

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"
HELLO = f"""{HEAD}metadata: {{name: hello, path: client/hello}}
workload: {{name: you}}
workflow:
  - step: greet
    tool: {{kind: python, input: {{name: "{{{{ workload.name }}}}"}}, code: "result = f'hello {{name}}'"}}
executor: {{spec: {{final_step: greet}}}}
"""
SLOW = f"""{HEAD}metadata: {{name: slow, path: client/slow}}
workflow:
  - step: first
    tool: {{kind: python, code: "open('first', 'a').write('x')"}}
    next: {{arcs: [{{step: second, when: "{{{{ event.ok }}}}"}}]}}
  - step: second
    tool: {{kind: python, code: "open('second', 'w').close()"}}
    next: {{arcs: [{{step: third, when: "{{{{ event.ok }}}}"}}]}}
  - step: third
    tool: {{kind: wait, signal: go}}
"""


@pytest.fixture
def hello(project: Path) -> Path:
    file = project / "hello.yaml"
    file.write_text(HELLO)
    return file


def test_a_playbook_runs_in_this_process(hello: Path) -> None:
    result = noetl.run("hello.yaml", name="Ann")
    assert (result.output, result.ok) == ("hello Ann", True)
    assert noetl.run(hello, {"name": "Bob"}).output == "hello Bob"


def test_what_it_works_on_is_plain_json_and_no_more_the_callers(hello: Path) -> None:
    names = ["Ann"]
    asked = noetl.run(
        "hello.yaml", {"name": names}, at=datetime.date(2026, 1, 31), cost=Decimal("1.5"), of=Path("x")
    )
    workload = json.loads(
        subprocess.run(
            [sys.executable, "-m", "noetl.cli", "execution", "show", asked.execution_id, "--json"],
            capture_output=True, text=True, check=True,
        ).stdout
    )["workload"]  # fmt: skip
    assert workload == {"name": ["Ann"], "at": "2026-01-31", "cost": 1.5, "of": "x"}
    for value, says in (
        (object(), "at workload.name has no JSON form"),
        (float("nan"), "workload.name is nan"),
    ):
        with pytest.raises(noetl.NoetlError, match=says):
            noetl.run("hello.yaml", name=value)


def test_problems_pass_from_one_process_to_another(hello: Path) -> None:
    with pytest.raises(noetl.ExecutionFailed) as failed:
        noetl.run("hello.yaml", {"name": {}}, timeout=60, store=_failing(hello))
    problems = [
        failed.value,
        MissingExtra("asyncpg", "postgres"),
        noetl.Failed("busy", "not now", retryable=True),
    ]
    for problem in problems:
        again = pickle.loads(pickle.dumps(problem))
        assert (type(again), str(again), vars(again)) == (type(problem), str(problem), vars(problem))


def test_a_traceback_says_what_is_wrong_and_what_to_do(project: Path) -> None:
    Path("bad.yaml").write_text(
        HEAD + "metadata: {name: bad}\nworkflow:\n  - {step: a, tool: {kind: nope}}\n"
    )
    with pytest.raises(PlaybookError) as wrong:
        noetl.run("bad.yaml")
    lines = str(wrong.value).splitlines()
    assert lines[0] == f"the playbook has {len(wrong.value.diagnostics)} finding(s)"
    assert "  line 5, unknown-kind: " in str(wrong.value)
    with pytest.raises(NotFound) as missing:
        noetl.run("missing.yaml")
    assert "".join(traceback.format_exception(missing.value)).endswith(
        f"there is no file 'missing.yaml'\nfix: the current folder is {Path.cwd()}\n"
    )


def _failing(hello: Path) -> str:
    hello.write_text(HELLO.replace("result = f'hello {name}'", "raise ValueError(name)"))
    return "memory://"


def test_what_ran_is_in_the_log_of_the_project(hello: Path) -> None:
    result = noetl.run("hello.yaml")
    shown = subprocess.run(
        [sys.executable, "-m", "noetl.cli", "execution", "show", result.execution_id, "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert '"completed"' in shown.stdout


def test_a_notebook_shows_the_graph_of_what_ran_here(hello: Path) -> None:
    page = noetl.run("hello.yaml")._repr_mimebundle_()["text/html"]
    assert 'alt="The steps of client/hello"' in page
    assert "1 of 1 steps" in page


def test_a_store_may_be_chosen(hello: Path) -> None:
    noetl.run("hello.yaml", store="memory://")
    assert not (hello.parent / ".noetl").exists()
    noetl.run("hello.yaml", store=hello.parent / "mine" / "log.db")
    assert (hello.parent / "mine" / "log.db").exists()


def test_a_failure_raises_and_a_wrong_playbook_too(hello: Path) -> None:
    hello.write_text(HELLO.replace("result = f'hello {name}'", "raise ValueError('no')"))
    with pytest.raises(noetl.ExecutionFailed, match="no") as raised:
        noetl.run("hello.yaml")
    assert raised.value.result.status == "failed"
    assert noetl.run("hello.yaml", check=False).status == "failed"
    hello.write_text(HELLO.replace("kind: python", "kind: pythn"))
    with pytest.raises(PlaybookError):
        noetl.run("hello.yaml")
    with pytest.raises(NotFound, match="no file"):
        noetl.run("absent.yaml")


def test_an_execution_out_of_time_is_cancelled(project: Path) -> None:
    (project / "slow.yaml").write_text(SLOW)
    with pytest.raises(TimeoutError, match="cancelled"):
        noetl.run("slow.yaml", timeout=1)


async def test_it_is_awaited_in_the_callers_loop(hello: Path) -> None:
    results = await asyncio.gather(*(noetl.arun("hello.yaml", name=name) for name in "abc"))
    assert [result.output for result in results] == ["hello a", "hello b", "hello c"]


async def test_a_plain_call_works_inside_a_running_loop(hello: Path) -> None:
    assert noetl.run("hello.yaml", name="loop").output == "hello loop"


def test_it_works_in_any_thread(hello: Path) -> None:
    outputs: list[object] = []
    threads = [
        threading.Thread(target=lambda: outputs.append(noetl.run("hello.yaml").output)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == ["hello you"] * 2


def test_the_process_is_left_as_it_was(hello: Path, capfd: pytest.CaptureFixture[str]) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    before, frozen = (gc.get_threshold(), handlers, os.getcwd()), gc.get_freeze_count()
    noetl.run("hello.yaml")
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    assert (gc.get_threshold(), handlers, os.getcwd()) == before
    assert gc.get_freeze_count() <= frozen  # what is let go of meanwhile is frozen no more
    assert capfd.readouterr() == ("", "")
    assert [thread.name for thread in threading.enumerate() if thread.name == "noetl"] == []


INTERRUPTED = """
    import os, threading, noetl

    def end():
        while not os.path.exists("second"):  # the end of the first step is committed by then
            pass
        {end}

    threading.Thread(target=end, daemon=True).start()
    noetl.run("slow.yaml", idempotency_key="one")
"""


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 2)"])
def test_what_was_interrupted_goes_on_where_it_was(project: Path, end: str) -> None:
    (project / "slow.yaml").write_text(SLOW)
    script = textwrap.dedent(INTERRUPTED.format(end=end))
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    (execution,) = executions(project)
    answer = threading.Thread(target=_signal, args=(execution,))
    answer.start()
    result = noetl.resume(execution, timeout=60)
    answer.join()
    assert result.ok
    assert (project / "first").read_text() == "x"
    assert noetl.run("slow.yaml", idempotency_key="one").execution_id == execution


HOLDS = f"""{HEAD}metadata: {{name: holds, path: client/holds}}
workflow:
  - step: hold
    tool:
      kind: python
      code: |
        import os
        open("begun", "w").close()
        while not os.path.exists("go"):
            pass
        result = "went on"
"""
AGAIN = """
    import os, signal, threading, noetl

    def interrupt():
        while not os.path.exists("begun"):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        noetl.run("holds.yaml", idempotency_key="one")
    except KeyboardInterrupt:
        open("go", "w").close()
        print(noetl.run("holds.yaml", idempotency_key="one").status)
"""


def test_what_was_interrupted_goes_on_in_the_same_process(project: Path) -> None:
    """As in a notebook, whose kernel outlives the interrupted cell: nothing of the first call is left."""
    (project / "holds.yaml").write_text(HOLDS)
    script = [sys.executable, "-W", "always", "-c", textwrap.dedent(AGAIN)]
    ran = subprocess.run(script, capture_output=True, text=True, check=False, timeout=120)
    assert (ran.stdout, ran.stderr) == ("completed\n", "")


def executions(project: Path) -> list[str]:
    listed = subprocess.run(
        [sys.executable, "-m", "noetl.cli", "execution", "list", "--json"],
        cwd=project, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [item["execution_id"] for item in json.loads(listed.stdout)]


def _signal(execution: str) -> None:
    """Say go, as soon as the wait is there."""
    while subprocess.run(
        [sys.executable, "-m", "noetl.cli", "execution", "signal", execution, "go"],
        capture_output=True,
        check=False,
    ).returncode:
        pass


def test_two_processes_do_not_run_one_execution(project: Path) -> None:
    (project / "slow.yaml").write_text(SLOW)
    script = "import noetl; noetl.run('slow.yaml')"
    with subprocess.Popen([sys.executable, "-c", script]) as other:
        while not (project / "first").exists():
            assert other.poll() is None
        try:
            (execution,) = executions(project)
            with pytest.raises(Conflict, match="another process runs it"):
                noetl.resume(execution)
        finally:
            other.kill()


def test_importing_the_module_loads_nothing() -> None:
    script = "import sys, noetl; print(sorted(name for name in sys.modules if name.startswith('noetl')))"
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "['noetl']"
    assert {"Client", "AsyncClient", "run", "arun", "errors"} <= set(dir(noetl))


def test_errors_are_named_without_another_import() -> None:
    script = "import noetl; print(noetl.errors.NotFound.__name__)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "NotFound\n"


def test_a_large_result_says_itself_in_a_line(hello: Path) -> None:
    result = noetl.run("hello.yaml", name="x" * 1000)
    assert repr(result) == f"<Result {result.execution_id} client/hello completed>"
