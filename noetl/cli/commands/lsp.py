"""`noetl lsp`: the language server, over standard input and output. What it knows is noetl.lsp's."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noetl.dsl.load import Loaded

EPILOG = """\b
Editors start it themselves; most are told of it like this:
  command: noetl lsp      language: yaml

\b
Exit codes: 0 when the editor ends the conversation, 2 wrong usage.
"""


@click.command("lsp", epilog=EPILOG)
def command() -> int:
    """Check, complete and explain playbooks while they are written: a language server over stdio.

    Findings as you type, completion of keys, kinds, inputs, steps, labels and names in templates, hover, go
    to definition, rename, quick fixes, outline and folding. Hover also shows what the newest run in the store
    of this project had. It runs nothing and asks no server.
    """
    from noetl.cli.connection.last_run import last_value
    from noetl.lsp.server import language_server
    from noetl.wiring.tool_kinds import kinds

    language_server(_checked, kinds, _enter, last_value).start_io()
    return 0


def _enter(folder: str) -> None:
    """Work in the folder that the editor has open, wherever it started this program."""
    with suppress(
        FileNotFoundError, NotADirectoryError, PermissionError
    ):  # then it is the folder of the start
        os.chdir(folder)


def _checked(text: str) -> "Loaded | None":
    """A playbook, checked as `noetl validate` does; None of other YAML, of which an editor opens much."""
    from noetl.cli.playbooks.sources import LOOKS_LIKE_PLAYBOOK, Source
    from noetl.cli.playbooks.validation import check

    source = Source("the text", text.encode())
    return check(source).loaded if LOOKS_LIKE_PLAYBOOK.search(source.data) else None
