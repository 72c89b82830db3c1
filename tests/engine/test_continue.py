"""A long log is continued by a fresh one: what is carried, what follows, and that nothing is in between."""

import asyncio
from itertools import pairwise

import pytest

from noetl.control.front.follow import Followers
from noetl.control.history import rows_of
from noetl.control.log_audit import audit
from noetl.control.stuck_executions import StuckError
from noetl.core.message import Control
from noetl.errors import BackendError, Conflict
from noetl.ports.front import Ask
from noetl.ports.store import Find
from tests.engine.harness import begin, control, engine, finish, playbook, until
from tests.engine.test_stuck import fails_on

COUNTING = playbook(
    """
    - step: start
      spec: {continue: {after_events: 20, input: {round: "{{ ctx.n }}"}}}
      tool: {kind: python, input: {code: "result = n + 1", n: "{{ ctx.n | default(0) }}"}}
      set: {ctx.n: "{{ output.data }}"}
      next: {arcs: [{step: start, when: "{{ ctx.n < workload.rounds }}"}]}
    """,
    workload="workload: {rounds: 12, round: 0}",
)


async def chain_of(made, execution_id):
    """Every execution of a chain, the first one first; each is audited."""
    members = [await made.store.summary(execution_id)]
    while members[-1].continued_as is not None:
        members.append(await made.store.summary(members[-1].continued_as))
    return [await finish(made, member.execution_id) for member in members]


async def last_of(made, execution_id, within=60.0):
    """Wait until the last execution of a chain is over."""

    async def over():
        newest = execution_id
        while True:
            await made.engine.until_quiet(newest)
            summary = await made.store.newest(newest)
            if summary.execution_id == newest and summary.ended_at is not None:
                return newest
            newest = summary.execution_id

    return await asyncio.wait_for(over(), within)


async def test_ctx_and_workload_go_on_and_every_log_stays_short(tmp_path):
    async with engine(tmp_path) as made:
        first = await begin(made, COUNTING)
        last = await last_of(made, first)
        members = await chain_of(made, first)
        assert members[-1].execution_id == last
        assert len(members) > 2
        assert [ran.status for ran in members] == ["completed"] * len(members)
        assert members[-1].output == 12
        assert members[-1].ctx == {"n": 12}
        assert max(len(ran.events) for ran in members) < 40
        for before, after in pairwise(members):
            assert before.result["continued_as"] == after.execution_id
            assert after.result["continued_from"] == before.execution_id
            assert before.output is None
            assert after.result["workload"] == {"rounds": 12, "round": before.ctx["n"]}
            assert after.named("execution.restored")[0]["data"]["ctx"] == before.ctx
        assert (await made.store.newest(first)).execution_id == last


async def test_lists_show_the_last_of_a_chain_unless_asked_for_all(tmp_path):
    async with engine(tmp_path) as made:
        first = await begin(made, COUNTING)
        last = await last_of(made, first)
        shown = [item.execution_id for item in (await made.front.executions(Find(continued=False))).items]
        everything = [item.execution_id for item in (await made.front.executions(Find())).items]
        assert shown == [last]
        assert everything[0] == last
        assert everything[-1] == first


async def test_a_key_finds_the_newest_and_whoever_waits_gets_the_last_result(tmp_path):
    async with engine(tmp_path) as made:
        ask = Ask(text=COUNTING, idempotency_key="monday")
        first = (await made.front.start(ask)).execution_id
        result = await made.front.execution(first, wait_s=60)
        assert (result["status"], result["output"]) == ("completed", 12)
        again = await made.front.start(Ask(text=COUNTING, idempotency_key="monday"))
        assert again.existed
        assert again.execution_id == result["execution_id"] != first


async def test_why_says_where_it_goes_on(tmp_path):
    async with engine(tmp_path) as made:
        first = await begin(made, COUNTING)
        last = await last_of(made, first)
        after = (await made.store.summary(first)).continued_as
        why = await made.front.why(first)
        assert f"it goes on as execution {after}" in why["summary"]
        before = (await made.store.summary(last)).continued_from
        assert any(
            f"going on from execution {before}" in one["text"]
            for one in (await made.front.why(last))["reasons"]
        )


