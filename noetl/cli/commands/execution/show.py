"""`noetl execution show`: how one execution stands or ended."""

import sys
from datetime import UTC, datetime

import click

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.terminal import Paint, colourful, counted, emit, emit_json, note, width_of
from noetl.ports.answers import ExecutionAnswer, PlaybookVersion, RunStanding

RUNS_MAX = 10  # of one step; as many may be under way as tokens came


@click.command("show", cls=Command)
@options.execution
@options.as_json
async def command(execution: str, as_json: bool) -> None:
    """Show one execution: status, steps, ctx, output and error.

    --json prints the same object as `noetl run --json`.
    """
    from noetl.cli.connection.connection import connect_execution
    from noetl.cli.running.no_worker_notice import unserved_lines
    from noetl.cli.running.run_summary import next_lines

    async with connect_execution(execution) as (connection, execution_id):
        result = await connection.front.execution(execution_id)
        live = result["status"] in ("running", "waiting")
        still = live and await connection.interrupted(execution_id)
        served = not live or as_json or connection.url is None
        unserved = [] if served else await unserved_lines(connection.front, execution_id)
        runs = (await connection.front.state(execution_id))["runs"] if live and not as_json else []
    if as_json:
        emit_json(result)
        return
    emit("\n".join(_lines({**result, "status": "interrupted"} if still else result, runs)))
    if still:
        note(f"its process is gone; go on with: noetl execution resume {execution_id}")
        return
    for line in [*unserved, *next_lines(result, Paint(colourful(sys.stderr)))]:
        note(line)


def _lines(result: ExecutionAnswer, runs: list[RunStanding]) -> list[str]:
    from noetl.cli.running.run_summary import (
        detail_lines,
        duration,
        failure_fate,
        late_words,
        short_json,
        tally,
    )
    from noetl.core.reading import explain_text

    playbook, counts = result["playbook"], result["counts"]
    lines = [
        f"execution  {result['execution_id']}",
        f"playbook   {playbook['path']} v{playbook['version']}{_executor(playbook)}",
        f"status     {result['status']} after {duration(result['duration_ms'])}",
        f"counts     {tally(counts)}",
    ]
    if "late_at" in result:
        late = late_words(result["late_at"], result["ended_at"])
        lines.append(f"expected   {duration(result['expected_ms'])}{f': {late}' if late else ''}")
    if "stuck" in result:
        lines.append(f"stuck      since {result['stuck']['since']}: {result['stuck']['message']}")
    if result["error"] is not None:
        lines += [
            f"error      {explain_text.error(result['error'])}",
            *detail_lines(result["error"], " " * 11),
        ]
    for key in ("parent", "retry_of", "continued_from", "continued_as", "output", "ctx"):
        value = result[key]
        if value not in (None, {}):
            told = value if isinstance(value, str) else short_json(value, 2000)
            label, _, link = key.partition("_")
            lines.append(f"{label:<9}  {link}{' ' if link else ''}{told}")
    lines += _step_lines(result, runs)
    lines += [f"failure    {item['step']}, {failure_fate(item)}" for item in result["failures"]]
    if left_out := result.get("failures_left_out"):
        command = f"noetl execution events {result['execution_id']} --name step.failed"
        lines.append(f"failure    … and {counted(left_out, 'more failure')}: {command}")
    return lines


def _step_lines(result: ExecutionAnswer, runs: list[RunStanding]) -> list[str]:
    """How each step stands; of what has not ended, since when and what it waits for."""
    from noetl.cli.running.standing import standing_lines

    width = width_of(result["steps"])
    now = datetime.now(UTC)
    taken = {failure["step"] for failure in result["failures"]}
    lines: list[str] = []
    for name, step in result["steps"].items():
        cut_off = result["status"] == "cancelled" and step["status"] == "failed" and name not in taken
        here = [run for run in runs if run["step"] == name]
        status = here[0]["status"] if here else "cancelled" if cut_off else step["status"]
        often = f"  {step['runs']} runs" if step["runs"] > 1 else ""
        lines.append(f"step       {name:<{width}}  {status}{often}")
        for run in here[:RUNS_MAX]:
            lines += [f"           {line}" for line in standing_lines(run, result["execution_id"], now)]
        lines += [f"           … and {len(here) - RUNS_MAX:,} more runs"] if len(here) > RUNS_MAX else []
    return lines


def _executor(playbook: PlaybookVersion) -> str:
    """The version that the playbook's executor section names."""
    version = playbook.get("executor_version")
    return "" if version is None else f"  executor {version}"
