"""What can be said of a template without rendering it: what it reads, whether it must hold, how it compares.

Works on the parsed template. Rendering and the limits of a template are template.py's; what a finding says
is the rules'. A text that does not parse reads nothing and decides nothing: its error is reported elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from jinja2 import nodes

from noetl.dsl.names import Path, reading
from noetl.dsl.rendering.lowering import path_of
from noetl.dsl.template import is_template, syntax_tree
from noetl.dsl.tree import Value

CACHE_SIZE = 20_000
SOFT_FILTERS = ("default", "d")
SOFT_TESTS = ("defined", "undefined", "none")


class Some:
    """A value of which only this is known: it is there and counts as true."""


class Unknown:
    """A value of which nothing is known."""


class Word(str):
    """A known word of a small vocabulary; comparing it with a word outside is a mistake of another kind."""

    among: tuple[str, ...]

    def __new__(cls, word: str, among: tuple[str, ...]) -> Self:
        """The word and its vocabulary."""
        made = super().__new__(cls, word)
        made.among = among
        return made


SOME = Some()
UNKNOWN = Unknown()
STATUSES = ("ok", "error")
Facts = tuple[tuple[Path, Value], ...]  # what is taken for known; a tuple, so that verdicts can be kept

OK: Facts = ((("output", "status"), Word("ok", STATUSES)), (("output", "error"), None))
ERROR: Facts = ((("output", "status"), Word("error", STATUSES)), (("output", "error"), SOME))


@dataclass(frozen=True, slots=True)
class Read:
    """One dotted name a template reads; `soft` when the template copes with its absence."""

    path: Path
    soft: bool = False

    @property
    def dotted(self) -> str:
        """The name as written, `ctx.page`."""
        return ".".join(self.path)


@lru_cache(CACHE_SIZE)
def reads(text: str) -> tuple[Read, ...]:
    """Every dotted name a template reads from outside, in order."""
    tree = _tree(text)
    if tree is None:
        return ()
    soft = {path for node in _soft_nodes(tree) for path in reading(_template(node)).paths}
    paths = sorted(reading(tree).paths)
    return tuple(Read(path, any(path[:n] in soft for n in range(1, len(path) + 1))) for path in paths)


def _soft_nodes(tree: nodes.Template) -> Iterator[nodes.Expr]:
    """The expressions whose absence the template copes with."""
    for node in tree.find_all((nodes.Filter, nodes.Test)):
        names = SOFT_FILTERS if isinstance(node, nodes.Filter) else SOFT_TESTS
        if node.name in names and node.node is not None:
            yield node.node


def _template(expression: nodes.Expr) -> nodes.Template:
    return nodes.Template([nodes.Output([expression])])


@lru_cache(CACHE_SIZE)
def plain_path(text: str) -> Path | None:
    """The path of a template that is exactly one dotted name, `{{ output.ref }}`; None for any other."""
    expression = _only_expression(text)
    return _path(expression) if expression is not None else None


def verdict(when: Value, facts: Facts = ()) -> bool | None:
    """Whether a guard must hold or must not under the facts; None when it depends. An absent guard holds."""
    if when is None or isinstance(when, bool):
        return when is not False
    return _decided(when, facts) if isinstance(when, str) else None


@lru_cache(CACHE_SIZE)
def _decided(text: str, facts: Facts) -> bool | None:
    expression = _only_expression(text)
    return None if expression is None else _truth(_value(expression, facts))


@lru_cache(CACHE_SIZE)
def comparisons(text: str) -> tuple[tuple[Path, Value], ...]:
    """Every dotted name that is compared (`==`, `!=`, `in`) with a constant, and the constant."""
    tree = _tree(text)
    found: list[tuple[Path, Value]] = []
    for node in tree.find_all(nodes.Compare) if tree is not None else ():
        sides = [node.expr, *(operand.expr for operand in node.ops)]
        paths = [path for path in map(_path, sides) if path]
        found += [(path, constant) for path in paths for side in sides for constant in _constants(side)]
    return tuple(found)


@lru_cache(CACHE_SIZE)
def pieces(text: str) -> tuple[tuple[str | None, str], ...]:
    """The expressions put into a text: the filter that comes last, if any, and a name that is read."""
    tree = _tree(text)
    if tree is None:
        return ()
    found = []
    for output in tree.find_all(nodes.Output):
        for part in output.nodes:
            if not isinstance(part, nodes.TemplateData):
                last = part.name if isinstance(part, nodes.Filter) else None
                read = sorted(reading(_template(part)).paths)
                found.append((last, ".".join(read[0]) if read else ""))
    return tuple(found)


def is_whole(text: str) -> bool:
    """Whether a text is one expression and nothing else, so that nothing is put into it."""
    return _only_expression(text) is not None


def _tree(text: str) -> nodes.Template | None:
    return syntax_tree(text) if is_template(text) else None


@lru_cache(CACHE_SIZE)
def _only_expression(text: str) -> nodes.Expr | None:
    tree = _tree(text)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output):
        return None
    parts = tree.body[0].nodes
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData) else None


def _path(node: nodes.Node) -> Path | None:
    """The dotted name of a node, constant subscripts included; None for anything else."""
    start, keys = path_of(node)
    return (start.name, *map(str, keys)) if isinstance(start, nodes.Name) else None


def _constants(node: nodes.Node) -> Iterator[Value]:
    if isinstance(node, nodes.Const):
        yield node.value
    elif isinstance(node, nodes.List | nodes.Tuple):
        for item in node.items:
            yield from _constants(item)


def _value(node: nodes.Node, facts: Facts) -> Value:
    """The value an expression must have under the facts, else UNKNOWN."""
    match node:
        case nodes.Const():
            return node.value
        case nodes.Name() | nodes.Getattr() | nodes.Getitem():
            path = _path(node)
            return next((value for known, value in facts if known == path), UNKNOWN)
        case nodes.Not():
            truth = _truth(_value(node.node, facts))
            return UNKNOWN if truth is None else not truth
        case nodes.And() | nodes.Or():
            return _both(node, facts)
        case nodes.Compare():
            return _compare(node, facts)
        case nodes.Test():
            return _test(node, facts)
        case nodes.List() | nodes.Tuple():
            return [_value(item, facts) for item in node.items]
        case _:
            return UNKNOWN


def _both(node: nodes.And | nodes.Or, facts: Facts) -> Value:
    decides = isinstance(node, nodes.Or)
    truths = [_truth(_value(side, facts)) for side in (node.left, node.right)]
    if decides in truths:
        return decides
    return UNKNOWN if None in truths else not decides


def _compare(node: nodes.Compare, facts: Facts) -> Value:
    left = _value(node.expr, facts)
    if len(node.ops) != 1:
        return UNKNOWN
    right = _value(node.ops[0].expr, facts)
    if not (_is_known(left) and _is_known(right)):
        return UNKNOWN
    match node.ops[0].op:
        case "eq" | "ne" as operator:
            same = left == right
            foreign = not same and (_is_foreign(left, right) or _is_foreign(right, left))
            return UNKNOWN if foreign else same == (operator == "eq")
        case "in" | "notin" as operator if isinstance(right, list) and isinstance(left, str):
            inside = left in right
            foreign = not inside and any(_is_foreign(left, item) for item in right)
            return UNKNOWN if foreign else inside == (operator == "in")
        case _:
            return UNKNOWN


def _is_foreign(word: Value, other: Value) -> bool:
    return isinstance(word, Word) and isinstance(other, str) and other not in word.among


def _is_known(value: Value) -> bool:
    if isinstance(value, list):
        return all(map(_is_known, value))
    return not isinstance(value, Unknown | Some)


def _test(node: nodes.Test, facts: Facts) -> Value:
    value = _value(node.node, facts)
    if isinstance(value, Unknown) or value is None:
        return UNKNOWN
    return {"defined": True, "undefined": False, "none": False}.get(node.name, UNKNOWN)


def _truth(value: Value) -> bool | None:
    """The truth of a known value as a guard counts it."""
    if isinstance(value, Unknown):
        return None
    if isinstance(value, str):
        return {"true": True, "false": False, "": False}.get(value.strip().lower())
    return bool(value)
