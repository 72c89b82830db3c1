"""The common simple expressions as Python closures, without Jinja: paths, comparisons, defaults, counting.

A closure gives the same value as the compiled template or raises Deopt, and then the compiled template does
the work. So nothing here reports an error; whatever is unusual, large or missing at the end is left to it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

from jinja2 import nodes

from noetl.dsl.templates.fast_operations import (
    ARITHMETIC,
    CONVERSIONS,
    ORDERINGS,
    PLAIN,
    SCALARS,
    SMALL_INT,
    TESTS,
    Deopt,
    Run,
    Scope,
    among,
    default,
    default_if_false,
    equal,
    inside,
    opposite,
    text,
    whole_number,
)
from noetl.dsl.templates.operators import GLOBALS
from noetl.dsl.templates.reads import path_of
from noetl.dsl.templates.values import ABSENT, Envelope, Excerpt, member
from noetl.dsl.yaml.tree import Value


class _Unsuited(Exception):
    """This expression is for the compiled template."""


def fast_expression(node: nodes.Expr) -> Run | None:
    """A closure for an expression, or None when it is not a simple one."""
    try:
        return _expression(node)
    except _Unsuited:
        return None


def fast_text(tree: nodes.Template) -> Run | None:
    """A closure for text with simple expressions in it, or None."""
    try:
        outputs = [output for output in tree.body if isinstance(output, nodes.Output)]
        if len(outputs) != len(tree.body):
            return None
        return text([_piece(part) for output in outputs for part in output.nodes])
    except _Unsuited:
        return None


def _piece(node: nodes.Expr) -> str | Run:
    if not isinstance(node, nodes.TemplateData):
        return _expression(node)
    _check_sound(node.data)
    return node.data


# ---- expressions ----------------------------------------------------------------------------------------


def _expression(node: nodes.Node) -> Run:
    builder = _BUILDERS.get(type(node))
    if builder is None:
        raise _Unsuited
    return builder(node)


def _constant(value: Value) -> Run:
    if type(value) not in SCALARS or (type(value) is float and not math.isfinite(value)):
        raise _Unsuited
    if type(value) is int and not -SMALL_INT < value < SMALL_INT:
        raise _Unsuited
    if type(value) is str:
        _check_sound(value)
    return lambda scope: value


def _check_sound(text: str) -> None:
    """Leave a text that JSON cannot hold to the compiled template, which says why."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unsuited from None
    if "\0" in text:
        raise _Unsuited


def _path(node: nodes.Node) -> Run:
    start, keys = path_of(node)
    if not isinstance(start, nodes.Name) or start.name in GLOBALS:
        raise _Unsuited
    if any(isinstance(key, str) and key.startswith("command_") for key in keys):
        return _members(start.name, keys)
    if not keys:
        return _name(start.name)
    return _entry(start.name, keys[0]) if len(keys) == 1 else _entries(start.name, keys)


def _name(name: str) -> Run:
    return lambda scope: scope.get(name, ABSENT)


def _entry(name: str, key: str | int) -> Run:
    def run(scope: Scope) -> Value:
        owner = scope.get(name, ABSENT)
        kind = type(owner)
        if kind is dict or kind is Envelope or kind is Excerpt:
            entry = owner.get(key, ABSENT)
            if kind is dict or entry is not ABSENT:
                return entry
        return member(owner, key)

    return run


def _entries(name: str, keys: tuple[str | int, ...]) -> Run:
    def run(scope: Scope) -> Value:
        value = scope.get(name, ABSENT)
        for key in keys:
            kind = type(value)
            if kind is dict:
                value = value.get(key, ABSENT)
            elif value is ABSENT:
                return ABSENT
            elif kind is Envelope and key in value:
                value = value[key]
            else:
                value = member(value, key)
        return value

    return run


def _members(name: str, keys: tuple[str | int, ...]) -> Run:
    def run(scope: Scope) -> Value:
        value = scope.get(name, ABSENT)
        for key in keys:
            value = member(value, key)
        return value

    return run


def _items(node: nodes.List | nodes.Tuple) -> Run:
    items = [_expression(item) for item in node.items]
    return lambda scope: [_whole(item(scope)) for item in items]


