"""Rules of every age: `eval`, `expr`, directives beside their guard, shapes of `else`, `backoff: fixed`."""

from noetl.dsl.grammar.task import DIRECTIVES, OPTION_OWNER
from noetl.dsl.older_spellings.findings import BACKOFF_FIXED, LEGACY_EVAL, LEGACY_EXPR
from noetl.dsl.older_spellings.positioned import positioned
from noetl.dsl.older_spellings.rewriting import Rewriting
from noetl.dsl.older_spellings.set_spellings import rewrite_set
from noetl.dsl.yaml import editable_tree as tree
from noetl.dsl.yaml.editable_tree import Collection, Data, Entry, Scalar
from noetl.dsl.yaml.one_line import flow

TRUE = ("true", "True", "TRUE", "{{ true }}", "{{true}}", "{{ True }}", "{{True}}")


def rewrite_guard(rw: Rewriting, node: Collection) -> None:
    """Call the condition of a rule, branch or arc `when`."""
    entry = node.entry("expr")
    if entry is None:
        return
    if "when" in node:
        if not rw.loading:
            rw.review(entry.mark, "'expr' stands beside 'when'; 'when' decides and 'expr' is gone")
            node.drop(entry)
        return
    entry.rename("when")
    with_braces(entry)
    message = "'expr' is not part of the language: the condition is called 'when'"
    rw.legacy(LEGACY_EXPR, entry.mark, message, f"when: {flow(positioned(entry.value))}")
    rw.changed(entry.mark, "'expr' is now 'when'")


def with_braces(entry: Entry) -> None:
    """Older guards could leave out the braces around the expression."""
    node = entry.value
    if not isinstance(node, Scalar) or node.empty or "{{" in node.value:
        return
    if node.style != "plain" or node.value not in ("true", "false"):
        entry.value = tree.quoted("{{ " + node.value.strip() + " }}", node.mark)


# ---- eval -------------------------------------------------------------------------------------------------


def rewrite_decisions(rw: Rewriting, task: Collection, loop: Collection | None) -> None:
    """Bring the `eval` of a task, or its policy, to rules with `when` and `then`."""
    entry = task.entry("eval")
    if entry is None:
        rewrite_policy(rw, task, loop)
        return
    mark, value = entry.mark, entry.value
    rw.inside_eval = rewritten = rewrite_eval(rw, task)
    rewrite_policy(rw, task, loop)
    rw.inside_eval = False
    if not rewritten and not rw.loading:
        return  # it stays as it is
    policy = task.child("spec").child("policy") if rewritten else policy_of_eval(rw, tree.pair("eval", value))
    message = "'eval' is not part of the language: decisions stand in spec.policy.rules"
    rw.legacy(LEGACY_EVAL, mark, message, f"spec: {flow({'policy': positioned(policy)})}")


def policy_of_eval(rw: Rewriting, entry: Entry) -> Collection:
    """What an `eval` that was taken out says, as the policy of a task."""
    silent, task = rw.silent(), tree.mapping([entry])
    silent.inside_eval = rewrite_eval(silent, task)
    rewrite_policy(silent, task, None)
    return task.map_at("spec", "policy") or tree.mapping_of({"on_unmatched": "by_status", "rules": []})


def rewrite_eval(rw: Rewriting, task: Collection) -> bool:
    """Make the `eval` of a task its policy; whether that was done."""
    entry = task.entry("eval")
    rules = tree.as_list(rw.resolved(entry.value)) if entry is not None else None
    if entry is None:
        return False
    if rules is None or task.get("spec", "policy") is not None:
        why = "it is not a list" if rules is None else "the task also has a policy"
        hint = "write: spec: {policy: {rules: [...]}}"
        rw.leave(task, entry, f"'eval' was left as it is: {why}", hint)
        return False
    if not rules.entries:
        task.drop(entry)
        rw.changed(entry.mark, "an empty 'eval' decides nothing and is gone")
        return False
    policy = tree.mapping([tree.pair("rules", entry.value)], flow=rules.flow)
    if not any("else" in rule or not {"expr", "when"} & {*rule.names} for rule in tree.maps(rules)):
        policy.insert(0, tree.pair("on_unmatched", tree.plain("by_status")))
    put_policy(task, entry, policy)
    rw.changed(entry.mark, "'eval' is now spec.policy.rules")
    return True


def put_policy(task: Collection, entry: Entry, policy: Collection) -> None:
    """Put a policy where an entry was, or into the `spec` that is there."""
    holder = tree.pair("policy", policy, mark=entry.mark)
    spec, knobs = task.entry("spec"), task.map_at("spec")
    if knobs is not None:
        holder.take_comments(task.pull(entry))
        knobs.add(holder)
        return
    if spec is not None:
        task.drop(spec)
    entry.rename("spec")
    entry.value = tree.mapping([holder], flow=policy.flow)


