"""What must or may happen to the tokens of a workflow, with guards as free choice.

Each finding says *must* or *may* and shows the path. What one step, arc or template gets
wrong by itself is for the rules.
"""

from collections.abc import Iterator

from noetl.dsl.diagnostic import Code, Diagnostic
from noetl.dsl.model import Arc, Playbook, Step
from noetl.dsl.net.digraph import Digraph
from noetl.dsl.net.join_findings import joins
from noetl.dsl.net.petri_net import Net
from noetl.dsl.net.routing import events_of

ARC_NEVER_FIRES = Code("arc-never-fires", "warning", "An arc can never fire")
UNREACHABLE_STEP = Code("unreachable-step", "warning", "No token can come to a step")
ENDLESS_CYCLE = Code("endless-cycle", "warning", "A token that enters a cycle of steps never leaves it")
TOKEN_GROWTH = Code("token-growth", "warning", "A cycle of steps multiplies its tokens without bound")
UNREACHABLE_FINAL_STEP = Code("unreachable-final-step", "warning", "No token can come to the final step")

_COVERED = "must take every event it could take"


def analyse(playbook: Playbook) -> list[Diagnostic]:
    """Every finding about the net of a playbook."""
    return examine(Net(playbook))


def examine(net: Net) -> list[Diagnostic]:
    """Every finding about a net."""
    checks = (dead_arcs, unreachable_steps, unreachable_final_step, endless_cycles, token_growth, joins)
    return [finding for check in checks for finding in check(net)]


def dead_arcs(net: Net) -> Iterator[Diagnostic]:
    """Arcs that never fire: behind one that always does, or with a guard that never holds."""
    for step, routing in zip(net.steps, net.routing, strict=True):
        for dead in routing.dead:
            arc = step.next.arcs[dead.position]
            if dead.behind is None:
                yield _false_guard(step, arc)
            else:
                yield _shadowed(step, arc, step.next.arcs[dead.behind])


def _shadowed(step: Step, arc: Arc, before: Arc) -> Diagnostic:
    always = "has no guard, so it must take every event" if before.when is None else _COVERED
    why = f"the arc to '{before.step}' before it {always}"
    message = f"the arc from '{step.name}' to '{arc.step}' can never fire: {why}"
    hint = "guard the earlier arc with when, put this arc before it, or write next: {spec: {mode: inclusive}}"
    return ARC_NEVER_FIRES.at(arc.node.mark, message, hint)


def _false_guard(step: Step, arc: Arc) -> Diagnostic:
    done, failed = events_of(step)
    kind = "a loop step" if step.loop else "a step"
    message = f"the arc from '{step.name}' to '{arc.step}' can never fire: its guard must be false"
    hint = f"remove the arc or change its guard; {kind} ends with '{done}' or '{failed}'"
    return ARC_NEVER_FIRES.at(arc.node.at("when"), message, hint)


def unreachable_steps(net: Net) -> Iterator[Diagnostic]:
    """Steps no token can come to; of several in a row only the first, which names the others."""
    lost = set(range(len(net.steps))) - net.reached if net.reach_is_known else set()
    for members in reversed(net.live.components):
        if members[0] in lost:
            behind = net.live.reachable(members, inside=lost)
            lost -= behind
            yield _unreachable(net, members[0], sorted(behind - {members[0]}))


def _unreachable(net: Net, number: int, after: list[int]) -> Diagnostic:
    why = f"every token from '{net.entry_name}' must miss it"
    message = f"step '{net.steps[number].name}' can never run: {why}"
    if after:
        message += f", and the {len(after)} more behind it ({net.path_text(after).replace(' ->', ',')})"
    return UNREACHABLE_STEP.at(net.at(number), message, "add an arc to it, or remove it")


def unreachable_final_step(net: Net) -> Iterator[Diagnostic]:
    """A final step that never runs: the execution's output is always null."""
    executor = net.playbook.executor
    number = None if executor.final_step is None else net.whole.number.get(executor.final_step)
    if number is not None and net.reach_is_known and number not in net.reached:
        spec = executor.node.get("spec", executor.node)
        message = f"final_step '{executor.final_step}' can never run, so the output must be null"
        yield UNREACHABLE_FINAL_STEP.at(spec.at("final_step"), message, "name a step that can run")


def endless_cycles(net: Net) -> Iterator[Diagnostic]:
    """Cycles of steps from which no end can be reached."""
    ends = [n for n, routing in enumerate(net.routing) if routing.ends or not net.known_arcs_only[n]]
    finite = net.live.reaching(ends)
    for members in net.live.components:
        inside = set(members)
        if members[0] in finite or members[0] not in net.reached:
            continue
        if net.live.is_cycle(members) and all(t in inside for m in members for t in net.live.out[m]):
            yield _endless(net, members[0], inside)


def _endless(net: Net, number: int, inside: set[int]) -> Diagnostic:
    path = net.path_text(net.live.path(number, number, inside))
    message = f"a token that comes to '{net.steps[number].name}' must go round for ever: {path}"
    hint = "guard an arc of the cycle with when, or add an arc that leaves it before the one that stays"
    return ENDLESS_CYCLE.at(net.at(number), message, hint)


def token_growth(net: Net) -> Iterator[Diagnostic]:
    """Cycles that make more tokens on every round: two tokens that never merge, or one that always spawns."""
    yield from _spawning(net)
    open_steps = Digraph(
        [] if net.merges(source) else [t for t in targets if not net.merges(t)]
        for source, targets in enumerate(net.live.out)
    )
    for members in open_steps.components:
        inside = set(members)
        for number in members if members[0] in net.reached and open_steps.is_cycle(members) else ():
            staying = [t for t in net.targets(number, net.routing[number].live) if t in inside]
            if net.splits(number) and len(staying) > 1:
                yield _growth(net, number, open_steps.path(number, number, inside), "may")
                break


def _spawning(net: Net) -> Iterator[Diagnostic]:
    """Cycles of arcs that must fire, one step of which also always sends a token out of the cycle."""
    component = net.live.component_of
    for members in net.must.components:
        if not net.must.is_cycle(members) or members[0] not in net.reached:
            continue
        for number in members:
            if any(component[target] != component[number] for target in net.must.out[number]):
                yield _growth(net, number, net.must.path(number, number), "must")
                break


def _growth(net: Net, number: int, path: list[int], modality: str) -> Diagnostic:
    every = f"every round of {net.path_text(path)} sends more than one on from '{net.steps[number].name}'"
    message = f"tokens {modality} grow without bound: {every}"
    hint = "guard the arcs so that one token stays in the cycle, or let tokens meet at a step with join: sync"
    return TOKEN_GROWTH.at(net.at(number), message, hint)
