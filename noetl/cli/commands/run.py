"""`noetl run`: run a playbook, in this process or on a server, and say how it went."""

from typing import Literal, Unpack

import click

from noetl.cli import completers, options
from noetl.cli.command_classes import Command
from noetl.cli.connection.caller import caller


class RunChoices(options.OutputChoices):
    """The options of `run`."""

    assignments: tuple[str, ...]
    input_file: str | None
    until: str | None
    detach: bool
    idempotency_key: str | None
    version: int | None
    fail_on_errors: bool
    resume: bool


NewRunOption = Literal["assignments", "input_file", "until", "detach", "idempotency_key", "version"]
FOR_A_NEW_RUN: dict[str, NewRunOption] = {
    "--set": "assignments",
    "--input": "input_file",
    "--until": "until",
    "--detach": "detach",
    "--idempotency-key": "idempotency_key",
    "--version": "version",
}
SERVER = "Run on this server: its address, or the name of a context."


@click.command("run", cls=Command)
@click.argument(
    "playbook",
    required=False,
    metavar="FILE|PATH",
    type=click.Path(),
    shell_complete=completers.playbooks_and_files,
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a workload key; typed as YAML, dotted.",
)
@click.option(
    "--version",
    type=click.IntRange(min=1),
    metavar="N",
    help="Not the newest version of a registered playbook.",
)
@click.option(
    "--input",
    "input_file",
    metavar="FILE|-",
    type=click.Path(),
    help="Workload values from a JSON or YAML file.",
)
@options.output_options
@options.timeout
@click.option("--until", metavar="STEP", help="Pause when a token comes to STEP.")
@options.server_option(SERVER)
@click.option("--detach", is_flag=True, help="Start it, print its id and leave it to another process.")
@click.option("--idempotency-key", metavar="K", help="Run at most once under this key; a repeat attaches.")
@click.option(
    "--fail-on-errors", is_flag=True, help="Exit with 1 also when iterations of a best-effort loop failed."
)
@click.option("--resume", is_flag=True, help="Go on with the newest execution instead of starting one.")
async def command(playbook: str | None, **choices: Unpack[RunChoices]) -> int:
    """Run a playbook and say how it went.

    FILE is a playbook file or `-`; PATH is the path of a registered playbook or of one in the project folder.
    Ctrl-C once finishes the running tasks and leaves an execution that can be resumed; twice stops at once.
    On a server it goes on: Ctrl-C and --timeout only stop the watching.

    A failure that no guard asked about fails the run; failed iterations of a best-effort loop, which the last
    line counts, do so only with --fail-on-errors.

    Exit codes: 0 completed, 1 failed or not valid, 2 wrong usage, 3 no server, 4 cancelled, 5 paused,
    124 out of time, 130 interrupted.
    """
    _check(playbook, choices)
    from noetl.cli.running import run_flow
    from noetl.cli.running.run_input import read_payload
    from noetl.ports.execution_name import LAST
    from noetl.ports.front import Ask

    payload = read_payload(choices["input_file"], choices["assignments"])
    viewer = run_flow.Viewer(choices)
    viewer.watch.fails_on_errors = choices["fail_on_errors"]
    if playbook is None:
        return await run_flow.resume(viewer, LAST)
    key, until = choices["idempotency_key"], choices["until"]
    ask = Ask(version=choices["version"], workload=payload, idempotency_key=key, until=until, by=caller())
    return await run_flow.run(viewer, playbook, ask, detach=choices["detach"])


def _check(playbook: str | None, choices: RunChoices) -> None:
    """Refuse what cannot be meant together."""
    if playbook is not None and choices["version"] is not None:
        from noetl.cli.playbooks.playbook_text import is_file

        if is_file(playbook):
            raise click.UsageError(f"--version is of a registered playbook; '{playbook}' is a file")
    if choices["resume"] and playbook is not None:
        raise click.UsageError("--resume goes on with the newest execution; it takes no playbook")
    if not choices["resume"] and playbook is None:
        raise click.UsageError("name a playbook to run, or use --resume")
    wrong = [flag for flag, name in FOR_A_NEW_RUN.items() if choices["resume"] and choices[name]]
    if playbook == choices["input_file"] == "-":
        raise click.UsageError("only one of the playbook and --input can come from standard input")
    if choices["idempotency_key"] == "":
        raise click.UsageError("the idempotency key is empty")
    if choices["detach"] and choices["fail_on_errors"]:
        raise click.UsageError("--fail-on-errors waits for the end of the run, which --detach does not")
    if wrong:
        raise click.UsageError(f"--resume cannot be used with {', '.join(wrong)}")
