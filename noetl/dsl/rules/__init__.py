"""The rules of the language that its grammar cannot say: one function per rule, each with its codes.

A rule takes a RuleContext and yields findings. `check` runs all of them, and adds what the net finds.
"""

from collections.abc import Callable, Iterator

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.model import Playbook
from noetl.dsl.net.findings import examine
from noetl.dsl.rules import (
    arcs,
    bare_names,
    code,
    failures,
    keychain,
    loops,
    other_meanings,
    pipelines,
    policies,
    references,
    scopes,
    settings,
    steps,
    workbook,
)
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.tool_kind import Kinds

Rule = Callable[[RuleContext], Iterator[Diagnostic]]

RULES: tuple[Rule, ...] = (
    *steps.RULES,
    *arcs.RULES,
    *failures.RULES,
    *pipelines.RULES,
    *policies.RULES,
    *code.RULES,
    *scopes.RULES,
    *bare_names.RULES,
    *loops.RULES,
    *keychain.RULES,
    *references.RULES,
    *workbook.RULES,
    *settings.RULES,
    *other_meanings.RULES,
)


def check(playbook: Playbook, kinds: Kinds) -> list[Diagnostic]:
    """Every finding of every rule and about the net, in no particular order."""
    context = RuleContext(playbook, kinds)
    return [finding for rule in RULES for finding in rule(context)] + examine(context.net)
