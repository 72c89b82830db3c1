"""A rehearsal is an execution: the engine's own, with tools answered and waits skipped. Each log is audited by it."""

import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.core.testing.expectations import unmet_expectations
from noetl.dsl.testing.suite import Case, read_suite
from noetl.errors import PlaybookError
from noetl.settings import Settings, load
from noetl.wiring import playbook_test
from noetl.wiring.playbook_test import Rehearsal, record, rehearse
from tests.engine.harness import playbook


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load({"home": str(tmp_path)}, environ={}, folder=tmp_path)


@pytest.fixture
def played(settings: Settings):
    """Runs one test of a workflow."""

    def run(workflow: str, test: str, **root: str) -> Rehearsal:
        return rehearse(settings, case_of(test), playbook(workflow, **root), None)

    return run


def case_of(test: str) -> Case:
    text = "playbook: x.yaml\ntests:\n  - name: case\n" + textwrap.indent(textwrap.dedent(test), "    ")
    suite = read_suite(text)
    assert not suite.diagnostics, suite.diagnostics
    return suite.cases[0]


FETCH = """
- step: start
  tool:
    name: fetch
    kind: http
    input: {url: "http://nowhere.test/{{ workload.page | default(1) }}"}
    spec:
      policy:
        rules:
          - when: "{{ output.status == 'error' and output.http.status == 503 }}"
            then: {do: retry, attempts: 3, delay: 3600, backoff: exponential, max_delay: 7200, jitter: true}
          - when: "{{ output.status == 'error' }}"
            then: {do: fail}
          - else: {then: {do: continue}}
"""


def test_a_given_output_is_the_output_of_the_tool(played):
    ran = played(FETCH, "given: {start.fetch: {data: {rows: [1]}, http: {status: 200}}}")
    assert (ran.facts.status, ran.facts.output) == ("completed", {"rows": [1]})
    assert [(called.place.name, called.input) for called in ran.calls] == [
        ("start.fetch", {"url": "http://nowhere.test/1"})
    ]


def test_attempts_are_answered_one_by_one_and_nothing_waits_between_them(played):
    ran = played(
        FETCH,
        """
        given:
          start:
            - {error: {kind: http, message: busy}, http: {status: 503}}
            - {attempt: 2, error: {kind: http, message: busy}, http: {status: 503}}
            - {data: ok}
        """,
    )
    assert ran.facts.output == "ok"
    assert ran.skipped_ms >= 3 * 3600 * 1000


def test_an_error_that_is_given_fails_as_the_tools_own_would(played):
    ran = played(FETCH, "given: {start.fetch: {error: {kind: http, code: '404', message: gone}, data: page}}")
    assert ran.facts.status == "failed"
    assert ran.facts.error is not None
    assert {key: ran.facts.error[key] for key in ("kind", "code", "message", "step", "task")} == {
        "kind": "http", "code": "404", "message": "gone", "step": "start", "task": "fetch",
    }  # fmt: skip


def test_a_call_without_an_answer_is_an_error_and_reaches_nobody(played):
    ran = played(FETCH, "given: {}")
    assert ran.facts.error is not None
    assert ran.facts.error["kind"] == "not_given"
    assert [called.answered for called in ran.calls] == [False]


def test_an_input_that_the_kind_would_refuse_is_refused_although_an_answer_is_given(played):
    workflow = """
    - step: start
      tool: {name: fetch, kind: http, input: {url: "{{ workload.url }}", method: "{{ workload.method }}"}}
    """
    ran = played(
        workflow, "workload: {method: [1]}\ngiven: {start.fetch: {data: 1}}", workload="workload: {url: x}"
    )
    assert ran.facts.error is not None
    assert ran.facts.error["kind"] == "input"


LOOP = """
- step: start
  loop: {in: "{{ workload.pages }}", iterator: page, spec: {mode: parallel, max_in_flight: 2}}
  tool: {name: fetch, kind: http, input: {url: "http://nowhere.test/{{ page }}"}}
"""


