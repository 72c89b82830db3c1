"""Where branches meet: the four modes, ties, joins that can never be complete, and fragments on the way."""

import pytest

SPLIT = """
- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
- {step: a, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
- {step: b, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
- {step: meet, spec: {join: %s}, tool: {kind: noop}}
"""


def test_sync_holds_the_first_token_and_merges_all_into_one_run(begin):
    world = begin(SPLIT % "sync")
    world.done("a.1")
    assert world.data("token.held") == {"token": "t4", "step": "meet", "waits_for": ["b"]}
    assert world.live == ["b.1"]
    world.done("b.1")
    assert world.data("step.scheduled", "meet.1")["tokens"] == ["t4", "t5"]
    world.done("meet.1", "end")
    assert (world.state.status, world.state.output) == ("completed", "end")


def test_each_runs_once_per_token(begin):
    world = begin(SPLIT % "each")
    world.done("a.1")
    assert world.live == ["b.1", "meet.1"]
    world.done("b.1")
    assert world.live == ["meet.1", "meet.2"]
    world.done("meet.1")
    world.done("meet.2")


def test_first_refuses_every_other_token_that_was_live(begin):
    world = begin(SPLIT % "first")
    world.done("a.1")
    assert world.live == ["b.1", "meet.1"]
    world.done("b.1")
    assert world.data("token.refused") == {"token": "t5", "step": "meet", "reason": "join", "join": "first"}
    world.done("meet.1")
    assert world.state.status == "completed"


def test_a_descendant_of_the_run_that_fired_opens_a_new_wave(begin):
    world = begin("""
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - step: meet
          spec: {join: first}
          tool: {kind: noop}
          next: {arcs: [{step: again, when: "{{ not ctx.done | default(false) }}", set: {ctx.done: true}}]}
        - {step: again, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
    """)
    world.done("a.1")
    world.done("meet.1")
    world.done("again.1")
    assert "meet.2" in world.live
    world.done("b.1")
    world.done("meet.2")
    assert len(world.named("token.refused")) == 1


def test_first_bars_the_arcs_of_a_step_whose_fragment_is_under_way(begin):
    world = begin("""
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: plan}, {step: b}]}}
        - step: plan
          tool: {kind: noop}
          spec: {synthesize: {from: "{{ output.data.plan }}"}}
          next: {arcs: [{step: meet}]}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: meet, spec: {join: first}, tool: {kind: noop}}
    """)
    world.done("plan.1", {"plan": [{"step": "one", "tool": {"kind": "noop"}}]})
    world.done("b.1")
    assert "meet.1" in world.live
    world.done("plan.1.one.1")
    assert "meet.2" not in world.live
    world.done("meet.1")
    assert world.state.status == "completed"


def test_sync_waits_for_the_arcs_of_a_step_whose_fragment_is_under_way(begin):
    world = begin("""
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: plan}, {step: b}]}}
        - step: plan
          tool: {kind: noop}
          spec: {synthesize: {from: "{{ output.data.plan }}"}}
          next: {arcs: [{step: meet}]}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: meet, tool: {kind: noop}}
    """)
    world.done("b.1")
    world.done("plan.1", {"plan": [{"step": "one", "tool": {"kind": "noop"}}]})
    assert world.live == ["plan.1.one.1"]
    world.done("plan.1.one.1")
    assert world.live == ["meet.1"]
    assert len(world.data("step.scheduled", "meet.1")["tokens"]) == 2
    world.done("meet.1")
    assert world.state.steps["meet"].runs == 1


def test_all_takes_one_token_of_every_source_and_keeps_the_surplus(begin):
    world = begin("""
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: a}]}}
        - {step: a, spec: {join: each}, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: meet, spec: {join: all}, tool: {kind: noop}}
    """)
    world.done("a.1")
    world.done("a.2")
    assert world.data("token.held")["waits_for"] == ["b"]
    world.done("b.1")
    assert len(world.data("step.scheduled", "meet.1")["tokens"]) == 2
    assert [token.step for token in world.state.tokens.values()] == []
    assert world.data("token.discarded")["reason"] == "join impossible"
    world.done("meet.1")
    assert world.state.status == "completed"


