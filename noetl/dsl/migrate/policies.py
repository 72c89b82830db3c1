"""Rules of every age: `eval` and `expr`, directives beside their guard, the three shapes of `else`, `backoff: fixed`."""

from noetl.dsl.migrate.rewriting import Rewriting
from noetl.dsl.migrate.text import (
    Collection,
    Entry,
    Scalar,
    as_list,
    as_map,
    item,
    listing,
    mapping,
    pair,
    plain,
    quoted,
    says,
)
from noetl.dsl.migrate.writes import rewrite_set

TRUE = ("true", "True", "TRUE", "{{ true }}", "{{true}}", "{{ True }}", "{{True}}")


def rewrite_guard(rw: Rewriting, node: Collection) -> None:
    """Call the condition of a rule, branch or arc `when`."""
    entry = node.entry("expr")
    if entry is None:
        return
    if node.entry("when") is not None:
        rw.review(entry.mark, "'expr' stands beside 'when'; 'when' decides and 'expr' is gone")
        node.drop(entry)
        return
    entry.key = entry.key_text = "when"
    with_braces(entry)
    rw.changed(entry.mark, "'expr' is now 'when'")


def with_braces(entry: Entry) -> None:
    """Older guards could leave out the braces around the expression."""
    node = entry.value
    if (
        isinstance(node, Scalar)
        and not node.empty
        and "{{" not in node.value
        and node.value not in (*TRUE, "false")
    ):
        entry.value = quoted("{{ " + node.value.strip() + " }}", node.mark)


def rewrite_eval(rw: Rewriting, task: Collection) -> bool:
    """Make the `eval` of a task its policy; whether it had one."""
    entry = task.entry("eval")
    if entry is None:
        return False
    rules = rw.seen(entry.value)
    if as_list(rules) is None or _has_policy(task):
        message = "'eval' was left as it is: " + (
            "it is not a list" if as_list(rules) is None else "the task has a policy"
        )
        rw.review(entry.mark, message, "write: spec: {policy: {rules: [...]}}")
        return False
    if not as_list(rules).entries:  # type: ignore[union-attr]
        task.drop(entry)
        rw.changed(entry.mark, "an empty 'eval' decides nothing and is gone")
        return False
    policy = mapping([pair("rules", entry.value)], flow=_is_flow(entry))
    if not _decides_always(rules):  # type: ignore[arg-type]
        policy.insert(0, pair("on_unmatched", plain("by_status")))
    _put_policy(task, entry, policy)
    rw.changed(entry.mark, "'eval' is now spec.policy.rules")
    return True


def _is_flow(entry: Entry) -> bool:
    return isinstance(entry.value, Collection) and entry.value.flow


def _has_policy(task: Collection) -> bool:
    spec = task.map_at("spec")
    return spec is not None and spec.entry("policy") is not None


def _decides_always(rules: Collection) -> bool:
    maps = [as_map(rule) for rule in rules.values()]
    return any(
        rule is not None and ("else" in rule.keys() or not {"expr", "when"} & set(rule.keys()))
        for rule in maps
    )


def _put_policy(task: Collection, entry: Entry, policy: Collection) -> None:
    """Put a policy where `eval` was, or into the `spec` that is there."""
    holder = pair("policy", policy, mark=entry.mark)
    spec = task.entry("spec")
    if spec is not None and isinstance(spec.value, Collection):
        holder.before, holder.after, holder.column = _comment_lines(entry), entry.after, entry.column
        task.pull(entry)
        spec.value.add(holder)
        return
    if spec is not None:
        task.pull(spec)
    entry.key = entry.key_text = "spec"
    entry.value = mapping([holder], flow=policy.flow)
    if policy.flow:
        entry.gap = " "


def _comment_lines(entry: Entry) -> list[str]:
    return entry.before if any(line.strip() for line in entry.before) else []


