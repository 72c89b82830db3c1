"""Which findings of the rules stand on their own when parts of the document could not be read.

The rules work on a model without those parts, so some of what they find would vanish with the first error.
Only that question is answered here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.grammar.playbook import ROOT

# Codes of findings by what may explain them when it could not be read: names of steps, arcs, a whole section.
_CAUSES = {
    "names": ("unknown-step", "unknown-entry-step", "unknown-final-step"),
    "arcs": (
        "unreachable-step", "unreachable-final-step", "arc-never-fires", "endless-cycle", "token-growth",
        "join-waits", "join-without-fan-in",
    ),
    "workbook": ("unknown-block", "unused-block"),
    "keychain": ("unknown-keychain-entry", "undeclared-auth"),
}  # fmt: skip
BY_PIPELINE = frozenset({"unknown-label"})
BY_ANYTHING = frozenset({"undefined-name", "read-too-early", "unused-reducer"})

# Keys of a step that say nothing about its name and its arcs.
_INSIDE = frozenset({"tool", "input", "loop", "set", "output", "desc", "when", "eval"})


@dataclass(frozen=True, slots=True)
class Damage:
    """What could not be read: the steps and blocks concerned, and which names may be missing."""

    units: frozenset[str]
    names: bool
    arcs: bool
    workbook: bool
    keychain: bool


def independent(
    findings: Iterable[Diagnostic], broken: Iterable[Diagnostic], *, nameless: bool = False
) -> list[Diagnostic]:
    """The findings that do not merely follow from what is broken; `nameless`: a step's name was not read."""
    paths = [finding.path.split("/")[1:] for finding in broken if finding.severity == "error"]
    if not paths:
        return list(findings)
    damage = _damage(paths, nameless=nameless)
    return [finding for finding in findings if _stands(finding, damage)]


def _damage(paths: list[list[str]], *, nameless: bool) -> Damage:
    roots = {path[0] if path else "" for path in paths}
    lost = bool(roots - ROOT.keys.keys())  # an unknown section may be any section misspelt
    arcs = any(path[0] == "workflow" and (len(path) < 3 or path[2] not in _INSIDE) for path in paths if path)
    return Damage(
        units=frozenset("/".join(path[:2]) for path in paths),
        names=nameless or lost,
        arcs=arcs or lost,
        workbook="workbook" in roots or lost,
        keychain="keychain" in roots or lost,
    )


def _stands(finding: Diagnostic, damage: Damage) -> bool:
    code = finding.code
    if code in BY_ANYTHING:
        return False
    cause = next((cause for cause, codes in _CAUSES.items() if code in codes), None)
    if cause is not None:
        return not getattr(damage, cause)
    apart = "/".join(finding.path.split("/")[1:3]) not in damage.units
    return apart or (finding.severity == "error" and code not in BY_PIPELINE)
