"""What a worker tells of a claim: the rows that it brought, or why there are none."""

from typing import Any

import pytest

from noetl.core.message import ClaimOrder
from noetl.core.pipeline.claim import claim_ended, prepare
from noetl.core.pipeline.effects import Ended
from noetl.core.pipeline.inner_loop import InnerLoop
from noetl.core.values.output import failed, ok, problem
from tests.unit.core.build import Pipe, exactly, ok_of

TEXT = """
- step: start
  loop:
    in: {claim: {kind: shell, input: {command: "{{ claim.number }} {{ claim.key }} {{ claim.batch }} {{ claim.last.id }}"}}, until: empty}
    iterator: row
  tool: {kind: noop}
"""
ORDER = ClaimOrder(3, 10, "k", {"id": 7})


def claim() -> Any:
    program: Any = exactly(TEXT)
    pipe = Pipe(program, pipeline=program.steps["start"].loop.claim.pipeline)
    prepare(pipe.frame, ORDER)
    return pipe


def told(output, **parts):
    return claim_ended(claim().frame, ORDER, Ended(output["status"] == "ok", output, **parts))


def test_its_templates_read_what_the_order_says_and_its_visit_is_the_number_of_the_batch():
    pipe = claim()
    pipe.run(ok_of([1]))
    assert pipe.effects[0].input == {"command": "3 k 10 7"}
    assert [event.visit for event in pipe.around.events] == [3, 3]


@pytest.mark.parametrize("data", [[1, 2], {"rows": [1, 2], "row_count": 2}])
def test_rows_are_the_data_or_stand_in_it(data):
    event = told(ok(data))
    assert event.name == "loop.claimed"
    assert event.data == {"number": 3, "key": "k", "count": 2, "rows": [1, 2], "last": 2}


@pytest.mark.parametrize("data", [None, [], {"rows": []}])
def test_nothing_is_a_claim_without_rows(data):
    assert told(ok(data)).data == {"number": 3, "key": "k", "count": 0}


@pytest.mark.parametrize(
    "output, says",
    [
        (ok("text"), "gave str"),
        (ok({"a": 1}), "a mapping with a;"),
        ({**ok(None), "ref": {}}, "more rows than can be read at once"),
        ({**ok({"rows": None}), "ref": {}}, "more rows than can be read at once"),
    ],
)
def test_what_is_no_list_of_rows_fails_the_claim(output, says):
    event = told(output)
    assert event.name == "loop.claim.failed"
    assert says in event.data["error"]["message"]


def test_a_claim_that_failed_says_why():
    error = problem("connect", "away")
    event = told(failed(error), error=error)
    assert (event.name, event.data["error"]["message"]) == ("loop.claim.failed", "away")


def test_an_iteration_over_a_claimed_row_does_not_know_how_many_there_are():
    pipe = claim()
    loop = pipe.around.program.steps["start"].loop
    level = InnerLoop("", loop, pipe.frame.pipeline, pipe.around, 5, 1, False, {}, {}, {}, {})
    assert level.frame(3, {"id": 7}).iter == {"row": {"id": 7}, "index": 3}
