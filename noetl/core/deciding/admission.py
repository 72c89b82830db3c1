"""The gate of a step: whether its admission rules let a token in, and what they saw."""

import msgspec

from noetl.core.deciding.draft import Draft
from noetl.core.event_data import GuardSeen
from noetl.core.program.program import AdmitProgram
from noetl.core.values.scope import Scope


class Admission(msgspec.Struct, frozen=True):
    """The verdict, the rule that gave it (index, `else`, `default`), each guard's value and operands."""

    allow: bool
    rule: int | str | None = None
    guards: list[GuardSeen] = []


UNASKED = Admission(True)


def admit(draft: Draft, step: str, token: str, rules: tuple[AdmitProgram, ...], scope: Scope) -> Admission:
    """The first rule that holds decides; raises EvaluationError when a guard cannot be judged."""
    guards: list[GuardSeen] = []
    for index, rule in enumerate(rules):
        if rule.guard is None:
            return Admission(rule.allow, "else", guards)
        judged = draft.evaluator.guard(("admit", step, index, token), rule.guard, scope)
        guards.append({"value": judged.value, "seen": judged.seen})
        if judged.value:
            return Admission(rule.allow, index, guards)
    return Admission(not any(rule.allow for rule in rules), "default", guards)
