"""The net: what must or may happen to tokens, and that each finding shows the path."""

import random
from typing import Any, cast

import pytest

from noetl.dsl.model import AdmitRule, Arc, Executor, Loop, Playbook, Router, Step
from noetl.dsl.net.findings import analyse
from tests.effort import calls

GUARD = "{{ ctx.x }}"


def arc(text: str) -> Arc:
    """`b` always, `b?` under a guard, `b:when` under that guard."""
    name, colon, when = text.partition(":")
    if colon:
        return Arc(name, "{{ " + when + " }}")
    return Arc(name.rstrip("?"), GUARD if name.endswith("?") else None)


def step(name: str, arcs: str = "", **more: Any) -> Step:
    """A step; `+` before the arcs sends tokens on every arc, `all!` before them joins so."""
    join, bang, rest = arcs.rpartition("!")
    mode = "inclusive" if rest.startswith("+") else "exclusive"
    targets = tuple(map(arc, rest.removeprefix("+").split(";"))) if rest.removeprefix("+") else ()
    return Step(name, next=Router(cast(Any, mode), targets), join=cast(Any, join if bang else "sync"), **more)


def book(**steps: str) -> Playbook:
    return Playbook("p", "p", tuple(step(name, arcs) for name, arcs in steps.items()))


def found(playbook: Playbook) -> list[tuple[str, str]]:
    return [(finding.code, finding.message) for finding in analyse(playbook)]


def codes(**steps: str) -> list[str]:
    return [code for code, _ in found(book(**steps))]


def only(code: str, **steps: str) -> str:
    """The message of the one finding, which has that code."""
    (finding,) = found(book(**steps))
    assert finding[0] == code
    return finding[1]


@pytest.mark.parametrize(
    "steps",
    [
        {"start": ""},
        {"start": "a", "a": ""},
        {"start": "a?;b", "a": "", "b": ""},
        {"start": "+a;b", "a": "j", "b": "j", "j": ""},
        {"start": "+a;b", "a": "j", "b": "j", "j": "all!"},
        {"start": "a", "a": "start?"},
        {"start": "a", "a": "start?;end", "end": ""},
        {"start": "a:event.name == 'step.done';b:event.name == 'step.failed'", "a": "", "b": ""},
    ],
)
def test_sound_nets_have_no_findings(steps):
    assert codes(**steps) == []


class TestDeadArcs:
    def test_an_arc_behind_one_without_guard_never_fires(self):
        findings = found(book(start="a;b", a="", b="a"))
        assert findings[0] == (
            "arc-never-fires",
            "the arc from 'start' to 'b' can never fire: "
            "the arc to 'a' before it has no guard, so it must take every event",
        )

    def test_in_inclusive_mode_every_arc_fires(self):
        assert codes(start="+a;b", a="", b="") == []

    @pytest.mark.parametrize("guard", ["false", "1 == 2", "not true", "true and false", "'a' in ['b']"])
    def test_a_guard_that_is_constantly_false_never_fires(self, guard):
        assert "its guard must be false" in only("arc-never-fires", start=f"a:{guard};a?", a="")

    @pytest.mark.parametrize("guard", ["true", "1 == 1", "false or true", "not false", "'a' in ['a']"])
    def test_a_guard_that_is_constantly_true_hides_the_arcs_after_it(self, guard):
        assert "must take every event" in only("arc-never-fires", start=f"a:{guard};a?", a="")

    def test_a_step_without_loop_never_ends_with_loop_done(self):
        assert "must be false" in only("arc-never-fires", start="a:event.name == 'loop.done';a", a="")

    def test_a_loop_step_never_ends_with_step_done(self):
        looping = step("start", "a:event.name == 'step.done';a", loop=Loop([], "item"))
        assert [code for code, _ in found(Playbook("p", "p", (looping, step("a"))))] == ["arc-never-fires"]

    def test_arcs_for_done_and_failed_leave_nothing_for_a_third(self):
        message = only(
            "arc-never-fires", start="a:event.name == 'step.done';a:event.name == 'step.failed';a", a=""
        )
        assert "before it must take every event" in message


class TestUnreachableSteps:
    def test_the_first_of_a_row_is_named_and_counts_the_rest(self):
        message = only("unreachable-step", start="", x="y", y="z", z="")
        assert message == (
            "step 'x' can never run: every token from 'start' must miss it, and the 2 more behind it (y, z)"
        )

    def test_a_cycle_nothing_leads_to_is_one_finding(self):
        assert codes(start="", x="y?", y="x?") == ["unreachable-step"]

    def test_a_step_behind_a_dead_arc_is_unreachable(self):
        assert codes(start="a;b", a="", b="") == ["arc-never-fires", "unreachable-step"]

    def test_a_final_step_that_never_runs_makes_the_output_null(self):
        lost = Playbook("p", "p", (step("start"), step("x")), executor=Executor(final_step="x"))
        assert found(lost)[1] == (
            "unreachable-final-step",
            "final_step 'x' can never run, so the output must be null",
        )


class TestEndlessCycles:
    def test_a_cycle_that_no_choice_leaves_must_go_round_for_ever(self):
        message = only("endless-cycle", start="a", a="b", b="a")
        assert message == "a token that comes to 'a' must go round for ever: a -> b -> a"

    def test_a_failure_is_no_way_out(self):
        assert codes(start="start:event.name == 'step.done'") == ["endless-cycle"]

    @pytest.mark.parametrize("steps", [{"start": "start?"}, {"start": "a", "a": "start?;end", "end": ""}])
    def test_a_guard_is_a_way_out(self, steps):
        assert codes(**steps) == []

    def test_admission_is_a_way_out(self):
        gate = step("start", "start", admit=(AdmitRule(GUARD, True),))
        assert found(Playbook("p", "p", (gate,))) == []

    def test_only_the_cycle_itself_is_reported_not_what_leads_to_it(self):
        assert codes(start="a?;b", a="c", b="c", c="d", d="c") == ["endless-cycle"]

    def test_an_arc_to_an_unknown_step_is_not_reported_twice(self):
        assert codes(start="a", a="start?;zz") == []


