"""The last hours at a glance."""

from noetl.core.reading.overview import BUCKETS, SLOWEST, Entry, slowest, throughput

HOUR = 3_600_000
SPAN = 48 * HOUR


def test_executions_are_counted_by_status_and_by_when_they_ended():
    now = 100 * HOUR
    entries = [
        Entry("completed", now - 3 * HOUR, now - HOUR),
        Entry("failed", now - 3 * HOUR, now - HOUR),
        Entry("running", now, None),
        Entry("cancelled", 0, now - SPAN),
    ]
    told = throughput(entries, now, SPAN)
    assert told["counts"] == {
        "pending": 0,
        "running": 1,
        "waiting": 0,
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