def test_all_counts_the_entry_token_as_a_source(begin):
    world = begin("""
        - step: start
          spec: {join: all}
          tool: {kind: noop}
          next: {spec: {mode: inclusive}, arcs: [{step: a, when: "{{ event.name == 'none' }}"}]}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: start}, {step: start, when: "{{ false }}"}]}}
    """)
    assert world.state.status == "failed"
    assert world.state.error["kind"] == "join"


def test_all_fails_the_execution_when_a_source_can_no_longer_come_and_it_never_ran(begin):
    world = begin("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ output.data }}"}, {step: b}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: meet, spec: {join: all}, tool: {kind: noop}}
    """)
    world.done("start.1", True)
    world.done("a.1")
    assert world.state.status == "failed"
    assert world.state.error["kind"] == "join"
    assert (world.state.error["step"], "from each of a, b" in world.state.error["message"]) == ("meet", True)


RING = """
- {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
- {step: a, tool: {kind: noop}, next: {arcs: [{step: left}]}}
- {step: b, tool: {kind: noop}, next: {arcs: [{step: right}]}}
- {step: left, spec: {join: %s}, tool: {kind: noop}, next: {arcs: [{step: c}]}}
- {step: c, tool: {kind: noop}, next: {arcs: [{step: right, when: "{{ ctx.go | default(false) }}"}, {step: last}]}}
- {step: right, spec: {join: %s}, tool: {kind: noop}, next: {arcs: [{step: d}]}}
- {step: d, tool: {kind: noop}, next: {arcs: [{step: left, when: "{{ ctx.go | default(false) }}"}, {step: last}]}}
- {step: last, spec: {join: each}, tool: {kind: noop}}
"""


def test_joins_that_wait_only_on_one_another_release_the_oldest_token(begin):
    world = begin(RING % ("sync", "sync"))
    world.done("b.1")
    assert world.live == ["a.1"]
    world.done("a.1")
    assert world.live == ["right.1"]
    for run in ("right.1", "d.1", "left.1", "c.1", "last.1", "last.2"):
        world.done(run)
    assert world.state.status == "completed"


def test_a_join_that_a_run_can_still_free_is_not_released_early(begin):
    world = begin(RING % ("sync", "sync"))
    world.done("a.1")
    assert world.live == ["b.1"]
    assert world.state.tokens["t4"].held


@pytest.mark.parametrize("modes, freed", [(("all", "sync"), "right.1"), (("sync", "all"), "left.1")])
def test_of_joins_that_wait_on_one_another_a_sync_one_goes_first(begin, modes, freed):
    world = begin(RING % modes)
    world.done("a.1")
    world.done("b.1")
    assert world.live == [freed]


def test_all_joins_that_wait_on_one_another_give_up_instead_of_waiting_for_ever(begin):
    world = begin(RING % ("all", "all"))
    world.done("a.1")
    world.done("b.1")
    assert world.state.status == "failed"
    assert world.state.error["kind"] == "join"


def test_a_cycle_with_one_live_token_never_waits(begin):
    world = begin("""
        - {step: start, tool: {kind: noop}, next: {arcs: [{step: page}]}}
        - step: page
          tool: {kind: noop}
          next: {arcs: [{step: page, when: "{{ output.data < 2 }}"}, {step: last}]}
        - {step: last, tool: {kind: noop}}
    """)
    world.done("start.1")
    world.done("page.1", 1)
    world.done("page.2", 2)
    assert world.live == ["last.1"]


def test_all_gives_up_on_an_entry_token_that_was_not_kept(world):
    it = world("""
        - {step: start, spec: {join: all}, tool: {kind: noop}, next: {arcs: [{step: a, when: "{{ false }}"}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: start}, {step: start, when: "{{ false }}"}]}}
    """)
    it.start(retry_of="e0", kept={"state": {}, "tokens": [{"step": "start", "from": "a"}]})
    assert it.state.error["kind"] == "join"
