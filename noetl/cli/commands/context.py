"""`noetl context`: servers by name, each with its token, in a file that only its owner reads."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from noetl.cli import options
from noetl.cli.terminal import emit_list, note, width_of
from noetl.errors import NotFound
from noetl.settings import CONTEXTS_NAME, Context, contexts, load

NAME = re.compile(r"[A-Za-z_][\w.-]*")

EPILOG = """\b
Examples:
  noetl context add prod https://noetl.example.com --token -
  noetl context use prod
  noetl run hello.yaml --server prod
  noetl context use --none
"""


@click.group("context", epilog=EPILOG)
def command() -> None:
    """Give servers names, and choose the one that commands talk to.

    The token of a context is only ever sent to the server of that context.
    """


@command.command("add")
@click.argument("name")
@click.argument("server", metavar="URL")
@click.option("--token", metavar="TEXT|-", help="The bearer token for it; `-` reads it from standard input.")
@click.option("--use", is_flag=True, help="Also choose it.")
def add(name: str, server: str, token: str | None, use: bool) -> None:
    """Give the server at URL a name; a context that has the name is replaced.

    What stands on a command line can be seen by others: prefer `--token -`.
    """
    from noetl.adapters.http.client import address

    if not NAME.fullmatch(name):
        raise click.UsageError(f"'{name}' is no name for a context: use letters, digits, _ . and -")
    secret = sys.stdin.readline().strip() if token == "-" else token
    if token is not None and not secret:
        raise click.UsageError("the token is empty")
    home, entries = _contexts()
    is_current = use or any(entry.current and entry.name == name for entry in entries)
    others = [_with(entry, current=entry.current and not use) for entry in entries if entry.name != name]
    _write(home, [*others, Context(name, address(server), secret, is_current)])
    note(
        f"added {name}: {address(server)}"
        + ("" if is_current else f"; use it with: noetl context use {name}")
    )


@command.command("use")
@click.argument("name", required=False)
@click.option("--none", is_flag=True, help="Talk to no server: run playbooks in this process again.")
def use(name: str | None, none: bool) -> None:
    """Let commands talk to the server of a context from now on."""
    if (name is None) != none:
        raise click.UsageError("name a context, or use --none")
    home, entries = _contexts()
    if name is not None:
        _check(name, entries)
    _write(home, [_with(entry, current=entry.name == name) for entry in entries])
    note("no context is in use" if name is None else f"using {name}")


@command.command("list")
@options.as_json
def list_contexts(as_json: bool) -> None:
    """List the contexts; the one in use is marked. No token is shown."""
    _, entries = _contexts()
    width = width_of(entry.name for entry in entries)

    def line(entry: Context) -> str:
        token = "  with a token" if entry.token else ""
        return f"{'*' if entry.current else ' '} {entry.name:<{width}}  {entry.server}{token}"

    empty = "no contexts; add one with: noetl context add NAME URL"
    emit_list(entries, line, fields=_fields, empty=empty, as_json=as_json)


def _fields(entry: Context) -> dict[str, object]:
    has_token = entry.token is not None
    return {"name": entry.name, "server": entry.server, "token": has_token, "current": entry.current}


@command.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Forget a context and its token."""
    home, entries = _contexts()
    _check(name, entries)
    _write(home, [entry for entry in entries if entry.name != name])
    note(f"removed {name}")


def _contexts() -> tuple[Path, tuple[Context, ...]]:
    home = load().home
    return home, contexts(home)


def _check(name: str, entries: tuple[Context, ...]) -> None:
    if not any(entry.name == name for entry in entries):
        names = ", ".join(entry.name for entry in entries)
        hint = f"the contexts are: {names}" if names else "noetl context add NAME URL"
        raise NotFound(f"there is no context '{name}'", hint=hint)


def _with(entry: Context, *, current: bool) -> Context:
    return Context(entry.name, entry.server, entry.token, current)


def _write(home: Path, entries: Iterable[Context]) -> None:
    """Put the contexts in the place of the file: all of it or nothing, readable by nobody else."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = home / f".{CONTEXTS_NAME}.{os.getpid()}"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(_toml(sorted(entries, key=lambda entry: entry.name)))
        draft.replace(home / CONTEXTS_NAME)
    finally:
        draft.unlink(missing_ok=True)


def _toml(entries: list[Context]) -> str:
    lines = [f"current = {_toml_string(entry.name)}" for entry in entries if entry.current]
    for entry in entries:
        lines += ["", f"[contexts.{_toml_string(entry.name)}]", f"server = {_toml_string(entry.server)}"]
        lines += [f"token = {_toml_string(entry.token)}"] if entry.token is not None else []
    return "\n".join(lines) + "\n"


def _toml_string(text: str) -> str:
    """A basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    letters = (letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in escaped)
    return f'"{"".join(letters)}"'
