"""`noetl execution replay`: the log is folded, every decision made again, every invariant checked."""

import asyncio

import click

from noetl.cli.render import emit, note


@click.command("replay")
@click.argument("execution", metavar="ID")
def command(execution: str) -> int:
    """Fold an execution's log again and say whether it holds together; exits 1 when it does not."""
    return asyncio.run(_replay(execution))


async def _replay(execution: str) -> int:
    from noetl.cli import local
    from noetl.control.audit import audit
    from noetl.settings import load

    async with local.opened(load({})) as made:
        execution_id = await local.find(made, execution)
        summary = await made.store.summary(execution_id)
        program = await made.catalog.program(summary.hash) if summary.hash else None
        found = await audit(made.store, execution_id, program, made.catalog.engine)
    for problem in found.problems:
        emit(problem)
    if found.other_engine:
        note(f"decided by {found.other_engine}: decisions of another engine are not made again")
    if not found.problems:
        note(f"ok  {found.events} events, {found.decisions} decisions: the log holds together")
    return 1 if found.problems else 0
