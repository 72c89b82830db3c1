"""What a notebook shows: how an execution stands, its steps, its output as a table, its graph.

Only text and HTML are made here; everything that a playbook wrote is escaped.
"""

from collections.abc import Iterable, Mapping
from html import escape
from typing import cast

import msgspec

from noetl.client.result import Result, rows_of
from noetl.errors import RequestError
from noetl.json_value import Json, JsonObject

ROWS, CELL = 20, 200
COLOURS = {"completed": "#2e7d32", "failed": "#c62828", "stuck": "#c62828", "cancelled": "#757575"}
OTHER = "#1565c0"


def result_bundle(result: Result) -> Mapping[str, str]:
    """A result for a notebook, with a text for where there is no HTML."""
    return {"text/plain": _text(result), "text/html": _page(result)}


def execution_bundle(result: Result, graph: JsonObject) -> Mapping[str, str]:
    """An execution for a notebook: how it stands and its graph."""
    return {**result_bundle(result), "text/vnd.mermaid": _mermaid(result, graph)}


def _text(result: Result) -> str:
    said = f": {result.error.get('message')}" if result.error else ""
    return f"{result.path} {result.status} in {result.duration} ({result.execution_id}){said}"


def _page(result: Result) -> str:
    colour = COLOURS.get(result.status, OTHER)
    head = (
        f'<div><b>{escape(result.path)}</b> <span style="color:{colour}">{escape(result.status)}</span> '
        f"in {escape(str(result.duration))} <code>{escape(result.execution_id)}</code></div>"
    )
    error = f"<pre>{escape(str(result.error.get('message')))}</pre>" if result.error else ""
    return f"{head}{_progress(result)}{error}{_steps(result)}{_output(result.output)}"


def _progress(result: Result) -> str:
    over = sum(1 for step in result.steps.values() if step["status"] not in ("running", "waiting", "pending"))
    return f'<progress max="{max(len(result.steps), 1)}" value="{over}"></progress>'


def _steps(result: Result) -> str:
    rows = [
        {"step": name, "status": step["status"], "runs": step["runs"]} for name, step in result.steps.items()
    ]
    return _table(rows, ("step", "status", "runs")) if rows else ""


def _output(output: Json) -> str:
    try:
        rows = rows_of(output) if isinstance(output, list | dict) else []
    except RequestError:
        rows = []
    if not rows:
        return "" if output is None else f"<pre>{escape(_short(output, 2000))}</pre>"
    columns = tuple(dict.fromkeys(name for row in rows[:ROWS] for name in row))
    more = f"<div>{len(rows) - ROWS} more rows</div>" if len(rows) > ROWS else ""
    return f"{_table(rows[:ROWS], columns)}{more}"


def _table(rows: Iterable[Mapping[str, object]], columns: tuple[str, ...]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_short(row.get(name), CELL))}</td>' for name in columns)}</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _short(value: object, most: int) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _mermaid(result: Result, graph: JsonObject) -> str:
    steps = cast("list[JsonObject]", graph["steps"])
    number = {str(step["step"]): place for place, step in enumerate(steps)}
    lines = ["flowchart LR"]
    for name, place in number.items():
        status = result.steps[name]["status"] if name in result.steps else ""
        lines.append(f'  n{place}["{_quoted(name)}{f"<br/>{status}" if status else ""}"]')
    for arc in cast("list[JsonObject]", graph["arcs"]):
        start, end = number.get(str(arc["from"])), number.get(str(arc["to"]))
        if start is not None and end is not None:
            lines.append(f"  n{start} --> n{end}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;")
