"""`noetl execution why`: an execution explained in words, from its log alone."""

import asyncio
import sys
from typing import Any

import click
import msgspec

from noetl.cli import options
from noetl.cli.render import Paint, colourful, emit, note
from noetl.core.explain import Explanation, Reason
from noetl.wiring.embedded import Embedded


@click.command("why")
@options.execution
@click.option("--step", metavar="S", help="Only what concerns one step, or why it never ran.")
@options.as_json
def command(execution: str, step: str | None, as_json: bool) -> None:
    """Say why an execution went as it did: why arcs were taken or not, tokens held or refused, tasks retried.

    Every sentence has the number of the event that says so and the values the decision saw.
    """
    asyncio.run(_why(execution, step, as_json))


async def _why(execution: str, step: str | None, as_json: bool) -> None:
    from noetl.cli import local
    from noetl.cli.closing import pretty
    from noetl.control.history import events
    from noetl.core.explain import explain

    async with local.consulted() as made:
        execution_id = await local.find(made, execution)
        log = [item async for item in events(made.store, execution_id)]
        if step is not None:
            await _check_step(made, execution_id, step)
    found = explain(execution_id, log, step)
    if as_json:
        emit(pretty(_data(execution_id, step, found)))
    else:
        _tell(execution_id, found)


async def _check_step(made: Embedded, execution_id: str, step: str) -> None:
    """Refuse a name that is no step of the playbook and none that was added to it."""
    from noetl.control.history import state_at
    from noetl.dsl.nearest import nearest
    from noetl.errors import NotFound

    state = await state_at(made.store, execution_id)
    program = await made.catalog.program(state.hash) if state.hash else None
    known = [*(program.steps if program else ()), *state.steps]
    if step not in known:
        near = nearest(step, known)
        raise NotFound(
            f"the playbook has no step '{step}'",
            hint=f"did you mean '{near}'?" if near else f"its steps: {', '.join(known)}",
        )


def _data(execution_id: str, step: str | None, found: Explanation) -> dict[str, Any]:
    return {
        "execution_id": execution_id,
        "status": found.status,
        "step": step,
        "summary": found.summary,
        "reasons": [msgspec.to_builtins(reason) for reason in found.reasons],
    }


def _tell(execution_id: str, found: Explanation) -> None:
    paint = Paint(colourful(sys.stdout))
    emit(f"execution {execution_id}: {paint(found.summary, 'strong')}")
    width = max((len(reason.step or "") for reason in found.reasons), default=0)
    for reason in found.reasons:
        emit(_line(reason, width, paint))
    if not found.reasons:
        note("the log says nothing about it")


def _line(reason: Reason, width: int, paint: Paint) -> str:
    place = f"{reason.step or '':<{width}}"
    return f"{paint(f'{reason.seq:>6}', 'faint')}  {paint(place, 'info')}  {reason.text}"
