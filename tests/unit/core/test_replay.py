"""Deciding again from the record alone: every kind of difference is found, and nothing is rendered."""

from dataclasses import replace

import msgspec
import pytest

from noetl.core.event import Event
from noetl.core.message import Report, Start, Tick
from noetl.core.program.evaluator import EvaluationError
from noetl.core.program.program import Guard
from noetl.core.replay import RecordedEvaluator, RecordedRow, message_of, replay
from noetl.core.state import State
from noetl.core.values.scope import Scope
from noetl.dsl.templates.template import compile_value
from tests.unit.core.build import ENGINE, T0, World, compiled

WORKFLOW = """
- {step: start, tool: {kind: noop}, set: {ctx.n: "{{ output.data }}"}, next: {arcs: [{step: last, when: "{{ output.data == 1 }}"}]}}
- {step: last, input: {n: "{{ ctx.n }}"}, tool: {kind: noop}}
"""


def run():
    world = World(compiled(WORKFLOW))
    world.start()
    world.done("start.1", 1)
    world.done("last.1", 2)
    return world


def differences(rows, program):
    return replay("e1", rows, lambda digest: program if digest else None)[1]


def with_events(rows, number, change):
    events = list(rows[number].events)
    change(events)
    return [*rows[:number], replace(rows[number], events=events), *rows[number + 1 :]]


def place(events, name):
    return next(index for index, event in enumerate(events) if event.name == name)


def put(name, **parts):
    def change(events):
        at = place(events, name)
        events[at] = msgspec.structs.replace(events[at], **parts)

    return change


def drop(name):
    return lambda events: events.pop(place(events, name))


def test_a_log_is_decided_again_as_it_was():
    world = run()
    assert differences(world.rows, world.compiled) == []


@pytest.mark.parametrize(
    "change, recorded, decided",
    [
        (drop("playbook.processed"), "nothing", "playbook.processed"),
        (lambda events: events.append(Event("ctx.patched", T0, data={"patch": [], "origin": "run"})), "ctx.patched", "nothing"),
        (put("token.claimed", data={"token": "t2", "step": "last", "rule": 1}), "token.claimed t2", "token.claimed t2"),
        (put("step.scheduled", ts=5), "step.scheduled last.1", "step.scheduled last.1"),
        (put("ctx.patched", by="x"), "ctx.patched start.1", "ctx.patched start.1"),
        (put("next.evaluated", data={"event": "step.done", "arcs": [{"step": "last", "matched": False}], "taken": []}), "token.enqueued t2", "workflow.finished"),
    ],
)  # fmt: skip
def test_each_kind_of_difference_is_found(change, recorded, decided):
    world = run()
    number = 2 if recorded == "nothing" or decided == "nothing" else 1
    found = differences(with_events(world.rows, number, change), world.compiled)
    assert (found[0].recorded, found[0].decided) == (recorded, decided)
    assert (
        world.rows[number].first <= found[0].seq <= world.rows[number].first + len(world.rows[number].events)
    )


def test_a_playbook_that_was_changed_decides_elsewhere():
    world = run()
    other = compiled(WORKFLOW.replace("{step: last, when", "{step: start, when: false}, {step: last, when"))
    found = differences(world.rows, other)
    assert [one.recorded for one in found] == ["next.evaluated start.1"]


def test_what_came_of_a_decision_is_not_compared_but_what_was_decided_is():
    world = run()

    def other_output(events):
        at = place(events, "step.done")
        events[at] = msgspec.structs.replace(
            events[at], data={**events[at].data, "output": {"status": "ok", "data": 9}}
        )

    assert differences(with_events(world.rows, 2, other_output), world.compiled) == []


def test_a_row_that_does_not_fit_ends_the_comparison():
    world = run()
    found = differences(with_events(world.rows, 1, drop("token.enqueued")), world.compiled)
    assert len(found) == 1
    assert found[0].decided.startswith("an error: ")


