"""Who answers when a decision asks what a template says: the template itself, or the log.

Live operation renders (TemplateJudge). Replay takes the recorded answers (RecordedJudge), so that a decision
can be made again without rendering anything again. Every question has a place, such as ("arc", "load.1", 0).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from noetl.core.program.program import Guard, Write
from noetl.core.shapes import Patch, ScopeValues
from noetl.core.values.nesting import TOO_DEEP, is_too_deep
from noetl.core.values.output import reference_problem
from noetl.core.values.schema_check import schema_problem
from noetl.core.values.scope import Scope
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.template import CompiledValue
from noetl.json_value import Json

Place = tuple[str | int, ...]


class EvaluationError(Exception):
    """A template could not be judged; the decision turns this into an error of its boundary."""

    def __init__(self, kind: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = details or {}


class GuardResult(msgspec.Struct, frozen=True):
    """A guard's value and the operands it read."""

    value: bool
    seen: ScopeValues = {}


class Evaluator(Protocol):
    """Answers the questions of a decision; raises EvaluationError."""

    recorded: bool  # whether its answers are values as the log keeps them

    def guard(self, place: Place, guard: Guard, scope: Scope) -> GuardResult:
        """Whether a guard holds."""

    def value(self, place: Place, value: CompiledValue, scope: Scope) -> Json:
        """What a value renders to."""

    def writes(
        self, place: Place, writes: Sequence[Write], scope: Scope, lenient: bool = False
    ) -> "SetResult":
        """What a `set` writes; `lenient` leaves out entries whose value is missing."""

    def fits(self, place: Place, schema: Json, value: Json) -> None:
        """Hold a value against the author's schema; one that does not fit is EvaluationError."""

    def merged(self, place: Place, merge: Callable[[], Patch], *, aside: bool) -> Patch:
        """What the writes of a loop come to; `aside`: payloads have to be read for it."""


class SetResult(msgspec.Struct, frozen=True):
    """The pairs a `set` writes, scope first, and the targets that were left out."""

    pairs: Patch
    left_out: list[str] = []


class TemplateEvaluator:
    """Renders."""

    recorded = False

    def guard(self, place: Place, guard: Guard, scope: Scope) -> GuardResult:
        """Whether a guard holds, by the truth rules of the language."""
        if guard.template is None:
            return GuardResult(bool(guard.literal))
        try:
            value = guard.template.truth(_binding(place, guard.template, scope))
        except TemplateError as problem:
            raise EvaluationError("template", f"{_where(place)}: {problem.message}") from None
        return GuardResult(value, scope.seen(guard.shown))

    def value(self, place: Place, value: CompiledValue, scope: Scope) -> Json:
        if value.static:
            literal: Json = value.value
            return literal
        try:
            rendered: Json = value.render(_binding(place, value, scope))
        except TemplateError as problem:
            raise EvaluationError("template", f"{_where(place)}: {problem.message}") from None
        _refuse_deep(place, rendered)
        return rendered

    def writes(self, place: Place, writes: Sequence[Write], scope: Scope, lenient: bool = False) -> SetResult:
        """All values rendered against the state before the set, each checked against the `_ref` rule."""
        pairs: Patch = []
        left_out: list[str] = []
        for write in writes:
            try:
                value = write.value.render(_binding(place, write.value, scope))
            except TemplateError as problem:
                if lenient:
                    left_out.append(".".join(write.path))
                    continue
                target = ".".join(write.path)
                raise EvaluationError("template", f"{_where(place)} {target}: {problem.message}") from None
            wrong = reference_problem(write.path, value)
            if wrong is not None:
                raise EvaluationError("reference", f"{_where(place)}: {wrong}")
            _refuse_deep(place, value)
            pairs.append([list(write.path), value])
        return SetResult(pairs, left_out)

    def fits(self, place: Place, schema: Json, value: Json) -> None:
        wrong = schema_problem(schema, value, str(place[0]))
        if wrong is not None:
            raise EvaluationError(wrong.kind, f"{_where(place)}: {wrong.message}")

    def merged(self, place: Place, merge: Callable[[], Patch], *, aside: bool) -> Patch:
        """Merge."""
        return merge()


def binding(value: CompiledValue, scope: Scope) -> dict[str, object]:
    """The names a value reads; EvaluationError when it reads a payload that cannot be had."""
    wrong = scope.out_of_reach(value.paths)
    if wrong is not None:
        raise EvaluationError(wrong.kind, wrong.message)
    return scope.bind(value.names)


def _binding(place: Place, value: CompiledValue, scope: Scope) -> dict[str, object]:
    try:
        return binding(value, scope)
    except EvaluationError as wrong:
        raise EvaluationError(wrong.kind, f"{_where(place)}: {wrong.message}") from None


def _refuse_deep(place: Place, value: Json) -> None:
    """A value that holds the one before it goes deeper each time; what is kept has an end."""
    if is_too_deep(value):
        raise EvaluationError("limit", f"{_where(place)}: {TOO_DEEP}")


_PLACES: Mapping[str, Callable[[Place], str]] = {
    "input": lambda place: f"input of step run {place[1]}",
    "admit": lambda place: f"admission rule {place[2]} of step {place[1]}",
    "loop": lambda place: f"loop of step run {place[1]}",
    "limits": lambda place: f"spec of step run {place[1]}",
    "output": lambda place: f"output of step run {place[1]}",
    "set": lambda place: f"set of step run {place[1]}",
    "arc": lambda place: f"arc {place[2]} of step run {place[1]}",
    "arc-set": lambda place: f"set of arc {place[2]} of step run {place[1]}",
    "arc-args": lambda place: f"args of arc {place[2]} of step run {place[1]}",
    "task": lambda place: f"set of task {place[1]}",
    "rule": lambda place: "set of a policy rule",
    "synthesize": lambda place: f"synthesize of step run {place[1]}",
    "continue": lambda place: f"continue.input of step {place[1]}",
}


def _where(place: Place) -> str:
    return _PLACES[str(place[0])](place)
