"""`set_prev: X` of a directive: a `noop` with `output: X` right after the task.

Every way out of the task that does not set `_prev` must pass by that noop, so directives that fell through to the
next task jump to it, and every way that does set it ends where it ended before.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from noetl.dsl.migrate.rewriting import Rewriting
from noetl.dsl.migrate.tasks import as_pipeline, free_label
from noetl.dsl.migrate.templates import edit_scalar, mentions, name_output
from noetl.dsl.migrate.text import (
    Collection,
    Entry,
    Node,
    Scalar,
    as_list,
    as_map,
    item,
    listing,
    mapping,
    pair,
    plain,
    scalars,
)


@dataclass(slots=True)
class Way:
    """One rule that sets `_prev`: its directive and the value."""

    then: Collection
    entry: Entry
    do: str


def rewrite_previous(rw: Rewriting, owner: Collection, name: str) -> None:
    """Replace every `set_prev` of a step's or block's pipeline."""
    entry = owner.entry("tool")
    if entry is None:
        return
    found = [as_map(entry.value)] if as_map(entry.value) is not None else map(as_map, _items(entry))
    if not any(_ways(task) for task in found):
        return
    tasks = as_pipeline(owner, name)
    for holder in list(tasks.entries):
        task = as_map(holder.value)
        if task is not None and _ways(task):
            _rewrite_task(rw, tasks, holder, task)


def _items(entry: Entry) -> Iterator[Node]:
    return (as_list(entry.value) or listing()).values()


def _thens(task: Collection) -> list[Collection]:
    spec = task.map_at("spec")
    policy = spec.map_at("policy") if spec is not None else None
    rules = policy.list_at("rules") if policy is not None else None
    found = []
    for rule in map(as_map, rules.values() if rules is not None else ()):
        then = (
            (rule.map_at("then") or (rule.map_at("else") or rule).map_at("then"))
            if rule is not None
            else None
        )
        found += [then] if then is not None else []
    return found


def _ways(task: Collection | None) -> list[Way]:
    found = []
    for then in _thens(task) if task is not None else []:
        entry = then.entry("set_prev")
        if entry is not None:
            found.append(Way(then, entry, then.word("do") or "continue"))
    return found


def _rewrite_task(rw: Rewriting, tasks: Collection, holder: Entry, task: Collection) -> None:
    at = tasks.place(holder)
    label = task.word("name") or ""
    after = _label_at(tasks, at + 1)
    ways = [way for way in _ways(task) if _leaves_task(rw, way, task)]
    if not ways:
        return
    ways.sort(key=lambda way: way.do != "continue")  # the first noop is the one the task falls through to
    _pass_by(task, ways, after)
    for number, way in enumerate(ways):
        name = free_label(tasks, f"{label}_prev" + (f"_{number + 1}" if number else ""))
        noop = _noop(rw, way, name, task)
        _lead_on(way, noop, after, last=number == len(ways) - 1)
        if number or way.do != "continue":
            _direct(way.then, "jump", noop.word("name"))
        tasks.insert(at + 1 + number, item(noop, mark=way.entry.mark))


def _label_at(tasks: Collection, index: int) -> str | None:
    task = as_map(tasks.entries[index].value) if index < len(tasks.entries) else None
    return task.word("name") if task is not None else None


def _leaves_task(rw: Rewriting, way: Way, task: Collection) -> bool:
    """Whether the directive goes on to somewhere `_prev` can be read; others are dealt with here."""
    if way.do in ("continue", "jump", "break"):
        return True
    reads = way.do == "retry" and any(mentions(scalar.value, "_prev") for scalar in scalars(task))
    if reads or way.do == "skip":
        hint = "keep the value in iter or step and read it from there"
        rw.review(
            way.entry.mark, f"'set_prev' of '{way.do}' was left as it is: no task can be put in between", hint
        )
        return False
    way.then.drop(way.entry)
    rw.review(way.entry.mark, f"'set_prev' of '{way.do}' had no effect that anything could read and is gone")
    return False


def _noop(rw: Rewriting, way: Way, name: str, task: Collection) -> Collection:
    """The task that takes over the value; what it read of the output it now reads by the task's name."""
    label = task.word("name") or ""
    for scalar in scalars(way.entry.value):
        if mentions(scalar.value, "_prev"):
            message = "'set_prev' read '_prev', which inside the new noop is the data of the task before it"
            rw.review(way.entry.mark, message)
        edit_scalar(scalar, lambda text: name_output(text, label))
    output = way.then.pull(way.entry)
    output.key = output.key_text = "output"
    rw.changed(output.mark, f"'set_prev' is now the output of the task '{name}'")
    return mapping([pair("name", plain(name)), pair("kind", plain("noop")), output], flow=task.flow)


def _pass_by(task: Collection, ways: list[Way], after: str | None) -> None:
    """Send every other way that fell through past the noops."""
    setting = [way.then for way in ways]
    for then in _thens(task):
        if then not in setting and then.word("do") == "continue":
            _direct(then, "jump" if after else "break", after)
    policy = task.map_at("spec").map_at("policy")  # type: ignore[union-attr]
    rules = policy.list_at("rules")  # type: ignore[union-attr]
    if any("else" in rule.keys() for rule in map(as_map, rules.values()) if rule is not None):  # type: ignore[union-attr]
        return
    _decide_unmatched(policy, rules, after)  # type: ignore[arg-type]


def _decide_unmatched(policy: Collection, rules: Collection, after: str | None) -> None:
    unmatched = policy.entry("on_unmatched")
    if unmatched is not None and policy.word("on_unmatched") == "by_status":
        failed = mapping([pair("do", plain("fail"))], flow=True)
        guard = Scalar("\"{{ output.status == 'error' }}\"", "{{ output.status == 'error' }}", "double")
        rules.add(item(mapping([pair("when", guard), pair("then", failed)], flow=rules.flow)))
        policy.drop(unmatched)
    then = mapping([pair("do", plain("continue"))], flow=True)
    _direct(then, "jump" if after else "break", after)
    rules.add(item(mapping([pair("else", mapping([pair("then", then)], flow=True))], flow=rules.flow)))


def _lead_on(way: Way, noop: Collection, after: str | None, *, last: bool) -> None:
    """Let a noop end where the directive it came from ended."""
    then = mapping([pair("do", plain("continue"))], flow=True)
    if way.do == "jump":
        _direct(then, "jump", way.then.word("to"))
    elif way.do == "break":
        _direct(then, "break", None)
    elif last:
        return
    else:
        _direct(then, "jump" if after else "break", after)
    rules = listing(
        [item(mapping([pair("else", mapping([pair("then", then)], flow=True))], flow=True))], flow=True
    )
    noop.add(pair("spec", mapping([pair("policy", mapping([pair("rules", rules)], flow=True))], flow=True)))


def _direct(then: Collection, do: str, to: str | None) -> None:
    entry = then.entry("do")
    assert entry is not None
    entry.value = plain(do)
    target = then.entry("to")
    if target is not None:
        then.pull(target)
    if to is not None:
        then.insert(then.place(entry) + 1, pair("to", plain(to)))