def test_after_a_difference_the_state_is_that_of_the_record():
    world = run()
    rows = with_events(world.rows, 1, put("token.claimed", data={"token": "t2", "step": "last", "rule": 1}))
    state, found = replay("e1", rows, lambda digest: world.compiled if digest else None)
    assert (len(found), state) == (1, world.state)


def test_no_copy_of_the_state_is_made_for_deciding_again(monkeypatch):
    world = run()
    only = iter([State("e1")])
    monkeypatch.setattr("noetl.core.replay.State", lambda name: next(only))
    assert differences(world.rows, world.compiled) == []


def test_no_template_is_rendered_again():
    world = run()
    broken = compiled(
        WORKFLOW.replace("{{ output.data == 1 }}", "{{ 1 / 0 }}").replace("{{ ctx.n }}", "{{ ctx.none.x }}")
    )
    assert differences(world.rows, broken) == []


def test_a_message_is_put_back_together_from_its_events():
    world = World(compiled("- {step: start, loop: {in: [1], iterator: x}, tool: {kind: noop}}"))
    world.start(payload={"a": 1}, workload={"b": 2})
    sent = [[["ctx", "a"], 1]]
    world.report(
        "start.1",
        world.event("task.started", "start.1", "[0]", "t"),
        frames={"[0]": {"pc": "t", "sent": sent}, "": {"sent": sent}},
    )
    world.send(Tick())
    start, report = (message_of(row) for row in world.rows)
    assert isinstance(start, Start)
    assert (start.payload, start.workload, start.engine) == ({"a": 1}, {"b": 2}, ENGINE)
    assert isinstance(report, Report)
    assert (len(report.events), report.frames) == (1, {"[0]": {"pc": "t", "sent": sent}, "": {"sent": sent}})
    tick = Tick()
    assert message_of(RecordedRow(1, T0, tick, [])) is tick


def test_a_retry_is_put_back_together_with_the_loops_it_kept():
    world = World(compiled("- {step: start, loop: {in: [1, 2], iterator: x}, tool: {kind: noop}}"))
    loop = {"total": 2, "collection": [1, 2], "iterations": {"0": {"output": {"status": "ok", "data": 5}}}}
    kept = {"state": {"ctx": {"a": 1}}, "tokens": [{"step": "start", "from": "x", "loop": loop}]}
    world.start(retry_of="e0", kept=kept)
    message = message_of(world.rows[0])
    assert isinstance(message, Start)
    assert message.kept is not None
    assert message.kept["state"] == {"ctx": {"a": 1}}
    assert message.kept["tokens"][0]["loop"]["iterations"] == loop["iterations"]
    world.audit()


NOWHERE = Scope({})
TEMPLATE = compile_value("{{ x }}")


def test_what_is_not_in_the_record_cannot_be_judged():
    evaluator = RecordedEvaluator([], T0)
    for question in (
        lambda: evaluator.guard(("arc", "s.1", 0), Guard(template=TEMPLATE), NOWHERE),
        lambda: evaluator.value(("input", "s.1"), TEMPLATE, NOWHERE),
        lambda: evaluator.writes(("set", "s.1"), [], NOWHERE),
    ):
        with pytest.raises(EvaluationError, match="not recorded"):
            question()
    assert evaluator.writes(("set", "s.1"), [], NOWHERE, lenient=True).pairs == []
    assert evaluator.guard(("arc", "s.1", 0), Guard(literal=True), NOWHERE).value is True
    assert evaluator.value(("input", "s.1"), compile_value({"a": 1}), NOWHERE) == {"a": 1}


def test_an_error_that_was_recorded_is_raised_again_with_its_kind_and_details():
    error = {"kind": "validation", "message": "m", "details": {"a": 1}}
    evaluator = RecordedEvaluator([Event("step.failed", T0, "s", "s.1", data={"error": error})], T0)
    with pytest.raises(EvaluationError) as caught:
        evaluator.fits(("output", "s.1"), {"type": "array"}, None)
    assert (caught.value.kind, caught.value.message, caught.value.details) == ("validation", "m", {"a": 1})
    evaluator.fits(("output", "s.1"), None, None)
    evaluator.fits(("output", "s.2"), {"type": "array"}, None)
