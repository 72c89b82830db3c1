"""The shape of `set` and `reduce`: which targets exist, which are writable where."""

import re

from noetl.dsl.diagnostic import Code, Mark
from noetl.dsl.grammar.checker import Checker
from noetl.dsl.grammar.playbook import ITERATION_NAMES, REDUCERS
from noetl.dsl.grammar.types import Assigns, Choice
from noetl.dsl.nearest import nearest
from noetl.dsl.yaml.one_line import seen
from noetl.dsl.yaml.tree import Map
from noetl.json_value import Json

BAD_TARGET = Code("bad-set-target", "error", "A set target that cannot be written")
TARGET_TWICE = Code("duplicate-set-target", "error", "One set writes a target twice")
READ_ONLY_TARGET = Code("read-only-target", "error", "A set target that the engine owns")

_SEGMENT = re.compile(r"\w[\w-]*")
_REDUCER = Choice(REDUCERS)


def check_reduce(checker: Checker, value: Json, mark: Mark) -> None:
    """How writes of iterations are combined, by target."""
    if not isinstance(value, Map):
        checker.wrong_type("reduce", "a mapping of targets to reducers", value, mark)
        return
    for target, reducer in value.items():
        _check_target(checker, target, value.at_key(target), ("ctx", "step"))
        checker.choice(_REDUCER, reducer, value.at(target), target)


def check_no_iter(checker: Checker, value: Json) -> None:
    """In the `set` of a loop step there is no iteration left to write to."""
    if not isinstance(value, Map):
        return
    for target in value:
        if target.partition(".")[0] == "iter":
            message = f"'{target}' cannot be set here: the iterations have ended"
            hint = "set it in a task, or write ctx. or step."
            checker.report(BAD_TARGET, value.at_key(target), message, hint)


def check_assigns(checker: Checker, shape: Assigns, value: Json, mark: Mark) -> None:
    """A `set`."""
    if value is None:
        return
    if not isinstance(value, Map):
        checker.wrong_type("set", "a mapping of targets to values", value, mark)
        return
    for target, item in value.items():
        _check_target(checker, target, value.at_key(target), shape.scopes)
        checker.free(item, value.at(target))
        if (outer := _around(target, value)) is not None:
            line = value.at_key(outer).line
            message = f"'{target}' is a part of '{outer}', which the same set writes at line {line}"
            checker.report(TARGET_TWICE, value.at_key(target), message, f"write one of them: {outer}: {{…}}")


def _around(target: str, targets: Map) -> str | None:
    """Another target of the same set that the target lies in."""
    while "." in target:
        target = target.rpartition(".")[0]
        if target in targets:
            return target
    return None


def _check_target(checker: Checker, target: str, mark: Mark, scopes: tuple[str, ...]) -> None:
    scope, _, path = target.partition(".")
    allowed = ", ".join(f"{name}.*" for name in scopes)
    if scope not in scopes:
        guess = nearest(scope, scopes) if path else None
        full_target = f"{guess or scopes[0]}.{path or target}"
        where = "an arc may write" if scopes == ("ctx",) else "it may be"
        hint = f"write {full_target}" if path or "." not in target else f"write {allowed}"
        checker.report(BAD_TARGET, mark, f"'{target}' cannot be set: {where} {allowed}", hint)
    elif not path:
        checker.report(BAD_TARGET, mark, f"'{target}' names no key of '{scope}'", f"write {scope}.<name>")
    elif not all(_SEGMENT.fullmatch(segment) for segment in path.split(".")):
        message = f"{seen(target)} is no set target: a path is names joined by dots"
        checker.report(BAD_TARGET, mark, message, f"write {scope}.<name>; a target is never a template")
    elif scope == "iter":
        _check_iteration(checker, target, path.partition(".")[0], mark)


def _check_iteration(checker: Checker, target: str, name: str, mark: Mark) -> None:
    if name in ITERATION_NAMES or name in checker.iterators:
        message = f"'{target}' cannot be set: the loop binds 'iter.{name}'"
        checker.report(READ_ONLY_TARGET, mark, message, "choose another name under iter")
