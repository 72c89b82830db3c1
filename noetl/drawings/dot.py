"""A playbook as a Graphviz digraph."""

from noetl.dsl.net.diagram import GraphArc, GraphStep, Sketch
from noetl.dsl.yaml.one_line import shortened

LABEL_LIMIT = 60


def render(drawing: Sketch) -> str:
    lines = [
        f"digraph {_quote(drawing.name)} {{",
        "  rankdir=TB;",
        '  node [shape=box, style="rounded,filled", fillcolor="#f8fafc", color="#64748b"];',
        '  edge [color="#64748b", fontsize=10];',
    ]
    lines += [f"  {_quote(node.name)} [{_attributes(node_attributes(node))}];" for node in drawing.nodes]
    lines += [
        f"  {_quote(edge.source)} -> {_quote(edge.target)} [{_attributes(edge_attributes(edge))}];"
        for edge in drawing.edges
    ]
    return "\n".join([*lines, "}"])


def node_attributes(node: GraphStep) -> dict[str, str]:
    """How a step looks: its marks may be combined."""
    look = {"label": "\n".join((node.name, *node.notes))}
    if node.desc:
        look["tooltip"] = node.desc
    if node.loop:
        look |= {"shape": "box3d", "style": "filled"}
    elif node.join:
        look["shape"] = "hexagon"
    elif node.routing:
        look["shape"] = "diamond"
    elif node.entry or node.end:
        look["shape"] = "oval"
    if node.entry:
        look |= {"penwidth": "2", "color": "#0f766e"}
    if node.end:
        look["peripheries"] = "2"
    return look


def edge_attributes(edge: GraphArc) -> dict[str, str]:
    """How an arc looks: failures are dashed."""
    look = {"label": shortened(edge.label, LABEL_LIMIT)} if edge.label else {}
    return look | ({"style": "dashed", "color": "#b91c1c"} if edge.failure else {})


def _attributes(look: dict[str, str]) -> str:
    return ", ".join(f"{name}={_quote(value)}" for name, value in look.items())


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
