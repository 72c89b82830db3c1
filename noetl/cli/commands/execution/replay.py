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
    from noetl.cli.connection.connection import connect, find_execution
    from noetl.cli.running.run_summary import compile_entry, indented_json
    from noetl.control.log_audit import audit

    async with connect() as connection:
        front = connection.front
        execution_id = await find_execution(front, execution)
        program = None
        with suppress(NotFound):  # an execution that never had one, or whose projection names another
            program = compile_entry(await front.playbook_of(execution_id))
        replay = await audit(front, execution_id, program, f"noetl {__version__}")
    if as_json:
        counts = {"events": replay.events, "decisions": replay.decisions, "other_engine": replay.other_engine}
        emit(
            indented_json(
                {
                    "execution_id": execution_id,
                    "ok": not replay.problems,
                    "problems": replay.problems,
                    **counts,
                }
            )
        )
        return 1 if replay.problems else 0
    for problem in replay.problems:
        emit(problem)
    if replay.other_engine:
        note(f"decided by {replay.other_engine}: decisions of another engine are not made again")
    if not replay.problems:
        note(f"ok  {replay.events} events, {replay.decisions} decisions: the log holds together")
    return 1 if replay.problems else 0