async def test_a_parent_gets_the_result_of_the_last(tmp_path):
    async with engine(tmp_path) as made:
        child = COUNTING.replace("path: tests/case", "path: tests/child")
        await made.catalog.register(child)
        text = playbook(
            """
            - step: start
              tool: {kind: playbook, path: tests/child, input: {rounds: 9}}
              set: {ctx.got: "{{ output.data }}"}
            """
        )
        ran = await finish(made, await begin(made, text))
        assert (ran.status, ran.ctx) == ("completed", {"got": 9})
        children = (await made.store.executions(Find(parent=ran.execution_id))).items
        assert len(children) > 1
        assert {child.status for child in children} == {"completed"}


WAITING = playbook(
    """
    - step: start
      spec: {continue: {after_events: 20}}
      tool: {kind: wait, input: {signal: go}}
      set: {ctx.got: "{{ (ctx.got | default([])) + [output.data] }}"}
      next: {arcs: [{step: start, when: "{{ ctx.got | length < 12 }}"}]}
    """
)


async def test_ten_continuations_with_signals_to_the_first_lose_none(tmp_path):
    """Each signal is sent to the first execution's id, some before anyone waits."""
    async with engine(tmp_path) as made:
        first = await begin(made, WAITING)
        for number in range(12):
            await made.front.control(first, Control("signal", name="go", payload=number))
        last = await last_of(made, first)
        members = await chain_of(made, first)
        assert members[-1].execution_id == last
        assert members[-1].ctx == {"got": list(range(12))}
        assert sum(len(ran.named("execution.signalled")) for ran in members) == 12


async def test_a_wish_that_was_taken_just_before_going_on_counts_as_told(tmp_path, monkeypatch):
    """Between two looks of the server that left the letter, the owner takes it and goes on as another."""
    looks = []
    async with engine(tmp_path) as made, engine(tmp_path, made) as other:
        first = await begin(made, WAITING.replace("after_events: 20", "after_events: 10"))
        state = made.engine.live_state(first)
        await until(made, lambda: any(run.parked for run in state.runs.values()))

        async def read_then_taken(store, execution_id, start):
            async for row in rows_of(store, execution_id, start):
                yield row
            looks.append(execution_id)
            await made.engine.collect_mail()
            await made.engine.until_quiet(first)

        monkeypatch.setattr("noetl.control.front.control.rows_of", read_then_taken)
        await asyncio.wait_for(other.front.control(first, Control("signal", name="go", payload=0)), 20)
        assert looks == [first]  # once in vain; it was there at the second look
        await control(made, first, "cancel")
        assert [ran.status for ran in await chain_of(made, first)] == ["completed", "cancelled"]


async def test_signals_that_nothing_took_are_carried(tmp_path):
    text = playbook(
        """
        - step: start
          tool: {kind: wait, input: {signal: begin}}
          next: {arcs: [{step: round}]}
        - step: round
          spec: {continue: {after_events: 10}}
          tool: {kind: wait, input: {signal: go}}
          set: {ctx.got: "{{ output.data }}"}
        """
    )
    async with engine(tmp_path) as made:
        first = await begin(made, text)
        await control(made, first, "signal", name="go", payload=7)
        await control(made, first, "signal", name="begin")
        last = await last_of(made, first)
        members = await chain_of(made, first)
        assert [ran.execution_id for ran in members] == [first, last]
        assert members[-1].ctx == {"got": 7}


async def test_cancel_of_the_first_ends_the_last(tmp_path):
    text = playbook(
        """
        - {step: start, tool: {kind: wait, input: {signal: begin}}, next: {arcs: [{step: round}]}}
        - step: round
          spec: {continue: {after_events: 10}}
          tool: {kind: wait, input: {signal: never}}
        """
    )
    async with engine(tmp_path) as made:
        first = await begin(made, text)
        await control(made, first, "signal", name="begin")
        await until(made, lambda: first not in made.engine.running())
        await made.front.control(first, Control("cancel", why="enough"))
        last = await last_of(made, first)
        assert (await made.store.summary(last)).status == "cancelled"
        with pytest.raises(Conflict, match="already cancelled"):
            await made.front.control(first, Control("cancel"))
        await chain_of(made, first)


