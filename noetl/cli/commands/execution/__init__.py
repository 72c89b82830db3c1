"""`noetl execution`: one file per subcommand; each takes an execution's id, its beginning, or `@last`."""

from typing import ClassVar

import click

from noetl.cli.command_classes import LazyGroup

SUBCOMMANDS = {
    "list": "the newest executions",
    "show": "one execution: status, steps, output, error",
    "why": "why it went as it did, with the values seen",
    "events": "what happened, in order",
    "logs": "what tasks printed",
    "watch": "follow an execution that another process runs",
    "diff": "how two executions differ",
    "replay": "fold the log again, decide every decision again, check every invariant",
    "export": "the log as JSON lines or XES",
    "pause": "schedule nothing more until it is resumed",
    "resume": "go on with one that was interrupted, crashed or paused",
    "cancel": "end it",
    "release": "try again with one that is stuck",
    "signal": "give a waiting task its signal",
    "retry": "run an ended one again from what failed, keeping what succeeded",
    "rerun": "run an ended one again from any step, or with a changed playbook",
}


class Executions(LazyGroup):
    """The commands about one execution."""

    package = "noetl.cli.commands.execution."
    lines = SUBCOMMANDS
    prefix = "execution "
    elsewhere: ClassVar = {
        **dict.fromkeys(("stop", "kill", "abort", "terminate", "end"), "execution cancel"),
        **dict.fromkeys(("describe", "status", "get", "inspect"), "execution show"),
        **dict.fromkeys(("start", "run", "create"), "run"),
        "history": "execution events",
        "restart": "execution retry",
        "delete": "db gc",
    }


@click.command("execution", cls=Executions)
def command() -> None:
    """List, show, explain, stop or go on with executions.

    An execution is named by its id, by the beginning of it, by @last for the newest that you started, or by
    @last:PATH for the newest of a playbook.
    """
