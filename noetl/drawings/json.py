"""A playbook's graph as JSON, for programs that draw it themselves."""

import json

from noetl.dsl.net.diagram import Sketch, graph


def render(drawing: Sketch) -> str:
    """Steps, arcs and the entry as one object."""
    return json.dumps(graph(drawing), indent=2, ensure_ascii=False)
