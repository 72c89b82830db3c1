"""Clusters under random faults: all ends right or is stuck for a reason, and every rule of a cluster holds."""

import os
from collections import Counter
from random import Random
from typing import Any

import pytest

from tests.simulation.aftermath import large
from tests.simulation.cluster import FAULTS, OLDER
from tests.simulation.cluster_history import play, run, seeds_of
from tests.simulation.faults import Faults
from tests.simulation.history import forget
from tests.simulation.lies import LIES
from tests.simulation.playbooks import PATH, Sample, compiled
from tests.simulation.test_found import HEAD

pytestmark = pytest.mark.timeout(600)  # many seeds, on a machine that may be busy
BLOCK = 125  # seeds of one test
BLOCKS = 40 if os.environ.get("CI") == "true" else 1
# Seeds that found something, and what.
FOUND = {
    318: "a server that got an execution back stood still with what it knew of it before",
    1084: "a child that nobody waits for was paused with its parent, and never resumed",
    413: "whoever told an execution something was answered with a bug when its log could not be read",
    106836: "a child stayed paused for ever when its parent was cancelled and the server died before telling it",
    103971: "a playbook with many long waits was taken for one that stands still",
    301836: "an expiry that was decided before a beat came counted as one after it",
    506266: "a beat that came while its expiry waited for its turn did not count",
    409418: "to go on behind a snapshot was taken for going on without the broken row before it",
    35524: "a server let go of a lease that it had just got back with its execution, and nobody asked about it again",
    31660: "a loop whose first iterations take longest was held to having all in flight at its end",
    105000: "a loop of quick iterations was held to chunks of one",
}


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_rule_of_a_cluster_holds_whatever_fails(block: int) -> None:
    seen: Counter[str] = Counter()
    failing = []
    for seed in seeds_of(block, BLOCK):
        history = play(seed)
        seen += history.seen
        if history.violations:
            repeat = f"python -m tests.simulation.cluster_history {seed}"
            failing.append(f"{history.violations[0]}\n    repeat: {repeat}")
    assert not failing, "\n" + "\n".join(failing)
    seldom = ("stuck", "loop.claimed", "execution.continued") if block == 0 else ()  # not in every block
    wanted = (*FAULTS, OLDER, "newer format", "pause", "event.rejected", *seldom)
    rare = [what for what in wanted if not seen[what]]
    assert not rare, f"what never happened: {rare}"


@pytest.mark.parametrize("seed", FOUND, ids=FOUND.get)
def test_what_a_seed_found_is_mended(seed: int) -> None:
    assert play(seed).violations == []


@pytest.mark.parametrize("seed", [7, 1084])
def test_a_seed_gives_the_same_history_each_time(seed: int) -> None:
    first = play(seed)
    forget()
    again = play(seed)
    assert first.lines == again.lines
    assert first.trace == again.trace


def test_what_is_run_again_keeps_what_it_refers_to_whatever_is_removed_meanwhile() -> None:
    seen: Counter[str] = Counter()
    for seed in range(100):
        faults = Faults(Random(seed), frozenset({"slow store"}), until=15.0)
        history = run(large(), faults, f"{seed:032x}")
        assert history.violations == [], f"{seed}: {history.violations[0]}"
        seen += history.seen
    assert all(seen[what] > 10 for what in ("retry begun", "retry refused", "kept payload")), seen


ACT = {"name": "act", "kind": "act", "input": {"say": 7, "slow": 1}}
CHUNKED = {
    "in": [1, 2, 3, 4, 5, 6],
    "iterator": "n",
    "spec": {"mode": "parallel", "max_in_flight": 4, "chunk": 2, "policy": {"exec": "distributed"}},
}
BOTH = {"spec": {"mode": "inclusive"}, "arcs": [{"step": "loop"}, {"step": "plain"}]}


def test_every_lie_is_told_and_taken_for_one() -> None:
    steps: list[Any] = [
        {"step": "begin", "next": BOTH},
        {
            "step": "loop",
            "loop": CHUNKED,
            "tool": [ACT, {**ACT, "name": "again"}],
            "set": {"ctx.kept": "{{ output.data }}"},
        },
        {"step": "plain", "tool": [{**ACT, "name": str(name)} for name in ("one", "two", "three", "four")]},
    ]
    tree = {**HEAD, "metadata": {"name": "main", "path": PATH}, "workflow": steps}
    sample = Sample({PATH: compiled(PATH, tree)}, {PATH: tree}, Counter(), racy=False)
    told: Counter[str] = Counter()
    for dice in range(20):
        history = run(sample, Faults(Random(dice), frozenset({"lying worker"}), until=30.0), "0" * 32)
        assert history.violations == []
        assert history.results["0" * 32]["ctx"]["kept"] == [7] * 6
        told += history.seen
    assert [lie.__name__ for lie in LIES if not told[f"lie: {lie.__name__}"]] == []
    assert told["lie rejected"] > 20
