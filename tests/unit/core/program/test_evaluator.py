"""Templates answer the questions of a decision; every error says the place."""

import pytest

from noetl.core.program.evaluator import EvaluationError, TemplateEvaluator
from noetl.core.program.program import Guard, Write
from noetl.core.values.nesting import NESTED_MOST, TOO_DEEP
from noetl.core.values.output import externalise
from noetl.core.values.scope import Scope
from noetl.dsl.templates.template import compile_value
from tests.unit.core.build import ok_of

JUDGE = TemplateEvaluator()
SCOPE = Scope({"ctx": {"n": 3}}, steps={"load": ok_of(None, ref=externalise("e1", 3)[0])}, most=9)
PLACES = {
    ("input", "s.1"): "input of step run s.1",
    ("admit", "s", 0, "t1"): "admission rule 0 of step s",
    ("loop", "s.1"): "loop of step run s.1",
    ("limits", "s.1", "chunk"): "spec of step run s.1",
    ("output", "s.1"): "output of step run s.1",
    ("set", "s.1"): "set of step run s.1",
    ("arc", "s.1", 2): "arc 2 of step run s.1",
    ("arc-set", "s.1", 2): "set of arc 2 of step run s.1",
    ("arc-args", "s.1", 2): "args of arc 2 of step run s.1",
    ("task", "t"): "set of task t",
    ("rule",): "set of a policy rule",
    ("synthesize", "s.1"): "synthesize of step run s.1",
}


def write(path, value):
    return Write(("ctx", path), compile_value(value))


def test_guards_are_literal_or_judged_with_what_they_saw():
    assert JUDGE.guard(("arc", "s.1", 0), Guard(literal=True), SCOPE).value is True
    judged = JUDGE.guard(("arc", "s.1", 0), Guard(template=compile_value("{{ ctx.n == 3 }}")), SCOPE)
    assert (judged.value, judged.seen) == (True, {"ctx.n": 3})


def test_values_are_rendered():
    assert JUDGE.value(("input", "s.1"), compile_value({"a": "{{ ctx.n }}"}), SCOPE) == {"a": 3}


@pytest.mark.parametrize("place, told", PLACES.items())
def test_an_error_names_its_place(place, told):
    for question in (
        lambda: JUDGE.value(place, compile_value("{{ ctx.none.x }}"), SCOPE),
        lambda: JUDGE.guard(place, Guard(template=compile_value("{{ 1 / 0 }}")), SCOPE),
        lambda: JUDGE.writes(place, [write("a", "{{ ctx.none.x }}")], SCOPE),
        lambda: JUDGE.value(place, compile_value("{{ load.data }}"), SCOPE),
        lambda: JUDGE.fits(place, {"type": "array"}, {}),
    ):
        with pytest.raises(EvaluationError) as caught:
            question()
        assert caught.value.message.startswith(told)


def deep(levels):
    return [deep(levels - 1)] if levels else []


def test_a_value_that_is_too_deep_to_be_kept_is_an_error_with_its_place():
    scope = Scope({"ctx": {"most": deep(NESTED_MOST), "more": deep(NESTED_MOST + 1)}}, most=9)
    place, most, more = ("set", "s.1"), write("a", "{{ ctx.most }}"), write("a", "{{ ctx.more }}")
    assert JUDGE.writes(place, [most], scope).pairs
    with pytest.raises(EvaluationError) as caught:
        JUDGE.writes(place, [more], scope)
    assert (caught.value.kind, caught.value.message) == ("limit", f"set of step run s.1: {TOO_DEEP}")


def test_all_values_of_one_set_are_rendered_against_the_state_before_it():
    written = JUDGE.writes(("set", "s.1"), [write("n", "{{ ctx.n + 1 }}"), write("m", "{{ ctx.n }}")], SCOPE)
    assert written.pairs == [[["ctx", "n"], 4], [["ctx", "m"], 3]]


def test_lenient_leaves_out_what_is_missing_but_not_what_is_wrong():
    entries = [write("a", "{{ ctx.none.x }}"), write("b", "{{ ctx.n }}")]
    written = JUDGE.writes(("set", "s.1"), entries, SCOPE, lenient=True)
    assert (written.pairs, written.left_out) == ([[["ctx", "b"], 3]], ["ctx.a"])
    with pytest.raises(EvaluationError) as caught:
        JUDGE.writes(("set", "s.1"), [write("a_ref", "{{ ctx.n }}")], SCOPE, lenient=True)
    assert caught.value.kind == "reference"


def test_a_value_that_fits_or_has_no_schema_passes():
    JUDGE.fits(("input", "s.1"), None, {})
    JUDGE.fits(("input", "s.1"), {"type": "object"}, {})
