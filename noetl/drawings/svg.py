"""A playbook as an SVG picture: self-contained, readable on light and dark pages. Positions come from layout.

A pill with a token above it is the entry, a double border an end, a stack of cards a loop, a bar on top a
join, cut corners a step that only routes; an arc about a failure is dashed. Steps of an execution have the
colour of how they stand.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from noetl.drawings.layout import Box, Line, Placed, Spot, place
from noetl.dsl.net.diagram import GraphArc, GraphStep, Sketch
from noetl.dsl.yaml.one_line import shortened

MARGIN = 28.0
TOKEN_ROOM = 38.0
PAD_X, PAD_Y = 18.0, 12.0
NAME_HEIGHT, NOTE_HEIGHT, LABEL_HEIGHT = 18.0, 16.0, 20.0
NAME_SIZE, NOTE_SIZE, LABEL_SIZE = 14.0, 11.5, 11.0
MONO = 0.602  # the width of a monospaced character, in its size
NAME_LIMIT, NOTE_LIMIT, LABEL_LIMIT = 40, 44, 44
PORT_GAP = 18.0
STACK = 4.0

NAMES = ("page", "card", "ink", "soft", "line", "edge", "start", "loop", "join", "bad", "good", "now", "wait")
LIGHT = (
    "#ffffff #f8fafc #0f172a #475569 #94a3b8 #64748b #0d9488 #7c3aed #d97706 #dc2626 #16a34a #2563eb #7a3ea8"
)
DARK = (
    "#0d1117 #161b22 #e6edf3 #9da7b3 #4b5563 #8b949e #2dd4bf #a78bfa #fbbf24 #f87171 #4ade80 #60a5fa #cf9cf5"
)
LOOKS = {
    "done": "good",
    "failed": "bad",
    "running": "now",
    "waiting": "wait",
}  # how a step stands: its colour
# Plain rules, once per palette: many programs that draw SVG know no CSS variables.
COLOURS = """
.page, .back {{ fill:{page} }} .card {{ fill:{card}; stroke:{line} }} .ring {{ stroke:{line} }}
.entry .card, .place {{ stroke:{start} }} .loop .card {{ stroke:{loop} }} .token {{ fill:{start} }}
.bar, .mode {{ fill:{join} }} .name {{ fill:{ink} }} .note, .label {{ fill:{soft} }}
.arc {{ stroke:{edge} }} .head {{ fill:{edge} }}
.failure .arc {{ stroke:{bad} }} .failure .label, .bad {{ fill:{bad} }}
.is-good .card {{ stroke:{good} }} .is-bad .card {{ stroke:{bad} }} .is-now .card {{ stroke:{now} }}
.is-wait .card {{ stroke:{wait} }}
"""
SHAPES = f"""
.card, .arc {{ stroke-width:1.4 }} .entry .card, .place {{ stroke-width:2 }}
.is-good .card, .is-bad .card, .is-now .card, .is-wait .card {{ stroke-width:2.4 }}
.ring, .place, .arc {{ fill:none }} .back {{ fill-opacity:.92 }} .failure .arc {{ stroke-dasharray:5 4 }}
text {{ text-anchor:middle }} .mode {{ font-size:11px; text-anchor:start }}
.name {{ font-weight:600; font-size:{NAME_SIZE}px }}
.note {{ font-size:{NOTE_SIZE}px }} .label {{ font-size:{LABEL_SIZE}px }}
.name, .mode {{ font-family:ui-sans-serif,system-ui,"Segoe UI",Helvetica,Arial,"DejaVu Sans",sans-serif }}
.note, .label {{ font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace }}
"""


def _colours(palette: str) -> str:
    return COLOURS.format(**dict(zip(NAMES, palette.split(), strict=True)))


STYLE = f"{SHAPES}{_colours(LIGHT)}@media (prefers-color-scheme: dark) {{{_colours(DARK)}}}\n"


@dataclass(frozen=True, slots=True)
class Frame:
    """A placed box with its real size; the layout's box may hold more beside it."""

    node: GraphStep
    x: float
    y: float
    width: float
    height: float
    status: str | None

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def left(self) -> float:
        return self.x - self.width / 2


def render(drawing: Sketch, statuses: Mapping[str, str] | None = None) -> str:
    """The picture; `statuses` says of an execution how each step that has run stands."""
    standing = statuses or {}
    index = {node.name: position for position, node in enumerate(drawing.nodes)}
    lines = [Line(index[e.source], index[e.target], _label_box(e)) for e in drawing.edges]
    sizes = [_card_size(node) for node in drawing.nodes]
    boxes = [
        Box(size.width + 2 * _beside(node, drawing), size.height)
        for node, size in zip(drawing.nodes, sizes, strict=True)
    ]
    placed = place(boxes, lines, index[drawing.entry])
    frames = [
        Frame(node, spot.x, spot.y, size.width, size.height, standing.get(node.name))
        for node, spot, size in zip(drawing.nodes, placed.boxes, sizes, strict=True)
    ]
    routes = _routes(drawing, frames, lines, placed)
    body = [*map(_arc, routes), *filter(None, map(_label, routes)), *map(_card, frames)]
    return _document(drawing, placed, body)


