"""Why an execution went as it did: the sentences, with the values seen, from the log alone."""

import asyncio
from typing import Any

import pytest

from noetl.control.history import events
from noetl.core.message import Expire
from noetl.core.reading.explain import Explanation, explain
from tests.engine.harness import begin, control, engine, finish, playbook
from tests.unit.core.build import World, compiled

FAILS = "{kind: python, input: {code: \"raise ValueError('broken')\"}}"


async def explained(folder: Any, workflow: str, step: str | None = None, **root: str) -> Explanation:
    async with engine(folder) as made:
        execution_id = await begin(made, playbook(workflow, **root))
        await finish(made, execution_id)
        log = [item async for item in events(made.store, execution_id)]
    return explain(execution_id, log, step)


def told(found: Explanation) -> str:
    return "\n".join(f"{reason.step}: {reason.text}" for reason in found.reasons)


CASES: dict[str, tuple[str, list[str]]] = {
    "an arc that is taken, one that is not, one that is not asked": (
        """
        - step: a
          tool: {kind: noop}
          set: {ctx.n: 3}
          next:
            arcs:
              - {step: b, when: "{{ ctx.n > 5 }}"}
              - {step: c, when: "{{ ctx.n == 3 }}", set: {ctx.way: "c"}}
              - {step: b}
        - {step: b, tool: {kind: noop}}
        - {step: c, tool: {kind: noop}}
        """,
        [
            "a: the arc to 'b' was not taken: its condition did not hold (ctx.n = 3)",
            "a: the arc to 'c' was taken: its condition held (ctx.n = 3); it set ctx.way = \"c\"",
            "a: the arc to 'b' was not asked, because an arc before it was taken",
            "c: runs (c.1): a token came from a.1",
            "c: no arc was taken: this branch ends here",
            "None: it completed: no token was left to move",
        ],
    ),
    "a step that refuses a token by a rule": (
        """
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}
        - step: b
          spec: {policy: {admit: {rules: [{when: "{{ workload.stop }}", then: {allow: false}}, {else: {then: {allow: true}}}]}}}
          tool: {kind: noop}
        """,
        ["b: the token that came from a.1 is refused: admission rule 0 refuses it: its condition held (workload.stop = true)"],
    ),
    "a step that lets a token in by its else": (
        """
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}
        - step: b
          spec: {policy: {admit: {rules: [{when: "{{ workload.go }}", then: {allow: false}}, {else: {then: {allow: true}}}]}}}
          tool: {kind: noop}
        """,
        ["b: the `else` of its admission lets it in: rule 0 did not hold (workload.go = false)"],
    ),
    "a step none of whose rules hold": (
        """
        - step: a
          spec: {policy: {admit: {rules: [{when: "{{ workload.go }}", then: {allow: true}}]}}}
          tool: {kind: noop}
        """,
        ["a: the token that came as the first one is refused: no admission rule held, which refuses it: rule 0 did not hold"],
    ),
    "a token that waits at a join": (
        """
        - {step: a, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: d}]}}
        - {step: c, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: d}]}}
        - {step: d, tool: {kind: noop}}
        """,
        [
            "d: the token that came from b.1 waits here: another may still come from c",
            "d: runs (d.1): 2 tokens that came from b.1 and from c.1 met",
        ],
    ),
    "a token that a first join refuses": (
        """
        - {step: a, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: d}]}}
        - {step: c, tool: {kind: python, input: {code: "result = 1"}}, next: {arcs: [{step: d}]}}
        - {step: d, spec: {join: first}, tool: {kind: noop}}
        """,
        ["d: the token that came from c.1 is refused: this join runs for the first token only"],
    ),
    "a task that is tried again until its attempts are used up": (
        """
        - step: a
          tool:
            name: t
            kind: python
            input: {code: "raise ValueError('broken')"}
            spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}}]}}
        """,
        [
            "a: task 't' is tried again in 0 s (attempt 1 failed) after python: ValueError: broken: rule 0 held (output.status = \"error\")",
            "a: task 't' failed: its 2 attempts are used up after python: ValueError: broken",
            "a: failed: python: ValueError: broken",
            "a: nothing took the failure",
            "None: it failed because step 'a' failed and no arc took the failure: python: ValueError: broken",
        ],
    ),
    "a task that jumps often, and one that breaks": (
        """
        - step: a
          tool:
            - {name: n, kind: noop, set: {step.i: "{{ (step.i | default(0)) + 1 }}"}}
            - name: again
              kind: noop
              spec: {policy: {rules: [{when: "{{ step.i < 6 }}", then: {do: jump, to: n}}, {else: {then: {do: break}}}]}}
        """,
        [
            "a: task 'again' jumped to 'n': rule 0 held (step.i = 1)",
            "a: task 'again' did so 5 times in all (jump)",
            "a: task 'again' ended the pipeline: the `else` rule",
        ],
    ),
    "an error that a policy lets pass, and a task that is skipped": (
        """
        - step: a
          tool:
            - name: t
              kind: python
              input: {code: "raise ValueError('broken')"}
              spec: {policy: {rules: [{else: {then: {do: continue}}}]}}
            - name: s
              kind: noop
              spec: {policy: {before: [{when: "{{ output.status == 'error' }}", then: {do: skip}}]}}
        """,
        [
            "a: task 't' went on after python: ValueError: broken: the `else` rule",
            "a: task 's' was skipped: rule 0 held (output.status = \"error\")",
        ],
    ),
    "a loop that fails": (
        """
        - step: a
          loop: {in: "{{ [1, 0] }}", iterator: x}
          tool: {name: t, kind: python, input: {x: "{{ iter.x }}", code: "result = 1 // x"}}
        """,
        [
            "a: task 't' in iteration [1] failed after python: ZeroDivisionError: integer division or modulo by zero: no rule decided",
            "(1 of 2 iterations went well, 1 failed)",
        ],
    ),
    "a failure that an arc takes without asking": (
        f"""
        - {{step: a, tool: {FAILS}, next: {{arcs: [{{step: b}}]}}}}
        - {{step: b, tool: {{kind: noop}}}}
        """,
        [
            "a: the failure was taken, but nothing asked about it: the arc to 'b' has no guard that reads event",
            "it failed because step 'a' failed and nothing asked about it "
            "(the arc to 'b' has no guard that reads event): python: ValueError: broken",
        ],
    ),
    "a failure that an arc asks about": (
        f"""
        - {{step: a, tool: {FAILS}, next: {{arcs: [{{step: b, when: "{{{{ event.failed }}}}"}}]}}}}
        - {{step: b, tool: {{kind: noop}}}}
        """,
        ["a: the failure was answered by the arc to 'b', whose guard asks about it", "it completed"],
    ),
    "a best-effort loop that went on without some iterations": (
        """
        - step: a
          spec: {policy: {failure: {mode: best_effort}}}
          loop: {in: "{{ [1, 0] }}", iterator: x}
          tool: {name: t, kind: python, input: {x: "{{ iter.x }}", code: "result = 1 // x"}}
        """,
        ["1 iteration of its best-effort loops failed; a retry runs those again"],
    ),
    "an arc that cannot be evaluated": (
        """
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: b, when: "{{ 'maybe' }}"}]}}
        - {step: b, tool: {kind: noop}}
        """,
        ["a: its arcs could not be evaluated: arc 0 of step run a.1"],
    ),
    "a step that cannot start": (
        """
        - {step: a, input: {x: "{{ ctx.nothing }}"}, tool: {kind: noop}}
        """,
        ["a: runs (a.1): a token came as the first one; it could not start: template:"],
    ),
    "tokens that are discarded when the execution fails": (
        f"""
        - {{step: a, tool: {{kind: noop}}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: b}}, {{step: c}}]}}}}
        - {{step: b, tool: {{kind: noop}}, next: {{arcs: [{{step: d}}]}}}}
        - {{step: c, tool: {FAILS}, next: {{arcs: [{{step: d, when: "{{{{ event.name == 'step.done' }}}}"}}]}}}}
        - {{step: d, tool: {{kind: noop}}}}
        """,
        ["d: the token that came from b.1 is discarded: execution failed"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
async def test_the_log_explains(tmp_path, name):
    workflow, sentences = CASES[name]
    found = told(await explained(tmp_path, workflow, workload="workload: {stop: true, go: false}"))
    for sentence in sentences:
        assert sentence in found


async def test_every_sentence_names_the_event_that_says_so(tmp_path):
    found = await explained(tmp_path, CASES["a token that waits at a join"][0])
    assert [reason.seq for reason in found.reasons] == sorted(reason.seq for reason in found.reasons)
    assert all(reason.seq > 0 for reason in found.reasons)


ARCS = """
- {step: a, tool: {kind: noop}, next: {arcs: [{step: b, when: "{{ workload.go }}"}]}}
- {step: b, tool: {kind: noop}, next: {arcs: [{step: c}]}}
- {step: c, tool: {kind: noop}}
"""


async def test_of_a_step_that_never_ran_the_arcs_to_it_are_explained(tmp_path):
    found = await explained(tmp_path, ARCS, "b", workload="workload: {go: false}")
    assert [reason.text for reason in found.reasons] == [
        "the arc to 'b' was not taken: its condition did not hold (workload.go = false)",
        "it never ran; the reasons stand above",
    ]


async def test_of_a_step_nothing_came_near_that_is_said(tmp_path):
    found = await explained(tmp_path, ARCS, "c", workload="workload: {go: false}")
    assert [reason.text for reason in found.reasons] == [
        "it never ran: no step that ran has an arc to it (steps that ran: a)"
    ]


async def test_one_step_is_explained_with_the_arcs_that_led_to_it(tmp_path):
    found = await explained(tmp_path, ARCS, "b", workload="workload: {go: true}")
    assert [reason.about for reason in found.reasons] == ["arc", "step", "step", "arc"]


WAITING = """
- {step: a, tool: {kind: noop}, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: hold}]}}
- {step: b, tool: {kind: noop}, next: {arcs: [{step: d}]}}
- {step: hold, tool: {kind: wait, input: {signal: go}}, next: {arcs: [{step: d}]}}
- {step: d, tool: {kind: noop}}
"""


async def test_of_an_execution_that_is_not_over_it_says_what_it_waits_for(tmp_path):
    async with engine(tmp_path) as made:
        held, parked = asyncio.Event(), asyncio.Event()
        awaited = {"token.held": held, "task.parked": parked}

        def hear(_: str, __: int, heard: Any) -> None:
            for name in {event.name for event in heard} & set(awaited):
                awaited[name].set()

        made.engine.listeners.append(hear)
        execution_id = await begin(made, playbook(WAITING))
        async with asyncio.timeout(10):
            await held.wait()
            await parked.wait()
            await control(made, execution_id, "pause", why="lunch")
        log = [item async for item in events(made.store, execution_id)]
        await control(made, execution_id, "cancel", why="over")
        await finish(made, execution_id)
        end = [item async for item in events(made.store, execution_id)]
    found = explain(execution_id, log)
    assert found.summary == "it is paused: hold.1 waits for the signal 'go'; a token is held at 'd'"
    assert "None: paused by cli: lunch" in told(found)
    assert explain(execution_id, end).summary == "it was cancelled: over"
    assert "hold: was cut off" in told(explain(execution_id, end))
    assert [explain(execution_id, when, "d").reasons[-1].text for when in (log, end)] == [
        "it has not run yet; the reasons stand above",
        "it never ran; the reasons stand above",
    ]
    assert not [item for item in explain(execution_id, log, "hold").reasons if "not run" in item.text]


async def test_a_request_that_cannot_be_carried_out_is_explained(tmp_path):
    keychain = "keychain: [{name: tok, kind: env, env: NOT_SET_ANYWHERE}]"
    found = await explained(tmp_path, "- {step: a, tool: {kind: noop}}", keychain=keychain)
    assert found.summary.startswith("the request could not be carried out: keychain: ")
    assert "NOT_SET_ANYWHERE" in found.summary


async def test_a_fragment_and_a_child_are_explained(tmp_path):
    child = playbook("- {step: a, tool: {kind: noop}}").replace("tests/case", "tests/child")
    workflow = """
    - step: plan
      tool: {kind: python, input: {code: "result = [{'step': 'one', 'tool': {'kind': 'noop'}}]"}}
      spec: {synthesize: {from: "{{ output.data }}"}}
      next: {arcs: [{step: call}]}
    - {step: call, tool: {name: c, kind: playbook, path: tests/child}}
    """
    async with engine(tmp_path) as made:
        await made.catalog.register(child)
        execution_id = await begin(made, playbook(workflow))
        ran = await finish(made, execution_id)
        log = [item async for item in events(made.store, execution_id)]
        other = ran.named("task.parked")[0]["data"]["child"]
        inner = [item async for item in events(made.store, other)]
    assert "plan: added steps to the workflow: one" in told(explain(execution_id, log))
    assert f"call: task 'c' waits for the playbook tests/child (execution {other})" in told(
        explain(execution_id, log)
    )
    assert f"requested by step run call.1 of execution {execution_id}" in told(explain(other, inner))


async def test_tasks_that_sugar_adds_are_told_of_only_where_they_chose_a_branch(tmp_path):
    found = await explained(
        tmp_path,
        """
        - step: a
          tool:
            - {name: begin, kind: noop, set: {step.n: 0}}
            - name: count
              while: {when: "{{ step.n < 2 }}", do: [{name: add, kind: noop, set: {step.n: "{{ step.n + 1 }}"}}]}
            - name: pick
              choose:
                - {when: "{{ step.n == 2 }}", then: [{name: yes_two, kind: noop}]}
                - else: [{name: other, kind: noop}]
        """,
    )
    tasks = [reason.text for reason in found.reasons if reason.text.startswith("task")]
    assert tasks == ["task 'pick.test' jumped to 'pick.yes_two': rule 0 held (step.n = 2)"]


def by_hand(world: World) -> Explanation:
    return explain("e1", list(enumerate(world.events, 1)))


def test_a_retry_tells_what_it_kept():
    world = World(compiled("- {step: a, loop: {in: [1, 2], iterator: x}, tool: {kind: noop}}"))
    loop = {"total": 2, "collection": [1, 2], "iterations": {"0": {}}}
    state = {"steps": {"z": {"runs": 1, "status": "done"}}}
    world.start(retry_of="e0", kept={"state": state, "tokens": [{"step": "a", "loop": loop}]})
    found = by_hand(world)
    assert "requested by cli, going on from execution e0" in told(found)
    assert "kept of execution e0: z" in told(found)
    assert "a: 1 of 2 iterations are kept and do not run again" in told(found)
    assert "has 1 of 2 iterations behind it" in found.summary


def test_work_that_only_waits_is_not_said_to_go_out_again():
    world = World(compiled("- {step: a, tool: {name: w, kind: wait, input: {seconds: 60}}}"))
    world.start()
    world.begun("a.1")
    world.report("a.1", world.event("task.parked", "a.1", None, "w", until=60_000), returned=True)
    found = by_hand(world)
    assert found.summary.endswith("a.1 waits for its time, 1970-01-01T00:01:00.000Z")
    assert "goes out again" not in told(found)


def test_work_of_a_worker_that_fell_silent_is_said_to_go_out_again():
    world = World(compiled("- {step: a, tool: {kind: noop}}"))
    world.start()
    world.begun("a.1")
    world.send(Expire({"a.1": 1}))
    assert "goes out again from where it stood" in told(by_hand(world))


def test_signals_rejected_reports_and_waits_are_told():
    world = World(compiled("- {step: a, tool: {name: w, kind: wait, input: {signal: go}}}"))
    world.start()
    assert "has not been started by a worker" in by_hand(world).summary
    world.begun("a.1")
    assert "is running" in by_hand(world).summary
    world.report(
        "a.1",
        world.event("token.enqueued", "a.1"),
        world.event("task.parked", "a.1", None, "w", signal="go"),
        returned=True,
    )
    assert "waits for the signal 'go'" in by_hand(world).summary
    world.control("signal", name="go", payload=1)
    assert "a: a reported token.enqueued was not accepted: not for a worker to report" in told(by_hand(world))
    assert "the signal 'go' came" in told(by_hand(world))


def test_a_task_that_runs_is_told_with_when_its_step_has_to_end():
    world = World(compiled("- {step: a, spec: {timeout: 60}, tool: {name: t, kind: noop}}"))
    world.start()
    world.begun("a.1")
    world.report("a.1", world.event("task.started", "a.1", "", "t"))
    found = by_hand(world)
    (task,) = found.under_way
    assert (task.task, task.step_ends) == ("t", world.now + 60_000)
    assert "a.1 has been running task 't' since" in found.summary
    assert explain("e1", list(enumerate(world.events, 1)), "b").under_way == []


def test_values_that_were_left_out_of_a_set_are_told():
    world = World(compiled("- {step: a, tool: {kind: noop}, set: {ctx.n: '{{ output.data.n.m }}'}}"))
    world.start()
    world.failed("a.1")
    assert "not set, because a value was missing: ctx.n" in told(by_hand(world))


def test_an_execution_that_was_cancelled_says_why():
    world = World(compiled("- {step: a, tool: {kind: noop}}"))
    world.start()
    world.control("cancel", why="enough")
    assert by_hand(world).summary == "it was cancelled: enough"


def test_an_execution_that_no_step_failed_says_why():
    world = World(
        compiled("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ output.data }}"}, {step: b}]}}
        - {step: a, next: {arcs: [{step: meet}]}}
        - {step: b, next: {arcs: [{step: meet}]}}
        - {step: meet, spec: {join: all}, tool: {kind: noop}}
    """)
    )
    world.start()
    world.done("start.1", True)
    assert by_hand(world).summary.startswith("it failed: join: ")
