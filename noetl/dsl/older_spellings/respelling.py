"""Older names in the templates of a step or block: outcome, result, vars, args, events, `success`."""

from collections.abc import Iterator
from dataclasses import dataclass

from noetl.dsl.grammar.task import SCOPES
from noetl.dsl.older_spellings.findings import ARGS, OUTCOME
from noetl.dsl.older_spellings.respell import (
    compare_with_ok,
    edit_paths,
    reads_older_names,
    rename_root,
    respell_event,
    respell_output,
    roots_in,
)
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.set_spellings import OLDER, written
from noetl.dsl.older_spellings.templates import edit_scalar, mentions, paths_of, templates_under
from noetl.dsl.templates.reads import Path
from noetl.dsl.yaml.editable_tree import Collection, Entry, Node, Scalar, entries

RESULTS = {"result_ref": "output.ref", "result": "output.data"}


@dataclass(frozen=True, slots=True)
class Names:
    """What older root names stand for in one step or block."""

    variables: dict[str, str]  # a name under vars -> where it is now
    document: frozenset[str]  # names the document defines, so that they are not older ones
    own: frozenset[str]  # names the step or block defines
    args: bool  # whether args is still to be read as input

    def edit(self, path: Path) -> tuple[int, str] | None:
        """Today's beginning of a dotted name."""
        root = path[0]
        if path[:3] == ("output", "py", "exception"):
            return 3, "output.py.exception_type"
        if root == "args":
            return (1, "input") if self.args else None
        if root in self.document or root in self.own:
            return None
        if root == "vars":
            return (2, self.variables.get(path[1], f"step.{path[1]}")) if len(path) > 1 else (1, "step")
        return (1, RESULTS[root]) if root in RESULTS else None


def respell(rw: Rewriting, document_names: frozenset[str], owner: Collection, *, args: bool = False) -> None:
    """Bring every template of a step or block to today's names; `document_names` are read everywhere."""
    names = Names(_variables(rw, owner), document_names, _defined(owner), args)
    edited: list[tuple[Scalar, str]] = []
    for scalar in templates_under(rw, owner):
        before = scalar.value
        if edit_scalar(scalar, lambda text: _today(text, names)):
            edited.append((scalar, before))
    rw.changed_lines((scalar for scalar, _ in edited), f"templates {_difference(edited)}")


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
    places = {name: f"workload.{name}" for name in rw.root_vars}
    places |= {name: f"ctx.{name}" for name in rw.shared | rw.passed_on}
    return places | {name: f"step.{name}" for name in own}


def passed_on(owners: list[Collection]) -> set[str]:
    """The names under vars that one step writes and another reads, which writes none of that name."""
    writes, reads = {}, {}
    for owner in owners:
        under = [entry.keys for entry in _entries_under(owner) if entry.key in ("vars", "set_vars")]
        writes[id(owner)] = {str(name) for names in under for name in names}
        reads[id(owner)] = {path[1] for path in paths_of(owner) if path[0] == "vars" and len(path) > 1}
    written_anywhere = set().union(*writes.values())
    return {
        name for owner, names in reads.items() for name in names - writes[owner] if name in written_anywhere
    }


def _sets(node: Node) -> Iterator[Collection]:
    """Every `set` under a node."""
    for entry in _entries_under(node):
        if entry.key == "set" and isinstance(entry.value, Collection):
            yield entry.value


# ---- what load says of them -------------------------------------------------------------------------------


def note_older_names(rw: Rewriting, document_names: frozenset[str], owner: Collection) -> None:
    """Read the templates of a step or block with today's names; `args` are only noted: they still travel."""
    defined = document_names | _defined(owner)
    for scalar in templates_under(rw, owner):
        if reads_older_names(scalar.value):
            _note_outcome(rw, scalar)
            for old, today in RESULTS.items():
                if old not in defined:
                    _note_result(rw, scalar, old, today)
            edit_scalar(scalar, respell_event)
            if mentions(scalar.value, "args"):
                message = "the template reads 'args', an older spelling of 'input'"
                write = "the value with `set` on the arc, and `input` on the step that reads it"
                rw.deprecated(ARGS, scalar.mark, message, write)


def _note_outcome(rw: Rewriting, scalar: Scalar) -> None:
    if edit_scalar(scalar, respell_output):
        message = "the template reads 'outcome', an older spelling of 'output'"
        rw.deprecated(OUTCOME, scalar.mark, message, scalar.value.strip())


def _note_result(rw: Rewriting, scalar: Scalar, old: str, today: str) -> None:
    if edit_scalar(scalar, lambda text: rename_root(text, old, today)):
        message = f"the template reads '{old}', an older spelling of '{today}'"
        rw.deprecated(OUTCOME, scalar.mark, message, scalar.value.strip())


# ---- names that are not older ones ------------------------------------------------------------------------


def defined_by(root: Collection) -> frozenset[str]:
    """Names that every template can read because the document defines them: workload, steps, ctx, args."""
    steps = root.maps_at("workflow")
    names = {*root.keys_at("workload"), *(str(step.word("step")) for step in steps)}
    for step in steps:
        for arc in (*step.maps_at("next"), *step.maps_at("next", "arcs")):
            names.update(arc.keys_at("args"))
    for entry in (*_entries_under(root.get("workflow")), *_entries_under(root.get("workbook"))):
        if entry.key == "set" and (writes := entry.as_map) is not None:
            names |= written(writes, "ctx")
        elif OLDER.get(str(entry.key)) == "ctx":
            names.update(entry.keys)
    return frozenset(names)


def _defined(owner: Collection) -> frozenset[str]:
    """Names that templates of a step can read because the step defines them, in spellings of any age."""
    names: set[str] = set()
    for entry in _entries_under(owner):
        body = entry.as_map
        if entry.key in ("name", "iterator") and isinstance(entry.value, Scalar):
            names.add(entry.value.value)
        elif entry.key in ("input", "args") or entry.key in OLDER:
            names.update(entry.keys)
        elif entry.key == "set" and body is not None:
            names.update(name for scope in SCOPES for name in written(body, scope))
            names.update(name for name in body.names if "." not in name)
        elif body is not None and "kind" in body:
            names.add(str(entry.key))
    return frozenset(names - {*SCOPES})


def _entries_under(node: Node | None) -> Iterator[Entry]:
    for entry in entries(node):
        yield entry
        yield from _entries_under(entry.value)
