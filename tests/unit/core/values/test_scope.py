"""What names mean in a template, in which order a bare name is looked for, and what was seen."""

from typing import Any

import pytest

from noetl.core.shapes import Output
from noetl.core.values.output import externalise
from noetl.core.values.payload_demand import UnreadablePayload, is_stored
from noetl.core.values.scope import Scope, pruned
from noetl.dsl.templates.values import Envelope
from noetl.json_value import Json
from tests.unit.core.build import ID, ok_of

REF, PAYLOAD = externalise(ID, {"count": 7, "pad": "x" * 60})
SIZE = REF["meta"]["bytes"]
AWAY: Output = {"status": "ok", "data": None, "ref": REF}
TASKS: Output = {**ok_of(1), "results": {"one": AWAY, "two": ok_of(2)}}
ELSEWHERE = ok_of(None, ref={"type": "relational", "locator": {}, "auth_reference": None, "meta": {}})


def test_a_bare_name_is_looked_for_in_order_mappings_tasks_steps():
    chain = ({"a": 1}, {"a": 2, "b": 2})
    scope = Scope({"ctx": {"a": 0}}, chain, {"t": ok_of(3), "a": ok_of(9)}, {"s": ok_of(4), "t": ok_of(9)})
    assert scope.bind(["a", "b", "t", "s", "ctx", "none"]) == {
        "a": 1, "b": 2, "t": ok_of(3), "s": ok_of(4), "ctx": {"a": 0},
    }  # fmt: skip


def test_inside_sugar_the_task_of_the_innermost_scope_is_meant():
    tasks = {"t": ok_of(1), "outer.t": ok_of(2), "outer.inner.t": ok_of(3)}
    assert Scope({}, (), tasks, reader="outer.inner.x").bind(["t"]) == {"t": ok_of(3)}
    assert Scope({}, (), tasks, reader="outer.x").bind(["t"]) == {"t": ok_of(2)}
    assert Scope({}, (), tasks, reader="x").bind(["t"]) == {"t": ok_of(1)}


def test_tasks_of_a_finished_step_are_envelopes_too():
    scope = Scope({}, steps={"load": {**ok_of(1), "results": {"one": ok_of({"n": 5})}}})
    assert scope.seen([("load", "results", "one", "n")]) == {"load.results.one.n": 5}


READS = {
    ("load", "data"): "load",
    ("load", "data", "count"): "load",
    ("load", "count"): "load",
    ("load",): "load",
    ("tasks", "results", "one", "data"): "tasks.results.one",
    ("tasks", "results", "one", "count"): "tasks.results.one",
    ("tasks", "results", "one"): "tasks.results.one",
    ("tasks", "results"): "tasks.results.one",
    ("tasks",): "tasks.results.one",
    ("load", "status"): None,
    ("load", "ref"): None,
    ("load", "error", "kind"): None,
    ("tasks", "results", "one", "ref"): None,
    ("tasks", "results", "none", "data"): None,
    ("tasks", "results", "two", "data"): None,
    ("near", "data"): None,
    ("none", "data"): None,
}
STEPS = {"load": AWAY, "near": ok_of(1), "tasks": TASKS}


@pytest.mark.parametrize("path, owner", READS.items())
def test_the_payload_of_a_finished_step_that_a_path_reads_is_wanted(path, owner):
    scope = Scope({}, steps=STEPS, most=SIZE)
    assert scope.wanted([path]) == ([] if owner is None else [(owner, REF)])


def test_a_payload_that_is_at_hand_or_too_large_is_not_wanted():
    assert Scope({}, steps=STEPS, most=SIZE, payloads={PAYLOAD.key: 1}).wanted([("load",)]) == []
    assert Scope({}, steps=STEPS, most=SIZE - 1).wanted([("load", "data")]) == []
    for kind, again in (("backend", True), ("reference", False)):
        scope = Scope({}, steps=STEPS, most=SIZE, payloads={PAYLOAD.key: UnreadablePayload(kind, "no")})
        assert bool(scope.wanted([("load", "data")])) is again


@pytest.mark.parametrize("path, owner", READS.items())
def test_a_payload_that_could_not_be_had_cannot_be_read(path, owner):
    found = Scope({}, steps=STEPS, most=SIZE).out_of_reach([path])
    gone = f"{'.'.join(path)}: the payload {PAYLOAD.key} is gone from the result store, or damaged"
    assert found == (None if owner is None else UnreadablePayload("reference", gone))


@pytest.mark.parametrize("path, owner", READS.items())
def test_a_payload_over_the_limit_is_told_with_its_size_and_the_ways_on(path, owner):
    found = Scope({}, steps=STEPS, most=5, payloads={PAYLOAD.key: 1}).out_of_reach([path])
    if owner is None or path[-1] in ("load", "tasks", "results", "one"):  # the whole of it has the reference
        assert found is None
        return
    assert found == UnreadablePayload(
        "limit",
        f"{'.'.join(path)}: the result of {owner} was stored with {SIZE} bytes, more than "
        f'limits.max_hydrate_bytes (5); loop over it with in: "{{{{ {owner}.ref }}}}", take a part of it with '
        "kind: resolve and select, or raise the limit",
    )


