"""Which findings of the rules stand on their own when parts of the document could not be read.

The rules work on a model without those parts, so some of what they find would vanish with the first error.
Only that question is answered here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from noetl.dsl.diagnostic import Diagnostic

# Codes of findings that the name of a step which could not be read may explain.
BY_NAMES = frozenset({"unknown-step", "unknown-entry-step", "unknown-final-step"})
# Codes of findings that a name or arc which could not be read may explain.
BY_ARCS = frozenset(
    {
        "unreachable-step",
        "unreachable-final-step",
        "arc-never-fires",
        "endless-cycle",
        "token-growth",
        "join-waits",
        "join-without-fan-in",
    }
)
BY_PIPELINE = frozenset({"unknown-label"})
BY_WORKBOOK = frozenset({"unknown-block", "unused-block"})
BY_KEYCHAIN = frozenset({"unknown-keychain-entry", "undeclared-auth"})
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
    # An unknown section may be any section misspelt.
    lost = bool(
        roots - {"apiVersion", "kind", "metadata", "executor", "workload", "workflow", "keychain", "workbook"}
    )
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
    if code in BY_ANYTHING or (code in BY_ARCS and damage.arcs) or (code in BY_NAMES and damage.names):
        return False
    if (code in BY_WORKBOOK and damage.workbook) or (code in BY_KEYCHAIN and damage.keychain):
        return False
    if code in BY_NAMES or code in BY_ARCS or code in BY_WORKBOOK or code in BY_KEYCHAIN:
        return True
    apart = "/".join(finding.path.split("/")[1:3]) not in damage.units
    return apart or (finding.severity == "error" and code not in BY_PIPELINE)
