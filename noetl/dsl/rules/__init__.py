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
    continuation,
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

_MODULES = (
    steps, arcs, failures, pipelines, policies, code, scopes, bare_names, loops, keychain, references,
    workbook, settings, other_meanings, continuation,
)  # fmt: skip
RULES: tuple[Rule, ...] = tuple(rule for module in _MODULES for rule in module.RULES)


def check(playbook: Playbook, kinds: Kinds) -> list[Diagnostic]:
    """Every finding of every rule and about the net, in no particular order."""
    context = RuleContext(playbook, kinds)
    return [finding for rule in RULES for finding in rule(context)] + examine(context.net)
