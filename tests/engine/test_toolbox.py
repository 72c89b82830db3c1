"""What a worker knows of tools and programs: their own timeouts, and which text an execution's steps have."""

import asyncio

import pytest

from noetl.ports.tool import Input, define
from noetl.worker import toolbox
from tests.engine.harness import begin, engine, finish, playbook

PLANNED = playbook(
    """
    - {step: plan, spec: {synthesize: {from: "{{ output.data }}"}}, tool: {kind: noop, output: "{{ workload.plan }}"}}
    """
)
SQL = {"kind": "sqlite", "input": {"command": "select 1 as a; select 2 as a"}}
RULES = """
- step: start
  tool:
    - name: ask
      kind: shell
      input: {command: "true"}
      spec: {%spolicy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: continue, set: {ctx.error: "{{ output.error }}"}}}]}}
"""


class Nothing(Input):
    """Whatever is given."""

    command: str


def impatient(told: str):
    """A tool that waited for something that never came."""

    async def run(given, call):
        raise TimeoutError(told)

    return define("shell", "Waits.", Nothing, run)


def cancelled():
    """A tool that waits for work of its own that is cancelled."""

    async def run(given, call):
        work = asyncio.get_running_loop().create_future()
        work.cancel()
        await work

    return define("shell", "Waits.", Nothing, run)


async def test_a_fragment_may_call_a_block_that_has_sugar_in_it(tmp_path):
    sugared = "{name: w, while: {when: '{{ step.n | default(0) < 2 }}', do: [{name: i, kind: noop, set: {step.n: '{{ (step.n | default(0)) + 1 }}'}}]}}"
    block = f"workbook: {{count: {{input: {{x: 1}}, tool: [{sugared}, {{name: o, kind: noop, output: '{{{{ [input.x, step.n] }}}}'}}]}}}}"
    plan = [{"step": "one", "tool": {"kind": "workbook", "block": "count", "input": {"x": 7}}}]
    text = playbook(
        """
        - {step: plan, spec: {synthesize: {from: "{{ output.data }}"}}, tool: {kind: noop, output: "{{ workload.plan }}"}}
        """,
        workbook=block,
    )
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, text, {"plan": plan}))
    assert (ran.status, ran.output) == ("completed", [7, 2])


@pytest.mark.parametrize("bound", ["", "timeout: 600, "])
async def test_a_timeout_of_the_tool_itself_is_an_error_that_the_rules_see(tmp_path, bound):
    async with engine(tmp_path) as made:
        made.pool.toolbox.tool = lambda kind: impatient("the far side is silent")
        ran = await finish(made, await begin(made, playbook(RULES % bound)))
    error = ran.ctx["error"]
    assert ran.status == "completed"
    assert (error["kind"], error["message"], error["retryable"]) == (
        "timeout",
        "shell: the far side is silent",
        True,
    )


async def test_a_timeout_of_the_tool_itself_without_rules_fails_as_what_it_is(tmp_path):
    async with engine(tmp_path) as made:
        made.pool.toolbox.tool = lambda kind: impatient("")
        text = playbook('- {step: start, tool: {kind: shell, input: {command: "true"}}}')
        ran = await finish(made, await begin(made, text))
    assert (ran.status, ran.error["kind"]) == ("failed", "timeout")
    assert "did not come in time" in ran.error["message"]


LOOP = """
- step: start
  loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, max_in_flight: 3}}
  tool: {kind: shell, input: {command: "true"}}
"""


@pytest.mark.parametrize("steps", [RULES % "", RULES % "timeout: 600, ", LOOP])
async def test_a_tool_that_something_else_cancels_fails_and_its_order_goes_on(tmp_path, steps):
    async with engine(tmp_path) as made:
        made.pool.toolbox.tool = lambda kind: cancelled()
        ran = await finish(made, await begin(made, playbook(steps)))
    error = ran.error or ran.ctx["error"]
    assert (error["kind"], error["message"]) == (
        "internal",
        "shell: something that it waited for was cancelled, and not by noetl",
    )


async def test_what_the_steps_of_one_execution_mention_is_not_taken_for_anothers(tmp_path):
    """Both are of one playbook, and their fragments have the same steps by name and number."""
    plain = [{"step": "one", "tool": SQL}]
    named = [{"step": "one", "tool": SQL, "set": {"ctx.there": "{{ 'command_1' in output.data }}"}}]
    async with engine(tmp_path) as made:
        for plan, ctx in ((plain, {}), (named, {"there": True})):
            ran = await finish(made, await begin(made, PLANNED, {"plan": plan}))
            assert (ran.status, ran.ctx) == ("completed", ctx)


async def test_what_programs_mention_is_kept_of_so_many(tmp_path, monkeypatch):
    monkeypatch.setattr(toolbox, "MENTIONS_KEPT", 2)
    async with engine(tmp_path) as made:
        for number in range(4):
            plan = [{"step": "one", "tool": SQL, "set": {"ctx.n": number}}]
            assert (await finish(made, await begin(made, PLANNED, {"plan": plan}))).ctx == {"n": number}
        assert len(made.pool.toolbox._mentioned) == 2


async def test_the_secrets_of_an_execution_that_goes_on_are_remembered_however_many_others_there_were(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(toolbox, "REDACTORS_KEPT", 3)
    async with engine(tmp_path) as made:
        tools = made.pool.toolbox
        tools.redactor("long").learn({"password": "do-not-tell"})
        for number in range(10):
            tools.redactor(f"short {number}")
            assert tools.redactor("long").clean("it is do-not-tell") == "it is ***"
        assert len(tools._redactors) == 3
