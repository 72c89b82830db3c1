"""What names mean in a template, in which order a bare name is looked for, and what was seen."""

import pytest

from noetl.core.scope import Scope, put_aside
from noetl.dsl.template import Envelope
from tests.unit.core.build import ok_of

AWAY = {"status": "ok", "data": None, "ref": {"meta": {"bytes": 99}}}


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


@pytest.mark.parametrize(
    "path, told",
    [
        (("load", "data"), "load.data has 99 bytes and was stored"),
        (("load", "count"), "kind: resolve and load.ref"),
        (("load", "status"), None),
        (("load", "ref"), None),
        (("load",), None),
        (("near", "data"), None),
        (("none", "data"), None),
    ],
)
def test_a_payload_that_was_put_aside_is_out_of_reach_of_later_steps(path, told):
    scope = Scope({}, steps={"load": AWAY, "near": ok_of(1)})
    found = scope.out_of_reach([path])
    assert (found is None) if told is None else told in str(found)


def test_a_scope_of_the_same_name_hides_the_step():
    assert Scope({"load": {}}, steps={"load": AWAY}).out_of_reach([("load", "data")]) is None


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
    [(AWAY, True), (ok_of(1), False), (ok_of(None), False), ({**AWAY, "status": "error"}, False)],
)
def test_an_envelope_whose_payload_rests_elsewhere(envelope, aside):
    assert put_aside(envelope) is aside