async def test_an_unanswered_failure_fails_the_last(tmp_path):
    text = playbook(
        """
        - {step: start, tool: {kind: python, input: {code: "1 / 0"}}, next: {arcs: [{step: round}]}}
        - step: round
          spec: {continue: {after_events: 10}}
          tool: {kind: noop}
        """
    )
    async with engine(tmp_path) as made:
        first = await begin(made, text)
        await last_of(made, first)
        members = await chain_of(made, first)
        assert [ran.status for ran in members] == ["completed", "failed"]
        assert members[-1].error["kind"] == "python"
        retried = await made.front.retry(members[-1].execution_id)
        await last_of(made, retried.execution_id)
        again = await chain_of(made, retried.execution_id)
        assert again[0].result["retry_of"] == first
        assert [ran.status for ran in again] == ["completed", "failed"]


async def test_while_another_branch_is_alive_it_runs_on(tmp_path):
    text = playbook(
        """
        - step: start
          tool: {kind: noop}
          next: {spec: {mode: inclusive}, arcs: [{step: round}, {step: aside}]}
        - step: round
          spec: {join: each, continue: {after_events: 10}}
          tool: {kind: noop}
          set: {ctx.n: "{{ ctx.n | default(0) + 1 }}"}
          next: {arcs: [{step: round, when: "{{ ctx.n < 5 }}"}]}
        - {step: aside, tool: {kind: wait, input: {signal: go}}}
        """
    )
    async with engine(tmp_path) as made:
        first = await begin(made, text)
        await until(made, lambda: made.engine.live_state(first).ctx.get("n") == 5)
        await control(made, first, "signal", name="go")
        ran = await finish(made, first)
        assert (ran.status, ran.result["continued_as"]) == ("completed", None)


async def test_an_input_that_cannot_be_rendered_fails_the_execution_at_its_step(tmp_path):
    text = playbook(
        """
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: round}]}}
        - step: round
          spec: {continue: {after_events: 10, input: {x: "{{ ctx.nothing.there }}"}}}
          tool: {kind: noop}
        """
    )
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, text))
        assert (ran.status, ran.error["kind"], ran.error["step"]) == ("failed", "template", "round")