def test_iterations_of_a_parallel_loop_have_answers_of_their_own(played):
    ran = played(
        LOOP,
        """
        workload: {pages: [a, b, c]}
        given:
          start.fetch:
            - {iteration: 2, data: third}
            - {iteration: 1, data: second, takes: 100}
            - {iteration: 0, data: first, takes: 50}
        """,
    )
    assert ran.facts.output == ["first", "second", "third"]


def test_an_answer_alone_is_for_every_call_and_one_that_repeats_for_those_that_fit(played):
    ran = played(
        LOOP,
        """
        workload: {pages: [a, b, c]}
        given: {start.fetch: [{iteration: 1, data: x}, {repeat: true, data: y}]}
        """,
    )
    assert ran.facts.output == ["y", "x", "y"]
    assert ran.script.unused() == []


def test_an_answer_that_no_call_came_for_is_told(played):
    ran = played(LOOP, "workload: {pages: [a]}\ngiven: {start.fetch: [{data: 1}, {iteration: 7, data: 2}]}")
    assert [(task, answer.mark.line) for task, answer in ran.script.unused()] == [("start.fetch", 5)]


def test_python_really_runs_unless_it_is_answered_or_not_wanted(played):
    workflow = """
    - step: start
      tool: {name: add, kind: python, input: {x: 20, code: "result = x + 1"}}
    """
    assert played(workflow, "workload: {}").facts.output == 21
    assert played(workflow, "given: {start.add: {data: 5}}").facts.output == 5
    assert played(workflow, "run: []").facts.status == "failed"


def test_a_timeout_of_a_slow_answer_is_hit_on_the_clock_of_the_test(played):
    workflow = """
    - step: start
      tool: {name: fetch, kind: http, input: {url: "http://nowhere.test"}, spec: {timeout: 30}}
    """
    ran = played(workflow, "given: {start.fetch: {data: 1, takes: 31}}")
    assert ran.facts.error is not None
    assert ran.facts.error["kind"] == "timeout"
    assert played(workflow, "given: {start.fetch: {data: 1, takes: 29}}").facts.output == 1


def test_days_of_waiting_take_no_time(played):
    workflow = """
    - step: start
      tool: {kind: wait, input: {seconds: 864000}}
      next: {arcs: [{step: later}]}
    - step: later
      tool: {kind: wait, input: {until: "2026-03-01T00:00:00Z"}}
    """
    ran = played(workflow, "workload: {}")
    assert ran.facts.status == "completed"
    assert ran.skipped_ms == (31 + 28) * 86_400_000


WAITS = """
- step: start
  tool: {name: ask, kind: wait, input: {approval: release}}
"""


def test_signals_and_approvals_are_sent_to_the_execution(played):
    ran = played(WAITS, "signals: [{name: release, payload: {approved: true, by: Ada}}]")
    assert ran.facts.output == {"approved": True, "by": "Ada"}
    refused = played(WAITS, "signals: [{name: release, payload: {approved: false, reason: no}}]")
    assert refused.facts.error is not None
    assert refused.facts.error["kind"] == "rejected"


def test_a_wait_for_what_never_comes_ends_the_test_and_says_for_what(played):
    ran = played(WAITS, "workload: {}")
    assert ran.stuck == "start.ask waits for the signal 'release'"


def test_an_execution_that_never_comes_to_an_end_is_given_up(played, monkeypatch):
    monkeypatch.setattr(playbook_test, "PATIENCE_S", 0.3)
    workflow = """
    - step: start
      tool: {kind: noop}
      next: {arcs: [{step: again}]}
    - step: again
      tool: {kind: noop}
      next: {arcs: [{step: start}]}
    """
    assert "did not come to an end" in (played(workflow, "workload: {}").stuck or "")


def test_the_keychain_is_the_tests_and_what_it_does_not_give_stands_for_itself(played):
    workflow = """
    - step: start
      tool:
        - name: one
          kind: http
          auth: api
          input: {url: "http://nowhere.test", headers: {a: "{{ keychain.api.token }}"}}
        - name: two
          kind: http
          input: {url: "http://nowhere.test", headers: {a: "{{ keychain.other.token }}"}}
    """
    keychain = """
    keychain:
      - {name: api, kind: bearer, env: NOWHERE_A}
      - {name: other, kind: bearer, env: NOWHERE_B}
    """
    ran = played(
        workflow, "keychain: {api: {token: given-token}}\ngiven: {start: {data: 1}}", keychain=keychain
    )
    assert ran.facts.status == "completed", ran.facts.error
    assert [called.input["headers"]["a"] for called in ran.calls] == ["given-token", "test-other"]