def test_what_cannot_be_read_says_why():
    payloads = {PAYLOAD.key: UnreadablePayload("backend", "the store is away")}
    found = Scope({}, steps=STEPS, most=SIZE, payloads=payloads).out_of_reach([("load", "n")])
    assert found == UnreadablePayload("backend", "load.n: the store is away")


def test_what_a_tool_stored_elsewhere_is_read_with_resolve():
    found = Scope({}, steps={"load": ELSEWHERE}, most=9).out_of_reach([("load", "data"), ("load",)])
    assert found is not None
    assert (found.kind, "kind: resolve and load.ref" in found.message) == ("reference", True)
    assert Scope({}, steps={"load": ELSEWHERE}, most=9).out_of_reach([("load",)]) is None


@pytest.mark.parametrize(
    "path, read",
    [
        (("event",), "whole"),
        (("event", "data", "output"), "whole"),
        (("event", "data", "output", "data", "n"), "part"),
        (("event", "data", "output", "status"), None),
        (("event", "name"), None),
        (("ctx", "event"), None),
    ],
)
def test_the_output_that_an_event_carries_is_read_likewise(path, read):
    event = {"name": "step.done", "step": "load", "data": {"output": AWAY}}
    gone = Scope({"event": event}, most=SIZE).out_of_reach([path])
    large = Scope({"event": event}, most=1).out_of_reach([path])
    assert (gone is not None, large is not None) == (read is not None, read == "part")


def test_a_payload_at_hand_is_in_its_place():
    payload: Json = {"count": 7}
    scope = Scope({}, steps=STEPS, payloads={PAYLOAD.key: payload}, most=SIZE)
    paths = [("load", "data"), ("load", "count"), ("load",), ("tasks", "results", "one", "count")]
    assert scope.out_of_reach(paths) is None
    bound: Any = scope.bind(["load", "tasks"])
    assert (bound["load"]["data"], bound["tasks"]["results"]["one"]["data"]) == (payload, payload)
    assert scope.seen([("load", "count")]) == {"load.count": 7}


@pytest.mark.parametrize(
    "scope",
    [
        Scope({"load": {}}, steps=STEPS),
        Scope({}, ({"load": {}},), steps=STEPS),
        Scope({}, tasks={"load": ok_of(1)}, steps=STEPS),
    ],
)
def test_a_nearer_thing_of_the_same_name_hides_the_step(scope):
    assert scope.out_of_reach([("load", "data")]) is None
    assert scope.wanted([("load", "data")]) == []


@pytest.mark.parametrize(
    "path, value",
    [
        (("ctx", "a", "0", "n"), 1),
        (("ctx", "a", "9"), None),
        (("ctx", "a", "x"), None),
        (("ctx", "none", "deep"), None),
        (("output", "data", "n"), 2),
        (("output", "n"), 2),
        (("output", "status"), "ok"),
        (("output", "none"), None),
        (("nothing",), None),
    ],
)
def test_what_a_guard_saw_is_told_by_its_dotted_path(path, value):
    scope = Scope({"ctx": {"a": [{"n": 1}]}, "output": Envelope(ok_of({"n": 2}))})
    assert scope.seen([path]) == {".".join(path): value}


def test_secrets_are_never_told():
    assert Scope({"keychain": {"k": "secret"}}).seen([("keychain", "k")]) == {}


@pytest.mark.parametrize(
    "envelope, aside",
    [
        (AWAY, True),
        (TASKS, True),
        (ok_of(1), False),
        (ok_of(None), False),
        ({**AWAY, "status": "error"}, True),
        (ELSEWHERE, False),
        ({**AWAY, "ref": {**REF, "locator": None}}, False),
        ({**AWAY, "ref": {**REF, "locator": {"store": "results"}}}, False),
        ({**AWAY, "ref": {**REF, "meta": None}}, False),
    ],
)
def test_an_envelope_whose_payload_rests_in_the_result_store(envelope, aside):
    assert is_stored(envelope) is aside
    assert is_stored(envelope, {PAYLOAD.key: 1}) is False
    assert is_stored(envelope, {PAYLOAD.key: UnreadablePayload("limit", "no")}) is aside


@pytest.mark.parametrize(
    "path, gone",
    [
        (("ctx", "v"), True),
        (("ctx", "v", "deep"), True),
        (("ctx",), True),
        (("v",), True),
        (("ctx", "n"), False),
        (("ctx", "n", "none"), False),
        (("none",), False),
    ],
)
def test_a_value_of_a_damaged_scope_that_is_gone_cannot_be_read(path, gone):
    ctx = {"v": UnreadablePayload("reference", "it is gone"), "n": 1}
    found = Scope({"ctx": ctx}, (ctx,), damaged=True).out_of_reach([path])
    assert found == (UnreadablePayload("reference", f"{'.'.join(path)}: it is gone") if gone else None)


def test_only_entries_that_are_read_are_sent():
    assert pruned({"a": 1, "b": 2}, frozenset({"b", "c"})) == {"b": 2}
    assert pruned({"a": 1}, None) == {"a": 1}
