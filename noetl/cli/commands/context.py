"""`noetl context`: servers by name, each with its token, in a file that only its owner reads."""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from noetl.cli import options
from noetl.cli.terminal import emit, note
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
    written = sys.stdin.readline().strip() if token == "-" else token
    if token is not None and not written:
        raise click.UsageError("the token is empty")
    home, known = _known()
    chosen = use or any(one.current and one.name == name for one in known)
    others = [_with(one, current=one.current and not use) for one in known if one.name != name]
    _write(home, [*others, Context(name, address(server), written, chosen)])
    note(f"added {name}: {address(server)}" + ("" if chosen else f"; use it with: noetl context use {name}"))


@command.command("use")
@click.argument("name", required=False)
@click.option("--none", is_flag=True, help="Talk to no server: run playbooks in this process again.")
def use(name: str | None, none: bool) -> None:
    """Let commands talk to the server of a context from now on."""
    if (name is None) != none:
        raise click.UsageError("name a context, or use --none")
    home, known = _known()
    if name is not None:
        _check(name, known)
    _write(home, [_with(one, current=one.name == name) for one in known])
    note("no context is in use" if name is None else f"using {name}")


@command.command("list")
@options.as_json
def list_contexts(as_json: bool) -> None:
    """List the contexts; the one in use is marked. No token is shown."""
    _, known = _known()
    if as_json:
        from noetl.cli.running.run_summary import pretty

        shown = [
            {"name": one.name, "server": one.server, "token": one.token is not None, "current": one.current}
            for one in known
        ]
        emit(pretty(shown))
        return
    if not known:
        note("no contexts; add one with: noetl context add NAME URL")
    width = max((len(one.name) for one in known), default=0)
    for one in known:
        token = "  with a token" if one.token else ""
        emit(f"{'*' if one.current else ' '} {one.name:<{width}}  {one.server}{token}")


@command.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Forget a context and its token."""
    home, known = _known()
    _check(name, known)
    _write(home, [one for one in known if one.name != name])
    note(f"removed {name}")


def _known() -> tuple[Path, tuple[Context, ...]]:
    home = load().home
    return home, contexts(home)


def _check(name: str, known: tuple[Context, ...]) -> None:
    if not any(one.name == name for one in known):
        names = ", ".join(one.name for one in known)
        hint = f"the contexts are: {names}" if names else "noetl context add NAME URL"
        raise NotFound(f"there is no context '{name}'", hint=hint)


def _with(one: Context, *, current: bool) -> Context:
    return Context(one.name, one.server, one.token, current)


def _write(home: Path, known: Iterable[Context]) -> None:
    """Put the contexts in the place of the file: all of it or nothing, readable by nobody else."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = home / f".{CONTEXTS_NAME}.{os.getpid()}"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(_toml(sorted(known, key=lambda one: one.name)))
        draft.replace(home / CONTEXTS_NAME)
    finally:
        draft.unlink(missing_ok=True)


def _toml(known: list[Context]) -> str:
    lines = [f"current = {_quoted(one.name)}" for one in known if one.current]
    for one in known:
        lines += ["", f"[contexts.{_quoted(one.name)}]", f"server = {_quoted(one.server)}"]
        lines += [f"token = {_quoted(one.token)}"] if one.token is not None else []
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in escaped) + '"'