async def test_nothing_of_the_successor_is_seen_before_the_commit(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        heard = []
        made.engine.listeners.append(lambda execution_id, first, events: heard.append(execution_id))
        commit = made.store.commit
        seen = []

        async def looking(append):
            if append.successor is not None:
                successor = append.successor.execution_id
                seen.append((successor in made.engine.running(), successor in heard))
            await commit(append)

        monkeypatch.setattr(made.store, "commit", looking)
        await last_of(made, await begin(made, COUNTING))
        assert seen
        assert set(seen) == {(False, False)}


async def test_a_commit_that_fails_leaves_neither_and_is_decided_again(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        commit = made.store.commit
        failed: list[str] = []

        async def failing(append):
            if append.successor is not None and not failed:
                failed.append(append.successor.execution_id)
                raise BackendError("the database is away")
            await commit(append)

        monkeypatch.setattr(made.store, "commit", failing)
        first = await begin(made, COUNTING)
        with pytest.raises(BackendError):
            await made.engine.until_quiet(first)
        with pytest.raises(Exception, match="no execution"):
            await made.store.summary(failed[0])
        monkeypatch.setattr(made.store, "commit", commit)
        await made.engine.resume(first)
        last = await last_of(made, first)
        members = await chain_of(made, first)
        assert members[-1].execution_id == last
        assert members[-1].ctx == {"n": 12}


async def test_an_audit_tells_when_the_ctx_was_lost(tmp_path):
    async with engine(tmp_path) as made:
        first = await begin(made, COUNTING)
        await last_of(made, first)
        program = await made.catalog.program((await made.store.summary(first)).hash)
        after = (await made.store.summary(first)).continued_as
        rows = await made.store.rows(after)
        rows[0].body = rows[0].body.replace(b'"ctx":{"n":', b'"ctx":{"m":')
        found = await audit(made.store, first, program, made.catalog.engine)
        assert any("does not carry the ctx" in problem for problem in found.problems), found.problems


async def test_followers_hear_of_the_successor(tmp_path):
    async with engine(tmp_path) as made:
        followers = Followers(made.engine)
        first = await begin(made, COUNTING)
        names = [event.name async for _, events in followers.follow(first) for event in events]
        assert "execution.continued" in names
        await last_of(made, first)


FAILING = playbook(
    """
    - step: start
      spec: {continue: {after_events: 20}}
      input: {flag: "{{ workload.flag }}", n: "{{ ctx.n | default(0) }}"}
      tool:
        kind: python
        input:
          code: |
            import os
            if n == 1 and not os.path.exists(flag):
                raise ValueError("not yet")
          flag: "{{ input.flag }}"
          n: "{{ input.n }}"
      next: {arcs: [{step: count, when: "$when"}]}
    - step: count
      tool: {kind: noop}
      set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}
      next: {arcs: [{step: start, when: "{{ ctx.n < 6 }}"}]}
    """,
    workload="workload: {flag: none}",
)


@pytest.mark.parametrize("when", ["{{ event.ok }}", "{{ true }}"], ids=["at once", "in the end"])
async def test_a_retry_by_any_id_goes_on_from_the_log_in_which_it_failed(tmp_path, when):
    """A failure that nothing asked about is carried to the last execution; it failed in an earlier one."""
    async with engine(tmp_path) as made:
        first = await begin(made, FAILING.replace("$when", when), {"flag": str(tmp_path / "flag")})
        last = await last_of(made, first)
        members = await chain_of(made, first)
        assert members[-1].status == "failed"
        [failed_in] = [ran.execution_id for ran in members if ran.named("step.failed")]
        (tmp_path / "flag").touch()
        for execution_id in (first, last):
            retried = (await made.front.retry(execution_id)).execution_id
            end = await last_of(made, retried)
            after = await chain_of(made, retried)
            assert after[0].result["retry_of"] == failed_in
            assert (after[-1].execution_id, after[-1].status, after[-1].ctx) == (end, "completed", {"n": 6})


async def test_a_run_that_went_on_and_completed_has_nothing_to_retry_by_any_id(tmp_path):
    async with engine(tmp_path) as made:
        first = await begin(made, COUNTING)
        last = await last_of(made, first)
        with pytest.raises(Conflict, match=f"execution {last} completed; there is nothing to retry"):
            await made.front.retry(first)


FLAWED = playbook(
    """
    - step: start
      spec: {continue: {after_events: 20}, policy: {failure: {mode: best_effort}}}
      loop: {in: [1, 2, 3, 4], iterator: i}
      tool:
        kind: python
        input:
          code: |
            import os
            if n == 0 and i == 3 and not os.path.exists(flag):
                raise ValueError("not yet")
          flag: "{{ workload.flag }}"
          i: "{{ iter.i }}"
          n: "{{ ctx.n | default(0) }}"
      next: {arcs: [{step: count, when: "{{ event.ok }}"}]}
    - step: count
      tool: {kind: noop}
      set: {ctx.n: "{{ (ctx.n | default(0)) + 1 }}"}
      next: {arcs: [{step: start, when: "{{ ctx.n < 3 }}"}]}
    """,
    workload="workload: {flag: none}",
)


async def test_a_retry_repeats_iterations_that_failed_in_an_earlier_log(tmp_path):
    async with engine(tmp_path) as made:
        first = await begin(made, FLAWED, {"flag": str(tmp_path / "flag")})
        last = await last_of(made, first)
        assert last != first
        (tmp_path / "flag").touch()
        retried = (await made.front.retry(last)).execution_id
        await last_of(made, retried)
        after = await chain_of(made, retried)
        assert after[0].result["retry_of"] == first
        assert [ran.result["counts"]["failed_iterations"] for ran in (after[0], after[-1])] == [0, 0]


async def test_a_stuck_run_is_released_by_any_of_its_ids(tmp_path, monkeypatch):
    async with engine(tmp_path) as made:
        first = await begin(made, WAITING.replace("after_events: 20", "after_events: 10"))
        for number in range(4):
            await made.front.control(first, Control("signal", name="go", payload=number))
        await until(made, lambda: first not in made.engine.running())
        with monkeypatch.context() as patched:
            fails_on(patched, "bad", KeyError("a bug"))
            with pytest.raises(StuckError):
                await made.front.control(first, Control("signal", name="bad"))
            await made.engine.stuck.mark()
        [newest] = [one.execution_id for one in (await made.front.executions(Find(status="stuck"))).items]
        assert newest != first
        await made.front.release(first)
        await made.front.control(first, Control("cancel"))
        assert (await made.store.summary(await last_of(made, first))).status == "cancelled"
