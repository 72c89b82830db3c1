"""Where things stand in a drawing: layered from top to bottom, few crossings, short arcs. Pure geometry.

The classic four stages: turn cycles around, give every box a layer, order each layer so that few lines cross,
then choose positions. Every arc passes one slot in each rank between its ends. Ranks between two layers of
boxes hold the arcs' labels, so that a label never lies on a box or on another label.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP_X = 28.0
GAP_Y = 24.0
SWEEPS = 12
SLOT_BUDGET = (
    60_000  # slots times sweeps: a tangle of thousands of long arcs is drawn less carefully, but drawn
)
LINE_WIDTH = 14.0  # the room an arc takes where it passes a rank without a label


@dataclass(frozen=True, slots=True)
class Box:
    """Something to place: its size."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """Something to route: from a box to a box, with the size of its label."""

    source: int
    target: int
    label: Box | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """A placed centre with its half height, where an arc may run straight."""

    x: float
    y: float
    half: float = 0.0


@dataclass(frozen=True, slots=True)
class Placed:
    """The result: box centres, each line's way from source to target, label centres, and the whole size."""

    boxes: tuple[Spot, ...]
    lines: tuple[tuple[Spot, ...], ...]
    labels: tuple[Spot | None, ...]
    width: float
    height: float


@dataclass(slots=True)
class _Slot:
    """A box, or the place where a line passes a rank."""

    rank: int
    width: float
    height: float
    x: float = 0.0
    ups: list[int] = field(default_factory=list)
    downs: list[int] = field(default_factory=list)
    is_box: bool = False


def place(boxes: Sequence[Box], lines: Sequence[Line], start: int = 0) -> Placed:
    """Lay out boxes and lines; lines from a box to itself take no part in it."""
    turned = _back_edges(len(boxes), lines, start)
    ranks = [2 * layer for layer in _layers(len(boxes), lines, turned)]
    slots = [_Slot(rank, box.width, box.height, is_box=True) for rank, box in zip(ranks, boxes, strict=True)]
    ways = [_way(slots, ranks, line, index in turned) for index, line in enumerate(lines)]
    sweeps = max(1, min(SWEEPS, SLOT_BUDGET // len(slots)))
    rows = _order(slots, _rows(slots, start), sweeps)
    _positions(slots, rows, sweeps)
    return _result(slots, rows, len(boxes), lines, ways, turned)


def _back_edges(count: int, lines: Sequence[Line], start: int) -> set[int]:
    """The lines that close a cycle, found by a walk from the start; they are laid out the other way round."""
    outgoing: dict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        outgoing[line.source].append(index)
    turned: set[int] = set()
    state = [0] * count  # 0 new, 1 on the way, 2 done
    for root in [start, *range(count)]:
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(outgoing[root]))]
        while stack:
            box, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[box] = 2
                stack.pop()
            elif state[target := lines[following].target] == 1:
                turned.add(following)
            elif state[target] == 0:
                state[target] = 1
                stack.append((target, iter(outgoing[target])))
    return turned


def _layers(count: int, lines: Sequence[Line], turned: set[int]) -> list[int]:
    """Each box one layer below the lowest box that leads to it."""
    after: dict[int, list[int]] = defaultdict(list)
    waiting = [0] * count
    for index, line in enumerate(lines):
        if line.source != line.target:
            upper, lower = (line.target, line.source) if index in turned else (line.source, line.target)
            after[upper].append(lower)
            waiting[lower] += 1
    layer = [0] * count
    ready = [box for box in range(count) if waiting[box] == 0]
    for box in ready:
        for lower in after[box]:
            layer[lower] = max(layer[lower], layer[box] + 1)
            waiting[lower] -= 1
            if waiting[lower] == 0:
                ready.append(lower)
    return layer


def _way(slots: list[_Slot], ranks: list[int], line: Line, turned: bool) -> list[int]:
    """The slots a line passes from its upper to its lower end; its label sits next to where it begins."""
    if line.source == line.target:
        return []
    upper, lower = (line.target, line.source) if turned else (line.source, line.target)
    between = range(ranks[upper] + 1, ranks[lower])
    labelled = between[-1] if turned else between[0]
    way = [upper]
    for rank in between:
        size = line.label if rank == labelled and line.label else Box(LINE_WIDTH, 0)
        slots.append(_Slot(rank, size.width, size.height))
        way.append(len(slots) - 1)
    way.append(lower)
    for above, below in pairwise(way):
        slots[above].downs.append(below)
        slots[below].ups.append(above)
    return way


def _rows(slots: list[_Slot], start: int) -> list[list[int]]:
    """The slots of each rank in the order a walk downward from the start meets them."""
    rows: list[list[int]] = [[] for _ in range(max(slot.rank for slot in slots) + 1)]
    visited: set[int] = set()
    for root in [start, *range(len(slots))]:
        stack = [root]
        while stack:
            slot = stack.pop()
            if slot in visited:
                continue
            visited.add(slot)
            rows[slots[slot].rank].append(slot)
            stack.extend(reversed(slots[slot].downs))
    return rows


