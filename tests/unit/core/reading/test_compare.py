"""How two executions differ."""

import pytest

from noetl.control.history import events
from noetl.core.reading.compare import LINES_MOST, PLACES_MOST, Course, changes, compare
from noetl.core.state import State
from tests.engine.harness import begin, engine, finish, playbook
from tests.unit.core.build import World, compiled

WORKFLOW = """
- step: a
  tool: {kind: noop, output: "{{ workload.n }}"}
  set: {ctx.n: "{{ output.data }}"}
  next: {arcs: [{step: b, when: "{{ ctx.n > 1 }}"}, {step: c}]}
- step: b
  spec: {policy: {admit: {rules: [{when: "{{ ctx.n > 5 }}", then: {allow: false}}, {else: {then: {allow: true}}}]}}}
  tool: {kind: noop}
- {step: c, tool: {kind: python, input: {code: "raise ValueError('broken')"}}}
"""


async def courses(folder, *numbers):
    async with engine(folder) as made:
        found = []
        for number in numbers:
            execution_id = await begin(made, playbook(WORKFLOW, workload="workload: {n: 0}"), {"n": number})
            await finish(made, execution_id)
            log = [event async for _, event in events(made.store, execution_id)]
            found.append(Course.of(execution_id, log))
        return found


async def test_two_runs_of_the_same_are_the_same(tmp_path):
    a, b = await courses(tmp_path, 2, 2)
    found = compare(a, b)
    assert found["same"]
    assert found["timing_ms"].keys() == {"a", "b"}


async def test_another_path_another_ctx_and_another_end_are_found(tmp_path):
    a, b = await courses(tmp_path, 2, 1)
    found = compare(a, b)
    assert not found["same"]
    assert found["status"] == ["completed", "failed"]
    assert found["workload"] == [{"path": "n", "a": 2, "b": 1}]
    assert found["ctx"] == [{"path": "n", "a": 2, "b": 1}]
    assert found["path"] == ["- a.1 to b", "- b.1 done", "+ a.1 to c", "+ c.1 failed"]
    assert [item["path"] for item in found["outputs"]] == ["a", "b", "c"]
    assert found["error"][0] is None


def test_a_run_that_was_called_off_did_not_fail():
    world = World(compiled("- {step: a, tool: {kind: noop}}"))
    world.start()
    world.control("cancel")
    assert Course.of("e1", world.events).path == ["a.1 cut off"]


async def test_a_refused_token_is_part_of_the_path(tmp_path):
    a, b = await courses(tmp_path, 2, 6)
    assert "+ b refused a token" in compare(a, b)["path"]


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ({"x": 1}, {"x": 1}, []),
        ({"x": {"y": [1, 2]}}, {"x": {"y": [1, 3]}}, [{"path": "x.y[1]", "a": 2, "b": 3}]),
        ([1], [1, 2], [{"path": "", "a": [1], "b": [1, 2]}]),
        ({"x": None}, {}, [{"path": "x", "a": None}]),
        ({}, {"x": None}, [{"path": "x", "b": None}]),
        ({"x": 1}, {"x": "1"}, [{"path": "x", "a": 1, "b": "1"}]),
    ],
)
def test_values_are_compared_place_by_place(a, b, expected):
    assert list(changes(a, b)) == expected


def test_payloads_that_were_put_aside_are_compared_by_their_checksum():
    courses = []
    for data in ("x" * 1500, "y" * 1500):
        world = World(
            compiled(
                "- {step: a, tool: {kind: noop}}",
                executor="executor: {spec: {limits: {max_payload_bytes: 1000}}}",
            )
        )
        world.start()
        world.done("a.1", data)
        courses.append(Course.of("e1", world.events))
    first, second = courses
    assert [change["path"] for change in compare(first, second)["outputs"]] == ["a.sha256"]
    assert compare(first, first)["same"]


def test_of_many_places_in_one_value_some_are_told_and_the_rest_is_counted():
    first, second = Course(State("a")), Course(State("b"))
    first.outputs, second.outputs = {"each": [0] * 10_000, "end": 1}, {"each": [1] * 10_000, "end": 2}
    found = compare(first, second)
    assert [item["path"] for item in found["outputs"]] == [f"each[{n}]" for n in range(PLACES_MOST)] + ["end"]
    assert found["left_out"] == {"outputs.each": 10_000 - PLACES_MOST}


@pytest.mark.parametrize(
    "a, b, told",
    [
        ([], ["x"], ["+ x"]),
        (["x", "y", "z"], ["x", "w", "z"], ["- y", "+ w"]),
        (["x", "x"], ["x"], ["- x"]),
        (["x", "m", "y"], ["v", "m", "w"], ["- x", "+ v", "- y", "+ w"]),
        (["x"] * 9, ["x"] * 9, []),
    ],
)
def test_paths_are_compared_from_where_they_part_to_where_they_meet(a, b, told):
    found = compare(Course(State("a"), path=a), Course(State("b"), path=b))
    assert (found["path"], found["left_out"], found["same"]) == (told, {}, not told)


def test_of_long_paths_the_lines_after_they_part_are_told_and_the_rest_is_counted():
    a, b = ([f"{name}.{n} done" for n in range(LINES_MOST + 7)] for name in "ab")
    found = compare(
        Course(State("a"), path=["start", *a, "end"]), Course(State("b"), path=["start", *b, "end"])
    )
    assert (len(found["path"]), found["left_out"]) == (2 * LINES_MOST, {"path": 7})


async def test_what_a_retry_kept_is_not_taken_for_removed(tmp_path):
    async with engine(tmp_path) as made:
        first = await begin(made, playbook(WORKFLOW, workload="workload: {n: 0}"), {"n": 1})
        await finish(made, first)
        again = (await made.front.retry(first)).execution_id
        await finish(made, again)
        a, b = [
            Course.of(one, [event async for _, event in events(made.store, one)]) for one in (first, again)
        ]
    for found in (compare(a, b), compare(b, a)):
        assert found["kept"] == ["a"]
        assert not any("a.1" in line for line in found["path"])
        assert [item["path"] for item in found["outputs"]] == []
        assert list(found["timing_ms"]) == ["c"]
