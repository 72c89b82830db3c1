"""`noetl execution`: one file per subcommand; each takes an execution's id, its beginning, or `@last`."""

import difflib
import importlib

import click

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


class Executions(click.Group):
    """Loads a subcommand when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand."""
        return [*SUBCOMMANDS]  # not list(): a subcommand of that name may stand in this module

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the subcommand's module."""
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = importlib.import_module(f"noetl.cli.commands.execution.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand, or name the nearest one."""
        if args[0] not in SUBCOMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], SUBCOMMANDS, n=1)
            message = f"there is no command 'execution {args[0]}'"
            raise click.UsageError(message + (f"; did you mean '{near[0]}'?" if near else ""), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One line per subcommand, without loading any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([*SUBCOMMANDS.items()])


@click.command("execution", cls=Executions)
def command() -> None:
    """List, show, explain, stop or go on with executions.

    An execution is named by its id, by the beginning of it, by @last for the newest that you started, or by
    @last:PATH for the newest of a playbook.
    """
