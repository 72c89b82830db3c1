"""A playbook as a Petri net in PNML (ISO/IEC 15909-2), for model checkers.

Guards are free choice. Each step is a transition from a place of waiting tokens to a place of finished runs.
From there an exclusive router takes one of its arcs or ends the branch; an inclusive router decides each arc
apart. A `join: all` step has one place per source and needs a token in each.
"""

from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from noetl.dsl.net.diagram import GraphArc, GraphStep, Sketch

NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"
NET_TYPE = "http://www.pnml.org/version-2009/grammar/ptnet"


@dataclass(slots=True)
class Net:
    """Places, transitions and arcs by id; `marked` holds the entry token."""

    places: dict[str, str] = field(default_factory=dict)
    transitions: dict[str, str] = field(default_factory=dict)
    arcs: list[tuple[str, str]] = field(default_factory=list)
    marked: set[str] = field(default_factory=set)

    def fire(self, transition: str, label: str, takes: list[str], gives: list[str]) -> None:
        """Add a transition with the places it takes from and gives to."""
        self.transitions[transition] = label
        self.arcs += [(place, transition) for place in takes]
        self.arcs += [(transition, place) for place in gives]


def render(drawing: Sketch) -> str:
    net = build(drawing)
    root = Element("pnml", xmlns=NAMESPACE)
    outer = SubElement(root, "net", id="net", type=NET_TYPE)
    _name(outer, drawing.name)
    page = SubElement(outer, "page", id="page")
    for place, label in net.places.items():
        element = SubElement(page, "place", id=place)
        _name(element, label)
        if place in net.marked:
            SubElement(SubElement(element, "initialMarking"), "text").text = "1"
    for transition, label in net.transitions.items():
        _name(SubElement(page, "transition", id=transition), label)
    for index, (source, target) in enumerate(net.arcs):
        SubElement(page, "arc", id=f"arc{index}", source=source, target=target)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")


def build(drawing: Sketch) -> Net:
    net = Net()
    ids = {node.name: f"s{index}" for index, node in enumerate(drawing.nodes)}
    waiting = {node.name: _waiting(net, node, drawing, ids) for node in drawing.nodes}
    for node in drawing.nodes:
        outgoing = [edge for edge in drawing.edges if edge.source == node.name]
        takes = list(dict.fromkeys(waiting[node.name].values()))
        step = ids[node.name]
        inclusive = bool(outgoing) and outgoing[0].mode == "inclusive"
        decisions = [[edge] for edge in outgoing] if inclusive else [outgoing]
        places = [_decision(net, f"{step}.out{index}", node, arcs) for index, arcs in enumerate(decisions)]
        net.fire(step, node.name, takes, places)
        for place, arcs in zip(places, decisions, strict=True):
            for edge in arcs:
                label = edge.label or f"{edge.source} to {edge.target}"
                net.fire(f"{step}.arc{edge.order}", label, [place], [waiting[edge.target][edge.source]])
    return net


def _decision(net: Net, place: str, node: GraphStep, arcs: list[GraphArc]) -> str:
    """The place where one choice among arcs is made; it may end the branch unless an arc always holds."""
    net.places[place] = f"{node.name} done"
    if all(edge.when is not None for edge in arcs):
        net.fire(f"{place}.end", "no arc", [place], [])
    return place


def _waiting(net: Net, node: GraphStep, drawing: Sketch, ids: dict[str, str]) -> dict[str, str]:
    """Source step -> the place its tokens wait in; one shared place unless every source is needed."""
    sources = list(dict.fromkeys(edge.source for edge in drawing.edges if edge.target == node.name))
    own = f"{ids[node.name]}.in"
    apart = node.join == "all" and len(sources) + node.entry > 1
    places = {source: f"{own}.{ids[source]}" if apart else own for source in sources}
    if node.entry or not sources:
        places[""] = f"{own}.entry" if apart else own
        if node.entry:
            net.marked.add(places[""])
    for source, place in places.items():
        net.places[place] = f"{node.name} waits" + (f" for {source or 'the start'}" if apart else "")
    return places


def _name(element: Element, text: str) -> None:
    SubElement(SubElement(element, "name"), "text").text = text
