"""Deciding again takes the same path as the first time, whatever the size of what was decided on."""

from pathlib import Path

import pytest

from tests.engine.harness import playbook, run

FAILING = """
- step: start
  loop: {in: "{{ range(80) }}", iterator: i, spec: {mode: MODE, policy: {exec: EXEC}}}
  spec: {policy: {failure: {mode: best_effort}}}
  tool:
    kind: noop
    spec: {policy: {rules: [{else: {then: {do: fail, message: "{{ 'e' * 2000 }}"}}}]}}
"""


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@pytest.mark.parametrize("where", ["local", "distributed"])
async def test_a_loop_whose_errors_are_many_replays_as_it_ran(tmp_path: Path, mode: str, where: str) -> None:
    text = playbook(FAILING.replace("MODE", mode).replace("EXEC", where))
    ran = await run(tmp_path, text)  # which audits the log
    assert ran.named("loop.done")[0]["data"]["output"]["loop"]["failed"] == 80
