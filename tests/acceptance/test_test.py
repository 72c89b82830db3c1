"""`noetl test`: playbook tests through the real program, what it prints, its exit codes, and recording."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.api import Server, Shop
from tests.acceptance.conftest import Noetl
from tests.acceptance.playbooks import document

Write = Callable[[str, str], str]
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"

ORDERS = document(
    """
    - step: start
      tool:
        name: fetch
        kind: http
        input: {url: "http://nowhere.test/{{ workload.page }}"}
        spec:
          policy:
            rules:
              - {when: "{{ output.status == 'error' and output.error.retryable }}", then: {do: retry, attempts: 3, delay: 200}}
              - {when: "{{ output.status == 'error' }}", then: {do: fail}}
              - else: {then: {do: continue}}
      next: {arcs: [{step: many, when: "{{ event.ok and output.data.count > 2 }}"}, {step: few, when: "{{ event.ok }}"}]}
    - {step: many, tool: {kind: noop, output: many}}
    - {step: few, tool: {kind: noop, output: few}}
    """,
    name="orders",
    workload="workload: {page: 1}",
)
TESTS = """\
playbook: orders.yaml
tests:
  - name: many orders
    given:
      start.fetch:
        - {error: {kind: http, message: busy, retryable: true}}
        - {data: {count: 3}}
    expect: {output: many, steps: [start, many], calls: {start.fetch: [{url: "http://nowhere.test/1"}, {}]}}
  - name: few orders
    given: {start.fetch: {data: {count: 1}}}
    expect:
      output: many
