"""`noetl init`: begin a small project. What its files say is project_template.py's."""

import os
from typing import TYPE_CHECKING

import click

from noetl.cli import options
from noetl.cli.terminal import emit, emit_json, note

if TYPE_CHECKING:
    from noetl.cli.playbooks.project_template import Project

EPILOG = """\b
Examples:
  noetl init orders      a project in the new folder orders
  noetl init             the same in this folder
  noetl init --tool geocode   a tool kind of this project's own, with its test

\b
Exit codes: 0, or 2 when one of its files is there already: then nothing is written.
"""


@click.command("init", epilog=EPILOG)
@click.argument("name", required=False)
@click.option("--tool", "tool", metavar="NAME", help="Begin a tool kind in this project instead.")
@options.as_json
def command(name: str | None, tool: str | None, as_json: bool) -> int:
    """Begin a small project: a playbook, a test of it, and what editors need to complete both.

    NAME is a new or existing folder; without it, this one. No file is ever overwritten. With --tool, a
    function that is a tool kind and its test are added to the project of this folder.
    """
    if tool is not None and name is not None:
        raise click.UsageError("--tool adds to the project of this folder; it takes no other folder")
    if tool is not None:
        from noetl.cli.playbooks.tool_template import begin_tool

        project = begin_tool(tool)
    else:
        from noetl.cli.playbooks.project_template import begin

        project = begin(name)
    if as_json:
        facts = {"folder": os.path.abspath(project.folder), "files": project.files, "kept": project.existing}
        emit_json({**facts, "next": project.commands})
    else:
        _tell(project)
    return 0


def _tell(project: "Project") -> None:
    for file in project.files:
        emit(os.path.normpath(os.path.join(project.folder, file)))
    for file in project.existing:
        note(f"{file} was there already and is as it was")
    if ".gitignore" in project.existing:
        note("add .noetl/ to .gitignore: executions are kept there")
    note("\nnext:")
    for line in project.commands:
        note(f"  {line}")
