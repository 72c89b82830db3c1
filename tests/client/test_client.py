"""The client of a server: what it starts, waits for, follows and reads, plain and awaited, with and without tokens."""

import asyncio
import base64
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import noetl
from noetl.errors import BackendError, Conflict, Denied, NotFound, PlaybookError, RequestError
from tests.acceptance.served import Server

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\n"
ROWS = f"""{HEAD}metadata: {{name: rows, path: client/rows}}
workload: {{count: 3}}
workflow:
  - step: make
    tool:
      kind: python
      input: {{count: "{{{{ workload.count }}}}"}}
      code: |
        print("making", count)
        result = [{{"id": n, "name": f"row {{n}}", "half": n / 2}} for n in range(count)]
    set: {{ctx.made: "{{{{ output.data | length if output.data else -1 }}}}"}}
executor: {{spec: {{final_step: make}}}}
"""
WAITS = f"""{HEAD}metadata: {{name: waits, path: client/waits}}
workflow:
  - step: ask
    tool: {{kind: wait, signal: go}}
"""
FAILS = f"""{HEAD}metadata: {{name: fails, path: client/fails}}
workload: {{divisor: 0}}
workflow:
  - step: divide
    tool: {{kind: python, input: {{by: "{{{{ workload.divisor }}}}"}}, code: "result = 1 / by"}}
"""


@pytest.fixture
def client(url: str):
    with noetl.Client(url) as made:
        made.register(ROWS)
        made.register(WAITS)
        made.register(FAILS)
        yield made


def test_what_runs_on_a_server_comes_back_as_values(client: noetl.Client) -> None:
    result = client.run("client/rows", count=2).wait()
    assert result.ok
    assert result.status == "completed"
    assert result.path == "client/rows"
    assert result.output == [{"id": 0, "name": "row 0", "half": 0}, {"id": 1, "name": "row 1", "half": 0.5}]
    assert result.rows() == result.output
    assert [json.loads(line) for line in result.json_lines().splitlines()] == result.output


def test_a_workload_may_be_a_mapping_whose_keys_are_words_of_the_call(client: noetl.Client) -> None:
    execution = client.run("client/rows", {"count": 1, "version": "mine"})
    assert execution.wait().fields["workload"] == {"count": 1, "version": "mine"}


def test_a_payload_that_was_stored_is_fetched_whole(client: noetl.Client) -> None:
    execution = client.run("client/rows", count=60_000)
    result = execution.wait(timeout=120)
    assert [len(result.rows()), result.rows()[-1]["id"]] == [60_000, 59_999]
    assert execution.step_rows("make") == result.rows()


def test_rows_become_frames_and_arrow_tables(client: noetl.Client) -> None:
    result = client.run("client/rows", count=4).wait()
    assert result.pandas()["half"].tolist() == result.polars()["half"].to_list() == [0.0, 0.5, 1.0, 1.5]
    table = result.arrow()
    assert table.num_rows == 4
    assert table.column_names == ["id", "name", "half"]


def test_a_failure_raises_with_its_error_and_can_be_looked_at(client: noetl.Client) -> None:
    execution = client.run("client/fails")
    with pytest.raises(noetl.ExecutionFailed, match="division by zero") as raised:
        execution.wait()
    assert raised.value.result.status == "failed"
    assert execution.execution_id in str(raised.value)
    result = execution.wait(check=False)
    assert not result.ok
    assert (result.error or {})["kind"] == "python"
    assert "divide" in execution.why()["summary"] or execution.why()["reasons"]


def test_a_wait_that_is_too_long_leaves_the_execution_going_on(client: noetl.Client) -> None:
    execution = client.run("client/waits")
    with pytest.raises(TimeoutError, match="goes on"):
        execution.wait(timeout=0.2)
    execution.signal("go", {"by": "test"})
    assert execution.wait().ok


def test_waiting_outlasts_a_server_that_is_killed_and_started_again(tmp_path: Path) -> None:
    server = Server(tmp_path / "again").start()
    with noetl.Client(server.url) as client, ThreadPoolExecutor(1) as thread:
        client.register(WAITS)
        execution = client.run("client/waits")
        waiting = thread.submit(execution.wait, 60)
        assert next(event for event in execution.follow() if event["name"] == "step.started")
        server.kill()
        server.start()
        execution.signal("go", {"by": "test"})
        assert waiting.result().ok
        server.kill()
        with pytest.raises(BackendError, match="cannot be reached"), noetl.Client(server.url) as other:
            other.execution(execution.execution_id).wait()


def test_events_are_followed_until_the_end_each_once(client: noetl.Client) -> None:
    execution = client.run("client/rows", count=1)
    events = list(execution.follow())
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["name"] == "playbook.processed"


def test_following_may_be_left_before_the_end(client: noetl.Client) -> None:
    execution = client.run("client/waits")
    for event in execution.follow():
        if event["name"] == "task.parked":
            break
    execution.cancel("enough")
    assert execution.wait(check=False).status == "cancelled"


