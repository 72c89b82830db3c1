"""The last hours at a glance."""

from noetl.core.reading.overview import (
    BUCKETS,
    SLOWEST,
    Ended,
    failure_groups,
    slowest,
    throughput,
)

HOUR = 3_600_000
SPAN = 48 * HOUR


def test_executions_are_counted_by_status_and_by_when_they_ended():
    counted = [("completed", 47, 1), ("failed", 47, 1), ("running", BUCKETS, 1), ("cancelled", 0, 1)]
    counted.append(("waiting", 47, 2))
    told = throughput(counted, 100 * HOUR, SPAN)
    assert told["counts"] == {
        "pending": 0,
        "running": 1,
        "waiting": 2,
        "paused": 0,
        "completed": 1,
        "failed": 1,
        "cancelled": 1,
        "stuck": 0,
    }
    assert len(told["buckets"]) == BUCKETS
    assert told["buckets"][-1] | {"at": ""} == {
        "at": "",
        "cancelled": 0,
        "completed": 1,
        "failed": 1,
        "waiting": 2,
        "active": 1,
    }
    assert told["buckets"][0]["cancelled"] == 1


def test_the_slowest_steps_come_first_and_are_few():
    durations = {("p", f"s{place}"): [(place, "x"), (place * 3, "y")] for place in range(SLOWEST + 3)}
    rows = slowest(durations)
    assert len(rows) == SLOWEST
    assert rows[0] == {
        "path": "p",
        "step": "s10",
        "runs": 2,
        "mean_ms": 20,
        "max_ms": 30,
        "execution_id": "y",
    }


def over(execution_id, status="failed", path="p", message="no", **fields):
    error = (
        {"kind": fields.pop("kind", "http"), "message": message, "step": "s"} if status == "failed" else None
    )
    given = {"parent": None, "error": error, "failed_iterations": 0, **fields}
    return Ended(execution_id=execution_id, path=path, status=status, **given)


def told(*executions, retried=()):
    return [(group.message, group.executions) for group in failure_groups(executions, set(retried))]


def test_failures_that_are_alike_are_one_group_and_the_newest_speaks_for_it():
    found = told(over("c", message="row 31 of a1b2"), over("b", path="q"), over("a", message="row 7 of ff00"))
    assert found == [("row 31 of a1b2", ["c", "a"]), ("no", ["b"])]


def test_a_failure_that_somebody_has_gone_on_from_is_not_told():
    assert told(over("b"), over("a"), retried=["a"]) == [("no", ["b"])]


def test_a_failed_child_speaks_for_its_parent():
    child, parent = over("b", parent="a", path="child"), over("a", kind="child")
    assert told(child, parent) == [("no", ["b"])]
    assert told(over("b", "completed", parent="a"), parent) == [("no", ["a"])]


def test_what_is_stuck_is_told_with_the_failures():
    stuck = over("b", "stuck", error={"kind": "stuck", "message": "row 7 cannot be read"}, path="q")
    assert told(stuck, over("a")) == [("row 7 cannot be read", ["b"]), ("no", ["a"])]


def test_iterations_that_failed_in_what_completed_are_told():
    found = told(
        over("c", "completed", failed_iterations=3),
        over("b", "completed", failed_iterations=1, path="q"),
        over("a", "running"),
    )
    assert found == [
        ("completed, 3 iterations failed", ["c"]),
        ("completed, 1 iteration failed", ["b"]),
    ]


def test_a_failure_of_which_nothing_was_kept_is_told_as_such():
    assert told(over("a", error=None)) == [("what it failed with was not kept", ["a"])]
