"""What an execution in memory keeps of a long life, and that nothing is decided otherwise for it."""

from noetl.control import loaded_execution, log_rows
from noetl.core import state_bounds
from tests.engine.harness import begin, control, engine, finish, playbook, run, until


async def test_reports_that_only_the_store_remembers_are_answered_as_they_were(tmp_path, monkeypatch):
    monkeypatch.setattr(loaded_execution, "BATCHES_KEPT", 2)
    text = playbook(
        """
        - step: start
          tool: {kind: noop}
          next: {arcs: [{step: start, when: "{{ ctx.n | default(0) < 20 }}", set: {ctx.n: "{{ ctx.n | default(0) + 1 }}"}}]}
        """
    )
    async with engine(tmp_path) as made:
        reports = []
        report = made.engine.report

        async def noting(execution_id, message):
            reports.append(message)
            answer = await report(execution_id, message)
            again = await report(execution_id, reports[0])
            assert again.accepted, again.why
            return answer

        monkeypatch.setattr(made.engine, "report", noting)
        ran = await finish(made, await begin(made, text))
    assert (ran.status, ran.runs("start")) == ("completed", 21)


async def test_fragments_of_a_long_life_leave_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(state_bounds, "FRAGMENTS_KEPT", 2)
    text = playbook(
        """
        - step: start
          spec: {synthesize: {from: "{{ output.data }}"}}
          tool: {kind: python, input: {code: "result = [{'step': 'one', 'tool': {'kind': 'noop'}}]"}}
          next: {arcs: [
            {step: start, when: "{{ ctx.n | default(0) < 9 }}", set: {ctx.n: "{{ ctx.n | default(0) + 1 }}"}},
            {step: last}]}
        - {step: last, tool: {kind: wait, input: {signal: go}}}
        """
    )
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        await until(made, lambda: "last.1" in made.engine.live_state(execution_id).runs)
        state, program = made.engine.live_state(execution_id), made.engine.program_of(execution_id)
        named = {name for name in program.steps if name.endswith(".one")}
        assert named == {f"{origin}.one" for origin in state.fragments}
        assert len(named) <= 4
        await control(made, execution_id, "signal", name="go")
        ran = await finish(made, execution_id)
    assert (ran.status, ran.result["counts"]["steps"]) == ("completed", 21)


async def test_failures_beyond_those_kept_are_counted_and_the_unanswered_one_still_fails_it(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(state_bounds, "FAILURES_KEPT", 3)
    ran = await run(
        tmp_path,
        playbook(
            """
            - step: start
              tool: {kind: python, input: {code: "1 / 0"}}
              next: {arcs: [
                {step: start, when: "{{ event.failed and ctx.n | default(0) < 8 }}", set: {ctx.n: "{{ ctx.n | default(0) + 1 }}"}},
                {step: last}]}
            - {step: last, tool: {kind: noop}}
            """
        ),
    )
    assert ran.status == "failed"
    assert [one["answered"] for one in ran.result["failures"]] == [True, True, False]
    assert ran.result["failures_left_out"] == 6


async def test_a_snapshot_is_made_when_the_rows_behind_the_last_take_as_much(tmp_path, monkeypatch):
    monkeypatch.setattr(log_rows, "SNAPSHOT_BYTES", 1)
    text = playbook(
        """
        - step: start
          tool: {kind: noop}
          set: {ctx.big: "{{ 'x' * 2000 }}", ctx.n: "{{ ctx.n | default(0) + 1 }}"}
          next: {arcs: [{step: start, when: "{{ ctx.n < 40 }}"}]}
        """
    )
    async with engine(tmp_path) as made:
        commit, sizes = made.store.commit, []

        async def noting(append):
            sizes.append((sum(len(row.body) + len(row.cause) for row in append.rows), append.snapshot))
            await commit(append)

        monkeypatch.setattr(made.store, "commit", noting)
        await finish(made, await begin(made, text))
    snapshots = [len(snapshot) for _, snapshot in sizes if snapshot is not None]
    assert len(snapshots) > 1
    assert sum(snapshots[1:]) <= sum(rows for rows, _ in sizes) + snapshots[0]
