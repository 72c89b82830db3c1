"""Every spelling of a rule list (three of `else`, `expr`, `eval`) -> rules with `when` and `then`."""

from noetl.dsl.older_spellings.findings import BACKOFF_FIXED, LEGACY_EVAL, LEGACY_EXPR, Surface
from noetl.dsl.older_spellings.set import read_set
from noetl.dsl.yaml.one_line import flow
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.dsl.yaml.tree_edit import child_map, copy_map, rename


def read_rules(surface: Surface, rules: Value) -> Value:
    """The rules of a task or of an admission, each with `when` and `then`, or `else` with `then`."""
    if not isinstance(rules, Seq):
        return rules
    fresh = Seq(mark=rules.mark)
    for index, rule in enumerate(rules):
        fresh.add(_read_rule(surface, rule), rules.at(index))
    return fresh


def _read_rule(surface: Surface, rule: Value) -> Value:
    if not isinstance(rule, Map):
        return rule
    fresh = read_guard(surface, rule)
    if "else" in fresh:
        _read_else(fresh)
        body = fresh["else"]
        if isinstance(body, Map) and "then" in body:
            body["then"] = read_then(surface, body["then"])
    if "then" in fresh:
        fresh["then"] = read_then(surface, fresh["then"])
    return fresh


def read_guard(surface: Surface, node: Map) -> Map:
    """A copy of a rule, branch or arc whose condition is called `when`."""
    if "expr" not in node or "when" in node:
        return copy_map(node)
    message = "'expr' is not part of the language: the condition is called 'when'"
    surface.legacy(LEGACY_EXPR, node.at_key("expr"), message, f"when: {flow(node['expr'])}")
    return rename(node, "expr", "when")


def _read_else(rule: Map) -> None:
    """Bring `else: {do: …}` and `else:` beside `then:` to `else: {then: {…}}`."""
    body = rule["else"]
    if not body and "then" in rule:
        wrapped = Map(mark=rule.at("then"))
        wrapped.put("then", rule["then"], key_mark=rule.at_key("then"), value_mark=rule.at("then"))
        del rule["then"]
    elif isinstance(body, Map) and "then" not in body:
        wrapped = Map(mark=body.mark)
        wrapped.put("then", body, value_mark=body.mark)
    elif isinstance(body, Map):
        wrapped = copy_map(body)
    else:
        return
    rule["else"] = wrapped


def read_then(surface: Surface, then: Value, *, quiet: bool = False) -> Value:
    """The body of a rule with one flat `set` and today's word for a constant backoff."""
    if not isinstance(then, Map):
        return then
    fresh = copy_map(then)
    read_set(surface, fresh, quiet=quiet)
    if fresh.get("backoff") == "fixed":
        if not quiet:
            message = "backoff 'fixed' is an older spelling of 'none'"
            surface.deprecated(BACKOFF_FIXED, fresh.at("backoff"), message, "backoff: none")
        fresh["backoff"] = "none"
    return fresh


def read_policy(surface: Surface, task: Map) -> None:
    """Read the rules of a task's own policy in place."""
    spec = task.get("spec")
    if not isinstance(spec, Map) or not isinstance(spec.get("policy"), Map):
        return
    policy = child_map(child_map(task, "spec") or spec, "policy")
    for key in ("rules", "before"):
        if policy is not None and key in policy:
            policy[key] = read_rules(surface, policy[key])


def read_eval(surface: Surface, task: Map) -> None:
    """Turn the older `eval` of a task into its policy, and refuse it."""
    if "eval" not in task:
        return
    mark = task.at_key("eval")
    policy = policy_of_eval(surface, task)
    message = "'eval' is not part of the language: decisions stand in spec.policy.rules"
    surface.legacy(LEGACY_EVAL, mark, message, f"spec: {flow({'policy': policy})}")
    del task["eval"]
    spec = child_map(task, "spec")
    if spec is not None and "policy" not in spec:
        spec.put("policy", policy, key_mark=mark, value_mark=policy.mark)


def policy_of_eval(surface: Surface, task: Map) -> Map:
    """What an `eval` says, as the policy of a task."""
    entries = task["eval"] if isinstance(task["eval"], Seq) else Seq(mark=task.at("eval"))
    rules = Seq(mark=task.at("eval"))
    for index, entry in enumerate(entries):
        rules.add(_rule_of_entry(surface, entry), entries.at(index))
    policy = Map(mark=task.at("eval"))
    if not any(isinstance(rule, Map) and "else" in rule for rule in rules):
        policy.put("on_unmatched", "by_status")
    policy.put("rules", rules)
    return policy


def _rule_of_entry(surface: Surface, entry: Value) -> Value:
    """`{expr: E, do: …}` as `{when: E, then: {do: …}}`; an entry without `expr` always holds."""
    if not isinstance(entry, Map):
        return entry
    fresh = copy_map(entry)
    if "else" in fresh:
        _read_else(fresh)
        body = fresh["else"]
        if isinstance(body, Map):
            body["then"] = read_then(surface, body["then"], quiet=True)
        return fresh
    rule = Map(mark=entry.mark)
    guard = next((key for key in ("expr", "when") if key in fresh), None)
    if guard is not None:
        rule.put("when", fresh[guard], key_mark=fresh.at_key(guard), value_mark=fresh.at(guard))
        del fresh[guard]
    if "then" in fresh:
        rule.put("then", read_then(surface, fresh["then"], quiet=True), value_mark=fresh.at("then"))
        return rule
    then = read_then(surface, fresh, quiet=True)
    if guard is None:
        wrapped = Map(mark=entry.mark)
        wrapped.put("then", then)
        rule.put("else", wrapped)
    else:
        rule.put("then", then, value_mark=entry.mark)
    return rule
