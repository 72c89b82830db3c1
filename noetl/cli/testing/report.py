"""How tests went, for people and for programs. Nothing is run here."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from noetl.cli.formats import text
from noetl.cli.playbooks.validation import with_findings
from noetl.cli.running.run_summary import detail_lines, duration
from noetl.cli.terminal import Paint, colourful, counted, emit, note
from noetl.cli.testing.files import CaseFile, invalid_texts
from noetl.dsl.diagnostic import finding_fields
from noetl.dsl.sugar.labels import is_generated
from noetl.dsl.yaml.one_line import shortened

if TYPE_CHECKING:
    from noetl.cli.testing.outcome import CoverageByPlaybook, Outcome, Session
    from noetl.core.testing.coverage import ArcUse, Coverage, RuleUse, StepUse
    from noetl.wiring.playbook_test import Rehearsal
    from noetl.worker.scripted_toolbox import Called

SORTS = {"rule": "rule", "before": "before-rule", "admit": "admission rule"}
GUARD_CHARS = 60
COURSE_MAX = 12


class Progress:
    """A line for each test as it ends, by file; what went wrong comes below it."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.paint = Paint(colourful(sys.stdout))
        self._file = ""

    def ended(self, outcome: "Outcome") -> None:
        if outcome.passed and self.quiet:
            return
        if outcome.file.name != self._file:
            self._file = outcome.file.name
            emit(self.paint(self._file, "strong"))
        word = self.paint("ok    ", "good") if outcome.passed else self.paint("failed", "error")
        skipped_ms = outcome.rehearsal.skipped_ms
        name = text.printable(outcome.name)
        if skipped_ms >= 1000:
            name = f"{name:<50} {self.paint(f'{duration(skipped_ms)} skipped', 'faint')}"
        emit(f"  {word}  {name}")
        if not outcome.passed:
            emit(f"\n{failure_text(outcome, self.paint)}\n")
            emit("\n".join(_course(outcome.rehearsal, self.paint)) + "\n")

    def unusable(self, file: CaseFile) -> None:
        emit(text.findings_text(invalid_texts(file), self.paint) + "\n")


def failure_text(outcome: "Outcome", paint: Paint) -> str:
    """Why a test failed, with the lines of its file."""
    return text.findings_text([with_findings(outcome.file.source, outcome.findings)], paint)


def _course(rehearsal: "Rehearsal", paint: Paint) -> Iterator[str]:
    """The way a test took, as far as it can be read at a glance."""
    facts = rehearsal.facts
    steps = [*facts.steps[:COURSE_MAX], *(["…"] if len(facts.steps) > COURSE_MAX else [])]
    yield f"  {paint('ran', 'faint')}     {', '.join(steps) or 'no step'}"
    for call in rehearsal.calls[:COURSE_MAX]:
        error = call.output.get("error") or {}
        answer = f"{error['kind']}: {error['message']}" if error else "ok"
        yield f"  {paint('called', 'faint')}  {text.printable(f'{call.place.words}: {answer}'[: text.WIDTH])}"
        yield from detail_lines(error, " " * 10)
    if len(rehearsal.calls) > COURSE_MAX:
        yield f"          and {len(rehearsal.calls) - COURSE_MAX} more"


def coverage(covered: "CoverageByPlaybook") -> None:
    """What the tests went through, and every place that they did not come to."""
    paint = Paint(colourful(sys.stdout))
    for name, coverage_of in covered.by_hash.values():
        counts = totals(coverage_of)
        counts_text = ", ".join(
            f"{some} of {counted(all_, noun)}" for noun, (some, all_) in counts.items() if all_
        )
        emit(f"{paint(name, 'strong')}: {counts_text}")
        for line, column, words in sorted(_gaps(coverage_of)):
            emit(f"  {paint(f'{line}:{column}'.ljust(8), 'faint')}{text.printable(words)}")


def totals(coverage: "Coverage") -> dict[str, tuple[int, int]]:
    """How many of the steps, arcs and rules were used, and how many there are."""
    return {
        "step": (sum(use.runs > 0 for use in coverage.steps.values()), len(coverage.steps)),
        "arc": (sum(use.taken > 0 for use in coverage.arcs.values()), len(coverage.arcs)),
        "rule": (sum(use.matched > 0 for use in coverage.rules.values()), len(coverage.rules)),
    }


