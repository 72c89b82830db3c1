"""Which kinds of tools an order needs of the worker that gets it; when a silent worker's lease is let go."""

import asyncio
from typing import Any, cast

import pytest

from noetl.control.leases import WorkerLeases
from noetl.control.worker_api import EngineWorkerApi
from noetl.core.message import Answer, Expire, WorkOrder
from noetl.core.program.fragment import extended
from noetl.core.program.program import Program
from noetl.errors import BackendError, Conflict, NoetlError
from tests.unit.control.test_leases import LEASE_S, World, hello
from tests.unit.core.build import compiled


class Running:
    """Programs of executions, as an engine has them."""

    def __init__(self, **programs: Program) -> None:
        self.program_of = programs.get


def leasing_over(**programs: Program) -> WorkerLeases:
    """A leasing that asks a desk what orders need."""
    leasing, nothing = World().leasing, cast("Any", None)
    running = cast("Any", Running(**programs))
    EngineWorkerApi(
        "server", running, leasing, nothing, nothing, secrets=nothing, seal=nothing, lines=nothing
    )
    return leasing


def order(execution_id: str, program: Program, step: str) -> WorkOrder:
    return WorkOrder(execution_id, "lease", 1, f"{step}.1", step, program.hash)


def test_an_order_needs_the_kinds_of_its_own_executions_steps() -> None:
    """Fragments of two executions of one playbook have the same names and other tasks."""
    base = compiled("- {step: start, tool: {kind: noop}}")
    one, other = (
        extended(base, "start.1", [{"step": "more", "tool": {"kind": kind, "input": {"command": "true"}}}])
        for kind in ("shell", "sqlite")
    )
    leasing = leasing_over(one=one, other=other)
    assert leasing.needs(order("one", one, "start.1.more")) == {"shell"}
    assert leasing.needs(order("other", other, "start.1.more")) == {"sqlite"}


def test_an_order_needs_the_kinds_of_the_blocks_it_may_call() -> None:
    block = "workbook: {b: {tool: [{name: x, kind: shell, input: {command: 'true'}}]}}"
    program = compiled("- {step: start, tool: {kind: workbook, block: b}}", workbook=block)
    assert leasing_over(e=program).needs(order("e", program, "start")) == {"workbook", "shell"}


class Committing:
    """An engine whose commits come when they are let, and may fail."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Expire]] = []
        self.begun, self.commit = asyncio.Event(), asyncio.Event()
        self.fails: dict[str, NoetlError] = {}

    async def send(self, execution_id: str, message: Expire) -> Answer:
        self.asked.append((execution_id, message))
        self.begun.set()
        await self.commit.wait()
        if execution_id in self.fails:
            raise self.fails[execution_id]
        return Answer()


def silent_worker(*executions: str) -> tuple[EngineWorkerApi, Committing, World]:
    """A worker that took an order of each execution, and has been silent since for too long."""
    world, engine, nothing = World(), Committing(), cast("Any", None)
    api = EngineWorkerApi(
        "server",
        cast("Any", engine),
        world.leasing,
        nothing,
        nothing,
        secrets=nothing,
        seal=nothing,
        lines=nothing,
    )
    world.leasing.needs = lambda order: frozenset()
    for execution_id in executions:
        world.leasing.offer(WorkOrder(execution_id, "l1", 1, "s.1", "s", "digest"))
    world.settle()
    assert len(world.take(hello("w"), 9)) == len(executions)
    for _ in range(4):
        world.leasing.overdue()
        world.now += LEASE_S / 3
    return api, engine, world


async def test_a_lease_is_its_workers_until_its_expiry_is_committed() -> None:
    api, engine, world = silent_worker("e1")
    sweep = asyncio.create_task(api.sweep())
    await asyncio.wait_for(engine.begun.wait(), 60)
    assert world.leasing.holds("e1", "l1", 1, "w")
    engine.commit.set()
    await sweep
    assert not world.leasing.holds("e1", "l1", 1, "w")


async def test_an_expiry_that_could_not_be_committed_comes_again() -> None:
    api, engine, world = silent_worker("e1", "e2", "e3")
    engine.commit.set()
    engine.fails = {"e1": BackendError("away"), "e2": Conflict("over")}
    said = world.said_alive
    with pytest.raises(BackendError, match="away"):
        await api.sweep()
    assert world.said_alive == said + 1
    held = [world.leasing.holds(execution_id, "l1", 1, "w") for execution_id in ("e1", "e2", "e3")]
    assert held == [True, False, False]
    engine.fails = {}
    await api.sweep()
    assert [execution_id for execution_id, _ in engine.asked] == ["e1", "e2", "e3", "e1"]
    assert world.leasing.out == 0
