"""Joins that can wait for ever: a step with `join: all` whose source steps do not all send a token.

A join needs a token of every step with an arc to it. Between a join and the last step that every way to it
passes (its gate) lies the only part of the net that decides this, so each join costs the size of that part.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, or_

from noetl.dsl.diagnostic import Code, Diagnostic, Mark
from noetl.dsl.net.digraph import Digraph, Dominators, bits
from noetl.dsl.net.petri_net import Net
from noetl.dsl.yaml.tree import Map

JOIN_WAITS = Code("join-waits", "warning", "A join can wait for a token that does not come")
JOIN_WITHOUT_FAN_IN = Code("join-without-fan-in", "info", "A join mode has no effect on a step with one arc")

WORK_MAX = 30_000  # steps looked at over all joins: a net that needs more is checked in part


@dataclass
class _Region:
    """The part of the net between a gate and its join, with local numbers; sources are bits of a mask."""

    net: Net
    join: int
    gate: int
    members: list[int]
    bit: dict[int, int]

    @cached_property
    def local(self) -> dict[int, int]:
        """The local number of each step of the region."""
        return {number: place for place, number in enumerate(self.members)}

    @cached_property
    def digraph(self) -> Digraph:
        """The region's live arcs; none into the gate, so that a token passes the gate once."""
        out = ([self.local[t] for t in self.net.live.out[n] if self._inside(t)] for n in self.members)
        return Digraph(out)

    def _inside(self, number: int) -> bool:
        return number in self.local and number != self.gate

    def combine(self, source: int, target: int, masks: dict[int, int]) -> int:
        """What an arc leads to: the source itself when it goes to the join, else what its target does."""
        if target == self.join:
            return self.bit.get(source, 0)
        return masks.get(target, 0) if self._inside(target) else 0

    @cached_property
    def may(self) -> dict[int, int]:
        """For each step the sources that a token there can come to."""
        masks: dict[int, int] = {}
        for members in self.digraph.components:
            steps = [self.members[m] for m in members]
            mask = 0
            for step in steps:
                for target in self.net.live.out[step]:
                    mask |= self.combine(step, target, masks)
            masks.update(dict.fromkeys(steps, mask))
        return masks

    @cached_property
    def must(self) -> dict[int, int]:
        """For each step the sources that surely send a token when one that does well is there."""
        masks: dict[int, int] = {}
        for members in self.digraph.components:
            steps = [self.members[m] for m in members]
            cycle = set(steps)
            sure = [self._sure(step, masks, cycle) for step in steps]
            certain = [mask for mask in sure if mask is not None]
            masks.update(dict.fromkeys(steps, reduce(and_, certain) if certain else 0))
        return masks

    def _sure(self, step: int, masks: dict[int, int], cycle: set[int]) -> int | None:
        """The same for one step by its own arcs; None when all of them stay in its cycle."""
        routing, splits = self.net.routing[step], self.net.splits(step)
        if routing.ends:
            return 0
        fired = self.net.targets(step, routing.must if splits else routing.well)
        parts = [self.combine(step, target, masks) for target in fired if target not in cycle]
        return reduce(or_ if splits else and_, parts) if parts else None

    @cached_property
    def together(self) -> dict[int, int]:
        """For each source's bit the sources that can send a token in the same round."""
        partners = dict.fromkeys(self.bit.values(), 0)
        for step in self.members:
            if self.net.splits(step):
                arcs = self.net.targets(step, self.net.routing[step].live)
                self._pair([self.combine(step, target, self.may) for target in arcs], partners)
        return partners

    def _pair(self, masks: list[int], partners: dict[int, int]) -> None:
        after = [0] * (len(masks) + 1)
        for place in range(len(masks) - 1, -1, -1):
            after[place] = after[place + 1] | masks[place]
        before = 0
        for place, mask in enumerate(masks):
            others = before | after[place + 1]
            for place_of_bit in bits(mask):
                partners[1 << place_of_bit] |= others
            before |= mask


