"""A playbook as a Mermaid flowchart, which code hosts and wikis draw inside Markdown."""

import json

from noetl.dsl.net.diagram import GraphArc, GraphStep, Sketch
from noetl.dsl.yaml.one_line import shortened

LABEL_LIMIT = 60
CLASSES = {
    "entry": "stroke:#0f766e,stroke-width:3px",
    "finish": "stroke:#6b7280,stroke-width:3px",
    "loop": "stroke:#6d28d9",
    "join": "stroke:#b45309",
}
# Opening and closing of a shape; the first mark of a node that has one decides.
SHAPES = {
    "loop": ("[[", "]]"),
    "join": ("{{", "}}"),
    "routing": ("{", "}"),
    "entry": ("([", "])"),
    "end": ("([", "])"),
}


def render(drawing: Sketch) -> str:
    ids = {node.name: f"s{index}" for index, node in enumerate(drawing.nodes)}
    lines = ["---", f"title: {json.dumps(drawing.name, ensure_ascii=False)}", "---", "flowchart TD"]
    lines += [f"  {ids[node.name]}{_shape(node)}" for node in drawing.nodes]
    lines += [f"  {ids[edge.source]} {_arrow(edge)} {ids[edge.target]}" for edge in drawing.edges]
    lines += [f"  classDef {name} {style}" for name, style in CLASSES.items() if _members(drawing, name)]
    lines += [
        f"  class {','.join(ids[member] for member in members)} {name}"
        for name in CLASSES
        if (members := _members(drawing, name))
    ]
    return "\n".join(lines)


def _shape(node: GraphStep) -> str:
    mark = next((mark for mark in SHAPES if getattr(node, mark)), None)
    opening, closing = SHAPES[mark] if mark else ("[", "]")
    text = "<br/>".join(_escape(line) for line in (node.name, *node.notes))
    return f'{opening}"{text}"{closing}'


def _arrow(edge: GraphArc) -> str:
    line = "-.->" if edge.failure else "-->"
    return f'{line}|"{_escape(shortened(edge.label, LABEL_LIMIT))}"|' if edge.label else line


def _members(drawing: Sketch, name: str) -> list[str]:
    mark = "end" if name == "finish" else name
    return [node.name for node in drawing.nodes if getattr(node, mark)]


def _escape(text: str) -> str:
    """Mermaid reads quotes, angle brackets and its own entity sign inside quoted text."""
    for sign, entity in (
        ("#", "#35;"),
        ("&", "#amp;"),
        ('"', "#quot;"),
        ("<", "#lt;"),
        (">", "#gt;"),
        ("`", "#96;"),
    ):
        text = text.replace(sign, entity)
    return text
