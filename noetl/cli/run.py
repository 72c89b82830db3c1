"""`noetl run`: run a playbook in this process and say how it went."""

import asyncio
from typing import Any

import click

SERVER = "Run on a server; this version runs playbooks in its own process only."


@click.command("run")
@click.argument("playbook", required=False, metavar="FILE|PATH")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a workload key; typed as YAML, dotted.",
)
@click.option("--input", "input_file", metavar="FILE|-", help="Workload values from a JSON or YAML file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@click.option("--events", "as_events", is_flag=True, help="Print each event as a JSON line when it happens.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but data and errors.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Cancel the run after S seconds.",
)
@click.option("--until", metavar="STEP", help="Pause when a token comes to STEP.")
@click.option("--server", metavar="URL", help=SERVER)
@click.option("--detach", is_flag=True, help="Start it, print its id and leave it to another process.")
@click.option("--idempotency-key", metavar="K", help="Run at most once under this key; a repeat attaches.")
@click.option("--resume", is_flag=True, help="Go on with the newest execution instead of starting one.")
def command(playbook: str | None, **options: Any) -> int:
    """Run a playbook and say how it went.

    FILE is a playbook file or `-`; PATH is the path of a registered playbook or of one in the project folder.
    Ctrl-C once finishes the running tasks and leaves an execution that can be resumed; twice stops at once.

    Exit codes: 0 completed, 1 failed or not valid, 2 wrong usage, 4 cancelled, 5 paused, 124 out of time,
    130 interrupted.
    """
    _check(playbook, options)
    from noetl.cli import local, running
    from noetl.cli.payload import read_payload

    settings = local.settings(options["server"])
    payload = read_payload(options["input_file"], options["assignments"])
    watch = running.watcher(
        as_json=options["as_json"], as_events=options["as_events"], quiet=options["quiet"]
    )
    if playbook is None:
        return asyncio.run(running.resume(settings, local.LAST, watch, options["timeout"]))
    wish = running.Wish(
        payload, options["timeout"], options["until"], options["idempotency_key"], options["detach"]
    )
    return asyncio.run(running.run(settings, playbook, wish, watch))


def _check(playbook: str | None, options: dict[str, Any]) -> None:
    """Refuse what cannot be meant together."""
    if options["as_json"] and options["as_events"]:
        raise click.UsageError("--json and --events cannot be used together")
    if options["resume"] and playbook is not None:
        raise click.UsageError("--resume goes on with the newest execution; it takes no playbook")
    if options["resume"]:
        given = {"--set": "assignments", "--input": "input_file", "--until": "until", "--detach": "detach"}
        given["--idempotency-key"] = "idempotency_key"
        wrong = [flag for flag, name in given.items() if options[name]]
        if wrong:
            raise click.UsageError(f"--resume cannot be used with {', '.join(wrong)}")
    elif playbook is None:
        raise click.UsageError("name a playbook to run, or use --resume")
