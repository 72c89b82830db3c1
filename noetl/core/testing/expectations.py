"""Whether an execution went as a test expects: what it expects against what was seen, place by place."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from noetl.dsl.diagnostic import Diagnostic, Mark
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.template import compile_value
from noetl.dsl.testing.names import ARROW
from noetl.dsl.testing.suite import Case
from noetl.dsl.yaml.one_line import flow, shortened
from noetl.dsl.yaml.tree import Map, Seq, Value, plain

UNMET = "expectation"
SHOWN = 200
Mismatch = tuple[Mark, str]


@dataclass(slots=True)
class Facts:
    """What was seen of an execution."""

    status: str
    output: Value = None
    error: Mapping[str, Any] | None = None
    failures: list[Mapping[str, Any]] = field(default_factory=list)  # that arcs took
    failed_iterations: int = 0  # that best-effort loops went on without
    ctx: Mapping[str, Any] = field(default_factory=dict)
    workload: Mapping[str, Any] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)  # one per run, in the order of their scheduling
    arcs: Counter[str] = field(default_factory=Counter)  # taken, as in `start -> load`
    calls: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)  # task and input, in order


def unmet_expectations(case: Case, facts: Facts) -> list[Diagnostic]:
    """Every expectation that was not met, by position."""
    expect = case.expect
    unmet = [
        *_status(case, facts),
        *_value(expect, "output", facts.output),
        *_error(expect, facts.error),
        *_failures(expect, facts.failures),
        *_ctx(expect, facts.ctx),
        *_steps(expect, facts.steps),
        *_counted(expect.get("arcs"), facts.arcs, "arc", "taken"),
        *_calls(expect.get("calls"), facts.calls),
        *_conditions(expect, facts),
    ]
    return [finding(mark, message) for mark, message in sorted(unmet, key=lambda mismatch: mismatch[0][:2])]


def finding(mark: Mark, message: str, hint: str | None = None) -> Diagnostic:
    """Something that makes a test fail."""
    return Diagnostic(UNMET, "error", message, mark, hint)


def _status(case: Case, facts: Facts) -> Iterator[Mismatch]:
    expect = case.expect
    wanted = expect.get("status") or ("failed" if "error" in expect else "completed")
    if facts.status != wanted:
        mark = expect.at("status") if "status" in expect else case.mark
        why = f": {facts.error.get('message')}" if facts.error else ""
        yield mark, f"the execution is {facts.status}, expected {wanted}{why}"


def _value(expect: Map, key: str, seen: Value) -> Iterator[Mismatch]:
    if key in expect:
        yield from mismatches(expect[key], seen, expect.at(key), key)


def _error(expect: Map, seen: Mapping[str, Any] | None, name: str = "error") -> Iterator[Mismatch]:
    wanted: Value = expect.get("error") or {}
    if wanted and seen is None:
        yield expect.at("error"), "there is no error, expected one"
        return
    for key, value in wanted.items():
        value_seen = (seen or {}).get(key)
        if key == "message" and isinstance(value, str) and value in str(value_seen):
            continue
        yield from mismatches(value, value_seen, wanted.at(key), f"{name}.{key}")


def _failures(expect: Map, seen: list[Mapping[str, Any]]) -> Iterator[Mismatch]:
    wanted = expect.get("failures")
    if wanted is None:
        return
    if len(wanted) != len(seen):
        steps = flow([failure["step"] for failure in seen])
        yield expect.at("failures"), f"the failures that arcs took are of {steps}, expected {len(wanted)}"
        return
    for index, (expected, failure) in enumerate(zip(wanted, seen, strict=True)):
        name = f"failures[{index}]"
        yield from _error(expected, failure["error"], f"{name}.error")
        for key in ("step", "taken_by", "answered"):
            if key in expected:
                yield from mismatches(expected[key], failure[key], expected.at(key), f"{name}.{key}")


def _ctx(expect: Map, ctx: Mapping[str, Any]) -> Iterator[Mismatch]:
    wanted: Value = expect.get("ctx") or {}
    for path, value in wanted.items():
        value_seen: Value = ctx
        for key in path.split("."):
            value_seen = value_seen.get(key) if isinstance(value_seen, Mapping) else None
        yield from mismatches(value, value_seen, wanted.at(path), f"ctx.{path}")


def _steps(expect: Map, runs: list[str]) -> Iterator[Mismatch]:
    wanted = expect.get("steps")
    if isinstance(wanted, Seq):
        if list(wanted) != runs:
            yield expect.at("steps"), f"the steps that ran are {flow(runs)}, expected {flow(plain(wanted))}"
        return
    yield from _counted(wanted, Counter(runs), "step", "run")


def _counted(wanted: Value, seen: Counter[str], what: str, verb: str) -> Iterator[Mismatch]:
    for name, times in (wanted or {}).items():
        if seen[name] != times:
            yield (
                wanted.at(name),
                f"{what} '{name}' was {verb} {_times(seen[name])}, expected {_times(times)}",
            )


def _calls(wanted: Value, calls: list[tuple[str, Mapping[str, Any]]]) -> Iterator[Mismatch]:
    for name, value in (wanted or {}).items():
        inputs = [own_input for task, own_input in calls if task == name]
        times = value if isinstance(value, int) else len(value)
        if len(inputs) != times:
            yield wanted.at(name), f"task '{name}' was called {_times(len(inputs))}, expected {_times(times)}"
        elif isinstance(value, Seq):
            for index, expected in enumerate(value):
                what = f"input of call {index + 1} of '{name}'"
                yield from mismatches(expected, inputs[index], value.at(index), what)


def _times(number: int) -> str:
    return {0: "never", 1: "once"}.get(number, f"{number} times")


def _conditions(expect: Map, facts: Facts) -> Iterator[Mismatch]:
    conditions: Value = expect.get("that") or ()
    scope = {
        "status": facts.status,
        "output": facts.output,
        "error": facts.error,
        "failures": facts.failures,
        "failed_iterations": facts.failed_iterations,
        "ctx": facts.ctx,
        "workload": facts.workload,
        "steps": dict(Counter(facts.steps)),
    }
    for index, condition in enumerate(conditions):
        compiled = compile_value(condition)
        words = condition if isinstance(condition, str) else flow(condition)
        try:
            if compiled.truth(scope):
                continue
            paths = sorted(".".join(path) for path in compiled.paths)
            values = ", ".join(f"{path} is {_seen(_at(scope, path))}" for path in paths)
            yield conditions.at(index), f"{words} does not hold" + (f": {values}" if values else "")
        except TemplateError as problem:
            yield conditions.at(index), f"{words}: {problem.message}"


def _at(scope: Value, path: str) -> Value:
    for key in path.split("."):
        scope = scope.get(key) if isinstance(scope, Mapping) else None
    return scope


def mismatches(wanted: Value, seen: Value, mark: Mark, name: str) -> Iterator[Mismatch]:
    """Where a value is not as wanted: of a mapping the keys that are named, all else exactly."""
    if isinstance(wanted, Map) and isinstance(seen, Mapping):
        for key, value in wanted.items():
            if key in seen:
                yield from mismatches(value, seen[key], wanted.at(key), f"{name}.{key}")
            else:
                yield wanted.at_key(key), f"{name} has no '{key}'; it is {_seen(seen)}"
    elif isinstance(wanted, Seq) and isinstance(seen, list) and len(wanted) == len(seen):
        for index, value in enumerate(wanted):
            yield from mismatches(value, seen[index], wanted.at(index), f"{name}[{index}]")
    elif isinstance(wanted, bool) != isinstance(seen, bool) or plain(wanted) != seen:
        yield mark, f"{name} is {_seen(seen)}, expected {_seen(plain(wanted))}"


def _seen(value: Value) -> str:
    return shortened(flow(value), SHOWN)


def arc_name(step: str, to: str) -> str:
    """An arc as test files name it."""
    return f"{step}{ARROW}{to}"
