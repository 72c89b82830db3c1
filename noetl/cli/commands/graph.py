"""`noetl graph`: draw a playbook. What is drawn and how is in drawings."""

import importlib
from pathlib import Path

import click

from noetl.cli.terminal import emit, note
from noetl.errors import RequestError

FORMATS = ("mermaid", "dot", "svg", "json", "pnml")
SUFFIXES = {".mmd": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg", ".json": "json", ".pnml": "pnml"}

EPILOG = """\b
Examples:
  noetl graph hello.yaml
  noetl graph hello.yaml -o hello.svg
  noetl graph hello.yaml --format dot | dot -Tpng > hello.png

\b
Exit codes: 0 drawn, 1 the playbook has errors, 2 wrong usage.
"""


@click.command("graph", epilog=EPILOG)
@click.argument("playbook", metavar="FILE", type=click.Path())
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Output format.  [default: mermaid, or as FILE ends]"
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file instead of stdout.")
def command(playbook: str, form: str | None, output: str | None) -> int:
    """Draw a playbook: its steps, and its arcs with their guards.

    mermaid goes into Markdown, svg is a finished picture, dot is for Graphviz, json for programs, and pnml is
    the Petri net for model checkers. FILE may be - for standard input.
    """
    from noetl.cli.playbooks.require_valid import require_valid
    from noetl.dsl.net.diagram import sketch

    checked = require_valid(playbook)
    if checked is None or checked.loaded.playbook is None:
        return 1
    format_name = form or SUFFIXES.get(Path(output or "").suffix, "mermaid")
    text: str = importlib.import_module(f"noetl.drawings.{format_name}").render(
        sketch(checked.loaded.playbook)
    )
    if output is None:
        emit(text)
    else:
        _write(output, text)
    return 0


def _write(output: str, text: str) -> None:
    try:
        Path(output).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RequestError(
            f"cannot write '{output}': {error.strerror}", hint="choose another place with -o"
        ) from error
    note(f"wrote {output}")
