"""`noetl execution`: one file per subcommand; each takes an execution's id or `@last`."""

import importlib

import click

SUBCOMMANDS = {
    "events": "print the events of an execution",
    "replay": "fold the log again, decide every decision again, check every invariant",
}


class Executions(click.Group):
    """Loads a subcommand when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the subcommand's module."""
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = importlib.import_module(f"noetl.cli.execution.{cmd_name}").command
        return command


@click.command("execution", cls=Executions)
def command() -> None:
    """List, show, explain, stop or go on with executions."""
