"""The `_ref` rule where the text alone decides it: a reference stands under a name that says so."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from noetl.dsl.diagnostic import Code, Diagnostic
from noetl.dsl.grammar.task import SCOPES
from noetl.dsl.rules.rule_context import RuleContext
from noetl.dsl.template_site import Owner, set_sites
from noetl.dsl.templates.facts import plain_path
from noetl.dsl.templates.reads import Path
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.templates.values import ENVELOPE_FIELDS
from noetl.json_value import Json

REFERENCE_NAME = Code("reference-name", "error", "A reference under a name that does not end in _ref")
NOT_A_REFERENCE = Code("not-a-reference", "error", "A name that ends in _ref receives something else")

REFERENCE_KEYS = {"type", "locator", "auth_reference", "meta"}
SUFFIX = "_ref"
PLAIN_FIELDS = ENVELOPE_FIELDS - {"ref", "results"}


def reference_rule(context: RuleContext) -> Iterator[Diagnostic]:
    """Targets that end in `_ref` receive references, other targets do not."""
    for owner in context.owners:
        results = _results(context, owner)
        for assign, mark, _ in set_sites(owner):
            name = assign.path[-1] if assign.path else assign.scope
            for code, message in _problems(name, assign.value, results):
                hint = "store output.ref under …_ref and output.data under a plain name"
                yield code.at(mark, f"{assign.target}: {message}", hint)


@dataclass(frozen=True, slots=True)
class _Results:
    """The names under which an envelope is read somewhere; the many steps are not copied for each place."""

    own: frozenset[str]
    steps: frozenset[str]

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.steps


def _results(context: RuleContext, owner: Owner) -> _Results:
    return _Results(frozenset({"output", *(task.label for task in owner.tasks)}), context.step_names)


def _problems(name: str, value: Json, results: Container[str]) -> Iterator[tuple[Code, str]]:
    wants = name.endswith(SUFFIX)
    if isinstance(value, list):
        for item in value:
            yield from _problems(name, item, results)
    elif isinstance(value, dict) and value.keys() != REFERENCE_KEYS:
        if wants:
            yield NOT_A_REFERENCE, f"'{name}' must receive a reference, not a mapping of other keys"
        for key, item in value.items():
            yield from _problems(str(key), item, results)
    elif isinstance(value, str) and is_template(value):
        yield from _template(name, value, results)
    elif wants and value is not None and not isinstance(value, dict):
        yield NOT_A_REFERENCE, f"'{name}' must receive a reference, not {value!r}"


def _template(name: str, text: str, results: Container[str]) -> Iterator[tuple[Code, str]]:
    path = plain_path(text)
    if path is None:
        return
    if name.endswith(SUFFIX):
        if len(path) == 2 and path[0] in results and path[1] in PLAIN_FIELDS:
            yield NOT_A_REFERENCE, f"'{name}' must receive a reference, and {'.'.join(path)} is none"
    elif _holds_reference(path, results):
        yield REFERENCE_NAME, f"{'.'.join(path)} is a reference, so the name '{name}' must end in _ref"


def _holds_reference(path: Path, results: Container[str]) -> bool:
    if len(path) == 2 and path[0] in results:
        return path[1] == "ref"
    if len(path) == 4 and path[1] == "results":
        return path[0] in results and path[3] == "ref"
    return path[0] in SCOPES and path[-1].endswith(SUFFIX)  # only there a name tells what its value is


RULES = (reference_rule,)
