"""`noetl execution replay`: the log is folded, every decision made again, every invariant checked."""

import asyncio
from contextlib import suppress

import click

from noetl.cli import options
from noetl.cli.terminal import emit, note
from noetl.errors import NotFound


@click.command("replay")
@options.execution
@options.as_json
def command(execution: str, as_json: bool) -> int:
    """Fold an execution's log again and say whether it holds together; exits 1 when it does not."""
    return asyncio.run(_replay(execution, as_json))


async def _replay(execution: str, as_json: bool) -> int:
    from noetl import __version__
    from noetl.cli.connection import connection
    from noetl.cli.running.run_summary import compiled, pretty
    from noetl.control.log_audit import audit

    async with connection.reached() as reached:
        front = reached.front
        execution_id = await connection.find(front, execution)
        program = None
        with suppress(NotFound):  # an execution that never had one, or whose projection names another
            program = compiled(await front.playbook_of(execution_id))
        found = await audit(front, execution_id, program, f"noetl {__version__}")
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