class TestTokenGrowth:
    def test_two_tokens_that_never_merge_may_grow_without_bound(self):
        message = only("token-growth", start="each!+a;b", a="start?", b="start?")
        assert message.startswith("tokens may grow without bound: every round of start -> a -> start")

    def test_tokens_that_meet_at_a_join_do_not_grow(self):
        assert codes(start="+a;b", a="start?", b="start?") == []

    def test_tokens_that_meet_where_both_came_from_do_not_grow(self):
        assert codes(start="+start?;start?;end?", end="") == []
        assert codes(start="each!+start?;start?;end?", end="") == ["token-growth"]

    def test_a_cycle_that_always_spawns_must_grow(self):
        message = only("token-growth", start="+work;start", work="")
        assert message.startswith("tokens must grow without bound: every round of start -> start")

    def test_a_cycle_that_spawns_while_a_guard_holds_is_fine(self):
        assert codes(start="+work;start?", work="") == []


class TestJoins:
    def test_all_after_an_exclusive_split_must_wait(self):
        message = only("join-waits", start="a?;b", a="j", b="j", j="all!")
        assert message == (
            "join: all of step 'j' must wait for ever: "
            "a token takes either start -> a -> j or start -> b -> j, never both"
        )

    def test_all_after_an_exclusive_split_that_runs_often_may_wait(self):
        assert " may wait" in only("join-waits", start="a?;b", a="j", b="j", j="all!start?")

    def test_a_source_that_a_guard_can_leave_out_may_be_missing(self):
        message = only("join-waits", start="+a;b?", a="j", b="j", j="all!")
        assert message.endswith("may wait for ever: not every choice takes the way start -> b -> j")

    def test_a_source_behind_a_choice_may_be_missing(self):
        assert " may wait" in only("join-waits", start="+a;b", a="c?;d", b="j", c="j", d="", j="all!")

    def test_a_failure_arc_beside_the_way_to_the_join_is_no_choice(self):
        steps = {"start": "+a;b", "a": "j:event.name == 'step.done';h", "b": "j", "h": "", "j": "all!"}
        assert codes(**steps) == []

    def test_a_source_that_only_runs_after_the_join_must_be_missing(self):
        message = only("join-waits", start="j", j="all!a?", a="j")
        assert message.endswith("must wait for ever: 'a' runs only after it (j -> a -> j)")

    def test_a_source_whose_arc_never_fires_must_be_missing(self):
        message = found(book(start="+a;b", a="j", b="j:false;x", x="", j="all!"))[1][1]
        assert message.endswith("must wait for ever: the arc from 'b' can never fire")

    def test_a_source_that_never_runs_must_be_missing(self):
        assert ("join-waits", "join: all of step 'j' must wait for ever: 'x' can never run") in found(
            book(start="+a;b", a="j", b="j", x="j", j="all!")
        )

    def test_a_step_that_sends_directly_and_through_another_is_two_sources(self):
        assert codes(start="+j;a", a="j", j="all!") == []
        assert codes(start="j?;a", a="j", j="all!") == ["join-waits"]

    def test_a_retry_cycle_before_the_join_is_left_in_the_end(self):
        assert codes(start="+a;b", a="a?;j", b="j", j="all!") == []

    @pytest.mark.parametrize("mode", ["each", "first", "all"])
    def test_a_mode_on_a_step_with_one_arc_has_no_effect(self, mode):
        message = only("join-without-fan-in", start="a", a=f"{mode}!")
        assert message.startswith(f"join: {mode} has no effect on step 'a'")

    def test_the_entry_token_counts_as_an_arc(self):
        assert codes(start="each!a", a="start?") == []


def test_a_workflow_without_steps_has_no_findings():
    assert analyse(Playbook("p", "p", ())) == []


def test_an_entry_that_does_not_exist_is_not_reported_again():
    assert analyse(Playbook("p", "p", (step("a"),), executor=Executor(entry_step="zz"))) == []


def chain(size: int) -> dict[str, str]:
    return {f"s{n}": f"s{n + 1}" for n in range(size - 1)} | {f"s{size - 1}": ""}


def cycle(size: int) -> dict[str, str]:
    return chain(size) | {f"s{size - 1}": "s0"}


def fan(size: int) -> dict[str, str]:
    middle = [f"s{n}" for n in range(1, size - 1)]
    return {"s0": "+" + ";".join(middle), **dict.fromkeys(middle, "end"), "end": "all!"}


def diamonds(size: int) -> dict[str, str]:
    steps: dict[str, str] = {}
    for n in range(0, size, 4):
        steps |= {f"s{n}": f"+a{n};b{n}", f"a{n}": f"j{n}", f"b{n}": f"j{n}", f"j{n}": f"all!s{n + 4}"}
    return steps | {f"s{size}": ""}


def chance(size: int) -> dict[str, str]:
    dice = random.Random(7)
    return {f"s{n}": "all!+" + ";".join(f"s{dice.randrange(size)}?" for _ in range(3)) for n in range(size)}


@pytest.mark.parametrize("shape", [chain, cycle, fan, diamonds, chance])
def test_ten_thousand_steps_stay_far_from_quadratic(shape):
    few, many = book(**shape(2_500)), book(**shape(10_000))
    assert calls(lambda: analyse(many)) < calls(lambda: analyse(few)) * 4 * 1.2
