"""Where branches meet: which tokens at a step may go on together, which wait, and for whom.

Pure look-ups over the state; tokens.py acts on the answers. Four modes, one function each where they differ.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from noetl.core.deciding.draft import Draft
from noetl.core.state import State, Token


@dataclass(frozen=True, slots=True)
class JoinDecision:
    """What becomes of the tokens at one join: go on together, be discarded, or wait for these steps."""

    step: str
    go: tuple[str, ...] = ()
    hopeless: bool = False
    waits_for: tuple[str, ...] = field(default=())


def waiting_tokens(state: State, step: str) -> list[Token]:
    """The live tokens at a step, oldest first."""
    return [token for token in state.tokens.values() if token.step == step]


def join_decisions(draft: Draft) -> list[JoinDecision]:
    """One verdict per join that has tokens, the one to act on first in front."""
    state = draft.state
    joins = list(dict.fromkeys(token.step for token in state.tokens.values() if _joins(draft, token)))
    if not joins:
        return []
    active = {run.step for run in state.runs.values()} | {
        token.step for token in state.tokens.values() if not _joins(draft, token)
    }
    decisions = [_verdict(draft, step, active, joins) for step in joins]
    if not any(verdict.go or verdict.hopeless for verdict in decisions):
        decisions = _break_tie(draft, decisions, active)
    return sorted(decisions, key=lambda verdict: not (verdict.go or verdict.hopeless))


def _joins(draft: Draft, token: Token) -> bool:
    return draft.step(token.step).join in ("sync", "all")


def _verdict(draft: Draft, step: str, active: set[str], joins: list[str]) -> JoinDecision:
    decide = _sync if draft.step(step).join == "sync" else _all
    return decide(draft, step, active, joins)


def _sync(draft: Draft, step: str, active: set[str], joins: list[str]) -> JoinDecision:
    others = [*(name for name in active if name != step), *(name for name in joins if name != step)]
    blocking = tuple(sorted(name for name in others if can_reach(draft, name, step)))
    tokens = tuple(token.id for token in waiting_tokens(draft.state, step))
    return JoinDecision(step, waits_for=blocking) if blocking else JoinDecision(step, go=tokens)


def _all(draft: Draft, step: str, active: set[str], joins: list[str]) -> JoinDecision:
    first: dict[str | None, str] = {}
    for token in waiting_tokens(draft.state, step):
        first.setdefault(token.source, token.id)
    sources: tuple[str | None, ...] = draft.step(step).sources
    if step == draft.program.entry:
        sources = (*sources, None)
    missing = [source for source in sources if source not in first]
    if not missing:
        return JoinDecision(step, go=tuple(first[source] for source in sources))
    bringers = [*active, *(name for name in joins if name != step)]
    if all(_can_bring(draft, source, bringers) for source in missing):
        return JoinDecision(step, waits_for=tuple(str(source) for source in missing))
    return JoinDecision(step, hopeless=True)


def _can_bring(draft: Draft, source: str | None, bringers: Iterable[str]) -> bool:
    if source is None:
        return False
    return any(name == source or can_reach(draft, name, source) for name in bringers)


def _break_tie(draft: Draft, decisions: list[JoinDecision], active: set[str]) -> list[JoinDecision]:
    """Joins that wait only on one another: the one with the oldest token goes; one of `all` gives up."""
    waiting = {verdict.step: verdict for verdict in decisions}
    stuck = [
        verdict.step for verdict in decisions if _waits_only_on_joins(draft, verdict.step, waiting, active)
    ]
    if not stuck:
        return decisions
    oldest = [token.step for token in draft.state.tokens.values() if token.step in stuck]
    step = min(oldest, key=lambda name: draft.step(name).join != "sync")
    tokens = tuple(token.id for token in waiting_tokens(draft.state, step))
    freed = (
        JoinDecision(step, go=tokens)
        if draft.step(step).join == "sync"
        else JoinDecision(step, hopeless=True)
    )
    return [freed, *(verdict for verdict in decisions if verdict.step != step)]


def _waits_only_on_joins(draft: Draft, step: str, waiting: dict[str, JoinDecision], active: set[str]) -> bool:
    """Whether nothing that runs can still come to a join, directly or by freeing a join it waits for."""
    seen, queue = {step}, [step]
    while queue:
        name = queue.pop()
        if any(runs != name and can_reach(draft, runs, name) for runs in active):
            return False
        for other in waiting:
            if other not in seen and can_reach(draft, other, name):
                seen.add(other)
                queue.append(other)
    return True


def can_reach(draft: Draft, source: str, target: str) -> bool:
    """Whether a token at one step can come to another; out of a fragment also by its origin's arcs."""
    if draft.program.graph.can_reach(source, target):
        return True
    fragment = next((origin for origin in draft.state.fragments if source.startswith(f"{origin}.")), None)
    return fragment is not None and can_reach(draft, draft.state.fragments[fragment].step, target)
