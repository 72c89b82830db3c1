"""Labels that are no names, such as `fetch-page`: a name like them, in the task and wherever it is used."""

import re
from collections.abc import Iterable

from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.tasks import free_label
from noetl.dsl.older_spellings.templates import edit_scalar, templates_under
from noetl.dsl.yaml.editable_tree import Collection, Scalar, as_list, at, maps

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def rewrite_labels(rw: Rewriting, owners: Iterable[Collection]) -> None:
    """Give every task whose label is no name one that is; jumps and templates follow."""
    owners = list(owners)
    for owner in owners:
        tasks = as_list(owner.get("tool"))
        one = owner.map_at("tool")
        for task in maps(tasks) if tasks is not None else [one] if one is not None else []:
            _rewrite_label(rw, owner, tasks, task, owners)


def _rewrite_label(
    rw: Rewriting, owner: Collection, tasks: Collection | None, task: Collection, owners: list[Collection]
) -> None:
    name, label = task.get("name"), task.word("name")
    if label is None or not isinstance(name, Scalar) or not label.strip() or _NAME.fullmatch(label):
        return
    like = re.sub(r"\W+", "_", label, flags=re.ASCII).strip("_") or "task"
    like = like if not like[0].isdigit() else f"task_{like}"
    new = free_label(tasks, like) if tasks is not None else like
    _say(name, new)
    _retarget(owner, label, new)
    for one in owners:
        for scalar in templates_under(rw, one):
            edit_scalar(scalar, lambda text, own=one is owner: _renamed(text, label, new, own=own))  # type: ignore[misc]
    rw.changed(task.mark, f"task '{label}' is now '{new}', and so is what names it")


def _retarget(owner: Collection, label: str, new: str) -> None:
    policies = [at(task, "spec", "policy") for task in maps(owner.get("tool"))]
    rules = [rule for policy in policies for key in ("rules", "before") for rule in maps(at(policy, key))]
    for rule in rules:
        for then in (at(rule, "then"), at(rule, "else", "then"), at(rule, "else")):
            target = at(then, "to")
            if isinstance(target, Scalar) and target.value == label:
                _say(target, new)


def _say(scalar: Scalar, value: str) -> None:
    """Let a scalar say another word, without quotes: it needs none."""
    scalar.text = scalar.value = value
    scalar.style = "plain"


def _renamed(text: str, label: str, new: str, *, own: bool) -> str:
    """A template that reads the task by its new name; outside its step only as `results`."""
    word = re.escape(label)
    text = re.sub(rf"\bresults\s*(?:\[\s*(['\"]){word}\1\s*\]|\.{word}(?![\w-]))", f"results.{new}", text)
    return re.sub(rf"(?<![\w'\".-]){word}(?![\w'\"-])", new, text) if own else text
