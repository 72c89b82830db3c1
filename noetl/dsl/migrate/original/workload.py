"""Templates in the workload, which the original rendered: they stay texts, and their readers compute them."""

import re
from collections.abc import Mapping

from noetl.dsl.migrate.original.names import execution_id
from noetl.dsl.migrate.original.remarks import remark
from noetl.dsl.older_spellings.respell import edit_paths, roots_in
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.templates.reads import Path
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.yaml.editable_tree import Collection, Scalar, entries, scalars

PART = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
CALL = re.compile(r"\w\s*\(")


def computed_workload(root: Collection) -> Mapping[str, str]:
    """Names of the workload whose value is a template that any reader can compute, with its expression."""
    workload = {*root.keys_at("workload")}
    expressions: dict[str, str] = {}
    for entry in entries(root.get("workload")):
        expression = _expression(entry.value, workload) if isinstance(entry.value, Scalar) else None
        if expression is not None:
            expressions[str(entry.key)] = expression
    return expressions


def _expression(node: Scalar, workload: set[str]) -> str | None:
    text = node.value
    if not is_template(text) or "{%" in text or "{#" in text or CALL.search(text):
        return None
    if not roots_in(text) <= {"execution_id", "job", "workload", *workload}:
        return None
    parts = PART.split(edit_paths(text, lambda path: _today(path, workload)))
    if any("'" in part or "\n" in part for part in parts[::2]):
        return None
    joined = [_operand(part, index % 2 == 0) for index, part in enumerate(parts) if part]
    return joined[0] if len(joined) == 1 else "(" + " ~ ".join(joined) + ")"


def _operand(part: str, is_text: bool) -> str:
    if is_text:
        return f"'{part}'"
    return part if part.replace(".", "").isidentifier() else f"({part})"


def _today(path: Path, workload: set[str]) -> tuple[int, str] | None:
    if path[0] == "job":
        return execution_id(path)
    return (1, f"workload.{path[0]}") if path[0] in workload else None


def note_templates(rw: Rewriting, root: Collection) -> None:
    """Say of every template of the workload that it stays a text."""
    holder = root.map_at("workload")
    computed = computed_workload(root)
    for entry in entries(holder):
        if holder is None or not any(is_template(scalar.value) for scalar in scalars(entry.value)):
            continue
        if entry.key in computed:
            remark(rw, holder, entry, "a template here stays a text; where it is read it is computed instead")
        else:
            hint = "compute it in a first step: set: {ctx.…: …}"
            remark(rw, holder, entry, "a template here stays a text", hint)
