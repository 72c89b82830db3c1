"""Which kinds of tools an order needs of the worker that gets it."""

from typing import Any, cast

from noetl.control.leases import WorkerLeases
from noetl.control.worker_api import EngineWorkerApi
from noetl.core.message import WorkOrder
from noetl.core.program.fragment import extended
from noetl.core.program.program import Program
from tests.unit.control.test_leases import World
from tests.unit.core.build import compiled


class Running:
    """Programs of executions, as an engine has them."""

    def __init__(self, **programs: Program) -> None:
        self.program_of = programs.get


def leasing_over(**programs: Program) -> WorkerLeases:
    """A leasing that asks a desk what orders need."""
    leasing, nothing = World().leasing, cast("Any", None)
    running = cast("Any", Running(**programs))
    EngineWorkerApi("server", running, leasing, nothing, nothing, secrets=nothing, seal=nothing)
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