def _gaps(coverage: "Coverage") -> Iterator[tuple[int, int, str]]:
    for step in coverage.steps.values():
        if not step.runs:
            yield step.mark.line, step.mark.column, f"step {step.name} never ran"
    for arc in coverage.arcs.values():
        if not arc.taken:
            yield arc.mark.line, arc.mark.column, _untaken_arc(arc)
    for rule in coverage.rules.values():
        if not rule.matched:
            yield rule.mark.line, rule.mark.column, _unmatched_rule(rule)


def _untaken_arc(arc: "ArcUse") -> str:
    name = f"arc {arc.step} -> {arc.to} was never taken"
    if arc.refused:
        return f"{name}: {_guard(arc.when)} was asked {_times(arc.refused)} and never held"
    return f"{name}: an arc before it was, each time" if arc.unasked else name


def _unmatched_rule(rule: "RuleUse") -> str:
    when = "else" if rule.when is None else _guard(rule.when)
    if is_generated(rule.place):
        return f"choice {rule.index} of {rule.place.removesuffix('.test')} was never made: {when}"
    return f"{SORTS[rule.sort]} {rule.index} of {rule.place} never decided: {when}, {rule.does}"


def _guard(when: object) -> str:
    return shortened(" ".join(str(when).split()), GUARD_CHARS)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def closing(session: "Session", *, quiet: bool) -> None:
    """What the tests went through, and how it went in one line."""
    if not quiet:
        coverage(session.covered)
    paint = Paint(colourful(sys.stderr))
    unread = len(session.unusable) + len(session.unreadable)
    parts = [f"{len(session.outcomes) - session.failed} passed"]
    parts += [paint(f"{session.failed} failed", "error")] if session.failed else []
    parts += [paint(f"{counted(unread, 'file')} could not be read", "error")] if unread else []
    mark = paint("failed", "error") if session.code else paint("ok", "good")
    note(f"{mark}: {', '.join(parts)}")


def as_object(session: "Session") -> dict[str, object]:
    return {
        "tests": [_test(outcome) for outcome in session.outcomes],
        "unusable": [
            {"file": wrong.name, "diagnostics": [finding_fields(item) for item in wrong.diagnostics]}
            for file in session.unusable
            for wrong in invalid_texts(file)
        ],
        "passed": len(session.outcomes) - session.failed,
        "failed": session.failed,
        "coverage": [_coverage_fields(name, coverage) for name, coverage in session.covered.by_hash.values()],
    }


def _test(outcome: "Outcome") -> dict[str, object]:
    return {
        "file": outcome.file.name,
        "name": outcome.name,
        "status": "passed" if outcome.passed else "failed",
        "duration_ms": outcome.duration_ms,
        "skipped_ms": outcome.rehearsal.skipped_ms,
        "failures": [finding_fields(item) for item in outcome.findings],
        "steps": outcome.rehearsal.facts.steps,
        "calls": [_call(call) for call in outcome.rehearsal.calls],
    }


def _call(call: "Called") -> dict[str, object]:
    place, output = call.place, call.output
    which = {"run": place.run, "iteration": list(place.iteration), "visit": place.visit}
    return {
        "playbook": place.playbook,
        "task": place.name,
        **which,
        "attempt": place.attempt,
        "status": output["status"],
        "error": output.get("error"),
    }


def _coverage_fields(name: str, coverage: "Coverage") -> dict[str, object]:
    return {
        "file": name,
        "path": coverage.playbook.path,
        "totals": {
            f"{noun}s": {"used": some, "all": all_} for noun, (some, all_) in totals(coverage).items()
        },
        "steps": [{"step": use.name, **_at(use), "runs": use.runs} for use in coverage.steps.values()],
        "arcs": [
            {"step": use.step, "to": use.to, "when": use.when, **_at(use), "taken": use.taken}
            | {"refused": use.refused, "unasked": use.unasked}
            for use in coverage.arcs.values()
        ],
        "rules": [
            {"place": use.place, "sort": use.sort, "index": use.index, "when": use.when, "does": use.does}
            | {**_at(use), "matched": use.matched}
            for use in coverage.rules.values()
        ],
    }


def _at(use: "StepUse | ArcUse | RuleUse") -> dict[str, int]:
    return {"line": use.mark.line, "column": use.mark.column}
