"""Every accepted spelling of a playbook -> the one canonical tree, held against the grammar.

A document that keeps the grammar and reads no older names has no older spellings, so that the engine which
rewrites them (migrate's, on the same rewrites) is not even asked.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from noetl.dsl.diagnostic import Diagnostic, has_errors
from noetl.dsl.grammar.check import check_shape
from noetl.dsl.older_spellings.respell import reads_older_names
from noetl.dsl.shorthand import expand_shorthand
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.dsl.yaml.tree_edit import adopt


@dataclass(frozen=True, slots=True)
class Normalized:
    """A canonical tree, what was noticed about its spelling, and what the grammar does not allow."""

    tree: Value
    diagnostics: tuple[Diagnostic, ...]
    grammar: tuple[Diagnostic, ...]


def normalize(tree: Value, kinds: Kinds) -> Normalized:
    """The canonical tree of any tree; a canonical one stays as it is."""
    if isinstance(tree, dict) and not isinstance(tree, Map):
        tree = adopt(tree)
    if not isinstance(tree, Map):
        return Normalized(tree, (), tuple(check_shape(tree, kinds)))
    canonical = _canonical(tree, kinds)
    if not has_errors(canonical.grammar) and not _has_older_names(tree):
        return canonical
    from noetl.dsl.older_spellings.loading import rewrite_tree

    today, findings = rewrite_tree(tree, kinds)
    return _canonical(today, kinds, findings)


def _canonical(tree: Map, kinds: Kinds, older: tuple[Diagnostic, ...] = ()) -> Normalized:
    findings = [*older]
    root = expand_shorthand(tree, findings)
    return Normalized(root, tuple(findings), tuple(check_shape(root, kinds)))


def _has_older_names(root: Map) -> bool:
    """Whether a template reads an older name, or an arc carries `args`: the grammar allows either."""
    stack = [root.get("workflow"), root.get("workbook")]
    if _carries_args(stack[0]):
        return True
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            if reads_older_names(node):
                return True
        elif isinstance(node, dict):
            stack += node.values()
        elif isinstance(node, list):
            stack += node
    return False


def _carries_args(steps: Value) -> bool:
    routers = (step["next"] for step in _maps(steps) if isinstance(step.get("next"), Map))
    return any("args" in arc for router in routers for arc in _maps(router.get("arcs")))


def _maps(items: Value) -> Iterator[Map]:
    return (item for item in items if isinstance(item, Map)) if isinstance(items, Seq) else iter(())