def rewrite_policy(rw: Rewriting, task: Collection, loop: Collection | None) -> None:
    """Bring the rules of a task's policy to `when` and `then`."""
    spec = task.map_at("spec")
    entry = spec.entry("policy") if spec is not None else None
    if entry is None:
        return
    rules = as_list(entry.value)
    if rules is not None:
        entry.value = mapping([pair("rules", rules)], flow=rules.flow)
        rw.review(
            entry.mark, "a policy that was a list is now {rules: [...]}; what no rule matches continues"
        )
    policy = as_map(entry.value)
    for key in ("rules", "before"):
        found = policy.list_at(key) if policy is not None else None
        if found is not None:
            rewrite_rules(rw, found, loop)


def rewrite_rules(rw: Rewriting, rules: Collection, loop: Collection | None = None) -> None:
    """Bring every rule of a policy or an admission to `{when, then}` or `{else: {then}}`."""
    for position, entry in enumerate(rules.entries):
        rule = as_map(entry.value)
        if rule is None:
            continue
        rewrite_guard(rw, rule)
        _gather_then(rw, rule, last=position == len(rules.entries) - 1)
        _shape_else(rw, rule)
        then = rule.map_at("then") or (rule.map_at("else") or rule).map_at("then")
        if then is not None:
            _rewrite_then(rw, then, loop)


def _gather_then(rw: Rewriting, rule: Collection, *, last: bool) -> None:
    """Put directives that stand beside their guard under `then`."""
    loose = [entry for entry in rule.entries if entry.key not in ("when", "else", "then")]
    if not loose or "then" in rule.keys() or (as_map(rule.get("else")) or mapping()).entries:
        return
    first = loose[0]
    then = mapping(flow=rule.flow)
    holder = rule.insert(rule.place(first), pair("then", then, mark=first.mark))
    for entry in loose:
        then.add(rule.pull(entry))
    if rule.flow is False and holder is rule.entries[0]:
        holder.before, first.before = first.before, []
        holder.column = first.column
    if not {"when", "else"} & set(rule.keys()):
        _make_unconditional(rw, rule, holder, last=last)
    rw.changed(first.mark, "the directive now stands under 'then'")


def _make_unconditional(rw: Rewriting, rule: Collection, then: Entry, *, last: bool) -> None:
    """A rule without a guard always held: the last one is `else`."""
    if last:
        inner = pair("then", then.value)
        then.key = then.key_text = "else"
        then.value = mapping([inner], flow=rule.flow)
    else:
        rule.insert(0, pair("when", plain("true")))
        rw.review(
            then.mark, "a rule without a condition always holds, so the rules after it are never reached"
        )


def _shape_else(rw: Rewriting, rule: Collection) -> None:
    """Bring `else: {do: …}` and `else:` beside `then:` to `else: {then: {…}}`."""
    entry, beside = rule.entry("else"), rule.entry("then")
    if entry is None:
        return
    body = as_map(entry.value)
    empty = (
        says(entry.value, "null", "~")
        or getattr(entry.value, "empty", False)
        or (body is not None and not body.entries)
    )
    if beside is not None and empty:
        entry.value = mapping([rule.pull(beside)], flow=rule.flow)
        entry.gap = " "
    elif body is not None and body.entries and "then" not in body.keys():
        entry.value = mapping([pair("then", body)], flow=body.flow)
        entry.value.indent, body.indent = body.indent, None
    else:
        return
    rw.changed(entry.mark, "'else' now holds 'then'")


def _rewrite_then(rw: Rewriting, then: Collection, loop: Collection | None) -> None:
    rewrite_set(rw, then, loop)
    entry = then.entry("backoff")
    if entry is not None and says(entry.value, "fixed"):
        entry.value = plain("none")
        rw.changed(entry.mark, "'backoff: fixed' is now 'backoff: none'")


def admission(guard: Entry, *, flow: bool) -> Collection:
    """The admission that lets a token in when a guard holds."""
    first = mapping([guard, pair("then", mapping([pair("allow", plain("true"))], flow=True))], flow=flow)
    refuse = mapping([pair("then", mapping([pair("allow", plain("false"))], flow=True))], flow=True)
    last = mapping([pair("else", refuse)], flow=flow)
    return mapping([pair("rules", listing([item(first), item(last)], flow=flow))], flow=flow)
