"""The one door into the language: text in, a checked playbook and every finding out. No text makes it raise.

Each stage runs on what the one before could use, so that all findings come at once; what only follows from an
earlier error is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from noetl.dsl.build import build
from noetl.dsl.cascade import independent
from noetl.dsl.diagnostic import Code, Diagnostic, Mark, has_errors, in_order
from noetl.dsl.model import Playbook
from noetl.dsl.older_spellings.findings import DEPRECATIONS, UNREAD
from noetl.dsl.older_spellings.normalize import normalize
from noetl.dsl.rules import check as check_rules
from noetl.dsl.sugar.expand import expand
from noetl.dsl.sugar.generated_tasks import Origin
from noetl.dsl.tool_kind import Kinds
from noetl.dsl.yaml.source import parse
from noetl.dsl.yaml.tree import Map, Seq, Value
from noetl.dsl.yaml.tree_edit import adopt, too_deep

TOO_DEEP = Code("too-deep", "error", "A document nested beyond any use")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document that was read: its canonical tree, its expansion, its model, and what was found."""

    tree: Value
    expanded: Value
    playbook: Playbook | None
    diagnostics: tuple[Diagnostic, ...]
    debug_map: Mapping[str, Origin]

    @property
    def ok(self) -> bool:
        """Whether the playbook may be run or registered."""
        return self.playbook is not None and not has_errors(self.diagnostics)


def load(text: str | bytes, *, kinds: Kinds, strict: bool = False) -> Loaded:
    """Read a playbook's text."""
    parsed = parse(text)
    return _load(parsed.tree, parsed.diagnostics, kinds, strict=strict)


def load_accepted(text: str | bytes, *, kinds: Kinds) -> Playbook | None:
    """The playbook of a text that was accepted before; it is not held against the rules of today again."""
    return _compiled(normalize(parse(text).tree, kinds).tree)[0]


def load_tree(data: Value, *, kinds: Kinds, strict: bool = False) -> Loaded:
    """Read a playbook that is already data; every finding stands on line 1 with its pointer."""
    if too_deep(data):
        finding = TOO_DEEP.at(Mark(), "the document is nested too deeply", "flatten it")
        return Loaded(None, None, None, (finding,), {})
    return _load(adopt(data), (), kinds, strict=strict)


def _load(tree: Value, parse_findings: Sequence[Diagnostic], kinds: Kinds, *, strict: bool) -> Loaded:
    if tree is None and has_errors(parse_findings):
        return Loaded(None, None, None, in_order(parse_findings), {})
    normal = normalize(tree, kinds)
    findings = [*parse_findings, *normal.diagnostics, *normal.grammar]
    playbook, expanded, debug_map = _compiled(normal.tree)
    if playbook is not None:
        unread = [finding for finding in normal.diagnostics if finding.code in UNREAD]
        broken = [*parse_findings, *unread, *normal.grammar]
        findings += independent(check_rules(playbook, kinds), broken, nameless=_nameless(normal.tree))
    if strict:
        findings = [_upgraded(finding) for finding in findings]
    return Loaded(normal.tree, expanded, playbook, in_order(findings), debug_map)


def _nameless(tree: Value) -> bool:
    """Whether the name of some step could not be read."""
    steps = tree.get("workflow") if isinstance(tree, Map) else None
    named = isinstance(steps, Seq) and all(
        isinstance(step, Map) and isinstance(step.get("step"), str) for step in steps
    )
    return not named


def _compiled(tree: Value) -> tuple[Playbook | None, Value, Mapping[str, Origin]]:
    """The model and the expansion; without a step there is no playbook to speak of."""
    if not isinstance(tree, Map):
        return None, tree, {}
    expansion = expand(tree)
    playbook = build(expansion.tree)
    return playbook if playbook.steps else None, expansion.tree, expansion.debug_map


def _upgraded(finding: Diagnostic) -> Diagnostic:
    return replace(finding, severity="error") if finding.code in DEPRECATIONS else finding
