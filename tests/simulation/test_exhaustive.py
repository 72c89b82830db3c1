"""Tiny executions gone through whole: every order of reports, silence, takeover, cancel, pause and signal."""

from typing import Any

import pytest

from noetl.core.deciding import waits
from tests.simulation.exhaustive import Budget, Search
from tests.simulation.test_planted import no_fence
from tests.unit.core.build import exactly

CHAIN = "- {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}\n- {step: b, tool: {kind: noop}}"
JOIN = """
- {step: a, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: c}]}}
- {step: b, tool: {kind: noop}, next: {arcs: [{step: d}]}}
- {step: c, tool: {kind: noop}, next: {arcs: [{step: d}]}}
- {step: d, tool: {kind: noop}}
"""
LOOP = """
- step: a
  loop: {in: [1, 2, 3], iterator: i, spec: {mode: parallel, max_in_flight: 3, chunk: 1, policy: {exec: distributed}}}
  tool: {kind: noop}
"""
WAIT = """
- {step: a, tool: {name: w, kind: wait, input: {signal: go}}, next: {arcs: [{step: b}]}}
- {step: b, tool: {kind: noop}}
"""


@pytest.mark.timeout(600)  # half a minute of computing, on a machine that may have other things to do
@pytest.mark.parametrize(
    "workflow, at_least", [(JOIN, 500_000), (LOOP, 200_000), (CHAIN, 18_000), (WAIT, 13_000)]
)
def test_no_order_of_events_breaks_an_execution(workflow: str, at_least: int) -> None:
    tally = Search(exactly(workflow), Budget()).run()
    assert tally.problems == []
    assert set(tally.endings) - {"waits"} == {"completed", "cancelled"}
    assert tally.decisions >= at_least


def test_a_wait_that_nobody_answers_is_the_only_other_end() -> None:
    tally = Search(exactly(WAIT), Budget(signals=0)).run()
    assert tally.problems == []
    assert set(tally.endings) == {"cancelled", "waits"}


# ---- bugs put in on purpose ------------------------------------------------------------------------------


def takeover_forgets_work(patch: pytest.MonkeyPatch) -> None:
    """What was with a process that died goes to nobody."""
    patch.setattr(waits, "redispatch", lambda draft, run: None)


def resume_forgets_work(patch: pytest.MonkeyPatch) -> None:
    """What was given back for a pause stays where it is."""
    right = waits.redispatch

    def wrong(draft: Any, run: str) -> None:
        if not any(event.name == "execution.resumed" for event in draft.events):
            right(draft, run)

    patch.setattr(waits, "redispatch", wrong)


@pytest.mark.parametrize(
    "plant, workflow",
    [(no_fence, CHAIN), (takeover_forgets_work, CHAIN), (resume_forgets_work, CHAIN)],
)
def test_a_bug_in_fencing_or_takeover_shows(
    plant: Any, workflow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert Search(exactly(workflow), Budget()).run().problems
