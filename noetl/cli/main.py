"""The door: which commands exist, what `noetl` alone prints, and the edge where errors become exit codes.

Only click is imported here. A command's module is loaded when that command is called, so that help stays
quick; a new command is one line in COMMANDS and one module with a `command`.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import click

from noetl import __version__
from noetl.cli.command_classes import LazyGroup
from noetl.cli.exit_codes import EXIT_CODES, EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_USAGE

# Group -> command -> its line in the help. The module is noetl.cli.commands.<command>.
COMMANDS: dict[str, dict[str, str]] = {
    "Run playbooks": {
        "run": "run a playbook and say how it went",
        "execution": "list, show, explain, stop, resume and retry executions",
        "render": "evaluate a template at any event of an execution",
        "dev": "a server over the playbooks of a folder, in one process",
    },
    "Write playbooks": {
        "init": "begin a small project: a playbook, its tests, its schemas",
        "validate": "check playbooks: what is wrong, where, and how to fix it",
        "compile": "print a playbook as the engine sees it, sugar expanded",
        "graph": "draw a playbook: mermaid, dot, svg, json or pnml",
        "migrate": "rewrite older spellings to the current language",
        "test": "run the tests of playbooks, and say what they cover",
        "lsp": "a language server: checks and completes in editors",
    },
    "Keep things": {
        "catalog": "registered playbooks: list, show, compare, delete",
        "register": "register playbooks, as `catalog register` does",
        "credential": "store secrets that playbooks use by name",
        "schedule": "start playbooks by the clock: cron and intervals",
        "backfill": "ticks of the past, made up for: watch and pause them",
        "trigger": "start playbooks by webhooks, NATS, ends of others",
        "notification": "who is told when executions fail, end, wait or are late",
        "token": "make, list and delete the tokens that a server lets in",
        "db": "the store: its schema, what is in it, and what may go",
    },
    "Run a cluster": {
        "server": "the control plane: start, stop, status",
        "worker": "the processes that run tasks: start, stop, list",
        "context": "servers by name, and the one that commands talk to",
        "mcp": "offer playbooks and executions to AI agents over MCP",
    },
    "Look things up": {
        "doctor": "check every connection and setting by name",
        "tools": "list the tool kinds, or explain one of them",
        "schema": "print the JSON Schema for editors, or that of one tool kind",
        "completion": "let bash, zsh or fish complete commands and options",
    },
}
ALIASES = {"lint": "validate", "exec": "execution"}
# What other programs call it, or what stands one level deeper.
ELSEWHERE = {
    "apply": "register",
    "deploy": "register",
    "start": "server start",
    "stop": "server stop",
    "execute": "run PATH",
    "query": "tools postgres",
    "playbook": "catalog list",
    "playbooks": "catalog list",
    "secret": "credential",
    "notify": "notification",
    "login": "context add",
    "config": "doctor",
    "version": "--version",
    "up": "server start",
    "ps": "execution list",
    "list": "execution list",
    "ls": "execution list",
    "status": "execution show @last",
    "describe": "execution show @last",
    "history": "execution events @last",
    **{
        name: f"execution {name} @last"
        for name in (
            *("cancel", "diff", "events", "export", "logs", "pause", "release", "replay", "rerun", "resume"),
            *("retry", "show", "signal", "watch", "why"),
        )
    },
}

# Options of other programs -> what is said here.
OPTIONS_ELSEWHERE = {
    **dict.fromkeys(("-f", "--file"), "name the file without an option"),
    **dict.fromkeys(("--payload", "--param", "--workload"), "give --set KEY=VALUE or --input FILE"),
}

ABOUT = "durable workflows as playbooks; not the program that the package index has under this name"
EXAMPLES = """\
Examples:
  noetl run hello.yaml                 run a playbook
  noetl execution why @last            explain how the newest run went
  noetl validate examples/             check every playbook of a folder
  noetl graph hello.yaml -o hello.svg  draw one
  noetl COMMAND --help                 everything a command can do
"""


class Commands(LazyGroup):
    """Every command, by group in the help."""

    package = "noetl.cli.commands."
    lines: ClassVar = {name: line for commands in COMMANDS.values() for name, line in commands.items()}
    aliases = ALIASES
    elsewhere = ELSEWHERE

    def _main_shell_completion(self, *arguments: Any, **named: Any) -> None:
        """Answer a shell that completes a line, and end: a name still looked up does not hold the process."""
        try:
            super()._main_shell_completion(*arguments, **named)
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(int(end.code or 0))

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The whole help: one line per command, grouped."""
        formatter.write("NoETL: durable workflows written as YAML playbooks.\n\n")
        formatter.write("Usage: noetl COMMAND [OPTIONS] [ARGUMENTS]\n")
        width = max(map(len, map(_with_aliases, self.lines)))
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(_with_aliases(name).ljust(width), line) for name, line in commands.items()]
                )
        with formatter.section("Options"):
            formatter.write_dl([record for p in self.get_params(ctx) if (record := p.get_help_record(ctx))])
        formatter.write("\n" + EXAMPLES)


def _with_aliases(name: str) -> str:
    return ", ".join([name, *(alias for alias, target in ALIASES.items() if target == name)])


@click.command(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="noetl", message=f"%(prog)s %(version)s ({ABOUT})")
@click.option("--debug", is_flag=True, help="Show a stack trace when something unexpected happens.")
@click.pass_context
def root(ctx: click.Context, debug: bool) -> None:
    """Durable workflows written as YAML playbooks."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command line and leave with its exit code."""
    _tolerate_any_character()
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run(words))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; every failure is printed and becomes an exit code."""
    arguments, debug = take_debug(arguments)
    try:
        code = root.main(list(arguments), prog_name="noetl", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        import warnings

        warnings.filterwarnings("ignore", "coroutine .* was never awaited")  # of a command that had not begun
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        return _report_usage(error)
    except Exception as error:  # the process edge
        if debug:
            import traceback

            traceback.print_exc()
        return _report_failure(error)
    return code if isinstance(code, int) else 0


def take_debug(arguments: Sequence[str]) -> tuple[Sequence[str], bool]:
    """`--debug` counts wherever it stands: it is added at the end of the line that has just failed."""
    cut = list(arguments).index("--") if "--" in arguments else len(arguments)
    words = [word for word in arguments[:cut] if word != "--debug"]
    return [*words, *arguments[cut:]], len(words) < cut


def _tolerate_any_character() -> None:
    """A character the terminal cannot show must not end the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _report_usage(error: click.ClickException) -> int:
    from noetl.cli.terminal import failure

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return EXIT_USAGE
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "noetl"
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.option_name in OPTIONS_ELSEWHERE:
        message = f"{message.rstrip('.')}; {OPTIONS_ELSEWHERE[error.option_name]}"
    failure("usage", message[:1].lower() + message[1:].rstrip("."), f"{path} --help", verb="try")
    return EXIT_USAGE


def _report_failure(error: Exception) -> int:
    from noetl.cli.extras import missing_extra
    from noetl.cli.terminal import failure
    from noetl.errors import NoetlError

    error = missing_extra(error) or error
    if isinstance(error, NoetlError):
        failure(error.code, error.message, error.hint)
        return EXIT_CODES.get(error.code, EXIT_USAGE)
    failure(
        "internal",
        f"{type(error).__name__}: {error}",
        "this is a bug in noetl; add --debug to the same command to see where it happened",
    )
    return EXIT_INTERNAL
