"""What templates read from outside: the dotted paths of their nodes, which may be absent, and sets of them.

Known before anything is rendered, so that only what is named is sent and kept, and a reference or a payload
is made only when one is wanted. A path ends where a key is computed, and then stands for everything below it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from jinja2 import nodes

from noetl.dsl.template_scope import SCOPES
from noetl.dsl.templates.operators import GLOBALS

Path = tuple[str, ...]

SOFT_FILTERS = ("default", "d")
SOFT_TESTS = ("defined", "undefined", "none")


def paths_read(tree: nodes.Template) -> frozenset[Path]:
    """The dotted paths that a template reads from outside; names it binds itself are not among them."""
    return frozenset(_block(tree.body, frozenset()))


def path_of(node: nodes.Node) -> tuple[nodes.Node, tuple[str | int, ...]]:
    """A chain of constant members as the node it starts from and its keys."""
    keys: list[str | int] = []
    while (key := constant_key(node)) is not None:
        keys.append(key)
        node = node.node  # type: ignore[attr-defined]
    return node, tuple(reversed(keys))


def constant_key(node: nodes.Node) -> str | int | None:
    """The key of a member that is read by a constant; None for any other node."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        return node.arg.value if type(node.arg.value) in (str, int) else None
    return None


def _block(body: Iterable[nodes.Node], bound: frozenset[str]) -> Iterator[Path]:
    """Statements in order: what one of them surely binds is bound for those after it."""
    for statement in body:
        yield from _read(statement, bound)
        if isinstance(statement, nodes.Assign):
            bound |= _stored(statement.target)


def _read(node: nodes.Node, bound: frozenset[str]) -> Iterator[Path]:
    match node:
        case nodes.Name():
            if node.ctx == "load" and node.name not in bound and node.name not in GLOBALS:
                yield (node.name,)
        case nodes.Getattr() | nodes.Getitem():
            yield from _chain(node, bound)
        case nodes.Call(node=nodes.Getattr(node=owner)):
            yield from _read(owner, bound)
            yield from _all([*node.args, *node.kwargs], bound)
        case nodes.For():
            yield from _read(node.iter, bound)
            inside = bound | _stored(node.target) | {"loop"}
            yield from _block([*([node.test] if node.test else []), *node.body], inside)
            yield from _block(node.else_, bound)
        case nodes.If():
            yield from _read(node.test, bound)
            for body in (node.body, node.elif_, node.else_):
                yield from _block(body, bound)
        case _:
            yield from _all(node.iter_child_nodes(), bound)


def _chain(node: nodes.Node, bound: frozenset[str]) -> Iterator[Path]:
    start, keys = path_of(node)
    if not isinstance(start, nodes.Name):
        yield from _all([start] if keys else start.iter_child_nodes(), bound)
    elif start.name not in bound and start.name not in GLOBALS:
        yield (start.name, *map(str, keys))


def _all(children: Iterable[nodes.Node], bound: frozenset[str]) -> Iterator[Path]:
    for child in children:
        yield from _read(child, bound)


def _stored(target: nodes.Node) -> frozenset[str]:
    names = [target] if isinstance(target, nodes.Name) else target.find_all(nodes.Name)
    return frozenset(name.name for name in names)


# ---- paths that may be absent ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """One dotted name a template reads; `soft` when the template copes with its absence."""

    path: Path
    soft: bool = False

    @property
    def dotted(self) -> str:
        """The name as written, `ctx.page`."""
        return ".".join(self.path)


def reads(tree: nodes.Template, *, copes: bool = True) -> tuple[Read, ...]:
    """Every path that a template reads, in order; `copes` is whether it may cope with the absence of any."""
    soft = _soft_paths(tree) if copes else frozenset()
    paths = sorted(paths_read(tree))
    return tuple(Read(path, any(path[:n] in soft for n in range(1, len(path) + 1))) for path in paths)


def _soft_paths(tree: nodes.Template) -> frozenset[Path]:
    return frozenset(path for node in _soft_nodes(tree) for path in expression_paths(node))


def _soft_nodes(tree: nodes.Template) -> Iterator[nodes.Expr]:
    """The expressions whose absence the template copes with."""
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        names = SOFT_FILTERS if isinstance(node, nodes.Filter) else SOFT_TESTS
        if node.name in names and node.node is not None:
            yield node.node


def expression_paths(expression: nodes.Expr) -> frozenset[Path]:
    """The dotted paths that one expression reads."""
    return frozenset(_read(expression, frozenset()))


# ---- sets of paths --------------------------------------------------------------------------------------


class HasPaths(Protocol):
    """What knows the paths that it reads."""

    paths: frozenset[Path]


@dataclass(frozen=True, slots=True)
class PathSet:
    """The dotted paths that some templates read."""

    paths: frozenset[Path] = frozenset()

    @classmethod
    def of(cls, values: Iterable["HasPaths"]) -> "PathSet":
        """What these values read."""
        return cls(frozenset[Path]().union(*(value.paths for value in values)))

    def union(self, *others: "PathSet") -> "PathSet":
        """What any of them reads."""
        return PathSet(self.paths.union(*(other.paths for other in others)))

    def mentions(self, name: str) -> bool:
        """Whether anything below a name is read."""
        return any(path[0] == name for path in self.paths)

    def reads(self, *path: str) -> bool:
        """Whether a path, something below it, or the whole that contains it is read."""
        return any(_overlap(own, path) for own in self.paths)

    def names(self, *path: str) -> bool:
        """Whether a path or something below it is read by name; reading the whole around it is not enough."""
        return any(own[: len(path)] == path for own in self.paths)

    def below(self, *path: str) -> frozenset[str]:
        """The names read right below a path."""
        size = len(path)
        return frozenset(own[size] for own in self.paths if own[:size] == path and len(own) > size)

    def only(self, names: frozenset[str]) -> "PathSet":
        """What is read below some names."""
        return PathSet(frozenset(path for path in self.paths if path[0] in names))

    def results(self, step: str) -> "PathSet":
        """What is read of the tasks of a finished step, by their own names."""
        head = (step, "results")
        return PathSet(frozenset(path[2:] for path in self.paths if path[:2] == head and len(path) > 2))

    def of_itself(self, step: str, tasks: frozenset[str]) -> "PathSet":
        """What templates at the end of a run read of it, by the names that others have for it."""
        own = {("output", *path[1:]) for path in self.paths if path[0] == step}
        return PathSet(frozenset(own | {(step, "results", *path) for path in self.only(tasks).paths}))

    def keys(self, scope: str) -> frozenset[str] | None:
        """The keys of a scope that are read, bare names included; None means all of it."""
        if (scope,) in self.paths:
            return None
        return self.below(scope) | self.bare()

    def bare(self) -> frozenset[str]:
        """Names that are no scope: they may be keys of several scopes, tasks or steps."""
        return frozenset(path[0] for path in self.paths if path[0] not in SCOPES)


def _overlap(path: Path, other: Path) -> bool:
    size = min(len(path), len(other))
    return path[:size] == other[:size]
