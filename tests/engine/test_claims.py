"""Loops that claim their items: batches in the log before they are worked on, keys, bounds, failures, retries."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager, suppress

import pytest

from noetl.control.engine import Engine
from noetl.control.history import envelopes
from noetl.core.deciding import loop_claims, report_check, work_order
from noetl.core.message import Expire, Tick
from noetl.errors import BackendError
from noetl.ports.envelope import Failed, ok
from noetl.ports.tool import Input, define
from tests.engine.harness import Clock, begin, control, engine, finish, playbook, run, until

PLACES = pytest.mark.parametrize("place", ["local", "distributed"])
MODES = pytest.mark.parametrize("mode", ["sequential", "parallel"])
NUMBERS = '"result = [(number - 1) * batch + n for n in range(batch)] if number < 4 else []"'


class Command(Input):
    """What a shell is given."""

    command: str


class Table:
    """Rows that are claimed and worked on by a tool, and what was asked of it."""

    def __init__(self, rows: int = 20) -> None:
        self.free = list(range(rows))
        self.taken: dict[str, list[int]] = {}
        self.keys: list[str] = []
        self.worked: Counter[int] = Counter()
        self.fail: set[int] = set()
        self.claims_fail = 0
        self.hold: asyncio.Event | None = (
            None  # while it is not set, claims that took their rows do not answer
        )
        self.took = asyncio.Event()

    def tool(self, kind):
        return define(kind, "Claims and works.", Command, self.call)

    async def call(self, values, call):
        word, *rest = values.command.split()
        return await getattr(self, word)(*rest)

    async def claim(self, key, batch):
        self.keys.append(key)
        if self.claims_fail:
            self.claims_fail -= 1
            raise Failed("connect", "the table is away", retryable=True)
        if key not in self.taken:
            self.taken[key], self.free = self.free[: int(batch)], self.free[int(batch) :]
        self.took.set()
        if self.hold is not None:
            await self.hold.wait()
        return ok({"rows": [{"id": number} for number in self.taken[key]]})

    async def work(self, number):
        await asyncio.sleep(0)
        self.worked[int(number)] += 1
        if int(number) in self.fail:
            raise Failed("value", f"row {number} is bad")
        return ok(int(number))


def claiming(
    spec: str = "mode: parallel, max_in_flight: 4",
    bounds: str = "batch: 8",
    step: str = "desc: x",
    policy: str = "",
) -> str:
    return playbook(f"""
    - step: start
      {step}
      loop:
        in:
          claim: {{kind: shell, input: {{command: "claim {{{{ claim.key }}}} {{{{ claim.batch }}}}"}}, {bounds}{policy}}}
          until: empty
        iterator: row
        spec: {{{spec}}}
      tool: {{name: work, kind: shell, input: {{command: "work {{{{ iter.row.id }}}}"}}}}
    """)


async def over(folder, table: Table, text: str):
    async with engine(folder) as made:
        made.pool.toolbox.tool = table.tool
        return await finish(made, await begin(made, text))


@asynccontextmanager
async def held_claim(folder, step: str = "desc: x"):
    """A loop whose first claim has taken its rows and does not answer."""
    table = Table(10)
    table.hold = asyncio.Event()
    async with engine(folder) as made:
        made.pool.toolbox.tool = table.tool
        execution_id = await begin(made, claiming(step=step))
        await table.took.wait()
        yield made, table, execution_id


@PLACES
@MODES
async def test_rows_are_claimed_until_none_is_left_and_each_is_worked_on_once(tmp_path, place, mode):
    table = Table(20)
    ran = await over(tmp_path, table, claiming(f"mode: {mode}, policy: {{exec: {place}}}"))
    assert (ran.status, ran.output) == ("completed", None)
    assert table.worked == Counter(range(20))
    end = ran.named("loop.done")[0]
    assert end["data"]["output"]["loop"] == {"total": 20, "done": 20, "failed": 0, "skipped": 0, "batches": 3}
    assert [event["data"]["count"] for event in ran.named("loop.claimed")] == [8, 8, 4, 0]
    assert [event["data"]["number"] for event in ran.named("loop.claimed")] == [1, 2, 3, 4]


async def test_no_row_is_worked_on_before_its_batch_is_in_the_log(tmp_path):
    ran = await over(tmp_path, Table(20), claiming())
    claimed = 0
    for event in ran.events:
        if event["name"] == "loop.claimed":
            claimed += event["data"]["count"]
        elif event["name"] == "loop.iteration.started":
            assert event["index"] < claimed


async def test_of_the_rows_of_a_sequential_loop_each_sees_what_those_before_it_wrote(tmp_path):
    text = playbook(f"""
    - step: start
      loop:
        in: {{claim: {{kind: python, input: {{number: "{{{{ claim.number }}}}", batch: "{{{{ claim.batch }}}}", code: {NUMBERS}}}, batch: 3}}, until: empty}}
        iterator: n
      tool: {{kind: noop, set: {{ctx.seen: "{{{{ (ctx.seen | default([])) + [iter.n] }}}}"}}}}
    """)
    ran = await run(tmp_path, text)
    assert ran.ctx["seen"] == list(range(9))


async def test_reducers_put_together_what_all_batches_wrote(tmp_path):
    text = playbook(f"""
    - step: start
      loop:
        in: {{claim: {{kind: python, input: {{number: "{{{{ claim.number }}}}", batch: "{{{{ claim.batch }}}}", code: {NUMBERS}}}, batch: 3}}, until: empty}}
        iterator: n
        spec: {{mode: parallel, policy: {{exec: distributed, reduce: {{ctx.sum: sum}}}}}}
      tool: {{kind: noop, set: {{ctx.sum: "{{{{ iter.n }}}}"}}}}
    """)
    assert (await run(tmp_path, text)).ctx["sum"] == 36


async def test_no_more_batches_are_claimed_than_may_be(tmp_path):
    table = Table(20)
    ran = await over(tmp_path, table, claiming(bounds="batch: 4, max_batches: 2"))
    assert (ran.status, sum(table.worked.values()), len(table.keys)) == ("completed", 8, 2)


@pytest.mark.parametrize("prefetch, ahead", [(1, False), (9, True)])
async def test_the_next_claim_goes_out_when_fewer_iterations_are_left_than_prefetch(
    tmp_path, prefetch, ahead
):
    ran = await over(tmp_path, Table(16), claiming(bounds=f"batch: 8, prefetch: {prefetch}"))
    names = [
        (event["name"], event["data"].get("claim"))
        for event in ran.events
        if event["name"] == "loop.iteration.done" or "claim" in event["data"]
    ]
    second = names.index(("lease.granted", 2))
    assert (names[:second].count(("loop.iteration.done", None)) < 8) is ahead


async def test_bounds_may_be_templates_and_must_be_whole_numbers(tmp_path):
    text = claiming(bounds='batch: "{{ workload.batch }}"').replace(
        "workflow:", "workload: {batch: 5}\nworkflow:"
    )
    ran = await over(tmp_path, Table(20), text)
    assert [event["data"]["count"] for event in ran.named("loop.claimed")] == [5, 5, 5, 5, 0]
    wrong = await over(tmp_path, Table(20), text.replace("batch: 5", "batch: none"))
    assert (wrong.status, wrong.error["kind"]) == ("failed", "value")
    assert "batch of a loop is 'none'" in wrong.error["message"]


RETRY = ", spec: {policy: {rules: [{when: \"{{ output.status == 'error' }}\", then: {do: retry, attempts: 3, delay: DELAY}}, {else: {then: {do: continue}}}]}}"


@pytest.mark.parametrize("delay", [0.01, 60])
async def test_a_claim_that_failed_is_tried_again_with_its_key(tmp_path, delay):
    table, clock = Table(5), Clock()
    table.claims_fail = 2
    async with engine(tmp_path, clock=clock) as made:
        made.pool.toolbox.tool = table.tool
        execution_id = await begin(made, claiming(policy=RETRY.replace("DELAY", str(delay))))
        state = made.engine.live_state(execution_id)
        for _ in range(2 if delay > 5 else 0):
            await until(
                made,
                lambda: any(
                    run.parked and not lease.out
                    for run in state.runs.values()
                    for lease in state.leases.values()
                ),
            )
            clock.forward(delay)
            await made.engine.send(execution_id, Tick())
        ran = await finish(made, execution_id)
    assert (ran.status, sum(table.worked.values())) == ("completed", 5)
    assert len(set(table.keys[:3])) == 1
    assert len(set(table.keys)) == 2


async def test_when_a_claim_fails_for_good_what_was_claimed_is_finished_and_the_step_fails(tmp_path):
    table = Table(12)
    right, count = table.claim, 0

    async def claim(key, batch):
        nonlocal count
        count += 1
        table.claims_fail = int(count == 2)
        return await right(key, batch)

    table.claim = claim  # type: ignore[method-assign]
    ran = await over(tmp_path, table, claiming(bounds="batch: 8, prefetch: 9"))
    assert (ran.status, ran.error["message"], ran.error["task"]) == ("failed", "the table is away", "claim")
    assert table.worked == Counter(range(8))
    totals = ran.named("step.failed")[0]["data"]["output"]["loop"]
    assert totals == {"total": 8, "done": 8, "failed": 0, "skipped": 0, "batches": 1}


@pytest.mark.parametrize(
    "code, says",
    [
        ("'text'", "gave str; say where they are with 'output'"),
        ("{'items': [1]}", "gave a mapping with items"),
        ("{}", "gave a mapping with no keys"),
    ],
)
async def test_a_claim_that_gives_no_rows_says_what_it_gave(tmp_path, code, says):
    text = playbook(f"""
    - step: start
      loop: {{in: {{claim: {{kind: python, input: {{code: "result = {code}"}}}}, until: empty}}, iterator: n}}
      tool: {{kind: noop}}
    """)
    ran = await run(tmp_path, text)
    assert (ran.status, ran.error["kind"]) == ("failed", "value")
    assert says in ran.error["message"]


async def test_output_says_where_the_rows_of_a_claim_are(tmp_path):
    text = playbook("""
    - step: start
      loop:
        in:
          claim: {kind: python, input: {n: "{{ claim.number }}", code: "result = {'items': [1, 2] if n == 1 else []}"}, output: "{{ output.data['items'] }}"}
          until: empty
        iterator: n
        spec: {mode: parallel, policy: {reduce: {ctx.sum: sum}}}
      tool: {kind: noop, set: {ctx.sum: "{{ iter.n }}"}}
    """)
    assert (await run(tmp_path, text)).ctx["sum"] == 3


async def test_the_next_claim_can_go_on_behind_the_last_row(tmp_path):
    text = playbook("""
    - step: start
      loop:
        in:
          claim: {kind: python, input: {after: "{{ claim.last.id if claim.last else 0 }}", code: "result = [{'id': after + n} for n in (1, 2)] if after < 6 else []"}}
          until: empty
        iterator: row
        spec: {mode: parallel, policy: {reduce: {ctx.ids: append}}}
      tool: {kind: noop, set: {ctx.ids: "{{ iter.row.id }}"}}
    """)
    assert (await run(tmp_path, text)).ctx["ids"] == [1, 2, 3, 4, 5, 6]


async def test_large_rows_rest_in_the_result_store(tmp_path):
    text = playbook("""
    - step: start
      loop:
        in:
          claim: {kind: python, input: {n: "{{ claim.number }}", after: "{{ claim.last.id if claim.last else 0 }}", code: "result = [{'id': after + i, 'x': 'x' * 30000} for i in (1, 2, 3, 4)] if n < 4 else []"}}
          until: empty
        iterator: row
        spec: {mode: parallel, max_in_flight: 3, policy: {exec: distributed, reduce: {ctx.sum: sum}}}
      tool: {kind: noop, set: {ctx.sum: "{{ (iter.row.x | length) + iter.row.id }}"}}
    """)
    ran = await run(tmp_path, text)
    assert ran.ctx["sum"] == 12 * 30_000 + 78
    assert all(isinstance(event["data"]["rows"], dict) for event in ran.named("loop.claimed")[:3])


async def test_an_iteration_that_fails_fails_the_loop_and_nothing_more_is_claimed(tmp_path):
    table = Table(50)
    table.fail = {3}
    ran = await over(tmp_path, table, claiming(bounds="batch: 8"))
    assert (ran.status, ran.error["message"]) == ("failed", "row 3 is bad")
    assert sum(table.worked.values()) < 50


async def test_best_effort_works_on_all_rows_and_a_retry_on_those_that_failed(tmp_path):
    table = Table(20)
    table.fail = {3, 11}
    async with engine(tmp_path) as made:
        made.pool.toolbox.tool = table.tool
        text = claiming(step="spec: {policy: {failure: {mode: best_effort}}}")
        ran = await finish(made, await begin(made, text))
        totals = ran.named("loop.done")[0]["data"]["output"]["loop"]
        assert (ran.status, totals["done"], totals["failed"]) == ("completed", 18, 2)
        table.fail, table.worked = set(), Counter()
        again = await finish(made, (await made.front.retry(ran.execution_id)).execution_id)
    assert (again.status, table.worked) == ("completed", Counter([3, 11]))
    totals = again.named("loop.done")[0]["data"]["output"]["loop"]
    assert totals == {"total": 20, "done": 20, "failed": 0, "skipped": 0, "batches": 3}


async def test_a_retry_of_a_failed_loop_goes_on_with_the_rows_that_it_had_claimed(tmp_path):
    table = Table(20)
    table.fail = {9}
    async with engine(tmp_path) as made:
        made.pool.toolbox.tool = table.tool
        ran = await finish(made, await begin(made, claiming("mode: sequential")))
        assert (ran.status, len(table.free)) == ("failed", 4)
        table.fail = set()
        again = await finish(made, (await made.front.retry(ran.execution_id)).execution_id)
    assert again.status == "completed"
    assert table.worked == Counter([*range(20), 9])


async def test_a_claim_that_was_taken_over_is_made_again_with_the_same_key(tmp_path):
    async with held_claim(tmp_path) as (made, table, execution_id):
        lease = next(iter(made.engine.live_state(execution_id).leases))
        await made.engine.send(execution_id, Expire([lease]))
        table.hold.set()
        ran = await finish(made, execution_id)
    assert (ran.status, table.worked) == ("completed", Counter(range(10)))
    assert table.keys[0] == table.keys[1]
    assert [event["data"]["count"] for event in ran.named("loop.claimed")] == [8, 2, 0]


async def test_a_process_that_died_between_claiming_and_telling_claims_again_with_the_same_key(tmp_path):
    async with held_claim(tmp_path) as (made, table, execution_id):
        table.hold = None
    async with engine(tmp_path, made) as another:
        another.pool.toolbox.tool = table.tool
        await another.engine.resume(execution_id)
        ran = await finish(another, execution_id)
    assert (ran.status, table.worked) == ("completed", Counter(range(10)))
    assert table.keys[0] == table.keys[1]


async def test_a_claim_whose_worker_is_lost_again_and_again_fails_the_step(tmp_path):
    step = "spec: {limits: {max_takeovers: 0}}"
    async with held_claim(tmp_path, step) as (made, _, execution_id):
        await made.engine.send(execution_id, Expire(["start.1:claim.1"]))
        ran = await finish(made, execution_id)
    assert (ran.status, ran.error["kind"]) == ("failed", "worker_lost")


async def test_pause_lets_a_claim_answer_and_resume_goes_on_with_its_rows(tmp_path):
    async with held_claim(tmp_path) as (made, table, execution_id):
        state = made.engine.live_state(execution_id)
        await control(made, execution_id, "pause")
        table.hold.set()
        await until(made, lambda: not state.leases)
        assert (state.runs["start.1"].loop.total, sum(table.worked.values())) == (8, 0)
        await control(made, execution_id, "resume")
        ran = await finish(made, execution_id)
    assert (ran.status, table.worked) == ("completed", Counter(range(10)))


async def test_cancel_ends_a_loop_whose_claim_is_out(tmp_path):
    async with held_claim(tmp_path) as (made, _, execution_id):
        await control(made, execution_id, "cancel")
        ran = await finish(made, execution_id)
    assert ran.status == "cancelled"
    assert ran.named("step.failed")[0]["data"]["output"]["loop"]["batches"] == 0


async def test_a_block_and_a_child_playbook_can_claim(tmp_path):
    text = playbook(
        """
        - step: start
          loop:
            in: {claim: {kind: workbook, block: numbers, input: {n: "{{ claim.number }}"}}, until: empty}
            iterator: n
            spec: {mode: parallel, policy: {reduce: {ctx.sum: sum}}}
          tool: {kind: noop, set: {ctx.sum: "{{ iter.n }}"}}
        """,
        workbook="""
        workbook:
          numbers: {input: {n: 1}, tool: {kind: python, input: {n: "{{ input.n }}", code: "result = [n] * 3 if n < 3 else []"}}}
        """,
    )
    assert (await run(tmp_path, text)).ctx["sum"] == 9


async def test_iterations_that_wait_do_not_keep_the_next_batch_from_being_claimed(tmp_path):
    text = playbook("""
    - step: start
      loop:
        in: {claim: {kind: python, input: {n: "{{ claim.number }}", code: "result = [n] * 2 if n < 3 else []"}, prefetch: 5}, until: empty}
        iterator: n
        spec: {mode: parallel, max_in_flight: 8}
      tool: {kind: wait, input: {signal: go}}
    """)
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        state = made.engine.live_state(execution_id)
        await until(made, lambda: len(state.runs["start.1"].parked) == 4)
        await until(made, lambda: not any(lease.out for lease in state.leases.values()))
        for _ in range(4):
            await control(made, execution_id, "signal", name="go")
        ran = await finish(made, execution_id)
    assert ran.named("loop.done")[0]["data"]["output"]["loop"]["done"] == 4


async def committed_rows(made, execution_id: str) -> set[int]:
    """The rows that are in the log."""
    return {
        row["id"]
        async for event in envelopes(made.store, execution_id)
        if event["name"] == "loop.claimed"
        for row in event["data"].get("rows", ())
    }


class Refusing:
    """A store that refuses a batch the first time, and the rows that were worked on when they were not in it."""

    def __init__(self, made, table: Table) -> None:
        self.made, self.table, self.refused = made, table, False
        self.early: list[int] = []
        self.execution_id = ""
        self._commit = made.store.commit
        made.store.commit, made.pool.toolbox.tool = self.commit, table.tool
        table.work = self.work  # type: ignore[method-assign]

    async def commit(self, append):
        if not self.refused and any(b"loop.claimed" in row.body for row in append.rows):
            self.refused = True
            raise BackendError("the store is away")
        return await self._commit(append)

    async def work(self, number):
        if int(number) not in await committed_rows(self.made, self.execution_id):
            self.early.append(int(number))
        return await Table.work(self.table, number)


async def too_early(folder) -> list[int]:
    """Rows that were worked on before their batch was in the log."""
    with suppress(BackendError):
        async with engine(folder) as made:
            store = Refusing(made, Table(12))
            store.execution_id = await begin(made, claiming())
            await asyncio.wait_for(made.engine.until_quiet(store.execution_id), 60.0)
    assert store.refused
    return store.early


async def test_no_row_is_worked_on_whose_batch_the_store_refused(tmp_path):
    assert await too_early(tmp_path) == []


async def test_planted_rows_that_go_out_before_they_are_committed_are_noticed(tmp_path, monkeypatch):
    right = Engine._commit

    async def wrong(self, live, before, rows, decisions, *more):
        for decision in decisions:
            for command in decision.commands:
                self._dispatch.carry_out(live, command)
            decision.commands = []
        await asyncio.sleep(0.05)
        await right(self, live, before, rows, decisions, *more)

    monkeypatch.setattr(Engine, "_commit", wrong)
    assert await too_early(tmp_path) != []


async def test_planted_a_key_that_changes_when_a_claim_is_taken_over_is_noticed(tmp_path, monkeypatch):
    right = loop_claims.claim_order

    def wrong(execution_id, run, lease, *more):
        order = right(execution_id, run, lease, *more)
        if order is not None and lease.epoch > 1:
            order.key += f"/{lease.epoch}"
        return order

    for module in (work_order, report_check):
        monkeypatch.setattr(module, "claim_order", wrong)
    async with held_claim(tmp_path) as (made, table, execution_id):
        await made.engine.send(execution_id, Expire(["start.1:claim.1"]))
        table.hold.set()
        with pytest.raises(AssertionError, match="was made with the key"):
            await finish(made, execution_id)
    assert table.worked != Counter(range(10))  # and the rows that it had taken are lost
