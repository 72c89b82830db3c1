"""What a notebook shows: how an execution stands, its graph, its steps, its output as a table.

Only text and HTML are made here; everything that a playbook wrote is escaped.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape

import msgspec

from noetl.client.result import Result, rows_of
from noetl.drawings import svg
from noetl.dsl.net.diagram import Sketch
from noetl.errors import RequestError
from noetl.json_value import Json

ROWS, CELL = 20, 200
GRAPH_STEPS = 200  # more would be a picture in which nothing can be read
OPEN = ("running", "waiting", "queued")
COLOURS = {"completed": "#2e7d32", "failed": "#c62828", "stuck": "#c62828", "cancelled": "#757575"}
OTHER = "#1565c0"


def result_bundle(result: Result) -> Mapping[str, str]:
    """A result for a notebook, with a text for where there is no HTML."""
    return {"text/plain": _text(result), "text/html": _page(result)}


def _text(result: Result) -> str:
    said = f": {result.error.get('message')}" if result.error else ""
    return f"{result.path} {result.status} in {_took(result)} ({result.execution_id}){said}"


def _took(result: Result) -> str:
    seconds = result.duration.total_seconds()
    return f"{seconds:.3g} s" if seconds < 60 else str(result.duration).partition(".")[0]


def _page(result: Result) -> str:
    colour = COLOURS.get(result.status, OTHER)
    head = (
        f'<div><b>{escape(result.path)}</b> <span style="color:{colour}">{escape(result.status)}</span> '
        f"in {_took(result)} <code>{escape(result.execution_id)}</code></div>"
    )
    error = f"<pre>{escape(str(result.error.get('message')))}</pre>" if result.error else ""
    return f"{head}{_progress(result)}{error}{_graph(result)}{_steps(result)}{_output(result.output)}"


def _progress(result: Result) -> str:
    """Steps that ran of those that there are; what is over is over, though branches never ran."""
    over = sum(1 for step in result.steps.values() if step["status"] not in OPEN)
    there = len(result.steps) if result.over else max(len(result.steps), _size(result))
    words = f"{over} of {there} steps"
    return f'<div><progress max="{max(there, 1)}" value="{over}"></progress> {words}</div>'


def _graph(result: Result) -> str:
    """The picture apart from the page: its rules of style must not reach what else the notebook shows."""
    if result.graph is None or _size(result) > GRAPH_STEPS:
        return ""
    drawing = msgspec.convert(result.graph, Sketch)
    picture = svg.render(drawing, {name: step["status"] for name, step in result.steps.items()})
    source = f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}"
    return f'<img alt="{escape(f"The steps of {result.path}")}" style="max-width:100%" src="{source}">'


def _size(result: Result) -> int:
    steps = result.graph["steps"] if result.graph is not None else ()
    return len(steps) if isinstance(steps, list) else 0


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
