"""`noetl init`: begin a small project. What its files say is project_template.py's."""

import os
from typing import TYPE_CHECKING

import click

from noetl.cli import options

if TYPE_CHECKING:
    from noetl.cli.playbooks.project_template import Project

EPILOG = """\b
Examples:
  noetl init orders      a project in the new folder orders
  noetl init             the same in this folder

\b
Exit codes: 0, or 2 when one of its files is there already: then nothing is written.
"""


@click.command("init", epilog=EPILOG)
@click.argument("name", required=False)
@options.as_json
def command(name: str | None, as_json: bool) -> int:
    """Begin a small project: a playbook, a test of it, and what editors need to complete both.

    NAME is a new or existing folder; without it, this one. No file is ever overwritten.
    """
    from noetl.cli.playbooks.project_template import begin
    from noetl.cli.running.run_summary import pretty
    from noetl.cli.terminal import emit

    made = begin(name)
    if as_json:
        facts = {"folder": os.path.abspath(made.folder), "files": made.files, "kept": made.kept}
        emit(pretty({**facts, "next": made.commands}))
    else:
        _tell(made)
    return 0


def _tell(made: "Project") -> None:
    from noetl.cli.terminal import emit, note

    for file in made.files:
        emit(os.path.normpath(os.path.join(made.folder, file)))
    for file in made.kept:
        note(f"{file} was there already and is as it was")
    if ".gitignore" in made.kept:
        note("add .noetl/ to .gitignore: executions are kept there")
    note("\nnext:")
    for line in made.commands:
        note(f"  {line}")
