"""Options that several commands share: what a followed run shows, and how long it may take."""

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]


def execution(function: Command) -> Command:
    """The execution a command is about."""
    return click.argument("execution", metavar="ID|@last")(function)


def as_json(function: Command) -> Command:
    """Print data for programs."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def server(function: Command) -> Command:
    """The server that a command speaks to."""
    return click.option(
        "--server",
        metavar="URL",
        help="Of this server, by its address or its context; not of the store here.",
    )(function)


def workload(function: Command) -> Command:
    """What a playbook is given whenever it is started: its version and its workload."""
    for option in (
        click.option("--version", type=click.IntRange(min=1), metavar="N", help="Not the newest version."),
        click.option("--input", "file", metavar="FILE|-", help="Workload values from a JSON or YAML file."),
        click.option(
            "--set", "assignments", multiple=True, metavar="KEY=VALUE",
            help="Set a workload key; typed as YAML, dotted.",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def path(name: str) -> str:
    """The path of a registered playbook; a file has one, but is none."""
    from noetl.cli.sources import SUFFIXES
    from noetl.errors import RequestError

    if name.endswith(SUFFIXES):
        told = f"'{name}' is a file; what starts by itself is registered, and named by its path"
        raise RequestError(told, hint=f"noetl register {name} says the path")
    return name


def timeout(function: Command) -> Command:
    """Cancel a run that takes too long."""
    above_zero = click.FloatRange(min=0, min_open=True)
    return click.option(
        "--timeout", type=above_zero, metavar="S", help="Cancel after S seconds; a server's run goes on."
    )(function)


def showing(function: Command) -> Command:
    """What a run that is followed prints."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="Print nothing but data and errors."),
        click.option(
            "--events", "as_events", is_flag=True, help="Print each event as a JSON line as it happens."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end."),
    ):
        function = option(function)
    return function


def shown(given: dict[str, Any]) -> dict[str, bool]:
    """The choice that was made among them."""
    if given["as_json"] and given["as_events"]:
        raise click.UsageError("--json and --events cannot be used together")
    return {name: given[name] for name in ("as_json", "as_events", "quiet")}
