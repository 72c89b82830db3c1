"""What the net analysis claims, held against random runs of random nets.

The simulation plays the token rules: a guard is a coin, `sync` waits for tokens that can still come, `each` runs
for every token, `all` needs one of every source and gives up when a source can bring none any more.
"""

import random
import re
from collections import Counter, defaultdict
from typing import Any, cast

import pytest

from noetl.dsl.diagnostic import Diagnostic
from noetl.dsl.model import Arc, Playbook, Router, Step
from noetl.dsl.net.findings import analyse
from noetl.dsl.net.workflow_graph import Graph

ENTRY = "the entry"
RUNS_MAX = 120
NETS_PER_SEED = 40
PLAYS_PER_NET = 8


def chance_net(dice: random.Random) -> Playbook:
    size = dice.randint(2, 7)
    is_acyclic = dice.random() < 0.6
    steps = []
    for place in range(size):
        first = place + 1 if is_acyclic else 0
        targets = [dice.randrange(first, size) for _ in range(dice.randint(0, 3)) if first < size]
        arcs = tuple(Arc(f"s{target}", "{{ ctx.x }}" if dice.random() < 0.4 else None) for target in targets)
        router = Router(cast(Any, dice.choice(["exclusive", "inclusive"])), arcs)
        steps.append(
            Step(f"s{place}", next=router, join=cast(Any, dice.choice(["all", "all", "sync", "each"])))
        )
    return Playbook("p", "p", tuple(steps))


class Play:
    """One run of a net: which steps ran, which joins gave up, and whether the tokens came to an end."""

    def __init__(self, playbook: Playbook, dice: random.Random) -> None:
        self.dice = dice
        self.graph = Graph.of(playbook)
        self.steps = {step.name: step for step in playbook.steps}
        self.sources = {name: {*self.graph.predecessors(name)} for name in self.steps}
        self.sources[playbook.entry].add(ENTRY)
        self.fan_in = Counter(arc.step for step in playbook.steps for arc in step.next.arcs)
        self.fan_in[playbook.entry] += 1
        self.active = [(playbook.entry, ENTRY)]
        self.held: dict[str, list[str]] = defaultdict(list)
        self.ran: Counter[str] = Counter()
        self.gave_up: set[str] = set()
        while self.ran.total() < RUNS_MAX and (self._move() or self._release()):
            pass
        self.ended = self.ran.total() < RUNS_MAX

    def _run(self, name: str) -> None:
        self.ran[name] += 1
        router = self.steps[name].next
        for arc in router.arcs:
            if arc.when is None or self.dice.random() < 0.5:
                self.active.append((arc.step, name))
                if router.mode == "exclusive":
                    return

    def _move(self) -> bool:
        if not self.active:
            return False
        name, source = self.active.pop(self.dice.randrange(len(self.active)))
        waits = self.fan_in[name] > 1 and self.steps[name].join != "each"
        if not waits or (self.steps[name].join == "all" and len(self.sources[name]) < 2):
            self._run(name)
            return True
        self.held[name].append(source)
        if self.steps[name].join == "all" and self.sources[name] <= set(self.held[name]):
            for needed in self.sources[name]:
                self.held[name].remove(needed)
            self._run(name)
        return True

    def _release(self) -> bool:
        """No token moves any more: let a join that waits for nothing run, else one give up."""
        waiting = [name for name, tokens in self.held.items() if tokens]
        syncs = [name for name in waiting if self.steps[name].join == "sync"]
        others = {name: [other for other in waiting if other != name] for name in waiting}
        free = [n for n in syncs if not any(self.graph.can_reach(o, n) for o in others[n])]
        stuck = [n for n in waiting if n not in syncs and not self._can_complete(n, others[n])]
        for name in [*free[:1], *(() if free else stuck[:1]), *(() if free or stuck else waiting[:1])]:
            self.held[name].clear()
            if name in syncs:
                self._run(name)
            else:
                self.gave_up.add(name)
            return True
        return False

    def _can_complete(self, name: str, others: list[str]) -> bool:
        missing = self.sources[name] - set(self.held[name]) - {ENTRY}
        return all(any(o == m or self.graph.can_reach(o, m) for o in others) for m in missing)


def named(findings: list[Diagnostic], code: str, words: str = "") -> set[str]:
    found = [finding.message for finding in findings if finding.code == code and words in finding.message]
    return {name for message in found for name in re.findall(r"'(s\d)'", message)[:1]}


def contradictions(playbook: Playbook, play: Play) -> dict[str, set[str]]:
    findings = analyse(playbook)
    ran, waiting = set(play.ran), named(findings, "join-waits")
    claims = {
        "an unreachable step ran": ran & named(findings, "unreachable-step"),
        "a join that must wait ran": ran & named(findings, "join-waits", " must "),
        "a join waited that was not reported": set() if waiting else play.gave_up - ran,
        "a cycle without exit ended": set()
        if waiting or not play.ended
        else ran & named(findings, "endless-cycle"),
    }
    return {claim: steps for claim, steps in claims.items() if steps}


@pytest.mark.parametrize("seed", range(10))
def test_no_run_of_a_net_contradicts_its_findings(seed):
    dice = random.Random(seed)
    for _ in range(NETS_PER_SEED):
        playbook = chance_net(dice)
        for _ in range(PLAYS_PER_NET):
            assert contradictions(playbook, Play(playbook, dice)) == {}, playbook
