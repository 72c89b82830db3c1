"""`noetl compile`: print a playbook as the engine sees it. Normalising and expanding are the language's."""

import json
from typing import TYPE_CHECKING, Any

import click

from noetl import __version__
from noetl.cli.terminal import emit, note, width_of
from noetl.errors import NotFound
from noetl.json_value import Json

if TYPE_CHECKING:
    from noetl.cli.playbooks.validation import CheckResult
    from noetl.dsl.sugar.generated_tasks import Origin

EPILOG = """\b
Examples:
  noetl compile pages.yaml
  noetl compile pages.yaml --step fetch
  noetl compile pages.yaml --debug-map

\b
Exit codes: 0 compiled, 1 the playbook has errors, 2 wrong usage.
"""


@click.command("compile", epilog=EPILOG)
@click.argument("playbook", metavar="FILE", type=click.Path())
@click.option("--step", "step_name", metavar="NAME", help="Print only this step.")
@click.option("--debug-map", is_flag=True, help="Print which line each generated task comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of YAML.")
def command(playbook: str, step_name: str | None, debug_map: bool, as_json: bool) -> int:
    """Print a playbook as the engine sees it.

    Older spellings are replaced, unnamed tasks have names, and choose, while, until and paginate are expanded
    into plain tasks. The result is itself a valid playbook. FILE may be - for standard input.
    """
    from noetl.cli.playbooks.require_valid import require_valid

    checked = require_valid(playbook)
    if checked is None:
        return 1
    tree = _with_label(checked.loaded.expanded)
    value = tree if step_name is None else _step(tree, step_name)
    if debug_map:
        text = _debug_map(checked, step_name, as_json)
        if text:
            emit(text)
        else:
            note("no task is generated here")
        return 0
    emit(json.dumps(value, indent=2, ensure_ascii=False) if as_json else _yaml(checked.name, value))
    return 0


def _with_label(tree: object) -> dict[str, Any]:
    """The expanded tree with the label that says so; only then may task names hold dots."""
    from noetl.dsl.grammar.playbook import COMPILED_LABEL
    from noetl.dsl.yaml.tree import plain

    value: dict[str, Any] = plain(tree)
    metadata = value["metadata"]
    labels = {**(metadata.get("labels") or {}), COMPILED_LABEL: "true"}
    return {**value, "metadata": {**metadata, "labels": labels}}


def _step(tree: dict[str, Any], name: str) -> dict[str, Json]:
    import difflib

    steps: dict[str, dict[str, Json]] = {step["step"]: step for step in tree["workflow"]}
    if name in steps:
        return steps[name]
    near = difflib.get_close_matches(name, list(steps), n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"the steps are: {', '.join(steps)}"
    raise NotFound(f"the playbook has no step '{name}'", hint=hint)


def _debug_map(checked: "CheckResult", step_name: str | None, as_json: bool) -> str:
    origins = [o for o in checked.loaded.debug_map.values() if step_name in (None, o.owner)]
    if as_json:
        return json.dumps([_origin(origin) for origin in origins], indent=2, ensure_ascii=False)
    rows = [(f"{o.owner}/{o.label}", f"{checked.name}:{o.mark.line}:{o.mark.column}") for o in origins]
    width = width_of(label for label, _ in rows)
    return "\n".join(f"{label.ljust(width)}  {place}" for label, place in rows)


def _origin(origin: "Origin") -> dict[str, object]:
    return {
        "step": origin.owner,
        "task": origin.label,
        "item": origin.item,
        "clause": origin.clause,
        "line": origin.mark.line,
        "column": origin.mark.column,
        "path": origin.mark.path,
    }


def _yaml(name: str, value: dict[str, Json]) -> str:
    from noetl.dsl.yaml.source import dump

    header = f"# Compiled by noetl {__version__} from {name}. Change the source and compile again."
    return f"{header}\n{dump(value).rstrip()}"
