"""Older names in the templates of a step or block: outcome, result, vars, args, events, `success`."""

from collections.abc import Iterator
from dataclasses import dataclass

from noetl.dsl.migrate.editable_tree import Collection, Node, Scalar, keys, maps
from noetl.dsl.migrate.rewriting import Rewriting
from noetl.dsl.migrate.set_spellings import written
from noetl.dsl.migrate.tasks import tasks_of
from noetl.dsl.migrate.templates import compare_with_ok, edit_paths, edit_scalar, roots_in, templates_under
from noetl.dsl.older_spellings.respell import respell_event, respell_output
from noetl.dsl.templates.reads import Path


@dataclass(frozen=True, slots=True)
class Names:
    """What older root names stand for in one step or block."""

    variables: dict[str, str]  # a name under vars -> where it is now
    known: frozenset[str]  # names the document defines, so that they are not older ones
    own: frozenset[str]  # names the step or block defines
    args: bool  # whether args is still to be read as input

    def edit(self, path: Path) -> tuple[int, str] | None:
        """Today's beginning of a dotted name."""
        root = path[0]
        if path[:3] == ("output", "py", "exception"):
            return 3, "output.py.exception_type"
        if root == "args":
            return (1, "input") if self.args else None
        if root in self.known or root in self.own:
            return None
        if root == "vars":
            return (2, self.variables.get(path[1], f"step.{path[1]}")) if len(path) > 1 else (1, "step")
        return {"result": (1, "output.data"), "result_ref": (1, "output.ref")}.get(root)


def respell(rw: Rewriting, known: frozenset[str], owner: Collection, *, args: bool = False) -> None:
    """Bring every template of a step or block to today's names; `known` are those the document defines."""
    names = Names(_variables(rw, owner), known, _defined(owner), args)
    edited: list[tuple[Scalar, str]] = []
    for scalar in templates_under(rw, owner):
        before = scalar.value
        if edit_scalar(scalar, lambda text: _today(text, names)):
            edited.append((scalar, before))
    if edited:
        numbers = sorted({scalar.mark.line for scalar, _ in edited})
        lines = f"line{'s' if len(numbers) > 1 else ''} " + ", ".join(map(str, numbers))
        first = min((scalar.mark for scalar, _ in edited), key=lambda mark: (mark.line, mark.column))
        rw.changed(first, f"templates {_difference(edited)} ({lines})")


def _today(text: str, names: Names) -> str:
    text = edit_paths(respell_event(respell_output(text)), names.edit)
    return compare_with_ok(text) if "success" in text else text


def _difference(edited: list[tuple[Scalar, str]]) -> str:
    old = {name for _, before in edited for name in roots_in(before)}
    old -= {name for scalar, _ in edited for name in roots_in(scalar.value)}
    names = ", ".join(f"'{name}'" for name in sorted(old))
    return f"read today's names instead of {names}" if old else "use today's words"


def _variables(rw: Rewriting, owner: Collection) -> dict[str, str]:
    """Where each name under vars is now: a step's own writes come first."""
    own = {name for node in _sets(owner) for name in written(node, "step")}
    found = {name: f"workload.{name}" for name in rw.root_vars}
    found |= {name: f"ctx.{name}" for name in rw.shared}
    return found | {name: f"step.{name}" for name in own}


def _sets(node: Node) -> Iterator[Collection]:
    """Every `set` under a node."""
    if isinstance(node, Collection):
        for entry in node.entries:
            if entry.key == "set" and isinstance(entry.value, Collection):
                yield entry.value
            yield from _sets(entry.value)


def defined_by(root: Collection) -> frozenset[str]:
    """Names that every template can read because the document defines them."""
    return frozenset(
        {*keys(root.get("workload")), *(str(s.word("step")) for s in maps(root.get("workflow")))}
    )


def _defined(owner: Collection) -> frozenset[str]:
    """Names that templates of a step can read because the step defines them."""
    found = {*keys(owner.get("input"))}
    for task in tasks_of(owner):
        found |= {str(task.word("name")), *keys(task.get("input"))}
    loop = owner.map_at("loop")
    while loop is not None:
        found.add(str(loop.word("iterator")))
        loop = loop.map_at("loop")
    return frozenset(found)
