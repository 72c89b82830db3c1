"""The shape of a claim: a task of some kind, and the bounds of the claims beside it."""

from noetl.dsl.diagnostic import Mark
from noetl.dsl.grammar.check_task import check_task
from noetl.dsl.grammar.checker import UNKNOWN_KEY, WRONG_VALUE, Checker
from noetl.dsl.grammar.claim import CLAIM_BOUNDS, NOT_OF_A_CLAIM
from noetl.dsl.grammar.task import SUGAR, TASK
from noetl.dsl.nearest import nearest
from noetl.dsl.yaml.one_line import described
from noetl.dsl.yaml.tree import Map
from noetl.json_value import Json


def check_claim(checker: Checker, node: Json, mark: Mark) -> None:
    """A task that brings rows, with its bounds."""
    if not isinstance(node, Map):
        message = f"a claim must be a mapping, not {described(node)}"
        checker.report(WRONG_VALUE, mark, message, "write claim: {kind: …, input: {…}, batch: 100}")
        return
    task = Map(mark=node.mark)
    for key, value in node.items():
        place = node.at(key)
        if key in CLAIM_BOUNDS.keys:
            checker.walk(CLAIM_BOUNDS.keys[key].shape, value, place, key)
        elif key in NOT_OF_A_CLAIM or key in SUGAR:
            hint = "a claim is one task without a name: kind, input, auth, spec, output and its bounds"
            checker.report(UNKNOWN_KEY, node.at_key(key), f"'{key}' cannot stand in a claim", hint)
        elif (guess := _bound_like(checker, node, key)) is not None:
            hint = f"did you mean '{guess}'?"
            checker.report(UNKNOWN_KEY, node.at_key(key), f"unknown key '{key}' in a claim", hint)
        else:
            task.put(key, value, key_mark=node.at_key(key), value_mark=place)
    if "kind" in node:
        check_task(checker, task, mark)
    else:
        checker.missing(_KINDLESS, node, ["kind"])


def _bound_like(checker: Checker, node: Map, key: str) -> str | None:
    """The bound that an unknown key was meant for."""
    kind = checker.kinds.get(str(node.get("kind")))
    known = key in TASK.keys or (kind is not None and (key in kind.inputs or key in kind.beside))
    return None if known else nearest(key, [name for name in CLAIM_BOUNDS.keys if name not in node])


_KINDLESS = type(CLAIM_BOUNDS)(CLAIM_BOUNDS.name, {"kind": TASK.keys["kind"]})