def test_a_task_of_a_block_is_answered_under_the_task_that_calls_it(played):
    workflow = "- step: start\n  tool: {name: call, kind: workbook, block: fetching, input: {page: 3}}"
    workbook = """
    workbook:
      fetching:
        tool:
          - {name: get, kind: http, input: {url: "http://nowhere.test/{{ input.page }}"}}
    """
    ran = played(workflow, "given: {start.call/get: {data: 7}}", workbook=workbook)
    assert ran.facts.output == 7
    assert ran.calls[0].input["url"] == "http://nowhere.test/3"


def test_a_child_runs_and_its_calls_are_answered_by_its_path(played, settings):
    child = playbook("- step: start\n  tool: {name: get, kind: http, input: {url: 'http://nowhere.test'}}")
    (settings.project / "child.yaml").write_text(child.replace("tests/case", "tests/child"))
    workflow = "- step: start\n  tool: {name: call, kind: playbook, path: tests/child}"
    ran = played(workflow, "children: {tests/child: {start.get: {data: from the child}}}")
    assert ran.facts.output == "from the child", ran.facts.error
    assert sorted(seen.entry.path for seen in ran.seen) == ["tests/case", "tests/child"]
    unanswered = played(workflow, "given: {start.get: {data: not for the child}}")
    assert [called.place.playbook for called in unanswered.calls if not called.answered] == ["tests/child"]


def test_what_is_too_large_for_an_event_is_whole_for_the_test(played):
    rows = [{"n": number, "text": "x" * 100} for number in range(2000)]
    ran = played(FETCH, f"given: {{start.fetch: {{data: {msgspec.json.encode(rows).decode()}}}}}")
    assert ran.facts.output == rows


def test_the_same_test_is_the_same_history_every_time(played):
    test = """
    workload: {pages: [a, b, c, d, e]}
    given: {start.fetch: [{iteration: 3, data: x, takes: 2}, {repeat: true, data: y, takes: 1}]}
    """

    def history() -> list[Any]:
        ran = played(LOOP, test)
        return [(event.name, event.ts, event.run, event.at) for seen in ran.seen for event in seen.events]

    assert history() == history()


def test_a_playbook_with_errors_is_not_run(played):
    with pytest.raises(PlaybookError):
        played("- {step: start, tool: {kind: nope}}", "workload: {}")


def test_the_way_and_the_end_are_facts_that_a_test_can_expect(played):
    workflow = """
    - step: start
      tool: {name: count, kind: python, input: {code: "result = 3"}}
      set: {ctx.total: "{{ output.data }}"}
      next: {arcs: [{step: many, when: "{{ ctx.total > 2 }}"}, {step: few}]}
    - {step: many, tool: {kind: noop}}
    - {step: few, tool: {kind: noop}}
    """
    test = """
    expect:
      output: null
      ctx: {total: 3}
      steps: [start, many]
      arcs: {start -> many: 1, start -> few: 0}
      calls: {start.count: 1}
      that: ["{{ steps.many == 1 and ctx.total == 3 }}"]
    """
    assert unmet_expectations(case_of(test), played(workflow, test).facts) == []


async def test_a_recording_keeps_what_real_tools_answered_and_no_secret(settings, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "sesame-open-up")
    workflow = """
    - step: start
      tool:
        name: say
        kind: shell
        input: {command: "echo {{ keychain.api.token }}"}
    """
    keychain = "keychain: [{name: api, kind: bearer, env: SOME_TOKEN}]"
    ran = await record(settings, case_of("workload: {}"), playbook(workflow, keychain=keychain), None)
    assert ran.facts.status == "completed", ran.facts.error
    (called,) = ran.calls
    data: Any = called.output["data"]
    assert data["stdout"] == "***\n"
    assert "sesame" not in repr(ran.calls)
