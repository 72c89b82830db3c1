"""What the `args` of arcs mean for each step: which names can arrive, which surely do, and which are needed.

A token's args are those of the token before it, overlaid by the arc's, so a name may travel through steps
that never mention it. Pure analysis; payloads.py edits the text.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from noetl.dsl.net.digraph import Digraph
from noetl.dsl.older_spellings.templates import paths_of
from noetl.dsl.templates.facts import plain_path
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry, Scalar

Names = dict[str, frozenset[str]]  # by step


@dataclass(slots=True, eq=False)
class Arc:
    """One arc with the args it carries."""

    source: str
    target: str
    node: Collection
    args: Entry | None
    keys: frozenset[str]
    opaque: bool  # its args are one template, so their names are not known

    def set(self) -> Collection:
        """The `set` of the arc, made when there is none."""
        if "set" not in self.node:
            self.node.add(tree.pair("set", tree.mapping(flow=True)))
        return self.node.child("set")


@dataclass(slots=True)
class Tokens:
    """The workflow as far as args go."""

    steps: dict[str, Collection]
    arcs: list[Arc]
    entry: str | None
    arriving: dict[str, frozenset[str]] = field(default_factory=dict)
    certain: dict[str, frozenset[str]] = field(default_factory=dict)
    needed: dict[str, frozenset[str]] = field(default_factory=dict)
    references: frozenset[str] = frozenset()  # names that are given a reference somewhere
    into: dict[str, list[Arc]] = field(default_factory=lambda: defaultdict(list))  # the arcs to a step

    def opaque(self, step: str) -> bool:
        """Whether the names of some args that reach a step are not known."""
        return any(arc.opaque for arc in self.into[step])

    def ctx_name(self, key: str) -> str:
        """The name a value is kept under in ctx: a reference must be called one."""
        return f"{key}_ref" if key in self.references and not key.endswith("_ref") else key


def tokens_of(steps: Iterable[Collection], entry: str | None) -> Tokens:
    """The analysis of a workflow."""
    named = {name: step for step in steps if (name := step.word("step"))}
    arcs = [arc for name, step in named.items() for arc in _arcs(name, step)]
    tokens = Tokens(named, arcs, entry)
    for arc in arcs:
        tokens.into[arc.target].append(arc)
        tokens.references |= _references(arc)
    _find_arriving(tokens)
    _find_certain(tokens)
    _find_needed(tokens)
    return tokens


def _arcs(name: str, step: Collection) -> Iterable[Arc]:
    for node in step.maps_at("next", "arcs"):
        target = node.word("step")
        if target is None:
            continue
        args = node.entry("args")
        values = args.as_map if args is not None else None
        keys = frozenset(values.names) if values is not None else frozenset()
        yield Arc(name, target, node, args, keys, args is not None and values is None)


def _references(arc: Arc) -> frozenset[str]:
    names = set()
    for entry in tree.entries(arc.args.value if arc.args is not None else None):
        path = plain_path(entry.value.value) if isinstance(entry.value, Scalar) else None
        if path is not None and path[-1] in ("ref", "result_ref"):
            names.add(str(entry.key))
    return frozenset(names)


def _find_arriving(tokens: Tokens) -> None:
    """Names that some token can bring: the least fixpoint."""
    arriving: Names = dict.fromkeys(tokens.steps, frozenset())

    def carry(arc: Arc) -> tuple[str, frozenset[str]]:
        return arc.target, arriving.get(arc.target, frozenset()) | arc.keys | arriving[arc.source]

    tokens.arriving = _settled(arriving, tokens.arcs, carry)


def _find_certain(tokens: Tokens) -> None:
    """Names that every token brings: the greatest fixpoint. The entry token brings none."""
    certain = dict(tokens.arriving)
    if tokens.entry is not None:
        certain[tokens.entry] = frozenset()

    def carry(arc: Arc) -> tuple[str, frozenset[str]]:
        return arc.target, certain[arc.target] & (arc.keys | certain[arc.source])

    tokens.certain = _settled(certain, tokens.arcs, carry)


def _find_needed(tokens: Tokens) -> None:
    """Names a step must be handed: given by an arc, read in the step, or needed by one that follows it."""
    needed = {name: _read_in(step) & tokens.arriving[name] for name, step in tokens.steps.items()}
    for name, step in tokens.steps.items():
        if ("args",) in paths_of(step):
            needed[name] = tokens.arriving[name]
    for arc in tokens.arcs:
        needed[arc.target] = needed.get(arc.target, frozenset()) | arc.keys

    def carry(arc: Arc) -> tuple[str, frozenset[str]]:
        handed_on = (needed[arc.target] - arc.keys) & tokens.arriving[arc.source]
        return arc.source, needed[arc.source] | handed_on

    tokens.needed = _settled(needed, tokens.arcs[::-1], carry)


def _settled(names: Names, arcs: list[Arc], carry: Callable[[Arc], tuple[str, frozenset[str]]]) -> Names:
    """The names of each step once no arc changes those of another step any more."""
    changed = True
    while changed:
        changed = False
        for arc in arcs:
            step, new = carry(arc)
            changed |= new != names.get(step)
            names[step] = new
    return names


def _read_in(step: Collection) -> frozenset[str]:
    paths = paths_of(step)
    named = {path[1] for path in paths if path[0] == "args" and len(path) > 1}
    return frozenset(named | {path[0] for path in paths})


def several_in_flight(tokens: Tokens) -> set[str]:
    """Steps that may have more than one token at a time: what one arc writes, another may overwrite."""
    names = [*tokens.steps]
    number = {name: index for index, name in enumerate(names)}
    out: list[list[int]] = [[] for _ in names]
    for arc in tokens.arcs:
        if arc.target in number:
            out[number[arc.source]].append(number[arc.target])
    graph = Digraph(out)
    starts = [index for index, name in enumerate(names) if _splits_tokens(tokens, name, graph, index)]
    return {names[index] for index in graph.reachable(starts)}


def _splits_tokens(tokens: Tokens, name: str, graph: Digraph, index: int) -> bool:
    step = tokens.steps[name]
    if tree.says(step.get("spec", "join"), "each", "all", "first") and len(tokens.into[name]) > 1:
        return True
    inclusive = tree.says(step.get("next", "spec", "mode"), "inclusive")
    members = graph.components[graph.component_of[index]]
    return inclusive and len(graph.out[index]) > 1 and graph.is_cycle(members)
