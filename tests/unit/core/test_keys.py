"""Which attempts of a task share an idempotency key: those whose call may have been carried out unseen."""

from itertools import pairwise
from typing import Any

import pytest

from noetl.core.pipeline.pipeline import drive
from noetl.core.values.output import ANSWERED
from tests.unit.core.build import error_of, ok_of
from tests.unit.core.pipeline.test_pipeline import RETRY, pipe, rules, task

SAID: dict[str, Any] = {ANSWERED: True}


def changes(calls: Any) -> list[bool]:
    """Whether each call after the first had another key than the one before."""
    keys = [call.key for call in calls]
    return [one != other for one, other in pairwise(keys)]


@pytest.mark.parametrize(
    "outputs, new",
    [
        ([error_of("timeout")], [False]),
        ([error_of("http", **SAID)], [True]),
        ([error_of("anything the tool says nothing about")], [False]),
        ([error_of(**SAID), error_of(**SAID)], [True, True]),
        ([error_of(**SAID), error_of()], [True, False]),
    ],
)
def test_an_idempotency_key_is_kept_unless_the_attempt_was_answered(outputs, new):
    it = pipe([task("one", RETRY % "delay: 0")])
    it.run(*outputs, ok_of(1))
    assert changes(it.calls) == new
    assert all(ANSWERED not in event.data.get("output", {}) for event in it.around.events if event.data)


def test_an_answer_to_a_repeat_is_no_answer_to_the_call_that_was_lost():
    it = pipe([task("one", RETRY % "delay: 0, attempts: 5"), task("two", RETRY % "delay: 0")])
    it.run(error_of("timeout"), error_of("http", **SAID), error_of("http", **SAID), ok_of(1), ok_of(2))
    assert changes(it.calls) == [False, False, False, True]  # the next task has a key of its own


def test_a_call_that_may_have_been_made_before_keeps_its_key_until_it_went_well():
    poll = rules(
        "{when: '{{ output.status == \"error\" or output.data < 3 }}', then: {do: retry, attempts: 9, delay: 0}}"
    )
    it = pipe([task("one", poll)])
    it.around.repeated = True
    it.run(error_of("http", **SAID), ok_of(1), ok_of(2), ok_of(3))
    assert changes(it.calls) == [False, True, True]


def test_what_is_not_known_of_a_call_is_kept_with_its_frame():
    it = pipe([task("one", RETRY % "delay: 60, attempts: 5")])
    machine = drive(it.frame)
    next(machine)
    machine.send(error_of("timeout"))
    kept = it.frame.checkpoint()
    assert kept["unsure"] is True
    other = pipe([task("one", RETRY % "delay: 0, attempts: 5")])
    other.frame.resume(kept)
    other.run(error_of("http", **SAID), ok_of(1))
    assert changes(other.calls) == [False]


@pytest.mark.parametrize(
    "outputs, answered",
    [
        ([error_of(**SAID) for _ in range(3)], True),
        ([error_of() for _ in range(3)], False),
        ([error_of(), error_of(**SAID), error_of(**SAID)], False),
    ],
)
def test_a_pipeline_that_failed_says_whether_all_its_calls_were_answered(outputs, answered):
    it = pipe([task("one", RETRY % "delay: 0")])
    ended = it.run(*outputs)
    assert (ended.well, ended.answered) == (False, answered)


def test_an_ok_that_is_retried_was_answered():
    it = pipe([task("one", rules("{when: '{{ output.data == 0 }}', then: {do: retry, delay: 0}}"))])
    it.run(ok_of(0), ok_of(1))
    assert it.calls[0].key != it.calls[1].key


def test_an_idempotency_key_is_new_on_each_visit_task_and_iteration_and_stable_over_takeover():
    jump = rules("{when: '{{ output.data == 0 }}', then: {do: jump, to: one}}")
    one, again = pipe([task("one", jump), task("two")]), pipe([task("one", jump), task("two")])
    one.run(ok_of(0), ok_of(1), ok_of(2))
    again.run(ok_of(0), ok_of(1), ok_of(2))
    keys = [call.key for call in one.calls]
    assert len(set(keys)) == 3
    assert keys == [call.key for call in again.calls]
    inner = pipe([task("one", jump)], at="[1]")
    inner.run(ok_of(1))
    assert inner.calls[0].key not in keys