def _document(drawing: Sketch, placed: Placed, body: list[str]) -> str:
    width, height = placed.width + 2 * MARGIN, placed.height + 2 * MARGIN + TOKEN_ROOM
    title = f"The playbook {drawing.name}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label={quoteattr(title)} '
            f'viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" height="{_n(height)}">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            f"<defs>{_head('head', 'head')}{_head('bad', 'head bad')}</defs>",
            f'<rect class="page" width="{_n(width)}" height="{_n(height)}" rx="12"/>',
            f'<g transform="translate({_n(MARGIN)} {_n(MARGIN + TOKEN_ROOM)})">',
            *body,
            "</g>",
            "</svg>",
        ]
    )


def _head(name: str, css: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path class="{css}" d="M0 1 10 5 0 9z"/></marker>'
    )


# ---- cards ------------------------------------------------------------------------------------------------


def _card_size(node: GraphStep) -> Box:
    texts = [_name_width(node.name), *(len(line) * NOTE_SIZE * MONO for line in _notes(node)), 76.0]
    return Box(max(texts) + 2 * PAD_X, NAME_HEIGHT + NOTE_HEIGHT * len(_notes(node)) + 2 * PAD_Y)


def _notes(node: GraphStep) -> list[str]:
    return [shortened(line, NOTE_LIMIT) for line in node.notes]


def _name_width(name: str) -> float:
    return sum(_letter(c) for c in shortened(name, NAME_LIMIT)) * NAME_SIZE


def _letter(character: str) -> float:
    """About how wide a letter of a semi-bold sans-serif is; unknown scripts count as square."""
    if character in "fijlrt|'.,":
        return 0.36
    if character in "mwMW@":
        return 0.9
    return 1.0 if ord(character) > 0x2E7F else 0.7 if character.isupper() else 0.6


def _card(frame: Frame) -> str:
    node = frame.node
    looks = [f"is-{LOOKS[frame.status]}"] if frame.status in LOOKS else []
    css = " ".join(["step", *(mark for mark in ("entry", "loop") if getattr(node, mark)), *looks])
    name = f"{node.name} ({frame.status})" if frame.status else node.name
    about = escape(f"{name}: {node.desc}" if node.desc else name)
    parts = [f'<g class="{css}"><title>{about}</title>']
    if node.entry:
        parts.append(_token(frame))
    if node.loop:
        parts += [_outline(frame, shift) for shift in (2 * STACK, STACK)]
    parts.append(_outline(frame))
    if node.end:
        parts.append(_outline(frame, css="ring", inset=3.5))
    if node.join:
        parts.append(_bar(frame))
    return "".join([*parts, *_words(frame), "</g>"])


def _outline(frame: Frame, shift: float = 0.0, css: str = "card", inset: float = 0.0) -> str:
    x, y = frame.left + shift + inset, frame.top + shift + inset
    width, height = frame.width - 2 * inset, frame.height - 2 * inset
    if frame.node.routing:
        cut = height / 2
        points = [(x, y + cut), (x + cut, y), (x + width - cut, y), (x + width, y + cut)]
        points += [(x + width - cut, y + height), (x + cut, y + height)]
        return f'<polygon class="{css}" points="{" ".join(f"{_n(a)},{_n(b)}" for a, b in points)}"/>'
    radius = height / 2 if frame.node.entry else 9 - inset / 2
    return _rect(css, x, y, Box(width, height), radius)


def _token(frame: Frame) -> str:
    x, top = _n(frame.x), frame.top
    return (
        f'<circle class="place" cx="{x}" cy="{_n(top - 27)}" r="8"/><circle class="token" cx="{x}" '
        f'cy="{_n(top - 27)}" r="3.6"/><path class="arc" d="M{x} {_n(top - 19)}V{_n(top - 1)}" '
        'marker-end="url(#head)"/>'
    )


def _bar(frame: Frame) -> str:
    width = frame.width * 0.6
    mode = frame.node.join
    bar = _rect("bar", frame.x - width / 2, frame.top - 2, Box(width, 4), 2)
    if mode == "sync":
        return bar
    return bar + f'<text class="mode" x="{_n(frame.x + width / 2 + 5)}" y="{_n(frame.top - 5)}">{mode}</text>'


def _words(frame: Frame) -> Iterator[str]:
    x, y = _n(frame.x), frame.top + PAD_Y + NAME_SIZE
    yield f'<text class="name" x="{x}" y="{_n(y)}">{escape(shortened(frame.node.name, NAME_LIMIT))}</text>'
    for line in _notes(frame.node):
        y += NOTE_HEIGHT
        yield f'<text class="note" x="{x}" y="{_n(y)}">{escape(line)}</text>'


