"""An order whose end brings the next one: the same task goes on with it, and is stopped for nobody else's sake."""

import asyncio

import pytest

from noetl.ports.envelope import ok
from noetl.ports.tool import Input, define
from tests.engine.harness import begin, engine, finish, playbook

CHAIN = """
- {step: one, tool: {kind: shell, input: {command: a}}, next: {arcs: [{step: two}]}}
- {step: two, tool: {kind: shell, input: {command: b}}, next: {arcs: [{step: three}]}}
- {step: three, tool: {kind: shell, input: {command: c}}}
"""
FORK = """
- {step: one, tool: {kind: shell, input: {command: a}}, next: {spec: {mode: inclusive}, arcs: [{step: two}, {step: three}]}}
- {step: two, tool: {kind: shell, input: {command: b}}}
- {step: three, tool: {kind: shell, input: {command: c}}}
"""


class Given(Input):
    """Whatever is given."""

    command: str


class Noted:
    """A kind whose calls note the task that they run in."""

    def __init__(self, together: int = 1) -> None:
        self.tasks: dict[str, asyncio.Task[None] | None] = {}
        self.together = asyncio.Barrier(together)

    def tool(self, kind: str):
        async def run(given, call):
            self.tasks[given.command] = asyncio.current_task()
            if given.command != "a":
                await self.together.wait()
            return ok(None)

        return define("shell", "Notes.", Given, run)


async def ran(tmp_path, text: str, noted: Noted, change=lambda made: None):
    async with engine(tmp_path) as made:
        made.pool.toolbox.tool = noted.tool
        change(made)
        outcome = await finish(made, await begin(made, playbook(text)))
        assert (made.pool.held(), made.pool.busy) == ([], 0)
        return outcome, made.pool.finished


async def test_steps_after_one_another_are_one_task(tmp_path):
    noted = Noted()
    outcome, finished = await ran(tmp_path, CHAIN, noted)
    assert (outcome.status, finished) == ("completed", 3)
    assert noted.tasks["a"] is noted.tasks["b"] is noted.tasks["c"]


async def test_a_task_goes_on_with_so_many_orders_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr("noetl.worker.pool.FOLLOWING_MOST", 1)
    noted = Noted()
    outcome, finished = await ran(tmp_path, CHAIN, noted)
    assert (outcome.status, finished) == ("completed", 3)
    assert noted.tasks["a"] is noted.tasks["b"] is not noted.tasks["c"]


async def test_steps_beside_one_another_run_at_once(tmp_path):
    noted = Noted(together=2)
    outcome, finished = await ran(tmp_path, FORK, noted)
    assert (outcome.status, finished) == ("completed", 3)
    assert noted.tasks["b"] is not noted.tasks["c"]


@pytest.mark.parametrize("text", [CHAIN, FORK])
async def test_an_order_that_is_called_back_as_it_ends_takes_no_other_with_it(tmp_path, text):
    noted = Noted()

    def change(made):
        offer = made.pool.offer

        def and_call_back(order):
            if order.step == "two":
                ((execution_id, lease, _),) = made.pool.held()  # the first one, which is just ending
                made.pool.recall(execution_id, lease, give_back=False)
            offer(order)

        made.pool.offer = and_call_back

    outcome, finished = await ran(tmp_path, text, noted, change)
    assert (outcome.status, finished) == ("completed", 3)
    assert noted.tasks["a"] is not noted.tasks["b"]
