"""Any task list does what the contract says: the engine and a plain reading of it agree."""

from hypothesis import given

from tests.property.played import LIMIT, play, tasks, visits_of
from tests.property.reference import Pipe, Tree


@given(tasks("ctx.a", "ctx.n", "step.a", "iter.n"))
def test_a_pipeline_does_what_the_contract_says(found: list[Tree]) -> None:
    expected = Pipe(found, LIMIT)
    well = expected.run()
    result, log = play({"step": "only", "tool": found, "set": {"ctx.step": "{{ step }}"}})
    assert visits_of(log) == expected.done
    ctx = dict(result["ctx"])
    assert ctx.pop("step") == expected.step
    assert ctx == expected.ctx
    if well:
        assert (result["status"], result["output"]) == ("completed", (expected.output or {}).get("data"))
    else:
        assert (result["status"], result["error"]["kind"]) == ("failed", expected.error)


def test_before_rules_that_only_jump_to_each_other_meet_the_limit() -> None:
    jump = {"policy": {"before": [{"when": True, "then": {"do": "jump", "to": "one"}}]}}
    result, _ = play({"step": "only", "tool": [{"name": "one", "kind": "noop", "spec": jump}]})
    assert result["error"]["kind"] == "limit"
