"""How commands are run and found: a command may be a coroutine, a group may load its commands when called."""

import importlib
from collections.abc import Coroutine, Mapping
from typing import ClassVar

import click


class Command(click.Command):
    """A command; one that is a coroutine function runs to its end in a loop of its own."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            result = super().invoke(ctx)
            if not isinstance(result, Coroutine):
                return result
            import asyncio

            return asyncio.run(result)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # so that its own help is named
            raise


class Group(click.Group):
    """Commands that stand in one module."""

    command_class = Command
    aliases: ClassVar[Mapping[str, str]] = {"delete": "remove"}  # what is gone is said in either word

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; where there is none, the one that the name is another word for."""
        return super().get_command(ctx, cmd_name) or super().get_command(
            ctx, self.aliases.get(cmd_name, cmd_name)
        )


class LazyGroup(click.Group):
    """Commands with a module each, which is imported when its command is called, so that help stays quick."""

    package: ClassVar[str]  # ends with a dot; each module below it has a `command`
    lines: ClassVar[Mapping[str, str]]  # command -> its line in the help
    aliases: ClassVar[Mapping[str, str]] = {}
    elsewhere: ClassVar[Mapping[str, str]] = {}  # what is no command here -> what does it
    prefix: ClassVar[str] = ""  # what stands before a command's name in a sentence

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.lines]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self.aliases.get(cmd_name, cmd_name)
        if name not in self.lines:
            return None
        command: click.Command = importlib.import_module(self.package + name).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the nearest one."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], [*self.lines, *self.aliases], n=1)
            meant = (
                f"noetl {self.elsewhere[args[0]]}" if args[0] in self.elsewhere else next(iter(near), None)
            )
            message = f"there is no command '{self.prefix}{args[0]}'"
            raise click.UsageError(message + (f"; did you mean '{meant}'?" if meant else ""), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*self.lines.items()])
