"""What can be said of a template without rendering it: what it reads, whether it must hold, how it compares.

A text that does not parse, or is refused, reads nothing and decides nothing: its error is reported elsewhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self

from jinja2 import nodes

from noetl.dsl.templates.reads import Path, Read, expression_paths, path_of, reads
from noetl.dsl.templates.syntax import is_template, only_expression, syntax_tree, template_problems
from noetl.dsl.yaml.tree import Value

TEXTS_KEPT = 32_768


class Some:
    """A value of which only this is known: it is there and counts as true."""


class Unknown:
    """A value of which nothing is known."""


class Word(str):
    """A known word of a small vocabulary; comparing it with a word outside is a mistake of another kind."""

    among: tuple[str, ...]

    def __new__(cls, word: str, among: tuple[str, ...]) -> Self:
        """The word and its vocabulary."""
        self = super().__new__(cls, word)
        self.among = among
        return self


# Only a text with one of these is worth searching for comparisons, or for what copes with an absent value.
_COMPARES = re.compile(r"[=<>]|\bin\b")
_COPES = re.compile(r"\||\bis\b")

SOME = Some()
UNKNOWN = Unknown()
STATUSES = ("ok", "error")
Facts = tuple[tuple[Path, Value], ...]  # what is taken for known; a tuple, so that verdicts can be kept

OK: Facts = ((("output", "status"), Word("ok", STATUSES)), (("output", "error"), None))
ERROR: Facts = ((("output", "status"), Word("error", STATUSES)), (("output", "error"), SOME))


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """The names a template reads, what they are compared with, and its expression if it is nothing else."""

    reads: tuple[Read, ...] = ()
    comparisons: tuple[tuple[Path, Value], ...] = ()
    whole: "Reduced | None" = None


@lru_cache(TEXTS_KEPT)
def analyse(text: str) -> TemplateFacts:
    """Analyse a template once; there are no facts about a text without one, or with one that is refused."""
    tree = _tree(text)
    if tree is None:
        return TemplateFacts()
    expression = only_expression(text, tree)
    return TemplateFacts(
        reads=reads(tree, copes=_COPES.search(text) is not None),
        comparisons=_comparisons(tree) if _COMPARES.search(text) else (),
        whole=None if expression is None else _reduce(expression),
    )


def plain_path(text: str) -> Path | None:
    """The path of a template that is exactly one dotted name, `{{ output.ref }}`; None for any other."""
    whole = analyse(text).whole
    return whole.operands if whole is not None and whole.kind == "path" else None


def verdict(when: Value, facts: Facts = ()) -> bool | None:
    """Whether a guard must hold or must not under the facts; None when it depends. An absent guard holds."""
    if when is None or isinstance(when, bool):
        return when is not False
    whole = analyse(when).whole if isinstance(when, str) else None
    return None if whole is None else _truth(_value(whole, facts))


def _comparisons(tree: nodes.Template) -> tuple[tuple[Path, Value], ...]:
    """Every dotted name that is compared with a constant, and the constant."""
    compared: list[tuple[Path, Value]] = []
    for node in tree.find_all(nodes.Compare):
        sides = [node.expr, *(operand.expr for operand in node.ops)]
        paths = [path for path in map(_path, sides) if path]
        compared += [(path, constant) for path in paths for side in sides for constant in _constants(side)]
    return tuple(compared)


def pieces(text: str) -> tuple[tuple[str | None, str], ...]:
    """The expressions put into a text: the filter that comes last, if any, and a name that is read."""
    tree = _tree(text)
    if tree is None:
        return ()
    parts = (part for output in tree.find_all(nodes.Output) for part in output.nodes)
    return tuple(_piece(part) for part in parts if not isinstance(part, nodes.TemplateData))


def _piece(part: nodes.Expr) -> tuple[str | None, str]:
    last = part.name if isinstance(part, nodes.Filter) else None
    read = sorted(expression_paths(part))
    return last, ".".join(read[0]) if read else ""


def joined_pieces(text: str) -> tuple[tuple[str | None, str], ...]:
    """The values that one expression puts together with a text of its own, as `pieces` has them."""
    tree = _tree(text)
    expression = None if tree is None else only_expression(text, tree)
    parts = [] if expression is None else list(_joined(expression))
    texts = [part for part in parts if isinstance(part, nodes.Const) and isinstance(part.value, str)]
    return tuple(_piece(part) for part in parts if not isinstance(part, nodes.Const)) if texts else ()


def _joined(node: nodes.Expr) -> Iterator[nodes.Expr]:
    """What `~` and `+` put together."""
    operands: list[nodes.Expr] = []
    if isinstance(node, nodes.Concat):
        operands = list(node.nodes)
    elif isinstance(node, nodes.Add):
        operands = [node.left, node.right]
    if not operands:
        yield node
    for operand in operands:
        yield from _joined(operand)


def _tree(text: str) -> nodes.Template | None:
    """The parsed template; None where there is none, or one that is refused and may be too deep to read."""
    return syntax_tree(text) if is_template(text) and not template_problems(text) else None


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


@dataclass(frozen=True, slots=True)
class Reduced:
    """An expression cut down to what can be decided, so that it is small enough to keep."""

    kind: Literal["const", "path", "not", "and", "or", "same", "in", "defined", "list", "unknown"]
    operands: tuple[Value, ...] = ()


_UNKNOWN = Reduced("unknown")
_TESTS = {"defined": True, "undefined": False, "none": False}


def _reduce(node: nodes.Node) -> Reduced:
    match node:
        case nodes.Const():
            return Reduced("const", (node.value,))
        case nodes.Name() | nodes.Getattr() | nodes.Getitem():
            path = _path(node)
            return Reduced("path", path) if path else _UNKNOWN
        case nodes.Not():
            return Reduced("not", (_reduce(node.node),))
        case nodes.And() | nodes.Or():
            kind: Literal["and", "or"] = "and" if isinstance(node, nodes.And) else "or"
            return Reduced(kind, (_reduce(node.left), _reduce(node.right)))
        case nodes.Compare() if len(node.ops) == 1:
            return _reduced_comparison(node)
        case nodes.Test() if node.name in _TESTS:
            tested = Reduced("defined", (_reduce(node.node),))
            return tested if _TESTS[node.name] else Reduced("not", (tested,))
        case nodes.List() | nodes.Tuple():
            return Reduced("list", tuple(map(_reduce, node.items)))
        case _:
            return _UNKNOWN


def _reduced_comparison(node: nodes.Compare) -> Reduced:
    sides = (_reduce(node.expr), _reduce(node.ops[0].expr))
    match node.ops[0].op:
        case "eq":
            return Reduced("same", sides)
        case "ne":
            return Reduced("not", (Reduced("same", sides),))
        case "in":
            return Reduced("in", sides)
        case "notin":
            return Reduced("not", (Reduced("in", sides),))
        case _:
            return _UNKNOWN


def _value(reduced: Reduced, facts: Facts) -> Value:
    """The value an expression must have under the facts, else UNKNOWN."""
    if reduced.kind == "const":
        return reduced.operands[0]
    if reduced.kind == "path":
        return next((value for path, value in facts if path == reduced.operands), UNKNOWN)
    values = [_value(operand, facts) for operand in reduced.operands]
    match reduced.kind:
        case "not":
            truth = _truth(values[0])
            return UNKNOWN if truth is None else not truth
        case "and" | "or" as word:
            return _both(values, decides=word == "or")
        case "defined":
            return UNKNOWN if isinstance(values[0], Unknown) or values[0] is None else True
        case "list":
            return values
        case "same" | "in" as word if all(map(_is_known, values)):
            return _compared(word, values[0], values[1])
        case _:
            return UNKNOWN


def _both(values: list[Value], *, decides: bool) -> Value:
    truths = [_truth(value) for value in values]
    if decides in truths:
        return decides
    return UNKNOWN if None in truths else not decides


def _compared(word: str, left: Value, right: Value) -> Value:
    if word == "same":
        others = [right] if not isinstance(right, Word) else [left]
        holds = left == right
        subject = left if isinstance(left, Word) else right
    elif isinstance(right, list) and isinstance(left, str):
        holds, others, subject = left in right, right, left
    else:
        return UNKNOWN
    foreign = not holds and any(_is_foreign(subject, other) for other in others)
    return UNKNOWN if foreign else holds


def _is_foreign(word: Value, other: Value) -> bool:
    return isinstance(word, Word) and isinstance(other, str) and other not in word.among


def _is_known(value: Value) -> bool:
    if isinstance(value, list):
        return all(map(_is_known, value))
    return not isinstance(value, Unknown | Some)


def _truth(value: Value) -> bool | None:
    """The truth of a known value as a guard counts it."""
    if isinstance(value, Unknown):
        return None
    if isinstance(value, str):
        return {"true": True, "false": False, "": False}.get(value.strip().lower())
    return bool(value)