def _order(slots: list[_Slot], rows: list[list[int]], sweeps: int) -> list[list[int]]:
    """The order with the fewest crossings found by sweeping up and down by the neighbours' mean position."""
    best, fewest = [list(row) for row in rows], _crossings(slots, rows)
    for sweep in range(sweeps):
        if fewest == 0:
            break
        downward = sweep % 2 == 0
        for row in rows if downward else reversed(rows):
            _sort_by_neighbours(slots, rows, row, downward)
        crossings = _crossings(slots, rows)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _sort_by_neighbours(slots: list[_Slot], rows: list[list[int]], row: list[int], downward: bool) -> None:
    if not row:
        return
    rank = slots[row[0]].rank + (-1 if downward else 1)
    place = {slot: index for index, slot in enumerate(rows[rank])} if 0 <= rank < len(rows) else {}
    own = {slot: float(index) for index, slot in enumerate(row)}

    def mean(slot: int) -> float:
        near = [place[other] for other in (slots[slot].ups if downward else slots[slot].downs)]
        return sum(near) / len(near) if near else own[slot]

    row.sort(key=mean)


def _crossings(slots: list[_Slot], rows: list[list[int]]) -> int:
    """How many pairs of line pieces between neighbouring ranks cross."""
    total = 0
    for row in rows:
        ends: list[int] = []
        below: dict[int, int] = {}
        for slot in row:
            for lower in slots[slot].downs:
                if not below:
                    below = {other: index for index, other in enumerate(rows[slots[lower].rank])}
            ends.extend(sorted(below[lower] for lower in slots[slot].downs))
        total += _inversions(ends)
    return total


def _inversions(values: list[int]) -> int:
    """Pairs in the wrong order, counted with a Fenwick tree."""
    size = max(values, default=0) + 1
    tree = [0] * (size + 1)
    total = 0
    for position, value in enumerate(values):
        index, not_greater = value + 1, 0
        while index > 0:
            not_greater += tree[index]
            index -= index & -index
        total += position - not_greater
        index = value + 1
        while index <= size:
            tree[index] += 1
            index += index & -index
    return total


def _positions(slots: list[_Slot], rows: list[list[int]], sweeps: int) -> None:
    """Pull every slot toward its neighbours, rank by rank, keeping order and distance."""
    for row in rows:
        edge = 0.0
        for slot in row:
            slots[slot].x = edge + slots[slot].width / 2
            edge += slots[slot].width + GAP_X
    pulls: list[Callable[[_Slot], list[int]]] = [
        lambda s: s.ups,
        lambda s: s.downs,
        lambda s: s.ups + s.downs,
    ]
    for sweep in range(3 * sweeps):
        neighbours = pulls[sweep % 3]
        for row in reversed(rows) if sweep % 3 == 1 else rows:
            _settle(slots, row, neighbours)
    left = min(slot.x - slot.width / 2 for slot in slots)
    for moved in slots:
        moved.x -= left


def _settle(slots: list[_Slot], row: list[int], neighbours: Callable[[_Slot], list[int]]) -> None:
    """The positions nearest to what each slot wants that keep the distances (pooled adjacent violators)."""
    pools: list[tuple[float, float, list[int]]] = []  # mean wish, weight, slots
    offset, offsets = 0.0, {}
    for position, index in enumerate(row):
        slot = slots[index]
        if position:
            offset += (slots[row[position - 1]].width + slot.width) / 2 + GAP_X
        offsets[index] = offset
        near = neighbours(slot)
        target = sum(slots[other].x for other in near) / len(near) if near else slot.x
        pools.append((target - offset, 1.0 if near else 0.1, [index]))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, weight_a, first), (b, weight_b, second) = pools[-2:]
            weight = weight_a + weight_b
            pools[-2:] = [((a * weight_a + b * weight_b) / weight, weight, first + second)]
    for mean, _, members in pools:
        for index in members:
            slots[index].x = mean + offsets[index]


def _bends(slot: _Slot) -> bool:
    """Whether a line has to pass exactly there: at boxes, beside boxes and at its label."""
    return slot.rank % 2 == 0 or slot.height > 0


def _result(
    slots: list[_Slot],
    rows: list[list[int]],
    count: int,
    lines: Sequence[Line],
    ways: list[list[int]],
    turned: set[int],
) -> Placed:
    spots: dict[int, Spot] = {}
    top = 0.0
    for row in rows:
        half = max((slots[slot].height for slot in row), default=0.0) / 2
        for slot in row:
            own = slots[slot].height / 2 if slots[slot].is_box else half
            spots[slot] = Spot(slots[slot].x, top + half, own)
        top += 2 * half + GAP_Y
    routed = [tuple(spots[slot] for slot in way if _bends(slots[slot])) for way in ways]
    labels = [
        spots[way[-2] if index in turned else way[1]] if line.label and way else None
        for index, (line, way) in enumerate(zip(lines, ways, strict=True))
    ]
    return Placed(
        boxes=tuple(spots[index] for index in range(count)),
        lines=tuple(way[::-1] if index in turned else way for index, way in enumerate(routed)),
        labels=tuple(labels),
        width=max(slot.x + slot.width / 2 for slot in slots),
        height=max(0.0, top - GAP_Y),
    )
