"""`noetl execution replay`: the log is folded, every decision made again, every invariant checked."""

import asyncio

import click

from noetl.cli import options
from noetl.cli.render import emit, note


@click.command("replay")
@options.execution
@options.as_json
def command(execution: str, as_json: bool) -> int:
    """Fold an execution's log again and say whether it holds together; exits 1 when it does not."""
    return asyncio.run(_replay(execution, as_json))


async def _replay(execution: str, as_json: bool) -> int:
    from noetl.cli import local
    from noetl.cli.closing import pretty
    from noetl.control.audit import audit

    async with local.consulted() as made:
        execution_id = await local.find(made, execution)
        summary = await made.store.summary(execution_id)
        program = await made.catalog.program(summary.hash) if summary.hash else None
        found = await audit(made.store, execution_id, program, made.catalog.engine)
    if as_json:
        counts = {"events": found.events, "decisions": found.decisions, "other_engine": found.other_engine}
        emit(
            pretty(
                {"execution_id": execution_id, "ok": not found.problems, "problems": found.problems, **counts}
            )
        )
        return 1 if found.problems else 0
    for problem in found.problems:
        emit(problem)
    if found.other_engine:
        note(f"decided by {found.other_engine}: decisions of another engine are not made again")
    if not found.problems:
        note(f"ok  {found.events} events, {found.decisions} decisions: the log holds together")
    return 1 if found.problems else 0
