"""A parsed template with every operation replaced by a call of one that counts its work.

The rewritten tree is what Jinja compiles.
"""

from collections.abc import Sequence
from typing import TypeVar

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from noetl.dsl.templates.limits import CHARS_PER_STEP
from noetl.dsl.templates.methods import METHOD
from noetl.dsl.templates.operators import COMPARE, CONCAT, FUNCTION, LOOP, NO_ELSE, SLICE, SUBSCRIPT, WALK
from noetl.dsl.templates.reads import constant_key, path_of
from noetl.dsl.templates.values import spell

AnyNode = TypeVar("AnyNode", bound=nodes.Node)

RESULT = "__value"
"""The variable under which a compiled expression leaves its value."""


def lower_text(tree: nodes.Template) -> nodes.Template:
    """A template that makes text."""
    lowered = _Lowering().visit(tree)
    assert isinstance(lowered, nodes.Template)
    return lowered


def lower_expression(expression: nodes.Expr) -> nodes.Template:
    """A template that leaves the value of one expression in RESULT."""
    value = _Lowering().visit(expression)
    return nodes.Template([nodes.Assign(nodes.Name(RESULT, "store"), value, lineno=1)], lineno=1)


class _Lowering(NodeTransformer):
    """Visits children first where it keeps them, so that operands are rewritten too."""

    def visit_Getattr(self, node: nodes.Getattr) -> nodes.Node:
        return self._path(node)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        if isinstance(node.arg, nodes.Slice):
            bounds = [node.arg.start, node.arg.stop, node.arg.step]
            args = [self._visit(bound) if bound else nodes.Const(None) for bound in bounds]
            return _call(SLICE, self._visit(node.node), args, node)
        if constant_key(node) is not None:
            return self._path(node)
        args = [self._visit(node.arg), nodes.Const(_name(node.node))]
        return _call(SUBSCRIPT, self._visit(node.node), args, node)

    def _path(self, node: nodes.Node) -> nodes.Node:
        start, keys = path_of(node)
        return _call(WALK, self._visit(start), [nodes.Const(_name(start)), nodes.Const(keys)], node)

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        args = [self._visit(argument) for argument in node.args]
        kwargs = [self._visit(argument) for argument in node.kwargs]
        if isinstance(node.node, nodes.Name):
            return _call(FUNCTION, nodes.Const(node.node.name), args, node, kwargs)
        assert isinstance(node.node, nodes.Getattr)
        owner = self._visit(node.node.node)
        return _call(METHOD, owner, [nodes.Const(node.node.attr), *args], node, kwargs)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        return _call(CONCAT, nodes.List([self._visit(part) for part in node.nodes]), [], node)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        """`a < b < c` is `a < b and b < c`; values are pure, so `b` may be computed twice."""
        operands = [self._visit(expr) for expr in [node.expr, *(operand.expr for operand in node.ops)]]
        compared = [
            _call(COMPARE, left, [nodes.Const(operand.op), right], node)
            for left, operand, right in zip(operands, node.ops, operands[1:], strict=False)
        ]
        result: nodes.Expr = compared[0]
        for comparison in compared[1:]:
            result = nodes.And(result, comparison)
        return result

    def visit_CondExpr(self, node: nodes.CondExpr) -> nodes.Node:
        self.generic_visit(node)
        node.expr2 = node.expr2 or _call(NO_ELSE, nodes.Const(None), [], node)
        return node

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        """JSON has no tuples, and a tuple of tuples could be hashed at a price that doubles with depth."""
        if node.ctx != "load":
            return node
        return nodes.List([self._visit(item) for item in node.items], lineno=node.lineno)

    def visit_Mod(self, node: nodes.Mod) -> nodes.Node:
        """Right of `%` a tuple stays one: it is how several values are put into a text."""
        node.left = self._visit(node.left)
        if isinstance(node.right, nodes.Tuple):
            node.right.items = [self._visit(item) for item in node.right.items]
        else:
            node.right = self._visit(node.right)
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:
        cost = 1 + sum(_cost(child) for child in [*node.body, *([node.test] if node.test else [])])
        self.generic_visit(node)
        node.iter = _call(LOOP, node.iter, [nodes.Const(cost)], node)
        return node

    def _visit(self, node: AnyNode) -> AnyNode:
        lowered: AnyNode = self.visit(node)
        return lowered


def _cost(node: nodes.Node) -> int:
    own = len(node.data) // CHARS_PER_STEP if isinstance(node, nodes.TemplateData) else 0
    return 1 + own + sum(map(_cost, node.iter_child_nodes()))


def _name(node: nodes.Node) -> str:
    """How a message calls the value of a node."""
    start, keys = path_of(node)
    if not isinstance(start, nodes.Name):
        return "the value"
    return spell(start.name, keys)


def _call(
    name: str,
    value: nodes.Node,
    args: Sequence[nodes.Node],
    origin: nodes.Node,
    kwargs: Sequence[nodes.Node] = (),
) -> nodes.Filter:
    return nodes.Filter(value, name, list(args), list(kwargs), None, None, lineno=origin.lineno)