def _mapping(node: nodes.Dict) -> Run:
    entries = [(_key(pair.key), _expression(pair.value)) for pair in node.items]
    return lambda scope: {key: _whole(value(scope)) for key, value in entries}


def _key(node: nodes.Node) -> str:
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        return str(_constant(node.value)({}))
    raise _Unsuited


def _whole(value: Value) -> Value:
    if type(value) not in PLAIN:
        raise Deopt
    return value


# ---- logic ----------------------------------------------------------------------------------------------


def _both(node: nodes.And) -> Run:
    left, right = _expression(node.left), _expression(node.right)
    return lambda scope: left(scope) and right(scope)


def _either(node: nodes.Or) -> Run:
    left, right = _expression(node.left), _expression(node.right)
    return lambda scope: left(scope) or right(scope)


def _choice(node: nodes.CondExpr) -> Run:
    test, yes = _expression(node.test), _expression(node.expr1)
    no = _expression(node.expr2) if node.expr2 else lambda scope: ABSENT
    return lambda scope: yes(scope) if test(scope) else no(scope)


def _compare(node: nodes.Compare) -> Run:
    if len(node.ops) != 1:
        raise _Unsuited
    left, how, right = _expression(node.expr), node.ops[0].op, node.ops[0].expr
    if how in ("eq", "ne"):
        run = equal(left, _expression(right))
    elif how in ("in", "notin"):
        run = among(left, _constants(right)) if _is_constant(right) else inside(left, _expression(right))
    else:
        run = ORDERINGS[how](left, _expression(right))
    return opposite(run) if how in ("ne", "notin") else run


def _is_constant(node: nodes.Node) -> bool:
    return isinstance(node, nodes.List | nodes.Tuple) and all(isinstance(i, nodes.Const) for i in node.items)


def _constants(node: nodes.Expr) -> list[Value]:
    return [_constant(item.value)({}) for item in node.find_all(nodes.Const)]


def _arithmetic(node: nodes.BinExpr) -> Run:
    return ARITHMETIC[node.operator](_expression(node.left), _expression(node.right))


# ---- filters and tests ----------------------------------------------------------------------------------


def _filter(node: nodes.Filter) -> Run:
    if node.node is None or node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise _Unsuited
    value = _expression(node.node)
    args = node.args
    if node.name in ("default", "d") and len(args) <= 1:
        return default(value, _expression(args[0]) if args else _constant(""))
    if node.name in ("default", "d") and len(args) == 2 and _is_true(args[1]):
        return default_if_false(value, _expression(args[0]))
    if node.name == "int" and len(args) <= 1:
        return whole_number(value, _expression(args[0]) if args else _constant(0))
    if node.name not in CONVERSIONS or args:
        raise _Unsuited
    return _applied(CONVERSIONS[node.name], value)


def _is_true(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const) and node.value is True


def _test(node: nodes.Test) -> Run:
    if node.name not in TESTS or node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise _Unsuited
    return _applied(TESTS[node.name], _expression(node.node))


def _applied(function: Callable[[Value], Value], value: Run) -> Run:
    return lambda scope: function(value(scope))


_BUILDERS: Final[Mapping[type[nodes.Node], Callable[..., Run]]] = {
    nodes.Const: lambda node: _constant(node.value),
    nodes.Name: _path,
    nodes.Getattr: _path,
    nodes.Getitem: _path,
    nodes.List: _items,
    nodes.Tuple: _items,
    nodes.Dict: _mapping,
    nodes.Not: lambda node: opposite(_expression(node.node)),
    nodes.And: _both,
    nodes.Or: _either,
    nodes.CondExpr: _choice,
    nodes.Test: _test,
    nodes.Compare: _compare,
    nodes.Add: _arithmetic,
    nodes.Sub: _arithmetic,
    nodes.Mul: _arithmetic,
    nodes.Div: _arithmetic,
    nodes.FloorDiv: _arithmetic,
    nodes.Mod: _arithmetic,
    nodes.Concat: lambda node: text([_expression(part) for part in node.nodes]),
    nodes.Filter: _filter,
}
