"""Names that the original gave and the language has not: steps called like paths, `job`, kinds of errors."""

import re
from collections.abc import Iterator
from functools import partial

from noetl.dsl.error_kinds import ELSEWHERE
from noetl.dsl.grammar.playbook import RESERVED_NAMES
from noetl.dsl.older_spellings.respell import edit_paths
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.tasks import free_name, name_like, outer_tasks
from noetl.dsl.older_spellings.templates import edit_scalar, templates_under
from noetl.dsl.templates.reads import Path
from noetl.dsl.yaml.editable_tree import Collection, Node, Scalar, maps

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
JOB = ("uuid", "id", "execution_id")
# What kinds of errors of a request were called: the status says it.
REQUEST_ERRORS = {
    **{word: condition for word, condition in ELSEWHERE.items() if "http.status" in condition},
    "auth": "output.http.status in [401, 403]",
    "not_found": "output.http.status == 404",
}
KIND_IS = re.compile(r"\boutput\.error\.kind\s*==\s*(['\"])(\w+)\1")
KIND_IN = re.compile(r"\boutput\.error\.kind\s+in\s+[\[(]((?:\s*(['\"])\w+\2\s*,?)+)[\])]")
ERROR_STATUS = re.compile(r"\boutput\.error\.(?:status_code|status)\b")


def rewrite_names(rw: Rewriting, root: Collection, steps: list[Collection]) -> None:
    """Give steps names that are names, and read what stood for the execution and the iteration."""
    _name_steps(rw, root, steps)
    names = {*root.keys_at("workload"), *(str(step.word("step")) for step in steps)}
    for step in steps:
        _read_engine(rw, step, names)


# ---- steps ------------------------------------------------------------------------------------------------


def _name_steps(rw: Rewriting, root: Collection, steps: list[Collection]) -> None:
    names = {str(step.word("step")) for step in steps}
    renamed: dict[str, str] = {}
    for step in steps:
        old = step.word("step")
        if old is None or (NAME.fullmatch(old) and old not in RESERVED_NAMES):
            continue
        new = name_like(old, "step")
        renamed[old] = new = free_name(f"{new}_step" if new in RESERVED_NAMES else new, names)
        names.add(new)
        rw.changed(step.mark, f"step '{old}' is now '{new}', and so is what names it")
    if renamed:
        for scalar in _references(root, steps):
            if scalar.value in renamed:
                scalar.say(renamed[scalar.value])


def _references(root: Collection, steps: list[Collection]) -> Iterator[Scalar]:
    """Every place that names a step."""
    places: list[Node | None] = [step.get("step") for step in steps]
    places += [root.get("executor", "spec", key) for key in ("entry_step", "final_step")]
    for step in steps:
        places += [step.get("next"), step.get("next", "step")]
        for arcs in (step.list_at("next"), step.list_at("next", "arcs")):
            places += [arc.get("step") for arc in maps(arcs)]
            places += [*arcs.values()] if arcs is not None else []
    yield from (node for node in places if isinstance(node, Scalar))


# ---- the engine's own names -------------------------------------------------------------------------------


def execution_id(path: Path) -> tuple[int, str] | None:
    """`job.uuid` and its like, which are the execution's id."""
    return (2, "execution_id") if path[1:2] and path[1] in JOB else None


def _read_engine(rw: Rewriting, step: Collection, names: set[str]) -> None:
    looped = step.map_at("loop") is not None

    def edit(path: Path) -> tuple[int, str] | None:
        if path[0] in names:
            return None
        if path[0] == "job":
            return execution_id(path)
        if looped and path[0] in ("loop_index", "_loop_index"):
            return 1, "iter.index"
        return None

    for scalar in templates_under(rw, step):
        before = scalar.value
        if ("job" in before or "loop_index" in before) and edit_scalar(
            scalar, lambda text: edit_paths(text, edit)
        ):
            rw.changed(scalar.mark, "'job' is now 'execution_id', 'loop_index' is now 'iter.index'")


# ---- kinds of errors --------------------------------------------------------------------------------------


def name_errors(rw: Rewriting, step: Collection) -> None:
    """Ask for errors by the names they have today."""
    for task in outer_tasks(step):
        names = REQUEST_ERRORS if task.word("kind") == "http" else ELSEWHERE
        for scalar in templates_under(rw, task.get("spec")):
            if "output.error." in scalar.value and edit_scalar(scalar, partial(_errors, names)):
                rw.changed(scalar.mark, "the guard asks for an error by the name it has today")


def _errors(names: dict[str, str], text: str) -> str:
    text = KIND_IS.sub(lambda m: names.get(m[2], m[0]), text)
    text = KIND_IN.sub(lambda m: _any(m[0], m[1], names), text)
    return ERROR_STATUS.sub("output.http.status", text)


def _any(whole: str, literals: str, names: dict[str, str]) -> str:
    words = re.findall(r"\w+", literals)
    if not any(word in names for word in words):
        return whole
    return "(" + " or ".join(names.get(word, f"output.error.kind == '{word}'") for word in words) + ")"
