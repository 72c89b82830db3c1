"""Which event wrote each value."""

from noetl.core.event import Event
from noetl.core.reading.provenance import Provenance


def read(*events: Event) -> Provenance:
    found = Provenance()
    for seq, event in enumerate(events, 1):
        found.read(seq, event)
    return found


def patched(*path: str, run: str = "a.1", at: str | None = None) -> Event:
    return Event("ctx.patched", 5, run=run, at=at, data={"patch": [[list(path), 1]], "origin": "set"})


def test_a_key_has_its_last_writer_and_a_whole_value_hides_older_parts():
    found = read(patched("a", "b"), patched("a", "c", at="[2]"), patched("d"), patched("a", run="b.1"))
    assert {path: (writer["seq"], writer["run"]) for path, writer in found.writers.items()} == {
        "d": (3, "a.1"),
        "a": (4, "b.1"),
    }


def test_what_a_retry_kept_was_written_when_it_was_restored():
    found = read(
        Event("execution.restored", 5, data={"ctx": {"n": 1}}), Event("execution.restored", 6, data={})
    )
    assert found.writers["n"]["origin"] == "kept"


def test_outputs_of_runs_stand_in_order_with_their_reference_or_error():
    ref = {"type": "blob", "locator": {"key": "k"}}
    found = read(
        Event("step.done", 5, "w", "a.1", data={"output": {"status": "ok", "data": 1, "meta": {"bytes": 1}}}),
        Event("loop.done", 6, "w", "b.1", data={"output": {"ref": ref, "loop": {"total": 2, "errors": [1]}}}),
        Event("step.failed", 7, "w", "c.1", data={"error": {"kind": "x"}}),
    )
    assert [(one["step"], one["status"], one["data"], one["ref"]) for one in found.outputs] == [
        ("a", "done", 1, None),
        ("b", "done", None, ref),
        ("c", "failed", None, None),
    ]
    assert found.outputs[1]["loop"] == {"total": 2}


def test_events_that_write_nothing_change_nothing():
    assert not read(Event("step.started", 1, "w", "a.1")).writers