def test_one_key_starts_one_execution(client: noetl.Client) -> None:
    first = client.run("client/rows", idempotency_key="monday")
    again = client.run("client/rows", idempotency_key="monday")
    assert (again.execution_id, again.existed, first.existed) == (first.execution_id, True, False)
    assert again.wait().execution_id == first.wait().execution_id


def test_pausing_resuming_and_running_again(client: noetl.Client) -> None:
    execution = client.run("client/waits")
    execution.pause("lunch")
    assert execution.wait().status == "paused"
    execution.resume()
    execution.signal("go")
    assert execution.wait().ok
    failed = client.run("client/fails")
    assert failed.wait(check=False).status == "failed"
    assert failed.retry().wait(check=False).fields["retry_of"] == failed.execution_id
    assert failed.rerun("divide", FAILS.replace("1 / by", "by")).wait().output == 0


def test_logs_state_graph_and_lists(client: noetl.Client) -> None:
    execution = client.run("client/rows", count=1)
    execution.wait()
    assert [line["text"] for line in execution.logs()] == ["making 1"]
    assert execution.state()["ctx"] == {"made": 1}
    assert execution.graph()
    listed = client.executions(path="client/rows", limit=1)
    assert [row["execution_id"] for row in listed] == [execution.execution_id]
    assert "client/rows" in [playbook.path for playbook in client.playbooks()]
    assert client.playbook("client/rows").text == ROWS
    assert [worker.pool for worker in client.workers()] == ["default"]


def test_a_file_is_run_by_its_name(client: noetl.Client, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(ROWS.replace("client/rows", "client/mine"))
    assert client.run(file, count=1).wait().path == "client/mine"
    assert client.run(str(file), count=1).wait().ok
    with pytest.raises(NotFound, match=r"no file 'absent\.yaml'"):
        client.run("absent.yaml")


def test_problems_are_exceptions(client: noetl.Client) -> None:
    with pytest.raises(NotFound, match="client/row"):
        client.run("client/row")
    with pytest.raises(PlaybookError) as raised:
        client.register(ROWS.replace("kind: python", "kind: pythn"))
    assert [finding.code for finding in raised.value.diagnostics if finding.severity == "error"] == [
        "unknown-kind"
    ]
    with pytest.raises(NotFound):
        client.execution("0" * 32).status()
    done = client.run("client/rows", count=1)
    done.wait()
    with pytest.raises(Conflict):
        done.cancel()
    with pytest.raises(RequestError, match="no table"):
        client.run("client/fails", divisor=2).wait().rows()


def test_a_server_that_is_not_there_and_none_that_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        noetl.Client("http://127.0.0.1:9") as nowhere,
        pytest.raises(BackendError, match="cannot be reached"),
    ):
        nowhere.playbooks()
    monkeypatch.delenv("NOETL_SERVER", raising=False)
    with pytest.raises(RequestError, match="no server is named"):
        noetl.Client()


