"""Tokens on the move: arrival, join, admission, the start of a run, and the end of the workflow.

Per token in this order: join, step input, admission, schedule. `settle` ends every decision.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from noetl.core.deciding import continuation, join, run_start, synthesize
from noetl.core.deciding.admission import UNASKED, Admission, admit
from noetl.core.deciding.draft import Draft
from noetl.core.deciding.execution_end import abort, complete
from noetl.core.program.evaluator import EvaluationError
from noetl.core.state import Token
from noetl.core.values.output import not_a_mapping, problem

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def settle(draft: Draft) -> None:
    """Move every token that can move, then see whether the workflow is over."""
    state = draft.state
    while (state.tokens or state.fragments) and (
        _move_free(draft) or synthesize.conclude(draft) or _move_joined(draft)
    ):
        pass
    if not state.runs:
        complete(draft)


def _move_free(draft: Draft) -> bool:
    if draft.state.status != "running":
        return False
    for token in draft.state.tokens.values():
        mode = draft.step(token.step).join
        if mode is None or mode == "each":
            _advance(draft, [token])
            return True
        if mode == "first":
            _first(draft, token)
            return True
    return False


def _first(draft: Draft, token: Token) -> None:
    if token.step in token.barred:
        draft.emit("token.refused", token=token.id, step=token.step, reason="join", join="first")
    else:
        _advance(draft, [token], bars=token.step)


def _move_joined(draft: Draft) -> bool:
    state = draft.state
    if state.status != "running":
        return False
    for verdict in join.join_decisions(draft):
        if verdict.go:
            _advance(draft, [state.tokens[token] for token in verdict.go])
            return True
        if verdict.hopeless:
            _give_up(draft, verdict.step)
            return True
        for token in join.waiting_tokens(state, verdict.step):
            if not token.held:
                draft.emit("token.held", token=token.id, step=token.step, waits_for=list(verdict.waits_for))
    return False


def _give_up(draft: Draft, step: str) -> None:
    """A join of mode `all` whose missing source can no longer come."""
    ran = step in draft.state.steps
    for token in join.waiting_tokens(draft.state, step):
        draft.emit("token.discarded", token=token.id, step=step, reason="join impossible")
    if not ran:
        sources = ", ".join(draft.step(step).sources)
        message = f"step {step!r} waits for a token from each of {sources}; one can no longer come"
        abort(draft, {**problem("join", message), "step": step})


def _advance(draft: Draft, tokens: list[Token], bars: str | None = None) -> None:
    """Render the step's input, ask its gate, and start a run or refuse the tokens."""
    step = draft.step(tokens[0].step)
    if draft.state.until == step.name:
        draft.emit("execution.paused", by=draft.state.by or "cli", why=f"--until {step.name} reached")
        return
    if step.continues is not None and continuation.is_due(draft, step.continues, tokens):
        continuation.hand_over(draft, step, step.continues, tokens)
        return
    arrived = run_start.Arrival.of(draft, step, tokens, bars)
    try:
        arrived.input = _render_input(draft, arrived)
    except EvaluationError as error:
        run_start.fail_before_start(draft, arrived, problem(error.kind, error.message))
        return
    admission = UNASKED
    if step.admit:
        try:
            admission = admit(draft, step.name, tokens[-1].id, step.admit, arrived.scope(draft))
        except EvaluationError as error:
            abort(draft, {**problem(error.kind, error.message), "step": step.name})
            return
    _enter(draft, arrived, admission)


def _render_input(draft: Draft, arrived: run_start.Arrival) -> Any:
    step = arrived.step
    if step.input.static and not draft.recorded:
        return step.input.value or None
    scope = arrived.scope(draft)
    rendered = draft.evaluator.value(("input", arrived.run_id), step.input, scope)
    if draft.recorded or isinstance(rendered, dict):
        return rendered or None if step.input.static else rendered
    raise EvaluationError("template", f"input of step run {arrived.run_id}: {not_a_mapping(rendered)}")


def _enter(draft: Draft, arrived: run_start.Arrival, admission: Admission) -> None:
    name = "token.claimed" if admission.allow else "token.refused"
    seen: Mapping[str, object] = _NOTHING
    if admission.rule is not None:
        seen = {"rule": admission.rule, "guards": admission.guards}
    if not admission.allow:
        seen = {**seen, "reason": "admit", "would_be": arrived.run_id}
        if arrived.input:
            seen["input"] = draft.judged(arrived.input)
    for token in arrived.tokens:
        draft.record(name, None, {"token": token.id, "step": arrived.step.name, **seen})
    if admission.allow:
        run_start.schedule(draft, arrived)
