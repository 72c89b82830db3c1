"""What is wrong with the nodes of a template before it is run: forbidden blocks, unknown filters and more."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from jinja2 import nodes

from noetl.dsl.nearest import nearest
from noetl.dsl.templates.filters import FILTERS, TESTS
from noetl.dsl.templates.limits import COMPARISONS_CHAINED, DEPTH, INT_BITS, LOOP_DEPTH, NODES
from noetl.dsl.templates.methods import METHOD_NAMES
from noetl.dsl.templates.operators import GLOBALS

Problem = tuple[str, str | None]

_BLOCKS = frozenset({nodes.Output, nodes.If, nodes.For, nodes.Assign})
_WORDS: Final[Mapping[type[nodes.Node], str]] = {
    nodes.Macro: "macro",
    nodes.CallBlock: "call",
    nodes.FilterBlock: "filter",
    nodes.With: "with",
    nodes.Block: "block",
    nodes.Extends: "extends",
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
    nodes.AssignBlock: "set ... endset",
    nodes.ScopedEvalContextModifier: "autoescape",
    nodes.Scope: "autoescape",
}
_TOO_LARGE: Problem = (
    f"the template has over {NODES:,} parts, or is nested deeper than {DEPTH} levels or {LOOP_DEPTH} loops",
    "split it over several `set` entries or tasks",
)
_RESERVED = frozenset({"self", "super", "caller", "varargs", "kwargs"})
_TESTING_FILTERS = {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}


def problems(tree: nodes.Template) -> tuple[Problem, ...]:
    """Everything in a template that would be refused when it runs; each once, in the order of the text."""
    wrong: dict[Problem, None] = {}
    large = False
    count = 0
    stack: list[tuple[nodes.Node, int, int]] = [(tree, 0, 0)]
    while stack:
        node, depth, loops = stack.pop()
        count += 1
        for problem in _wrong(node):
            wrong[problem] = None
        loops += isinstance(node, nodes.For)
        chained = len(node.ops) if isinstance(node, nodes.Compare) else 0
        if depth > DEPTH or loops > LOOP_DEPTH or chained > COMPARISONS_CHAINED:
            large = True
            continue
        stack.extend((child, depth + 1, loops) for child in reversed(_children(node)))
    if large or count > NODES:
        wrong[_TOO_LARGE] = None
    return tuple(wrong)


def _children(node: nodes.Node) -> list[nodes.Node]:
    children: list[nodes.Node] = []
    for field in node.fields:
        value = getattr(node, field)
        if isinstance(value, nodes.Node):
            children.append(value)
        elif isinstance(value, list):
            children += [item for item in value if isinstance(item, nodes.Node)]
    return children


def _wrong(node: nodes.Node) -> Iterator[Problem]:
    """What is wrong with one node by itself."""
    look = _LOOKS.get(type(node))
    if look is not None:
        return look(node)
    return iter(()) if type(node) in _BLOCKS or not isinstance(node, nodes.Stmt) else _forbidden(node)


def _forbidden(node: nodes.Node) -> Iterator[Problem]:
    word = _WORDS.get(type(node), type(node).__name__.lower())
    yield f"{{% {word} %}} is not allowed in a template", "only if, for and set are"


def _wrong_name(node: nodes.Name) -> Iterator[Problem]:
    if node.name in _RESERVED:
        yield f"{node.name} is a word of Jinja's and no name here", "use another name"
    if node.name == "loop" and node.ctx == "store":
        yield "loop is what Jinja calls the loop itself and cannot be set", "use another name"


def _wrong_target(node: nodes.NSRef) -> Iterator[Problem]:
    target = f"{node.name}.{node.attr}"
    yield f"{target} cannot be set inside a template", "write ctx, step or iter with `set:`"


def _wrong_loop(node: nodes.For) -> Iterator[Problem]:
    if node.recursive:
        yield "a recursive for is not allowed in a template", "do this in a python task"


def _wrong_constant(node: nodes.Const) -> Iterator[Problem]:
    if isinstance(node.value, int) and node.value.bit_length() > INT_BITS:
        yield f"a number of {node.value.bit_length():,} bits is too large", None
    if isinstance(node.value, float) and not math.isfinite(node.value):
        yield "a number is too large to be one", None


def _wrong_filter(node: nodes.Filter | nodes.Test) -> Iterator[Problem]:
    if node.dyn_args or node.dyn_kwargs:
        yield from _starred(node.name)
    if isinstance(node, nodes.Test):
        yield from _unknown("test", node.name, TESTS)
        return
    yield from _unknown("filter", node.name, FILTERS)
    if node.name == "map" and node.args:
        yield from _unknown_constant("filter", node.args[0], FILTERS)
    position = _TESTING_FILTERS.get(node.name)
    if position is not None and len(node.args) > position:
        yield from _unknown_constant("test", node.args[position], TESTS)


def _unknown_constant(what: str, node: nodes.Node, names: Iterable[str]) -> Iterator[Problem]:
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        yield from _unknown(what, node.value, names)


def _unknown(what: str, name: str, names: Iterable[str]) -> Iterator[Problem]:
    if name in names:
        return
    if name == "random":
        yield "the filter random is not allowed: templates are pure", "draw in a python task"
        return
    close = nearest(name, names)
    yield f"there is no {what} {name!r}", f"did you mean {close!r}?" if close else None


def _wrong_call(node: nodes.Call) -> Iterator[Problem]:
    callee = node.node
    if node.dyn_args or node.dyn_kwargs:
        yield from _starred("a call")
    if isinstance(callee, nodes.Name):
        if callee.name not in GLOBALS:
            yield f"there is no function {callee.name!r}", f"there are: {', '.join(GLOBALS)}"
    elif not isinstance(callee, nodes.Getattr):
        yield "only a named function can be called in a template", None
    elif callee.attr not in METHOD_NAMES:
        close = nearest(callee.attr, METHOD_NAMES)
        hint = f"did you mean {close!r}?" if close else "use a filter, or a python task"
        yield f"no value has a function {callee.attr!r} in a template", hint


def _starred(what: str) -> Iterator[Problem]:
    yield f"{what} cannot be given * or ** arguments in a template", "write the arguments out"


_LOOKS: Final[Mapping[type[nodes.Node], Callable[..., Iterator[Problem]]]] = {
    nodes.Call: _wrong_call,
    nodes.Const: _wrong_constant,
    nodes.Filter: _wrong_filter,
    nodes.For: _wrong_loop,
    nodes.Name: _wrong_name,
    nodes.NSRef: _wrong_target,
    nodes.Test: _wrong_filter,
}
