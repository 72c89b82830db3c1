"""Directed graphs over numbered nodes: components, dominators, reachability. Nothing here knows of playbooks.

Every algorithm is iterative, so a chain of ten thousand nodes costs no stack, and close to linear.
A set of nodes is a bit mask (an int) where many of them are combined.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cached_property

Nodes = tuple[int, ...]


class Digraph:
    """A graph by successor lists; a repeated edge counts once."""

    def __init__(self, out: Iterable[Iterable[int]]) -> None:
        self.out: tuple[Nodes, ...] = tuple(tuple(dict.fromkeys(targets)) for targets in out)

    def __len__(self) -> int:
        return len(self.out)

    @cached_property
    def into(self) -> tuple[Nodes, ...]:
        """Predecessors of each node."""
        sources: list[list[int]] = [[] for _ in self.out]
        for source, targets in enumerate(self.out):
            for target in targets:
                sources[target].append(source)
        return tuple(map(tuple, sources))

    @cached_property
    def components(self) -> tuple[Nodes, ...]:
        """Strongly connected components, every component after the ones it leads to."""
        return tuple(_Tarjan(self.out).run())

    @cached_property
    def component_of(self) -> Nodes:
        """The number of the component of each node."""
        numbers = [0] * len(self)
        for number, members in enumerate(self.components):
            for member in members:
                numbers[member] = number
        return tuple(numbers)

    def is_cycle(self, members: Sequence[int]) -> bool:
        """Whether a component holds a cycle: more than one node, or one with an edge to itself."""
        return len(members) > 1 or members[0] in self.out[members[0]]

    @cached_property
    def closure(self) -> Nodes:
        """For each node the mask of nodes it reaches over one or more edges."""
        masks = [0] * len(self)
        for members in self.components:
            mask = 0
            for member in members:
                for target in self.out[member]:
                    mask |= masks[target] | (1 << target)
            for member in members:
                masks[member] = mask
        return tuple(masks)

    def reachable(self, starts: Iterable[int], inside: set[int] | None = None) -> set[int]:
        """The starts and every node they reach; with `inside` never a node out of that set."""
        return _spread(self.out, starts, inside)

    def reaching(self, goals: Iterable[int], inside: set[int] | None = None) -> set[int]:
        """The goals and every node that reaches one of them; with `inside` never a node out of that set."""
        return _spread(self.into, goals, inside)

    def path(self, start: int, goal: int, inside: set[int] | None = None) -> list[int]:
        """The shortest way over one or more edges, both ends included; empty when there is none."""
        came_from: dict[int, int] = {}
        queue = deque([start])
        while queue and goal not in came_from:
            node = queue.popleft()
            for target in self.out[node]:
                if target not in came_from and (inside is None or target in inside):
                    came_from[target] = node
                    queue.append(target)
        return _walk_back(came_from, start, goal) if goal in came_from else []

    def dominators(self, entry: int) -> "Dominators":
        """For each node the nodes that every way to it from the entry passes."""
        order = self._postorder(entry)
        rank = {node: position for position, node in enumerate(order)}
        above = [-1] * len(self)
        above[entry] = entry
        changed = True
        while changed:
            changed = False
            for node in reversed(order[:-1]):
                meeting = _meet_all((n for n in self.into[node] if n in rank), above, rank)
                changed |= above[node] != meeting
                above[node] = meeting
        above[entry] = -1
        return Dominators(entry, above)

    def _postorder(self, entry: int) -> list[int]:
        order: list[int] = []
        visited = {entry}
        stack = [(entry, iter(self.out[entry]))]
        while stack:
            node, targets = stack[-1]
            target = next((t for t in targets if t not in visited), None)
            if target is None:
                order.append(node)
                stack.pop()
            else:
                visited.add(target)
                stack.append((target, iter(self.out[target])))
        return order


class Dominators:
    """A tree under the entry: `above` is the last node every way to a node passes, -1 if there is none."""

    def __init__(self, entry: int, above: Sequence[int]) -> None:
        self.above = tuple(above)
        below: list[list[int]] = [[] for _ in above]
        for node, parent in enumerate(above):
            if parent >= 0:
                below[parent].append(node)
        self._first, self._last = _intervals(entry, below)

    def covers(self, upper: int, lower: int) -> bool:
        """Whether every way to `lower` passes `upper`; a node covers itself."""
        first = self._first
        return upper in first and lower in first and first[upper] <= first[lower] <= self._last[upper]


def _intervals(root: int, below: Sequence[Sequence[int]]) -> tuple[dict[int, int], dict[int, int]]:
    """Numbers in depth-first order: for each node its own and the highest under it."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    stack = [(root, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            last[node] = len(first) - 1
        else:
            first[node] = len(first)
            stack.append((node, True))
            stack += [(child, False) for child in below[node]]
    return first, last


def bits(mask: int) -> Iterable[int]:
    """The numbers of the set bits, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _spread(edges: Sequence[Nodes], starts: Iterable[int], inside: set[int] | None) -> set[int]:
    reached = set(starts)
    stack = list(reached)
    while stack:
        for node in edges[stack.pop()]:
            if node not in reached and (inside is None or node in inside):
                reached.add(node)
                stack.append(node)
    return reached


def _walk_back(came_from: dict[int, int], start: int, goal: int) -> list[int]:
    way = [goal, came_from[goal]]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _meet_all(sources: Iterable[int], above: list[int], rank: dict[int, int]) -> int:
    """The nearest node above all sources that have one already."""
    meeting = -1
    for source in sources:
        if above[source] >= 0:
            meeting = source if meeting < 0 else _meet(meeting, source, above, rank)
    return meeting


def _meet(left: int, right: int, above: list[int], rank: dict[int, int]) -> int:
    while left != right:
        if rank[left] < rank[right]:
            left = above[left]
        else:
            right = above[right]
    return left


class _Tarjan:
    """Tarjan's algorithm with its own stack of (node, position among its successors)."""

    def __init__(self, out: Sequence[Nodes]) -> None:
        self.out = out
        self.index: dict[int, int] = {}
        self.low: dict[int, int] = {}
        self.pending: list[int] = []
        self.is_pending = [False] * len(out)
        self.components: list[Nodes] = []

    def run(self) -> list[Nodes]:
        for root in range(len(self.out)):
            if root not in self.index:
                self._visit(root)
        return self.components

    def _visit(self, root: int) -> None:
        work = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                self._enter(node)
            deeper = self._next_new(node, position)
            if deeper >= 0:
                work += [(node, deeper + 1), (self.out[node][deeper], 0)]
                continue
            if self.low[node] == self.index[node]:
                self._close(node)
            if work:
                parent = work[-1][0]
                self.low[parent] = min(self.low[parent], self.low[node])

    def _enter(self, node: int) -> None:
        self.index[node] = self.low[node] = len(self.index)
        self.pending.append(node)
        self.is_pending[node] = True

    def _next_new(self, node: int, position: int) -> int:
        """The first edge from `position` on that leads to a new node, or -1; the others lower the link."""
        targets = self.out[node]
        for place in range(position, len(targets)):
            target = targets[place]
            if target not in self.index:
                return place
            if self.is_pending[target]:
                self.low[node] = min(self.low[node], self.index[target])
        return -1

    def _close(self, root: int) -> None:
        members: list[int] = []
        while not members or members[-1] != root:
            members.append(self.pending.pop())
            self.is_pending[members[-1]] = False
        self.components.append(tuple(sorted(members)))
