"""`set_prev: X` of a task or a directive: a `noop` with `output: X` right after the task.

Every way out of the task that does not set `_prev` must pass by that noop, so directives that fell through
jump to the next task, and every way that does set it ends where it ended before.
"""

from dataclasses import dataclass

from noetl.dsl.older_spellings.policies import then_of
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.tasks import as_pipeline, free_label, outer_tasks
from noetl.dsl.older_spellings.templates import edit_scalar, mentions, name_output
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Entry

HINT = "keep the value in iter or step and read it from there"


@dataclass(slots=True)
class Way:
    """One way out of a task that sets `_prev`: the body of its rule, and the value."""

    then: Collection
    entry: Entry
    do: str
    to: str | None


def rewrite_previous(rw: Rewriting, owner: Collection, name: str) -> None:
    """Replace every `set_prev` of a step's or block's pipeline."""
    if not any("set_prev" in task or _ways(task) for task in outer_tasks(owner)):
        return
    tasks = as_pipeline(owner, name)
    for holder in list(tasks.entries):
        task = holder.as_map
        if task is not None and _ways(task):
            _rewrite_task(rw, tasks, tasks.place(holder), task)
        if task is not None and "set_prev" in task:
            _rewrite_own(rw, tasks, tasks.place(holder), task)


def _rewrite_own(rw: Rewriting, tasks: Collection, place: int, task: Collection) -> None:
    """A task's own `set_prev` holds whenever the task went well and the next one follows."""
    entry = task.entry("set_prev")
    assert entry is not None
    directives = {then.word("do") or "continue" for then in _thens(task)}
    if directives & {"jump", "break", "skip"}:
        rw.review(entry.mark, "'set_prev' was left as it is: not every way goes on to the next task", HINT)
        return
    if "continue" in directives and "fail" not in directives:
        message = (
            "'set_prev' held when the task went well; the new task also follows an error that is continued"
        )
        rw.review(entry.mark, message, HINT)
    label = free_label(tasks, f"{task.word('name')}_prev")
    tasks.insert(
        place + 1, tree.item(_noop(rw, Way(task, entry, "continue", None), label, task), mark=entry.mark)
    )


def _thens(task: Collection) -> list[Collection]:
    bodies = (then_of(rule) for rule in task.maps_at("spec", "policy", "rules"))
    return [then for then in bodies if then is not None]


def _ways(task: Collection) -> list[Way]:
    return [
        Way(then, entry, then.word("do") or "continue", then.word("to"))
        for then in _thens(task)
        if (entry := then.entry("set_prev")) is not None
    ]


def _rewrite_task(rw: Rewriting, tasks: Collection, place: int, task: Collection) -> None:
    after = _next_label(tasks, place)
    ways = [way for way in _ways(task) if _goes_on(rw, way, task)]
    if not ways:
        return
    if after == "" or any(then.word("do") == "skip" for then in _thens(task)):
        rw.review(
            ways[0].entry.mark, "'set_prev' was left as it is: a way past the new task is missing", HINT
        )
        return
    ways.sort(key=lambda way: way.do != "continue")  # the first noop is the one the task falls through to
    _pass_by(task, [way.then for way in ways], after)
    for number, way in enumerate(ways):
        label = free_label(tasks, f"{task.word('name')}_prev" + (f"_{number + 1}" if number else ""))
        if number or way.do != "continue":
            _direct(way.then, "jump", label)
        noop = _noop(rw, way, label, task)
        _lead_on(way, noop, after, last=number == len(ways) - 1)
        tasks.insert(place + 1 + number, tree.item(noop, mark=way.entry.mark))


def _next_label(tasks: Collection, place: int) -> str | None:
    """The label after a task: None at the end of the pipeline, empty when it cannot be told."""
    if place + 1 == len(tasks.entries):
        return None
    task = tree.as_map(tasks.entries[place + 1].value)
    return (task.word("name") if task is not None else None) or ""


def _goes_on(rw: Rewriting, way: Way, task: Collection) -> bool:
    """Whether the directive goes on to where `_prev` can be read; the others are dealt with here."""
    if way.do in ("continue", "jump", "break"):
        return True
    if way.do == "retry" and any(mentions(scalar.value, "_prev") for scalar in tree.scalars(task)):
        rw.review(
            way.entry.mark, "'set_prev' of 'retry' was left as it is: no task can come in between", HINT
        )
        return False
    way.then.drop(way.entry)
    rw.review(way.entry.mark, f"'set_prev' of '{way.do}' set what nothing could read and is gone")
    return False


def _noop(rw: Rewriting, way: Way, label: str, task: Collection) -> Collection:
    """The task that takes over the value; what it read of the output it now reads by the task's name."""
    name = task.word("name") or ""
    for scalar in tree.scalars(way.entry.value):
        if mentions(scalar.value, "_prev"):
            message = f"'set_prev' read '_prev', which in the new task is the data of '{name}'"
            rw.review(way.entry.mark, message, HINT)
        edit_scalar(scalar, lambda text: name_output(text, name))
    output = way.then.pull(way.entry)
    output.rename("output")
    rw.changed(output.mark, f"'set_prev' is now the output of the task '{label}'")
    noop = tree.mapping_of({"name": label, "kind": "noop"}, flow=task.flow)
    noop.add(output)
    return noop


def _pass_by(task: Collection, setting: list[Collection], after: str | None) -> None:
    """Send every other way that fell through past the noops."""
    for then in _thens(task):
        if then not in setting and then.word("do") == "continue":
            _direct(then, *_onward(after))
    policy, rules = task.map_at("spec", "policy"), task.list_at("spec", "policy", "rules")
    if policy is None or rules is None or any("else" in rule for rule in tree.maps(rules)):
        return
    unmatched = policy.entry("on_unmatched")
    if unmatched is not None and unmatched.text == "by_status":
        fail = tree.mapping_of({"do": "fail"}, flow=True)
        rules.add(
            tree.item(
                tree.mapping_of({"when": "{{ output.status == 'error' }}", "then": fail}, flow=rules.flow)
            )
        )
        policy.drop(unmatched)
    rules.add(tree.item(_otherwise(*_onward(after), flow=rules.flow)))


def _onward(after: str | None) -> tuple[str, str | None]:
    """The directive that goes on after the noops."""
    return ("jump", after) if after is not None else ("break", None)


def _lead_on(way: Way, noop: Collection, after: str | None, *, last: bool) -> None:
    """Let a noop end where the directive it came from ended."""
    if way.do == "continue" and last:
        return
    do, to = (way.do, way.to) if way.do != "continue" else _onward(after)
    noop.add(
        tree.pair("spec", tree.mapping_of({"policy": {"rules": [_otherwise(do, to, flow=True)]}}, flow=True))
    )


def _otherwise(do: str, to: str | None, *, flow: bool) -> Collection:
    """The rule `else: {then: {do: …}}`."""
    then = tree.mapping_of({"do": do, **({"to": to} if to is not None else {})}, flow=True)
    return tree.mapping_of({"else": tree.mapping_of({"then": then}, flow=True)}, flow=flow)


def _direct(then: Collection, do: str, to: str | None) -> None:
    """Give a rule's body another directive."""
    entry, target = then.entry("do") or then.add(tree.pair("do", tree.plain(do))), then.entry("to")
    entry.value = tree.plain(do)
    if target is not None:
        then.pull(target)
    if to is not None:
        then.insert(then.place(entry) + 1, tree.pair("to", tree.word(to)))
