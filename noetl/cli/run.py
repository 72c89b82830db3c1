"""`noetl run`: run a playbook, here or on a server, and say how it went."""

import asyncio
from typing import Any

import click

from noetl.cli.payload import read_payload


@click.command("run")
@click.argument("playbook", required=False, metavar="FILE|PATH")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Set a workload key; typed as YAML, dotted.")
@click.option("--input", "input_file", metavar="FILE|-", help="Workload values from a JSON or YAML file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@click.option("--events", "as_events", is_flag=True, help="Print each event as a JSON line when it happens.")
@click.option("--quiet", is_flag=True, help="Print nothing but data and errors.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Cancel the run after S seconds.")
@click.option("--until", metavar="STEP", help="Pause when a token comes to STEP.")
@click.option("--server", metavar="URL", help="Run on a server instead of in this process.")
@click.option("--detach", is_flag=True, help="Start it and return.")
@click.option("--idempotency-key", metavar="K", help="Run at most once under this key.")
@click.option("--resume", is_flag=True, help="Go on with the newest execution instead of starting one.")
def command(playbook: str | None, as_json: bool, as_events: bool, **options: Any) -> int:
    """Run a playbook.

    FILE is a playbook file; PATH is the path of a registered one or of one in the project folder.
    """
    from noetl.cli import running
    from noetl.settings import load

    if options["server"]:
        raise click.UsageError("--server: this version runs playbooks embedded only")
    payload = read_payload(options["input_file"], options["assignments"])
    watch = running.watcher(as_json=as_json, as_events=as_events, quiet=options["quiet"])
    settings = load({})
    if options["resume"] == (playbook is not None):
        raise click.UsageError("name a playbook to run, or use --resume alone")
    if playbook is None:
        return asyncio.run(running.resume(settings, "@last", watch, options["timeout"]))
    return asyncio.run(running.run(settings, playbook, payload, watch, options))

