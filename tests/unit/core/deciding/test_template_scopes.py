"""What the server's templates can see."""

from noetl.core.deciding import template_scopes
from noetl.core.deciding.draft import Draft, in_place
from noetl.core.program.evaluator import TemplateEvaluator
from noetl.core.shapes import Output
from noetl.core.state import Run, State
from noetl.core.values.payload_demand import UnreadablePayload
from tests.unit.core.build import ID, T0, compiled, marker_of, ok_of


def draft(**parts):
    return Draft(State(ID, **parts), compiled("- {step: start}"), TemplateEvaluator(), T0, {})


def test_at_arrival_bare_names_go_through_input_args_ctx_workload_and_finished_steps():
    made = draft(
        workload={"a": 1, "b": 1, "c": 1, "d": 1}, ctx={"a": 2, "b": 2, "c": 2}, results={"load": ok_of(7)}
    )
    scope = template_scopes.arrival(made, {"name": "x"}, {"a": 3, "b": 3}, {"a": 4})
    bound = scope.bind(["a", "b", "c", "d", "load", "event", "execution_id", "step", "output"])
    assert bound == {
        "a": 4, "b": 3, "c": 2, "d": 1, "load": ok_of(7), "execution_id": ID,
        "event": {"name": "x", "ok": False, "failed": False},
    }  # fmt: skip


def test_at_departure_the_runs_own_step_and_output_are_there_too():
    made = draft(workload={"a": 1}, ctx={"b": 2})
    scope = template_scopes.departure(made, Run("s.1", "s", step_scope={"a": 5, "c": 3}), {}, ok_of(7))
    assert scope.bind(["a", "b", "c", "step", "output"]) == {
        "a": 5, "b": 2, "c": 3, "step": {"a": 5, "c": 3}, "output": ok_of(7),
    }  # fmt: skip


def test_at_the_end_of_a_run_it_and_its_tasks_have_names_and_mean_this_run():
    workflow = "- {step: start, tool: {name: t, kind: noop}, set: {ctx.x: '{{ start.data }}'}}"
    before = {"start": ok_of(1), "t": ok_of(2), "other": ok_of(3)}
    made = Draft(State(ID, results=before), compiled(workflow), TemplateEvaluator(), T0, {})
    output: Output = {**ok_of(7), "results": {"t": ok_of(8)}}
    scope = template_scopes.ending(made, Run("start.2", "start", iter_scope={"n": 1}), {}, output)
    assert scope.bind(["start", "t", "other", "iter", "n"]) == {
        "start": output, "t": ok_of(8), "other": ok_of(3), "iter": {"n": 1}, "n": 1,
    }  # fmt: skip
    assert "start" not in template_scopes.ending(draft(), Run("start.1", "start"), {}, output).steps


def test_a_step_of_a_fragment_reads_itself_by_the_name_its_author_wrote():
    made = draft()
    made.steps = {"plan.1.one": compiled("- {step: one, set: {ctx.x: '{{ one.data }}'}}").steps["one"]}
    scope = template_scopes.ending(made, Run("plan.1.one.1", "plan.1.one", fragment="plan.1"), {}, ok_of(7))
    assert scope.bind(["one"]) == {"one": ok_of(7)}


def test_inside_a_fragment_its_own_steps_are_read_by_the_names_their_author_wrote():
    made = draft(results={"plan.1.one": ok_of(1), "one": ok_of(2), "plan.2.one": ok_of(3)})
    assert template_scopes.arrival(made, {}, {}, fragment="plan.1").bind(["one"]) == {"one": ok_of(1)}
    assert template_scopes.arrival(made, {}, {}).bind(["one"]) == {"one": ok_of(2)}


def test_what_rests_in_the_result_store_is_put_in_its_place():
    made = draft(
        ctx={"big": marker_of("k"), "deep": {"big": marker_of("k")}},
    )
    made.hydrated["k"] = "whole"
    assert in_place(made.state.ctx, made.hydrated) == {"big": "whole", "deep": {"big": "whole"}}


def test_what_is_gone_of_a_scope_is_told_to_who_reads_it_and_to_nobody_else():
    made = draft(workload=marker_of("w"), ctx={"v": marker_of("v"), "deep": {"v": marker_of("v")}, "n": 1})
    made.hydrated["other"] = 1
    scope = template_scopes.arrival(made, {}, {}, UnreadablePayload("reference", "its input is gone"))
    told = {
        path: scope.out_of_reach([path])
        for path in (("ctx", "v"), ("ctx", "deep", "v"), ("workload", "x"), ("input",))
    }
    assert all(wrong is not None and wrong.kind == "reference" for wrong in told.values())
    assert scope.out_of_reach([("ctx", "n"), ("n",)]) is None
    assert scope.bind(["n"]) == {"n": 1}


def test_a_large_input_that_is_gone_is_told_where_a_step_ends():
    made = draft()
    run = Run("start.1", "start", input=marker_of("i"))
    wrong = template_scopes.departure(made, run, {}, ok_of(1)).out_of_reach([("input", "x")])
    assert wrong is not None
    made.hydrated["i"] = {"x": 1}
    assert template_scopes.departure(made, run, {}, ok_of(1)).fixed["input"] == {"x": 1}