"""


@pytest.fixture
def tested(write: Write) -> None:
    write("orders.yaml", ORDERS)
    write("orders.test.yaml", TESTS)


@pytest.mark.usefixtures("tested")
def test_what_passed_what_failed_and_why_and_what_was_never_tried(noetl: Noetl) -> None:
    done = noetl("test")
    assert done.returncode == 1
    assert "  ok      many orders" in done.stdout
    assert "3 min 20 s skipped" in done.stdout
    assert "  failed  few orders" in done.stdout
    assert "error[expectation]: output is few, expected many\n   --> orders.test.yaml:12:15" in done.stdout
    assert "  ran     start, few\n  called  start.fetch (attempt 1): ok\n" in done.stdout
    assert "orders.yaml: 3 of 3 steps, 2 of 2 arcs, 2 of 3 rules" in done.stdout
    assert "rule 1 of start.fetch never decided: {{ output.status == 'error' }}, fail" in done.stdout
    assert done.stderr == "failed: 1 passed, 1 failed\n"
    assert not (noetl.folder / ".noetl").exists()


@pytest.mark.usefixtures("tested")
def test_for_programs_it_is_one_object(noetl: Noetl) -> None:
    done = noetl("test", "--json", "orders.yaml")
    told = json.loads(done.stdout)
    assert (done.returncode, done.stderr, told["passed"], told["failed"]) == (1, "", 1, 1)
    first, second = told["tests"]
    assert (first["name"], first["status"], first["failures"]) == ("many orders", "passed", [])
    assert first["skipped_ms"] >= 200_000
    assert [(one["task"], one["attempt"], one["status"]) for one in first["calls"]] == [
        ("start.fetch", 1, "error"),
        ("start.fetch", 2, "ok"),
    ]
    assert [(one["line"], one["column"], one["path"]) for one in second["failures"]] == [
        (12, 15, "/tests/1/expect/output")
    ]
    (covered,) = told["coverage"]
    assert (covered["file"], covered["path"]) == ("orders.yaml", "tests/orders")
    assert covered["totals"] == {
        "steps": {"used": 3, "all": 3},
        "arcs": {"used": 2, "all": 2},
        "rules": {"used": 2, "all": 3},
    }
    assert [(arc["to"], arc["taken"], arc["refused"], arc["unasked"]) for arc in covered["arcs"]] == [
        ("many", 1, 1, 0),
        ("few", 1, 0, 1),
    ]
    assert [rule["matched"] for rule in covered["rules"]] == [1, 0, 2]


@pytest.mark.usefixtures("tested")
def test_only_some_tests_and_only_what_failed(noetl: Noetl) -> None:
    done = noetl("test", "--only", "many", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "ok: 1 passed\n")
    assert noetl("test", "--only", "nothing").returncode == 2


@pytest.mark.usefixtures("tested")
def test_what_a_test_lacks_and_what_it_gives_too_much_fails_it(noetl: Noetl, write: Write) -> None:
    write("orders.test.yaml", "playbook: orders.yaml\ntests: [{name: bare}]\n")
    done = noetl("test")
    assert done.returncode == 1
    assert "start.fetch (attempt 1) was called, and the test gives no output for it" in done.stdout
    assert "= fix: add start.fetch under given, or let its kind run: run: [KIND]" in done.stdout
    more = "given: {start.fetch: [{data: {count: 1}}, {attempt: 2, data: 1}]}"
    write("orders.test.yaml", f"playbook: orders.yaml\ntests:\n  - name: much\n    {more}\n")
    assert "no call came for this answer of 'start.fetch'" in noetl("test").stdout


@pytest.mark.usefixtures("tested")
def test_a_test_file_or_a_playbook_that_is_wrong_is_told_at_its_place(noetl: Noetl, write: Write) -> None:
    write("bad.test.yaml", "playbook: orders.yaml\ntests: [{name: a, given: {start.fetsh: {data: 1}}}]\n")
    done = noetl("test", "bad.test.yaml")
    assert done.returncode == 1
    assert "--> bad.test.yaml:2:27" in done.stdout
    assert "did you mean 'start.fetch'?" in done.stdout
    assert done.stderr == "failed: 0 passed, 1 file could not be read\n"
    assert (
        json.loads(noetl("test", "--json", "bad.test.yaml").stdout)["unusable"][0]["file"] == "bad.test.yaml"
    )
    write("wrong.yaml", "apiVersion: noetl.io/v2\nkind: Playbook\n")
    write("wrong.test.yaml", "playbook: wrong.yaml\ntests: [{name: a}]\n")
    done = noetl("test", "wrong.test.yaml")
    assert (done.returncode, "--> wrong.yaml:1:1" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["nowhere.test.yaml"], "no such file or folder: 'nowhere.test.yaml'"),
        ([], "there are no tests in '.'"),
        (["alone.yaml"], "there is no 'alone.test.yaml'"),
        (["lost.test.yaml"], "lost.test.yaml:1:11: there is no playbook 'gone.yaml'"),
        (["--set", "a=1"], "--set and --input are for --record"),
        (["--record"], "--record takes one playbook or one test file"),
        (["--record", "gone.test.yaml"], "there is no 'gone.test.yaml'"),
    ],
)
def test_what_cannot_be_found_is_wrong_usage(noetl: Noetl, write: Write, arguments, words) -> None:
    if arguments:
        write("alone.yaml", ORDERS)
        write("lost.test.yaml", "playbook: gone.yaml\ntests: [{name: a}]\n")
    done = noetl("test", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.usefixtures("tested")
def test_a_test_whose_playbook_is_gone_does_not_stop_the_others(noetl: Noetl, write: Write) -> None:
    write("a.test.yaml", "playbook: gone.yaml\ntests: [{name: a}]\n")
    done = noetl("test", "--only", "many")
    assert done.returncode == 2
    assert "  ok      many orders" in done.stdout
    assert "failed: 1 passed, 1 file could not be read" in done.stderr
    assert "a.test.yaml:1:11: there is no playbook 'gone.yaml'" in done.stderr


WAITS = document(
    "- step: start\n  tool: {name: ask, kind: wait, input: {signal: go}, spec: {timeout: 100000}}",
    name="waits",
)


def test_waits_end_by_signals_or_by_their_timeouts_and_take_no_time(noetl: Noetl, write: Write) -> None:
    write("waits.yaml", WAITS)
    write(
        "waits.test.yaml",
        "playbook: waits.yaml\ntests:\n"
        "  - {name: told, signals: [{name: go, payload: 7}], expect: {output: 7}}\n"
        "  - {name: not told, expect: {error: {kind: timeout}}}\n",
    )
    done = noetl("test")
    assert done.returncode == 0, done.stdout


def test_a_wait_without_end_fails_the_test_and_says_what_to_do(noetl: Noetl, write: Write) -> None:
    write("waits.yaml", WAITS.replace(", spec: {timeout: 100000}", ""))
    write("waits.test.yaml", "playbook: waits.yaml\ntests: [{name: alone}]\n")
    done = noetl("test")
    assert done.returncode == 1
    assert "it never ends: start.ask waits for the signal 'go'" in done.stdout
    assert "send what it waits for under signals" in done.stdout


@pytest.mark.usefixtures("tested")
def test_other_commands_know_a_test_from_a_playbook(noetl: Noetl, write: Write) -> None:
    done = noetl.shell("noetl validate *.yaml && noetl register *.yaml")
    assert (done.returncode, done.stdout) == (0, "tests/orders v1\n")
    run = noetl("run", "orders.test.yaml")
    assert run.returncode == 2
    assert "'orders.test.yaml' is a test, not a playbook\n  = fix: noetl test orders.test.yaml" in run.stderr
    write("bad.test.yaml", "playbook: orders.yaml\ntests: [{nam: a}]\n")
    assert "--> bad.test.yaml:2:10" in noetl("validate", "bad.test.yaml").stdout


# Recording

SHELL = document(
    """
    - step: start
      loop: {in: "{{ range(workload.count) | list }}", iterator: i}
      tool:
        - {name: say, kind: shell, input: {command: "echo {{ i }} {{ keychain.api.token }}"}}
        - {name: twice, kind: python, input: {said: "{{ say.data.stdout }}", code: "result = said * 2"}}
    """,
    name="shell",
    keychain="keychain: [{name: api, kind: bearer, env: SOME_TOKEN}]",
    workload="workload: {count: 2}",
)


def test_a_playbook_is_recorded_into_a_test_that_passes_without_its_tools(noetl: Noetl, write: Write) -> None:
    write("shell.yaml", SHELL)
    done = noetl("test", "--record", "shell.yaml", "--set", "count=3", SOME_TOKEN="open-sesame")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "shell.test.yaml: 3 outputs of an execution that completed" in done.stdout
    text = (noetl.folder / "shell.test.yaml").read_text()
    assert "open-sesame" not in text
    assert "start.say:" in text
    assert "start.twice" not in text
    again = noetl("test")  # the secret is not there, and nothing but python runs
    assert again.returncode == 0, again.stdout
    assert noetl("test", "--record", "shell.yaml", SOME_TOKEN="x").returncode == 2
    assert (noetl.folder / "shell.test.yaml").read_text() == text


def test_a_test_is_recorded_again_where_it_stands(noetl: Noetl, write: Write) -> None:
    write("shell.yaml", SHELL)
    text = (
        "playbook: shell.yaml\ntests:\n"
        "  # one that is kept\n  - name: kept\n    workload: {count: 0}\n    expect: {output: []}\n"
        '  - name: old\n    given:\n      start.say: {data: {stdout: "stale"}}\n'
        "    expect: {status: completed}  # and that is all\n"
    )
    write("shell.test.yaml", text)
    done = noetl("test", "--record", "shell.test.yaml", "--only", "old", SOME_TOKEN="open-sesame")
    assert done.returncode == 0, done.stderr + done.stdout
    written = (noetl.folder / "shell.test.yaml").read_text()
    assert "stale" not in written
    assert written.startswith(text[: text.index("    given:")])
    assert written.endswith("    expect: {status: completed}  # and that is all\n")
    assert noetl("test").returncode == 0


def test_a_recording_prints_one_object_with_json(noetl: Noetl, write: Write) -> None:
    write("shell.yaml", SHELL)
    for name in ("shell.yaml", "shell.test.yaml"):
        done = noetl("test", "--record", name, "--json", SOME_TOKEN="open-sesame")
        found = json.loads(done.stdout)
        assert (done.returncode, found["passed"], found["failed"]) == (0, 1, 0)
        assert "shell.test.yaml: " in done.stderr


def test_a_recording_that_is_not_as_the_test_expects_says_so(noetl: Noetl, write: Write) -> None:
    write("shell.yaml", SHELL)
    test = "playbook: shell.yaml\ntests:\n  - name: a\n    expect: {output: [other]}\n"
    write("shell.test.yaml", test)
    done = noetl("test", "--record", "shell.test.yaml", SOME_TOKEN="open-sesame")
    assert done.returncode == 1
    assert "expected [other]" in done.stdout
    write("shell.test.yaml", "playbook: shell.yaml\ntests: [{name: a, run: []}]\n")
    flat = noetl("test", "--record", "shell.test.yaml", SOME_TOKEN="open-sesame")
    assert (flat.returncode, "is written on one line" in flat.stderr) == (2, True)


def test_a_test_that_expects_nothing_yet_is_given_what_came(noetl: Noetl, write: Write) -> None:
    write("shell.yaml", SHELL)
    write("shell.test.yaml", "playbook: shell.yaml\ntests:\n  - name: a\n")
    assert noetl("test", "--record", "shell.test.yaml", SOME_TOKEN="open-sesame").returncode == 0
    assert "    expect:\n      status: completed\n" in (noetl.folder / "shell.test.yaml").read_text()


def test_a_playbook_that_is_wrong_is_not_recorded(noetl: Noetl, write: Write) -> None:
    write("wrong.yaml", "apiVersion: noetl.io/v2\nkind: Playbook\n")
    done = noetl("test", "--record", "wrong.yaml")
    assert (done.returncode, "wrong.yaml:1:1" in done.stderr) == (1, True)


def test_on_a_terminal_it_is_coloured(noetl: Noetl, write: Write) -> None:
    write("orders.yaml", ORDERS)
    write("orders.test.yaml", TESTS)
    shown = noetl.on_a_terminal("test")
    assert "\x1b[32m\x1b[1mok    \x1b[0m" in shown
    assert "\x1b[31m\x1b[1mfailed\x1b[0m" in shown


RECORDED = ["child_playbook", "paginate", "parallel_pagination", "polling", "references", "retry", "workbook"]


@pytest.mark.parametrize("name", RECORDED)
def test_an_example_that_was_recorded_goes_the_same_way_without_its_tools(noetl: Noetl, name: str) -> None:
    shutil.copytree(EXAMPLES, noetl.folder / "examples")
    file = f"examples/{name}.yaml"
    with Server(Shop()) as shop:
        done = noetl("test", "--record", file, "--set", f"api_url={shop.url}")
        assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(noetl("test", "--json", file).stdout)  # the shop is closed
    assert (told["passed"], told["failed"]) == (1, 0), told
    assert not any(
        rule["place"].endswith((".received", ".end", ".next")) for rule in told["coverage"][0]["rules"]
    )


def test_a_run_that_never_began_is_not_recorded(noetl: Noetl, write: Write) -> None:
    write("shell.yaml", SHELL)
    done = noetl("test", "--record", "shell.yaml")
    assert (done.returncode, "shell.yaml did not run: " in done.stderr) == (2, True)
    assert not (noetl.folder / "shell.test.yaml").exists()


def test_a_choice_that_no_test_makes_is_told_as_one(noetl: Noetl, write: Write) -> None:
    write(
        "choice.yaml",
        document(
            """
            - step: start
              tool:
                - name: pick
                  choose:
                    - {when: "{{ workload.n > 1 }}", then: [{name: many, kind: noop}]}
                    - else: [{name: one, kind: noop}]
            """,
            workload="workload: {n: 1}",
        ),
    )
    write("choice.test.yaml", "playbook: choice.yaml\ntests: [{name: one}]\n")
    assert "choice 0 of start.pick was never made: {{ workload.n > 1 }}" in noetl("test").stdout
