"""Which kinds of tools an order needs of the worker that gets it; when a silent worker's lease is let go; whose
lines are kept.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from noetl.control import leases
from noetl.control.leases import LATE_LINES_S, WorkerLeases
from noetl.control.ownership import OverError
from noetl.control.worker_api import EngineWorkerApi
from noetl.core.message import Answer, Expire, WorkOrder
from noetl.core.program.fragment import extended
from noetl.core.program.program import Program
from noetl.core.state import Lease
from noetl.core.values.lines import Line
from noetl.errors import BackendError, Conflict, NoetlError
from noetl.ports.link import LinesRequest
from noetl.ports.task_lines import PrintedLines
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
        self.here: set[str] = set()

    def in_memory(self, execution_id: str) -> Any:
        return execution_id if execution_id in self.here else None

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


async def test_a_lease_that_was_heard_of_before_its_end_was_decided_stays_its_workers() -> None:
    api, engine, world = silent_worker("e1")
    sweep = asyncio.create_task(api.sweep())
    await asyncio.wait_for(engine.begun.wait(), 60)
    engine.asked[0][1].leases = {}  # as the engine decided
    engine.commit.set()
    await sweep
    assert world.leasing.holds("e1", "l1", 1, "w")


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


async def test_a_lease_of_an_execution_that_came_back_here_while_it_was_elsewhere_is_asked_about_again() -> (
    None
):
    """Another server had it when its end was decided; since then this one took it over, with its leases."""
    api, engine, world = silent_worker("e1")
    sweep = asyncio.create_task(api.sweep())
    await asyncio.wait_for(engine.begun.wait(), 60)
    engine.fails = {"e1": Conflict("run by another process")}
    engine.here.add("e1")
    world.leasing.adopt("e1", Lease("l1", "s.1"))
    engine.commit.set()
    await sweep
    engine.fails = {}
    await api.sweep()
    assert [execution_id for execution_id, _ in engine.asked] == ["e1", "e1"]
    assert world.leasing.out == 0


class RunningHere:
    """An engine that runs some executions; others are run elsewhere, or are over."""

    def __init__(self, *here: str, over: tuple[str, ...] = ()) -> None:
        self.here, self.over = here, over

    def live_state(self, execution_id: str) -> object | None:
        return self if execution_id in self.here else None

    async def load(self, execution_id: str) -> None:
        if execution_id in self.over:
            raise OverError("it is over")
        raise Conflict("it is run by another process")


def printing(*here: str, over: tuple[str, ...] = ()) -> tuple[EngineWorkerApi, list[str], World]:
    """A desk whose worker `w` has lease l1 of e1, and what of its lines was kept."""
    world, kept, nothing = World(), list[str](), cast("Any", None)

    async def keep(printed: Sequence[PrintedLines]) -> None:
        kept.extend(line.text for one in printed for line in one.lines)

    engine = cast("Any", RunningHere(*here, over=over))
    api = EngineWorkerApi(
        "server", engine, world.leasing, nothing, nothing, secrets=nothing, seal=nothing, lines=keep
    )
    world.leasing.needs = lambda order: frozenset()
    world.leasing.offer(WorkOrder("e1", "l1", 1, "s.1", "s", "digest"))
    world.settle()
    assert len(world.take(hello("w"), 9)) == 1
    return api, kept, world


def line(text: str, execution_id: str = "e1", lease: str = "l1", epoch: int = 1) -> PrintedLines:
    return PrintedLines(execution_id, "s.1", "t", lines=[Line(1, None, text)], lease=lease, epoch=epoch)


async def test_lines_are_kept_of_the_lease_that_a_worker_has_and_of_no_other() -> None:
    api, kept, _ = printing("e1")
    foreign = [line("epoch", epoch=2), line("lease", lease="l2")]
    await api.lines(LinesRequest("w", [line("mine"), *foreign, line("too")]))
    await api.lines(LinesRequest("other", [line("of another worker")]))
    await api.lines(LinesRequest("old", [line("of an older release", lease="")]))
    assert kept == ["mine", "too", "of an older release"]


async def test_a_worker_whose_lease_is_gone_prints_nothing_into_the_task_any_more() -> None:
    api, kept, world = printing("e1")
    world.leasing.offer(WorkOrder("e1", "l1", 2, "s.1", "s", "digest"))  # it was silent: another gets it
    world.settle()
    await api.lines(LinesRequest("w", [line("late")]))
    assert kept == []


async def test_lines_that_come_after_the_last_report_are_kept_for_a_while() -> None:
    api, kept, world = printing(over=("e1",))
    world.leasing.ended("e1", "l1", 1, "w")
    await api.lines(LinesRequest("w", [line("the end")]))
    world.now += LATE_LINES_S + 1
    await api.lines(LinesRequest("w", [line("much later")]))
    assert kept == ["the end"]


async def test_of_very_many_leases_that_end_at_once_the_newest_may_still_print(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leases, "ENDED_MOST", 2)
    ids = ("e1", "e2", "e3")
    api, kept, world = printing(over=ids)
    for execution_id in ids:
        world.leasing.adopt(execution_id, Lease("l1", run="s.1", epoch=1, worker="w"))
        world.leasing.ended(execution_id, "l1", 1, "w")
    for execution_id in ids:
        await api.lines(LinesRequest("w", [line(execution_id, execution_id)]))
    assert kept == ["e2", "e3"]


async def test_lines_of_what_another_server_runs_are_to_be_sent_to_that_one() -> None:
    api, kept, _ = printing("e1")
    with pytest.raises(BackendError, match="e2 is not run by this server"):
        await api.lines(LinesRequest("w", [line("here"), line("there", "e2")]))
    assert kept == ["here"]  # they come again, and are known by their number
