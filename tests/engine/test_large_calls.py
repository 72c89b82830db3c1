"""What calls of playbooks take and give is as large as it has to be, and the log does not grow by it."""

import msgspec
import pytest

from tests.engine.harness import begin, engine, finish, playbook, run
from tests.engine.test_waiting import child_project

EVENT_BYTES = 80_000
GIVES = "- {step: start, tool: {kind: python, input: {n: '{{ workload.n }}', code: \"result = {'n': n, 'text': 'x' * 100000}\"}}}"
TAKES = "- {step: start, tool: {kind: python, input: {n: '{{ workload.n }}', text: '{{ workload.text }}', code: 'result = [n, len(text)]'}}}"
CALL = "{name: c, kind: playbook, path: tests/child, input: {n: 5}"

READS = {
    "the task's set and rules": (
        f'- {{step: start, tool: {CALL}, set: {{ctx.n: "{{{{ output.data.n }}}}"}}, spec: {{policy: {{rules: [{{when: "{{{{ output.data.n == 5 }}}}", then: {{do: continue}}}}, {{else: {{then: {{do: fail}}}}}}]}}}}}}, output: "{{{{ ctx.n }}}}"}}',
        5,
    ),
    "the next task": (
        f'- {{step: start, tool: [{CALL}}}, {{name: t, kind: noop, output: "{{{{ [c.data.n, c.n, _prev.n, output.data.text | length] }}}}"}}]}}',
        [5, 5, 5, 100_000],
    ),
    "the step's set and arcs": (
        f'- {{step: start, tool: {CALL}}}, set: {{ctx.n: "{{{{ output.data.text | length }}}}"}}, next: {{arcs: [{{step: then, when: "{{{{ output.data.n == 5 }}}}"}}]}}}}\n- {{step: then, tool: {{kind: noop, output: "{{{{ [ctx.n, start.n] }}}}"}}}}',
        [100_000, 5],
    ),
    "a loop in one place": (
        f'- {{step: start, loop: {{in: [1, 2], iterator: i, spec: {{mode: parallel}}}}, tool: [{CALL}}}, {{name: t, kind: noop, output: "{{{{ c.data.text | length + iter.i }}}}"}}]}}',
        [100_001, 100_002],
    ),
    "a loop in many places": (
        f"- {{step: start, loop: {{in: [1, 2], iterator: i, spec: {{mode: parallel, chunk: 1, policy: {{exec: distributed}}}}}}, tool: {CALL}}}, output: \"{{{{ output.data | map(attribute='n') | list }}}}\"}}",
        [5, 5],
    ),
}


def largest(ran):
    return max(len(msgspec.json.encode(event)) for event in ran.events)


@pytest.mark.parametrize("place", READS)
async def test_a_large_output_of_a_child_reads_as_that_of_any_task(tmp_path, place):
    child_project(tmp_path, GIVES)
    ran = await run(tmp_path, playbook(READS[place][0]))
    assert (ran.error, ran.output) == ({}, READS[place][1])
    assert largest(ran) < EVENT_BYTES


async def test_a_large_output_is_passed_on_through_calls(tmp_path):
    child_project(tmp_path, GIVES)
    between = playbook(f"- {{step: start, tool: {CALL}}}}}").replace("tests/case", "tests/between")
    (tmp_path / "between.yaml").write_text(between)
    call = "{name: b, kind: playbook, path: tests/between}, {name: t, kind: noop, output: '{{ b.data.n }}'}"
    ran = await run(tmp_path, playbook(f"- {{step: start, tool: [{call}]}}"))
    assert (ran.error, ran.output) == ({}, 5)


async def test_an_output_of_a_child_over_the_limit_is_had_by_its_reference(tmp_path):
    child_project(tmp_path, GIVES)
    text = f"""
    - step: start
      spec: {{limits: {{max_hydrate_bytes: 90000}}}}
      tool: [{CALL}}}, {{name: r, kind: resolve, input: {{ref: "{{{{ c.ref }}}}", select: n}}}}]
    """
    ran = await run(tmp_path, playbook(text))
    assert (ran.error, ran.output) == ({}, 5)


@pytest.mark.parametrize("bytes_", [60_000, 100_000, 1_000_000])
@pytest.mark.parametrize("loop", ["", "loop: {in: [1, 2], iterator: i, spec: {mode: parallel}}, "])
async def test_a_child_takes_a_large_input(tmp_path, bytes_, loop):
    child_project(tmp_path, TAKES, "workload: {n: 0, text: ''}")
    call = f"{{kind: playbook, path: tests/child, input: {{n: 7, text: \"{{{{ 'y' * {bytes_} }}}}\"}}}}"
    ran = await run(tmp_path, playbook(f"- {{step: start, {loop}tool: {call}}}"))
    given = [7, bytes_]
    assert (ran.error, ran.output) == ({}, [given, given] if loop else given)
    assert largest(ran) < EVENT_BYTES


LOST = {
    "gone": (10_000_000, "reference", "is not in the result store"),
    "over the limit": (90_000, "limit", "at least"),
}


@pytest.mark.parametrize("how", LOST)
async def test_an_input_that_cannot_be_had_fails_the_call(tmp_path, how):
    most, kind, told = LOST[how]
    child_project(tmp_path, TAKES, "workload: {n: 0, text: ''}")
    call = "{kind: playbook, path: tests/child, input: {text: \"{{ 'y' * 100000 }}\"}}"
    text = playbook(
        f"- {{step: start, tool: {call}}}",
        executor=f"executor: {{spec: {{limits: {{max_hydrate_bytes: {most}}}}}}}",
    )
    async with engine(tmp_path) as made:
        if how == "gone":
            made.pool.payloads = Forgetful()
        ran = await finish(made, await begin(made, text))
    assert (ran.error["kind"], ran.error["details"]["error"]["kind"]) == ("child", kind)
    assert told in ran.error["message"]


class Forgetful:
    """A result store that keeps nothing."""

    async def write(self, payload):
        """Forget it."""