def joins(net: Net) -> Iterator[Diagnostic]:
    """Findings about the join modes of all steps."""
    if net.entry is None:
        return
    dominators = net.live.dominators(net.entry)
    repeated = _repeated(net)
    work = 0
    for number, step in enumerate(net.steps):
        if step.join == "sync" or number not in net.reached:
            continue
        sources = net.whole.digraph.into[number]
        if net.arcs_into[number] < 2 or (step.join == "all" and len(sources) + (number == net.entry) < 2):
            yield _useless(net, number)
        elif step.join == "all" and work <= WORK_MAX:
            missing = next(filter(None, (_never_sends(net, s, number, dominators) for s in sources)), None)
            region = _region(net, number, dominators.above[number])
            work += len(region.members)
            yield from [_waits(net, number, "must", missing)] if missing else _uncertain(region, repeated)


def _repeated(net: Net) -> set[int]:
    """The steps that can run more than once in one execution."""
    in_cycles = [m for members in net.live.components if net.live.is_cycle(members) for m in members]
    unmerged = [n for n, step in enumerate(net.steps) if step.join == "each" and net.fan_in[n] > 1]
    return net.live.reachable([*in_cycles, *unmerged])


def _useless(net: Net, number: int) -> Diagnostic:
    step = net.steps[number]
    message = f"join: {step.join} has no effect on step '{step.name}': fewer than two arcs lead to it"
    return JOIN_WITHOUT_FAN_IN.at(_at_join(net, number), message, "remove it, or add the missing arc")


def _at_join(net: Net, number: int) -> Mark:
    node = net.steps[number].node
    spec = node.get("spec")
    return spec.at("join") if isinstance(spec, Map) else node.mark


def _never_sends(net: Net, source: int, join: int, dominators: Dominators) -> str | None:
    """Why a source can never send a token to a join before its first run; None when it can."""
    name = net.steps[source].name
    if source not in net.reached:
        return f"'{name}' can never run"
    if join not in net.live.out[source]:
        return f"the arc from '{name}' can never fire"
    if dominators.covers(join, source):
        way = [*net.live.path(join, source), join] if source != join else [join, join]
        return f"'{name}' runs only after it ({net.path_text(way)})"
    return None


def _region(net: Net, join: int, gate: int) -> _Region:
    """The steps between a gate and its join, the gate included."""
    sources = [source for source in net.live.into[join] if source in net.reached]
    inside = set(sources)
    stack = [source for source in sources if source != gate]
    while stack:
        for source in net.live.into[stack.pop()]:
            if source in net.reached and source != join and source not in inside:
                inside.add(source)
                stack += [source] if source != gate else []
    return _Region(net, join, gate, sorted(inside), {s: 1 << place for place, s in enumerate(sources)})


def _uncertain(region: _Region, repeated: set[int]) -> Iterator[Diagnostic]:
    """A join whose sources never, or not always, send together."""
    everyone = (1 << len(region.bit)) - 1
    for source, bit in region.bit.items():
        apart = everyone & ~(region.together[bit] | bit)
        if apart:
            other = list(region.bit)[next(iter(bits(apart)))]
            modality = "may" if region.gate in repeated else "must"
            yield _waits(region.net, region.join, modality, _apart(region, source, other))
            return
    unsure = everyone & ~region.must.get(region.gate, 0)
    if unsure:
        source = list(region.bit)[next(iter(bits(unsure)))]
        way = region.net.path_text(_way(region, source))
        yield _waits(region.net, region.join, "may", f"not every choice takes the way {way}")


def _apart(region: _Region, left: int, right: int) -> str:
    ways = [region.net.path_text(_way(region, source)) for source in (left, right)]
    return f"a token takes either {ways[0]} or {ways[1]}, never both"


def _way(region: _Region, source: int) -> list[int]:
    start = (
        [] if source == region.gate else region.net.live.path(region.gate, source, set(region.members))[:-1]
    )
    return [*start, source, region.join]


def _waits(net: Net, join: int, modality: str, reason: str) -> Diagnostic:
    message = f"join: all of step '{net.steps[join].name}' {modality} wait for ever: {reason}"
    hint = "use join: sync, which waits only for tokens that can come, or mode: inclusive before it"
    return JOIN_WAITS.at(_at_join(net, join), message, hint)