# ---- rules ------------------------------------------------------------------------------------------------


def rewrite_policy(rw: Rewriting, task: Collection, loop: Collection | None) -> None:
    """Bring the rules of a task's policy to `when` and `then`."""
    entry = task.entry("spec", "policy")
    if entry is None:
        return
    rules = entry.as_list
    if rules is not None and not rw.loading:
        entry.value = tree.mapping([tree.pair("rules", rules)], flow=rules.flow)
        rw.review(
            entry.mark, "a policy that was a list is now {rules: [...]}; what no rule matches continues"
        )
    for key in ("rules", "before"):
        rewrite_rules(rw, task.list_at("spec", "policy", key), loop)


def rewrite_rules(rw: Rewriting, rules: Collection | None, loop: Collection | None = None) -> None:
    """Bring every rule of a policy or an admission to `{when, then}` or `{else: {then}}`."""
    for rule in tree.maps(rules):
        rewrite_guard(rw, rule)
        if rw.inside_eval or not rw.loading:
            _gather_then(rw, rule, last=rules is not None and rule is rules.entries[-1].value)
        _shape_else(rw, rule)
        then = then_of(rule)
        if then is not None:
            _rewrite_then(rw, then, loop)


def then_of(rule: Collection) -> Collection | None:
    """What a rule does, whether it is guarded or `else`."""
    return rule.map_at("then") or rule.map_at("else", "then")


def _gather_then(rw: Rewriting, rule: Collection, *, last: bool) -> None:
    """Put directives that stand beside their guard under `then`."""
    loose = [entry for entry in rule.entries if entry.key not in ("when", "else", "then")]
    if not loose or "then" in rule or not tree.is_nothing(rule.get("else")):
        return
    first = loose[0]
    then = tree.mapping(flow=rule.flow)
    holder = rule.insert(rule.place(first), tree.pair("then", then, mark=first.mark))
    for entry in loose:
        then.add(rule.pull(entry))
    if holder is rule.entries[0]:
        holder.column, holder.before, first.before = first.column, first.before, []
    if not {"when", "else"} & {*rule.names}:
        _make_unconditional(rw, rule, holder, last=last)
    rw.changed(first.mark, "the directive now stands under 'then'")


def _make_unconditional(rw: Rewriting, rule: Collection, then: Entry, *, last: bool) -> None:
    """A rule without a guard always held: the last one is `else`."""
    if last:
        then.value = tree.mapping([tree.pair("then", then.value)], flow=rule.flow)
        then.rename("else")
    else:
        rule.insert(0, tree.pair("when", tree.plain("true")))
        rw.review(then.mark, "a rule without a condition always holds: the rules after it are never reached")


def _shape_else(rw: Rewriting, rule: Collection) -> None:
    """Bring `else: {do: …}` and `else:` beside `then:` to `else: {then: {…}}`."""
    entry, beside = rule.entry("else"), rule.entry("then")
    if entry is None:
        return
    body = entry.as_map
    if beside is not None and tree.is_nothing(entry.value):
        entry.value = tree.mapping([rule.pull(beside)], flow=rule.flow)
    elif body is not None and body.entries and "then" not in body:
        entry.value = tree.mapping([tree.pair("then", body)], flow=body.flow)
        entry.value.indent, body.indent = body.indent, None
    else:
        return
    rw.changed(entry.mark, "'else' now holds 'then'")


def _rewrite_then(rw: Rewriting, then: Collection, loop: Collection | None) -> None:
    rewrite_set(rw, then, loop)
    entry = then.entry("backoff")
    if entry is not None and tree.says(entry.value, "fixed"):
        message = "backoff 'fixed' is an older spelling of 'none'"
        rw.deprecated(BACKOFF_FIXED, entry.value.mark, message, "backoff: none")
        entry.value = tree.plain("none")
        rw.changed(entry.mark, "'backoff: fixed' is now 'backoff: none'")
    if rw.inside_eval:
        _drop_idle_options(rw, then)


def _drop_idle_options(rw: Rewriting, then: Collection) -> None:
    """Older rules could carry options of another directive, which did nothing."""
    do = then.word("do")
    for entry in list(then.entries):
        owner = OPTION_OWNER.get(str(entry.key))
        if owner is not None and do in DIRECTIVES and owner != do:
            then.drop(entry)
            rw.review(entry.mark, f"'{entry.key}' does nothing for '{do}' and is gone")


def admission(guard: Entry, *, flow: bool) -> Collection:
    """The admission that lets a token in when a guard holds."""
    allow = tree.mapping_of({"allow": True}, flow=True)
    refuse = tree.mapping_of({"then": {"allow": False}}, flow=True)
    rules: list[Data] = [
        tree.mapping([guard, tree.pair("then", allow)], flow=flow),
        tree.mapping_of({"else": refuse}, flow=flow),
    ]
    return tree.mapping_of({"rules": rules}, flow=flow)
