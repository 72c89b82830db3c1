"""Which executions are late, and who is told how a step ends: what may be written there."""

import pytest

from noetl.core.program.program import compile_program
from noetl.dsl.load import load, load_accepted
from noetl.tools import kinds

TEXT = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: x, path: x/y}
executor: {spec: {policy: {%s}}}
workflow:
  - step: start
    spec: {policy: {%s}}
    tool: {kind: noop}
"""
SLA, EMIT = "sla: {expected: 10m}", "emit: {events: [step.failed, loop.done], to: [ops]}"


@pytest.mark.parametrize(
    ("written", "seconds"), [("90", 90), ("0.5", 0.5), ("45s", 45), ("10m", 600), ("2h", 7200), ("1d", 86400)]
)
def test_a_length_of_time_is_a_number_of_seconds_or_has_a_unit(written: str, seconds: float) -> None:
    loaded = load(TEXT % (f"sla: {{expected: {written}}}", EMIT), kinds=kinds())
    assert loaded.playbook is not None, loaded.diagnostics
    assert loaded.playbook.executor.expected_s == seconds
    emit = loaded.playbook.steps[0].emit
    assert emit is not None
    assert (emit.events, emit.to) == (("step.failed", "loop.done"), ("ops",))


@pytest.mark.parametrize(
    ("sla", "emit", "code"),
    [
        ("sla: {expected: 10 minutes}", EMIT, "wrong-value"),
        ("sla: {expected: 0m}", EMIT, "wrong-value"),
        ("sla: {expected: 0}", EMIT, "wrong-value"),
        ("sla: {expected: 99999999}", EMIT, "wrong-value"),
        ("sla: {expected: true}", EMIT, "wrong-type"),
        ("sla: {expected: '{{ workload.x }}'}", EMIT, "template-not-allowed"),
        ("sla: {}", EMIT, "missing-key"),
        (SLA, "emit: {events: [step.faild], to: [ops]}", "wrong-value"),
        (SLA, "emit: {events: [], to: [ops]}", "wrong-value"),
        (SLA, "emit: {events: [step.failed]}", "missing-key"),
    ],
)
def test_anything_else_is_refused(sla: str, emit: str, code: str) -> None:
    loaded = load(TEXT % (sla, emit), kinds=kinds())
    assert code in {finding.code for finding in loaded.diagnostics if finding.severity == "error"}


@pytest.mark.parametrize("emit", ["emit: {}", "emit: 1", "emit: {events: step.failed, to: ops}"])
def test_texts_from_before_it_was_in_force_are_read_as_they_were(emit: str) -> None:
    playbook = load_accepted(TEXT % ("", emit), kinds=kinds())
    assert playbook is not None
    assert playbook.steps[0].emit is None
    assert compile_program(playbook, kinds(), "h").language == 1


def test_older_releases_leave_both_to_others() -> None:
    for policies in ((SLA, ""), ("", EMIT)):
        loaded = load(TEXT % policies, kinds=kinds())
        assert loaded.playbook is not None
        program = compile_program(loaded.playbook, kinds(), "h")
        assert (program.language, program.row_format) == (2, 3)
