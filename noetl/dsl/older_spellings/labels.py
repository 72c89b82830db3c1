"""Labels that are no names, such as `fetch-page`: a name like them, in the task and wherever it is used."""

import re
from collections.abc import Iterable

from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.tasks import free_label, name_like, outer_tasks
from noetl.dsl.older_spellings.templates import edit_scalar, templates_under
from noetl.dsl.yaml.editable_tree import Collection

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def rewrite_labels(rw: Rewriting, owners: Iterable[Collection]) -> None:
    """Give every task whose label is no name one that is; jumps and templates follow."""
    owners = list(owners)
    for owner in owners:
        for task in outer_tasks(owner):
            _rewrite_label(rw, owner, task, owners)


def _rewrite_label(rw: Rewriting, owner: Collection, task: Collection, owners: list[Collection]) -> None:
    name, label = task.scalar_at("name"), task.word("name")
    if label is None or name is None or not label.strip() or _NAME.fullmatch(label):
        return
    tasks, new = owner.list_at("tool"), name_like(label, "task")
    new = free_label(tasks, new) if tasks is not None else new
    name.say(new)
    _retarget(owner, label, new)
    for reader in owners:
        for scalar in templates_under(rw, reader):
            edit_scalar(scalar, lambda text, own=reader is owner: _renamed(text, label, new, own=own))  # type: ignore[misc]
    rw.changed(task.mark, f"task '{label}' is now '{new}', and so is what names it")


def _retarget(owner: Collection, label: str, new: str) -> None:
    lists = [(task, key) for task in owner.maps_at("tool") for key in ("rules", "before")]
    for rule in [rule for task, key in lists for rule in task.maps_at("spec", "policy", key)]:
        for place in (("then", "to"), ("else", "then", "to"), ("else", "to")):
            target = rule.scalar_at(*place)
            if target is not None and target.value == label:
                target.say(new)


def _renamed(text: str, label: str, new: str, *, own: bool) -> str:
    """A template that reads the task by its new name; outside its step only as `results`."""
    word = re.escape(label)
    text = re.sub(rf"\bresults\s*(?:\[\s*(['\"]){word}\1\s*\]|\.{word}(?![\w-]))", f"results.{new}", text)
    return re.sub(rf"(?<![\w'\".-]){word}(?![\w'\"-])", new, text) if own else text
