"""Options that several commands share: the server, what a followed run shows, how long it may take."""

import shlex
from collections.abc import Callable
from typing import TypedDict

import click

from noetl.cli import completers
from noetl.json_value import JsonObject

Command = Callable[..., object]
SERVER = "noetl.server"
WHICH = """

    ID is the execution's id or the beginning of it, @last the newest that you started and that is nobody's
    child, @last:PATH the newest of a playbook.
    """


class OutputFormat(TypedDict):
    """What a run that is followed prints."""

    as_json: bool
    as_events: bool
    quiet: bool


class OutputChoices(OutputFormat, total=False):
    """The same among the options of a command, with how long a run may take where it has that option."""

    raw: bool
    verbose: bool
    timeout: float | None


class WorkloadChoices(TypedDict):
    """What a playbook is given whenever it is started."""

    version: int | None
    file: str | None
    assignments: tuple[str, ...]


class PlaybookStart(TypedDict):
    """A registered playbook, and what it is given."""

    path: str
    version: int | None
    workload: JsonObject


def execution(function: Command) -> Command:
    """The execution a command is about, and the server that has it."""
    function.__doc__ = f"{function.__doc__ or ''}{WHICH}"
    return click.argument("execution", metavar="ID|@last", shell_complete=completers.executions)(
        server(function)
    )


def as_json(function: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def server(function: Command) -> Command:
    """The server that a command speaks to; the settings are read with it."""
    help_text = "Of this server, by its address or its context; not of the store here."
    return server_option(help_text)(function)


def server_option(help_text: str) -> Callable[[Command], Command]:
    """The same in other words."""
    return click.option("--server", metavar="URL", expose_value=False, callback=_keep, help=help_text)


def _keep(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    ctx.meta[SERVER] = value


def chosen_server() -> str | None:
    """The server that this command line names."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(SERVER)


def server_flag() -> str:
    """What a command that is printed needs besides, to speak to the server that this one spoke to."""
    name = chosen_server()
    return "" if name is None else f" --server {shlex.quote(name)}"


def workload(function: Command) -> Command:
    """What a playbook is given whenever it is started: its version and its workload."""
    for option in (
        click.option("--version", type=click.IntRange(min=1), metavar="N", help="Not the newest version."),
        click.option(
            "--input",
            "file",
            metavar="FILE|-",
            type=click.Path(),
            help="Workload values from a JSON or YAML file.",
        ),
        click.option(
            "--set", "assignments", multiple=True, metavar="KEY=VALUE",
            help="Set a workload key; typed as YAML, dotted.",
        ),
    ):  # fmt: skip
        function = option(function)
    return function


def playbook_start(path: str, choices: WorkloadChoices) -> PlaybookStart:
    """What starts by itself: a registered playbook by its path; a file has one, but is none."""
    from noetl.cli.playbooks.sources import SUFFIXES
    from noetl.cli.running.run_input import read_payload
    from noetl.errors import RequestError

    if path.endswith(SUFFIXES):
        message = f"'{path}' is a file; what starts by itself is registered, and named by its path"
        raise RequestError(message, hint=f"noetl register {path} says the path")
    payload = read_payload(choices["file"], choices["assignments"])
    return {"path": path, "version": choices["version"], "workload": payload}


def timeout(function: Command) -> Command:
    above_zero = click.FloatRange(min=0, min_open=True)
    return click.option(
        "--timeout", type=above_zero, metavar="S", help="Cancel after S seconds; a server's run goes on."
    )(function)


def output_options(function: Command) -> Command:
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Show what tasks print, while they print it."),
        click.option("-q", "--quiet", is_flag=True, help="Print nothing but data and errors."),
        click.option("--raw", is_flag=True, help="Print an output that is a text as it is, not as JSON."),
        click.option(
            "--events", "as_events", is_flag=True, help="Print each event as a JSON line as it happens."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end."),
    ):
        function = option(function)
    return function


def output_format(choices: OutputChoices) -> OutputFormat:
    """The choice that was made among them."""
    if choices["as_json"] and choices["as_events"]:
        raise click.UsageError("--json and --events cannot be used together")
    if choices.get("raw") and (choices["as_json"] or choices["as_events"]):
        raise click.UsageError("--raw prints an output as it is, which --json and --events do not")
    return {"as_json": choices["as_json"], "as_events": choices["as_events"], "quiet": choices["quiet"]}
