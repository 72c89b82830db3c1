"""The shape of rules: a task's policy, its before-rules, and admission."""

from email.utils import parsedate_to_datetime

from noetl.dsl.diagnostic import Code, Mark
from noetl.dsl.grammar.checker import (
    DO_OUTSIDE_RULES,
    MISSING_KEY,
    POLICY_WITHOUT_RULES,
    UNKNOWN_KEY,
    WRONG_TYPE,
    WRONG_VALUE,
    Checker,
)
from noetl.dsl.grammar.playbook import ADMIT_THEN
from noetl.dsl.grammar.task import DIRECTIVE_OPTIONS, DIRECTIVES, OPTION_OWNER, THEN_COMMON
from noetl.dsl.grammar.types import Guard, Rules
from noetl.dsl.nearest import did_you_mean, nearest
from noetl.dsl.yaml.one_line import described, flow, seen
from noetl.dsl.yaml.tree import Map, Seq
from noetl.json_value import Json

RULE_WITHOUT_DO = Code("rule-without-do", "error", "A rule without then.do")
RULE_WITHOUT_WHEN = Code("rule-without-when", "error", "A rule with neither when nor else")
BEFORE_DIRECTIVE = Code("directive-in-before", "error", "A directive that may not stand in before")
STRAY_OPTION = Code("option-without-directive", "error", "An option of another directive")
JUMP_WITHOUT_TARGET = Code("jump-without-target", "error", "A jump without to")

_GUARD = Guard()


def check_rules(checker: Checker, shape: Rules, rules: Json, mark: Mark) -> None:
    """The rules of a task's policy, those before the tool runs, or those of an admission."""
    for then, place in _bodies(checker, rules, mark, shape.directives):
        if shape.directives:
            _check_then(checker, then, place, shape.directives)
        else:
            checker.record(ADMIT_THEN, then, place)


def _bodies(
    checker: Checker, rules: Json, mark: Mark, directives: tuple[str, ...]
) -> list[tuple[Json, Mark]]:
    """Check guards and frames of the rules; the bodies that are left to check."""
    if not isinstance(rules, Seq):
        code = POLICY_WITHOUT_RULES if directives else WRONG_TYPE
        checker.report(
            code, mark, f"'rules' must be a list, not {described(rules)}", "write rules: [{when: …, then: …}]"
        )
        return []
    bodies = []
    for index, rule in enumerate(rules):
        body = _check_frame(checker, rule, rules.at(index), directives)
        if body is not None:
            bodies.append(body)
    return bodies


def _check_frame(
    checker: Checker, rule: Json, mark: Mark, directives: tuple[str, ...]
) -> tuple[Json, Mark] | None:
    if not isinstance(rule, Map):
        message = f"a rule must be a mapping, not {described(rule)}"
        checker.report(WRONG_TYPE, mark, message, 'write {when: "{{ … }}", then: {…}}')
        return None
    if "else" in rule:
        return _check_else(checker, rule, directives)
    if "when" in rule:
        checker.guard(_GUARD, rule["when"], rule.at("when"), "when")
    flat = [key for key in rule if key not in ("when", "then")]
    if "then" not in rule:
        return _without_then(checker, rule, flat, directives)
    _unknown(checker, rule, flat, ("when", "else"))
    if "when" not in rule and not any(nearest(key, ["when", "else"]) for key in flat):
        hint = 'write when: "{{ … }}", or else: {then: …}'
        checker.report(RULE_WITHOUT_WHEN, rule.mark, "a rule has neither 'when' nor 'else'", hint)
    return rule["then"], rule.at("then")


def _without_then(
    checker: Checker, rule: Map, flat: list[str], directives: tuple[str, ...]
) -> tuple[Json, Mark] | None:
    near = [key for key in flat if nearest(key, ["then"])]
    if near:
        _unknown(checker, rule, near, ("then",))
        return None
    if not directives and "do" in rule:
        _do_outside(checker, rule)
        return None
    example: dict[str, Json] = {"do": "continue"} if directives else {"allow": True}
    body = {key: rule[key] for key in flat} or example
    message = "a rule has no 'then.do'" if directives else "an admission rule has no 'then'"
    code = RULE_WITHOUT_DO if directives else MISSING_KEY
    checker.report(code, rule.mark, message, f"write then: {flow(body)}")
    return None


def _do_outside(checker: Checker, node: Map) -> None:
    message = "'do' in an admission rule: a directive may only stand in a task's spec.policy.rules"
    checker.report(
        DO_OUTSIDE_RULES, node.at_key("do"), message, "write then: {allow: true} or {allow: false}"
    )


