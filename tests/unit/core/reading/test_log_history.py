"""What one pass over the log of an execution remembers."""

from noetl.core.reading.log_history import LogHistory
from tests.unit.core.build import ID, World, compiled

LOOP = """
- {step: start, tool: {kind: noop}, next: {arcs: [{step: loop}]}}
- {step: loop, loop: {in: "{{ range(3) }}", iterator: x}, spec: {policy: {failure: {mode: %s}}}, tool: {kind: noop}, next: {arcs: [{step: last}]}}
- {step: last, tool: {kind: noop}}
"""


def past(world):
    return LogHistory.of(ID, world.events)


def looped(mode="fail_fast"):
    world = World(compiled(LOOP % mode))
    world.start()
    world.done("start.1", 1)
    return world


def test_runs_remember_the_tokens_they_came_from_and_how_they_ended():
    world = looped()
    found = past(world)
    assert (found.runs["start.1"].ended, found.runs["start.1"].routed) == ("step.done", True)
    assert (found.runs["loop.1"].ended, found.runs["loop.1"].tokens) == (None, ["t2"])
    assert (found.tokens["t2"].origin, found.tokens["t2"].taken_by) == ("start.1", "loop.1")


def test_iterations_that_went_well_are_remembered_until_nothing_of_the_loop_is_left_to_do():
    world = looped()
    inner = world.event("loop.iteration.done", "loop.1", "[0]/b[0]", output={"status": "ok"})
    world.report("loop.1", inner, world.item("loop.1", 0, "a", writes=[[["ctx", "n"], 1]]))
    loop = past(world).runs["loop.1"].loop
    assert loop is not None
    assert loop.done == {"0": {"output": {"status": "ok", "data": "a"}, "writes": [[["ctx", "n"], 1]]}}
    world.report(
        "loop.1",
        world.item("loop.1", 1),
        world.item("loop.1", 2),
        world.event("loop.done", "loop.1"),
        final=True,
    )
    assert past(world).runs["loop.1"].loop is None


def test_a_loop_that_ended_with_failed_iterations_is_remembered():
    world = looped("best_effort")
    items = [world.item("loop.1", 0), world.item_failed("loop.1", 1), world.item("loop.1", 2)]
    world.report("loop.1", *items, world.event("loop.done", "loop.1"), final=True)
    loop = past(world).runs["loop.1"].loop
    assert loop is not None
    assert set(loop.done) == {"0", "2"}


def test_a_run_that_the_end_of_the_execution_cut_off_is_unfinished():
    world = looped()
    world.control("cancel")
    assert past(world).runs["loop.1"].unfinished
    assert not past(world).runs["start.1"].unfinished


def test_ctx_writes_are_remembered_by_run_and_iteration():
    world = looped()
    world.report("loop.1", world.item("loop.1", 0, writes=[[["ctx", "n"], 1]]))
    assert past(world).patches == [("loop.1", 0, [[["n"], 1]])]


def test_a_retry_remembers_what_it_had_kept_itself():
    world = World(compiled(LOOP % "fail_fast"))
    loop = {
        "total": 3,
        "collection": [1, 2, 3],
        "iterations": {"0": {"output": {"status": "ok", "data": "a"}}},
    }
    kept = {
        "state": {"ctx": {"n": 1}},
        "tokens": [{"step": "loop", "from": "start", "from_run": "start.1", "loop": loop}],
    }
    world.start(retry_of="e0", kept=kept)
    world.report("loop.1", world.item("loop.1", 1, "b"))
    found = past(world)
    assert found.base["ctx"] == {"n": 1}
    assert found.tokens["t1"].origin is None
    again = found.runs["loop.1"].loop
    assert again is not None
    assert set(again.done) == {"0", "1"}


def test_tokens_that_were_discarded_keep_the_joins_that_bar_them():
    world = World(
        compiled("""
        - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}}
        - {step: a, tool: {kind: noop}, next: {arcs: [{step: meet}]}}
        - {step: b, tool: {kind: noop}, next: {arcs: [{step: both, when: "{{ event.name == 'step.done' }}"}, {step: meet, when: false}]}}
        - {step: c, tool: {kind: noop}, next: {arcs: [{step: both, when: "{{ event.name == 'step.done' }}"}]}}
        - {step: both, tool: {kind: noop}}
        - {step: meet, spec: {join: first}, tool: {kind: noop}}
    """)
    )
    world.start()
    world.done("a.1")
    world.done("b.1")
    world.control("cancel")
    discarded = [token for token in past(world).tokens.values() if token.discarded]
    assert [(token.parts["step"], token.barred) for token in discarded] == [("both", ["meet"])]
