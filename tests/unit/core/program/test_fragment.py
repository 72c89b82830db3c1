"""Fragments: their names, and the program that has them."""

from typing import Any

from noetl.core.program.fragment import extended, fragment_problems, normalised
from tests.unit.core.build import compiled

PROGRAM = compiled(
    "- {step: start, tool: {kind: noop}}", executor="executor: {spec: {entry_step: start, final_step: start}}"
)
STEPS: list[dict[str, Any]] = [
    {"step": "one", "tool": {"kind": "noop"}, "next": {"arcs": [{"step": "two"}]}},
    {"step": "two"},
]


def test_steps_are_named_after_their_origin_and_so_are_the_arcs_between_them():
    program = extended(PROGRAM, "start.1", STEPS)
    assert list(program.steps) == ["start", "start.1.one", "start.1.two"]
    assert [arc.step for arc in program.steps["start.1.one"].arcs] == ["start.1.two"]
    assert program.graph.can_reach("start.1.one", "start.1.two")
    assert program.entry == "start"


def test_the_same_fragment_gives_the_same_program_and_is_added_once():
    program = extended(PROGRAM, "start.1", STEPS)
    assert extended(PROGRAM, "start.1", STEPS) is program
    assert extended(program, "start.1", STEPS) is program
    assert len(extended(program, "start.2", STEPS).steps) == 5


def test_a_fragment_that_may_run_has_no_problems():
    assert fragment_problems(PROGRAM, STEPS, 50, None) == []
    assert fragment_problems(PROGRAM, STEPS, 50, ("noop",)) == []


def test_a_fragment_is_checked_with_the_playbooks_own_keychain_and_workbook():
    program = compiled(
        "- {step: start, tool: {name: blk, kind: workbook}}",
        workbook="workbook: {blk: {tool: [{name: one, kind: noop}]}}",
    )
    call = [{"step": "one", "tool": {"kind": "workbook", "block": "blk"}}]
    assert fragment_problems(program, call, 50, None) == []
    assert fragment_problems(PROGRAM, call, 50, None) != []


def test_the_log_keeps_a_fragment_in_the_one_spelling():
    program = compiled("- {step: start, tool: {kind: noop}}")
    kept = normalised(program, [{"step": "a", "tool": {"kind": "noop"}, "set": {"ctx": {"x": 1}}}])
    assert kept == [{"step": "a", "tool": [{"name": "a_task", "kind": "noop"}], "set": {"ctx.x": 1}}]
    assert normalised(program, kept) == kept