def test_the_server_and_token_of_the_settings_are_used(
    guarded: tuple[str, str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOETL_SERVER", guarded[0])
    monkeypatch.setenv("NOETL_TOKEN", guarded[1])
    with noetl.Client() as client:
        client.register(ROWS)
        result = client.run("client/rows", count=1).wait()
    assert result.ok
    assert result.fields["by"] == "ada"


@pytest.mark.parametrize("token", [None, "nonsense"])
def test_without_a_good_token_everything_is_denied(
    guarded: tuple[str, str], token: str | None, project: Path
) -> None:
    with noetl.Client(guarded[0], token) as client:
        with pytest.raises(Denied):
            client.run("client/rows")
        with pytest.raises(Denied):
            client.playbooks()
        with pytest.raises(Denied):
            list(client.execution("0" * 32).follow())


async def test_the_awaited_client_does_the_same(guarded: tuple[str, str]) -> None:
    async with noetl.AsyncClient(*guarded) as client:
        await client.register(WAITS)
        execution = await client.run("client/waits")
        names: list[str] = []
        async for event in execution.follow():
            names.append(event["name"])
            if event["name"] == "task.parked":
                await execution.signal("go")
        assert names[-1] == "playbook.processed"
        assert (await execution.wait()).ok
        assert await execution.status() == "completed"


async def test_plain_calls_work_beside_a_running_loop(url: str) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())

    def plain() -> Any:
        with noetl.Client(url) as client:
            client.register(ROWS)
            return client.run("client/rows", count=1).wait().output

    assert (await asyncio.to_thread(plain))[0]["id"] == 0
    assert plain()[0]["id"] == 0  # as in a notebook, whose cell runs inside a loop
    ticking.cancel()
    assert ticks


LEFT_OPEN = """
import gc, sys, threading, noetl

def started():
    return noetl.Client(sys.argv[1]).run("client/rows", count=1)

execution = started()  # its client is nobody's any more
print(execution.wait().ok)
threads = [thread for thread in threading.enumerate() if thread.name == "noetl-client"]
del execution
gc.collect()
print(len(threads), [thread.is_alive() for thread in threads])
client = noetl.Client(sys.argv[1])
print(len(client.workers()))
"""


def test_a_client_that_nobody_closes_leaves_nothing_behind(client: noetl.Client, url: str) -> None:
    """As in a notebook: no thread stays, and the program ends without a word about it."""
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", LEFT_OPEN, url], capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines() == ["True", "1 [False]", "1"]
    assert ended.stderr == ""


def test_a_closed_client_says_so(url: str) -> None:
    client = noetl.Client(url)
    execution = client.execution("0" * 32)
    client.close()
    client.close()
    for ask in (client.playbooks, execution.status):
        with pytest.raises(RequestError, match="client is closed"):
            ask()


def test_a_notebook_shows_status_steps_table_and_graph(client: noetl.Client) -> None:
    execution = client.run("client/rows", count=25)
    result = execution.wait()
    bundle = result._repr_mimebundle_()
    assert re.match(r"client/rows completed in [\d.]+ s ", bundle["text/plain"])
    assert "<td>row 3</td>" in bundle["text/html"]
    assert "5 more rows" in bundle["text/html"]
    assert "1 of 1 steps" in bundle["text/html"]
    picture = picture_of(execution._repr_mimebundle_()["text/html"])
    assert "<title>make (done)</title>" in picture
    assert "is-good" in picture


def picture_of(page: str) -> str:
    """The graph that a page shows, which is a picture of its own: no rule of style of it reaches the page."""
    assert "<style" not in page
    (source,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    return base64.b64decode(source).decode()


def test_a_notebook_shows_how_far_an_execution_is(client: noetl.Client) -> None:
    execution = client.run("client/waits")
    parked(execution)
    page = execution._repr_mimebundle_()["text/html"]
    assert "0 of 1 steps" in page
    assert "is-now" in picture_of(page)
    execution.signal("go")
    assert execution.wait().ok


def parked(execution: noetl.Execution) -> None:
    """Wait until it waits."""
    for event in execution.follow():
        if event["name"] == "task.parked":
            return


def test_what_a_playbook_wrote_is_escaped_in_a_notebook(client: noetl.Client, tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    text = ROWS.replace("client/rows", "client/odd").replace('f"row {n}"', '"<script>alert(1)</script>"')
    file.write_text(text)
    page = client.run(file).wait()._repr_mimebundle_()["text/html"]
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def _result(output: Any) -> noetl.Result:
    fields: Any = {}
    return noetl.Result(fields, output)


def test_no_rows_are_empty_frames() -> None:
    assert _result([]).polars().shape == (0, 0)
    assert _result([]).pandas().empty


@pytest.mark.parametrize("rows", [[{"id": 2**70 + 1}], [{"id": 2**53 + 1}, {"id": 0.5}]])
def test_an_integer_that_arrow_would_round_is_refused(rows: list[dict[str, float]]) -> None:
    with pytest.raises(RequestError, match=r"'id' has \d+, which a column of floats would round"):
        _result(rows).arrow()
    assert _result([{"id": 2**53 + 1}]).arrow().num_rows == 1


def test_rows_that_a_frame_cannot_hold_are_an_error_of_ours() -> None:
    with pytest.raises(RequestError, match="do not fit into a polars frame"):
        _result([{"id": 2**200}]).polars()


FORKED = """
import os, sys, noetl
client = noetl.Client(sys.argv[1])
client.playbooks()
child = os.fork()
if child == 0:
    try:
        client.playbooks()
    except noetl.NoetlError as problem:
        print(problem.message.partition(" was ")[2].partition(",")[0], flush=True)
    print(type(noetl.Client(sys.argv[1]).playbooks()).__name__, flush=True)
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(client.workers()) > 0)
"""


def test_a_client_that_a_fork_brought_says_so_and_lets_the_process_end(url: str) -> None:
    """Its thread is not there: a call would wait for ever, and so would the end of the program."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, url],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert ran.stdout.splitlines() == ["forked from the one that made this client", "list", "3 True"]
    assert ran.stderr == ""


def test_whoever_waits_is_told_when_another_thread_closes_the_client(url: str) -> None:
    client = noetl.Client(url)
    client.register(WAITS)
    execution = client.run("client/waits")
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(execution.wait)
        while execution.status() != "waiting":
            pass
        client.close()
        with pytest.raises(RequestError, match="this client is closed"):
            waiting.result(timeout=30)
    with noetl.Client(url) as client:
        client.execution(execution.execution_id).cancel()


def test_an_awaited_client_says_that_it_belongs_to_another_loop(url: str) -> None:
    client = noetl.AsyncClient(url)
    asyncio.run(client.playbooks())
    with pytest.raises(RequestError, match="another event loop"):
        asyncio.run(client.playbooks())
    asyncio.run(client.close())


@pytest.mark.parametrize("client", [noetl.Client, noetl.AsyncClient])
def test_what_a_client_is_wrongly_given_is_told_as_its_argument(
    client: type[noetl.Client | noetl.AsyncClient],
) -> None:
    with pytest.raises(
        RequestError, match=r"'token' must be a text, not an empty text \(from argument token\)"
    ):
        client("http://127.0.0.1:1", "")
    with pytest.raises(RequestError, match=r"'server' must be a text, not '' \(from argument url\)"):
        client("")
