"""Reading a long log page by page costs as much as the log is long, not that times its pages."""

from noetl.cli.commands.execution.pages import envelopes
from noetl.control import history, log_rows
from tests.engine.harness import begin, engine, finish, playbook

TASKS = 16_000


async def test_a_log_is_read_in_time_that_grows_with_its_length(tmp_path, monkeypatch):
    """One pipeline that never waits; what it says is reported in pieces, and so rests in short rows."""
    workflow = """
        - step: start
          tool:
            - {name: a, kind: noop, set: {step.n: "{{ (step.n | default(0)) + 1 }}"},
               spec: {policy: {rules: [{when: "{{ step.n < TASKS }}", then: {do: jump, to: a}}]}}}
            - {name: b, kind: python, input: {code: "1 / 0"}}
        """
    text = playbook(
        workflow.replace("TASKS", str(TASKS)), executor="executor: {spec: {limits: {max_task_runs: 20000}}}"
    )
    decoded = fetched = 0

    def counted(row):
        nonlocal decoded
        events = of_row(row)
        decoded += len(events)
        return events

    async def reading(*which):
        nonlocal fetched
        found = await of_store(*which)
        fetched += sum(row.last - row.first + 1 for row in found)
        return found

    of_row = log_rows.events_of
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, text))
        of_store = made.store.rows
        monkeypatch.setattr(history, "events_of", counted)
        monkeypatch.setattr(made.store, "rows", reading)
        told = [event["seq"] async for event in envelopes(made.front, ran.execution_id)]
        work = [decoded, fetched]
        pages = made.front.follow_logs(ran.execution_id, live=False)
        said = [line["text"] async for page in pages for line in page["items"]]
    assert ran.status == "failed"
    assert ran.result["counts"]["tasks"] == TASKS + 1
    assert told == list(range(1, len(ran.events) + 1))
    assert max(work) < 6 * len(ran.events)
    assert max(decoded, fetched) < 8 * len(ran.events)
    assert said[0] == "python: ZeroDivisionError: division by zero"