def _check_else(checker: Checker, rule: Map, directives: tuple[str, ...]) -> tuple[Json, Mark] | None:
    _unknown(checker, rule, [key for key in rule if key != "else"], ())
    body = rule["else"]
    if not isinstance(body, Map) or "then" not in body:
        code = RULE_WITHOUT_DO if directives else MISSING_KEY
        write = "{do: continue}" if directives else "{allow: true}"
        message = f"'else' must hold 'then', not {seen(body)}"
        checker.report(code, rule.at("else"), message, f"write else: {{then: {write}}}")
        return None
    _unknown(checker, body, [key for key in body if key != "then"], ())
    return body["then"], body.at("then")


def _unknown(checker: Checker, node: Map, keys: list[str], candidates: tuple[str, ...]) -> None:
    for key in keys:
        hint = did_you_mean(key, candidates, "a rule has 'when' and 'then', or 'else' with 'then'")
        if key in OPTION_OWNER or key in THEN_COMMON:
            hint = f"write then: {{{key}: {flow(node[key])}}}"
        checker.report(UNKNOWN_KEY, node.at_key(key), f"unknown key '{key}' in a rule", hint)


def _check_then(checker: Checker, then: Json, mark: Mark, directives: tuple[str, ...]) -> None:
    if not isinstance(then, Map):
        message = f"'then' must be a mapping with 'do', not {described(then)}"
        meant = then if then in DIRECTIVES else "continue"
        checker.report(RULE_WITHOUT_DO, mark, message, f"write then: {{do: {meant}}}")
        return
    do = then.get("do")
    options = {**THEN_COMMON, **DIRECTIVE_OPTIONS.get(do, {})} if isinstance(do, str) else THEN_COMMON
    unknown = [key for key in then if key not in options]
    strange = [key for key in unknown if key not in OPTION_OWNER]
    for key, value in then.items():
        if key in options and key != "do":
            checker.walk(options[key].shape, value, then.at(key), key)
    misspelt = next((key for key in strange if nearest(key, ["do"]) or then[key] in DIRECTIVES), None)
    if "do" not in then and misspelt is None:
        checker.report(
            RULE_WITHOUT_DO, then.mark, "a rule has no 'then.do'", f"add do: one of {', '.join(directives)}"
        )
    _report_options(checker, then, unknown, do)
    if "do" in then:
        _check_do(checker, then, directives)


def _report_options(checker: Checker, then: Map, unknown: list[str], do: Json) -> None:
    for key in unknown:
        owner = OPTION_OWNER.get(key)
        if owner is not None:
            if do in DIRECTIVES:
                message = f"'{key}' goes with do: {owner}, not with do: {do}"
                checker.report(STRAY_OPTION, then.at_key(key), message, f"remove {key}, or write do: {owner}")
            continue
        options = [*THEN_COMMON, *(DIRECTIVE_OPTIONS.get(do, {}) if isinstance(do, str) else OPTION_OWNER)]
        lost = then[key] in DIRECTIVES and "do" not in then
        guess = "do" if lost else nearest(key, [name for name in options if name not in then])
        hint = f"did you mean '{guess}'?" if guess else f"known keys: {', '.join(options)}"
        checker.report(UNKNOWN_KEY, then.at_key(key), f"unknown key '{key}' in then", hint)


def _check_do(checker: Checker, then: Map, directives: tuple[str, ...]) -> None:
    do, mark = then["do"], then.at("do")
    if do not in DIRECTIVES:
        checker.choice(THEN_COMMON["do"].shape, do, mark, "do")  # type: ignore[arg-type]
        return
    if do not in directives:
        message = f"'do: {do}' may not stand in before"
        checker.report(BEFORE_DIRECTIVE, mark, message, f"write one of: {', '.join(directives)}")
    if (
        do == "jump"
        and "to" not in then
        and not any(nearest(key, ["to"]) for key in then if key not in THEN_COMMON)
    ):
        checker.report(
            JUMP_WITHOUT_TARGET, then.mark, "a jump has no 'to'", "add to: <label of a task in this step>"
        )


def check_delay(checker: Checker, value: Json, mark: Mark) -> None:
    """Seconds, a numeric string, an HTTP date or a template."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        checker.wrong_type("delay", "a number of seconds", value, mark)
    elif isinstance(value, str):
        if not checker.free(value, mark) and not _is_delay(value):
            message = f"'delay' is {seen(value)}, but must be seconds, an HTTP date or a template"
            checker.report(WRONG_VALUE, mark, message, "write delay: 1.0")
    elif not value >= 0:
        checker.report(WRONG_VALUE, mark, f"'delay' is {value}, but must be at least 0", "write 0 or more")


def _is_delay(text: str) -> bool:
    try:
        return float(text) >= 0
    except ValueError:
        pass
    try:
        parsedate_to_datetime(text)
    except ValueError:
        return False
    return True