# ---- arcs -------------------------------------------------------------------------------------------------


def _label_box(edge: GraphArc) -> Box | None:
    text = shortened(edge.label, LABEL_LIMIT)
    return Box(len(text) * LABEL_SIZE * MONO + 12, LABEL_HEIGHT) if text else None


def _beside(node: GraphStep, drawing: Sketch) -> float:
    """The room an arc from a step to itself needs at each side."""
    own = [edge for edge in drawing.edges if edge.source == edge.target == node.name]
    return max((44 + (box.width if (box := _label_box(edge)) else 0) for edge in own), default=0.0)


@dataclass(frozen=True, slots=True)
class Route:
    """An arc with the line it takes and where its label stands."""

    edge: GraphArc
    path: str
    label: Spot | None


def _routes(drawing: Sketch, frames: list[Frame], lines: list[Line], placed: Placed) -> list[Route]:
    ports = _ports(lines, placed)
    routes = []
    for index, edge in enumerate(drawing.edges):
        way = placed.lines[index]
        if way:
            path = _path(way, ports[index, 0], ports[index, 1])
            routes.append(Route(edge, path, placed.labels[index]))
        else:
            routes.append(_own_arc(frames[lines[index].source], edge))
    return routes


def _arc(route: Route) -> str:
    head = "bad" if route.edge.failure else "head"
    line = f'<path class="arc" d="{route.path}" marker-end="url(#{head})"/>'
    return f'<g class="{_css(route.edge)}">{_about(route.edge)}{line}</g>'


def _label(route: Route) -> str:
    box, spot = _label_box(route.edge), route.label
    if box is None or spot is None:
        return ""
    text = escape(shortened(route.edge.label, LABEL_LIMIT))
    back = _rect("back", spot.x - box.width / 2, spot.y - box.height / 2, box, 4)
    words = f'<text class="label" x="{_n(spot.x)}" y="{_n(spot.y + 4)}">{text}</text>'
    return f'<g class="{_css(route.edge)}">{_about(route.edge)}{back}{words}</g>'


def _css(edge: GraphArc) -> str:
    return "edge failure" if edge.failure else "edge"


def _about(edge: GraphArc) -> str:
    words = f"{edge.source} to {edge.target}" + (f" when {edge.label}" if edge.when else "")
    return f"<title>{escape(words)}</title>"


def _ports(lines: list[Line], placed: Placed) -> dict[tuple[int, int], float]:
    """(line, end) -> where along the box's edge it starts or ends, so that arcs do not share a point."""
    sides: dict[tuple[int, bool], list[tuple[float, int, int]]] = defaultdict(list)
    for index, (line, way) in enumerate(zip(lines, placed.lines, strict=True)):
        if way:
            below = way[1].y > way[0].y
            sides[line.source, below].append((way[1].x, index, 0))
            sides[line.target, not below].append((way[-2].x, index, 1))
    ports = {}
    for ends in sides.values():
        for position, (_, index, end) in enumerate(sorted(ends)):
            ports[index, end] = (position - (len(ends) - 1) / 2) * min(PORT_GAP, 70 / len(ends))
    return ports


def _path(way: tuple[Spot, ...], start: float, end: float) -> str:
    """A smooth line that runs straight through every rank it passes."""
    down = 1 if way[1].y > way[0].y else -1
    x, y = way[0].x + start, way[0].y + down * way[0].half
    parts = [f"M{_n(x)} {_n(y)}"]
    for position, spot in enumerate(way[1:], start=1):
        last = position == len(way) - 1
        to_x, to_y = spot.x + (end if last else 0), spot.y - down * spot.half
        middle = (y + to_y) / 2
        parts.append(f"C{_n(x)} {_n(middle)} {_n(to_x)} {_n(middle)} {_n(to_x)} {_n(to_y)}")
        x, y = to_x, to_y
        if not last and spot.half:
            y = spot.y + down * spot.half
            parts.append(f"V{_n(y)}")
    return "".join(parts)


def _own_arc(frame: Frame, edge: GraphArc) -> Route:
    right, y = frame.left + frame.width, frame.y
    out = _n(right + 38)
    path = f"M{_n(right)} {_n(y - 9)}C{out} {_n(y - 22)} {out} {_n(y + 22)} {_n(right + 1)} {_n(y + 9)}"
    box = _label_box(edge)
    return Route(edge, path, Spot(right + 34 + (box.width / 2 if box else 0), y))


def _rect(css: str, x: float, y: float, size: Box, radius: float) -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(size.width)}" height="{_n(size.height)}"'
    return f'<rect class="{css}" {place} rx="{_n(radius)}"/>'


def _n(number: float) -> str:
    """A coordinate, short."""
    return f"{number:.1f}".rstrip("0").rstrip(".")
