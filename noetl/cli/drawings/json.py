"""A playbook's graph as JSON, for programs that draw it themselves."""

import json
from typing import Any

from noetl.cli.drawings.sketch import Edge, Node, Sketch


def render(drawing: Sketch) -> str:
    """Steps, arcs and the entry as one object."""
    graph = {
        "name": drawing.name,
        "path": drawing.path,
        "entry": drawing.entry,
        "steps": [_step(node) for node in drawing.nodes],
        "arcs": [_arc(edge) for edge in drawing.edges],
    }
    return json.dumps(graph, indent=2, ensure_ascii=False)


def _step(node: Node) -> dict[str, Any]:
    return {
        "step": node.name,
        "desc": node.desc,
        "kinds": list(node.kinds),
        "loop": node.loop,
        "join": node.join,
        "admission": node.admission,
        "entry": node.entry,
        "end": node.end,
        "line": node.line,
    }


def _arc(edge: Edge) -> dict[str, Any]:
    return {
        "from": edge.source,
        "to": edge.target,
        "when": edge.when,
        "mode": edge.mode,
        "order": edge.order,
        "line": edge.line,
    }
