"""`noetl execution replay`: the log is folded, every decision made again, every invariant checked."""

from contextlib import suppress

import click

from noetl import __version__
from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import emit, emit_json, note
from noetl.errors import NotFound


@click.command("replay", cls=Command)
@options.execution
@options.as_json
async def command(execution: str, as_json: bool) -> int:
    """Fold an execution's log again and say whether it holds together; exits 1 when it does not."""
    from noetl.cli.connection.connection import connect_execution
    from noetl.cli.running.run_summary import compile_entry
    from noetl.control.log_audit import audit

    async with connect_execution(execution) as (connection, execution_id):
        program = None
        with suppress(NotFound):  # an execution that never had one, or whose projection names another
            program = compile_entry(await connection.front.playbook_of(execution_id))
        replay = await audit(connection.front, execution_id, program, f"noetl {__version__}")
    problems = replay.problems
    if as_json:
        verdict = {"execution_id": execution_id, "ok": not problems, "problems": problems}
        counts = {"events": replay.events, "decisions": replay.decisions, "other_engine": replay.other_engine}
        emit_json({**verdict, **counts})
        return 1 if problems else 0
    for problem in problems:
        emit(problem)
    if replay.other_engine:
        note(f"decided by {replay.other_engine}: decisions of another engine are not made again")
    if not problems:
        note(f"ok  {replay.events} events, {replay.decisions} decisions: the log holds together")
    return 1 if problems else 0
