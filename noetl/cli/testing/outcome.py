"""Running the tests of a file: what came of each, and what of the playbooks they went through."""

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from noetl.cli.playbooks.playbook_text import text_of
from noetl.cli.testing.files import CaseFile, load
from noetl.core.testing.coverage import Coverage
from noetl.core.testing.expectations import finding, unmet_expectations
from noetl.errors import RequestError

if TYPE_CHECKING:
    from noetl.dsl.diagnostic import Diagnostic
    from noetl.dsl.testing.suite import Case
    from noetl.settings import Settings
    from noetl.wiring.playbook_test import Rehearsal, Seen


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test went."""

    file: CaseFile
    name: str
    findings: "list[Diagnostic]"
    duration_ms: int
    rehearsal: "Rehearsal"

    @property
    def passed(self) -> bool:
        return not self.findings


@dataclass(slots=True)
class CoverageByPlaybook:
    """The playbooks that tests went through, by their content."""

    by_hash: dict[str, tuple[str, Coverage]] = field(default_factory=dict)

    def add(self, execution: "Seen") -> None:
        """Count what one execution went through."""
        entry = execution.entry
        if not entry.hash:
            return
        if entry.hash not in self.by_hash:
            name = os.path.relpath(entry.file) if entry.file else entry.path
            self.by_hash[entry.hash] = (name, Coverage(execution.playbook))
        self.by_hash[entry.hash][1].read(execution.events)


class TestListener(Protocol):
    """What is shown while tests run."""

    def ended(self, outcome: Outcome) -> None:
        """One test is over."""

    def unusable(self, file: CaseFile) -> None:
        """A test file or its playbook has errors."""


@dataclass(slots=True)
class Session:
    """One run of test files, and all that came of it."""

    settings: "Settings"
    only: str | None = None
    listener: TestListener | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    unusable: list[CaseFile] = field(default_factory=list)
    unreadable: list[RequestError] = field(default_factory=list)
    covered: CoverageByPlaybook = field(default_factory=CoverageByPlaybook)

    def run(self, name: str) -> None:
        """Run the tests of a file; one that cannot be read does not stop the others."""
        try:
            file = load(name)
        except RequestError as error:
            self.unreadable.append(error)
            return
        if not file.ok:
            self.unusable.append(file)
            if self.listener is not None:
                self.listener.unusable(file)
            return
        for case in file.suite.cases:
            if self.only is None or self.only in case.name:
                self.outcomes.append(run(file, case, self.settings, self.covered))
                if self.listener is not None:
                    self.listener.ended(self.outcomes[-1])

    @property
    def failed(self) -> int:
        return sum(not outcome.passed for outcome in self.outcomes)

    @property
    def nothing(self) -> bool:
        """Whether there was nothing to run, and nothing to say about it."""
        return not (self.outcomes or self.unusable or self.unreadable)

    @property
    def code(self) -> int:
        if self.unreadable:
            return 2
        return 1 if self.unusable or self.failed else 0


def run(file: CaseFile, case: "Case", settings: "Settings", covered: CoverageByPlaybook) -> Outcome:
    from noetl.wiring.playbook_test import rehearse

    assert file.playbook is not None
    began = time.perf_counter()
    source = file.playbook.source
    rehearsal = rehearse(settings, case, text_of(source), os.path.abspath(source.name))
    for execution in rehearsal.seen:
        covered.add(execution)
    duration_ms = round((time.perf_counter() - began) * 1000)
    return Outcome(file, case.name, findings(case, rehearsal), duration_ms, rehearsal)


def findings(case: "Case", rehearsal: "Rehearsal") -> "list[Diagnostic]":
    """Why a test failed: first what it lacks, then what it expects and did not get."""
    if rehearsal.stuck is not None:
        hint = "send what it waits for under signals, or bound the wait with spec.timeout"
        never = finding(case.mark, f"it never ends: {rehearsal.stuck}", hint)
        return [*_missing_outputs(case, rehearsal), never]
    expected = unmet_expectations(case, rehearsal.facts)
    return [*_missing_outputs(case, rehearsal), *expected, *_unused_answers(rehearsal)]


def _missing_outputs(case: "Case", rehearsal: "Rehearsal") -> "list[Diagnostic]":
    missing: dict[str, Diagnostic] = {}
    for call in rehearsal.calls:
        if call.answered or call.place.name in missing:
            continue
        own = call.execution_id == rehearsal.main
        under = "given" if own else f"children, {call.place.playbook}"
        hint = f"add {call.place.name} under {under}, or let its kind run: run: [KIND]"
        message = f"{call.place.words} was called, and the test gives no output for it"
        missing[call.place.name] = finding(case.mark, message, hint)
    return list(missing.values())


def _unused_answers(rehearsal: "Rehearsal") -> "list[Diagnostic]":
    hint = "leave it out, or look at its run, iteration, visit and attempt"
    return [
        finding(answer.mark, f"no call came for this answer of '{task}'", hint)
        for task, answer in rehearsal.script.unused()
    ]
