"""An execution with a long log goes on as another, with a fresh one, at a step that says so.

The one ends and the other begins in one commit. What is carried: ctx, the workload, signals that nothing has
taken, and what the end depends on. Decided before the step's input is rendered: the successor enters it.
"""

import hashlib
from typing import cast

from noetl.core.deciding import template_scopes
from noetl.core.deciding.draft import Draft, in_place
from noetl.core.deciding.execution_end import abort, end_continued
from noetl.core.message import Start, Successor
from noetl.core.program.evaluator import EvaluationError
from noetl.core.program.program import ContinueProgram, StepProgram
from noetl.core.shapes import Continuation, Retained, RetainedState, TriggerFacts
from noetl.core.state import State, Token
from noetl.core.values.output import problem, size_of
from noetl.core.values.patch import deep_merge
from noetl.errors import NotFound
from noetl.json_value import JsonObject

CARRIED_BYTES = 1024 * 1024  # of ctx, without what rests in the result store


def successor_id(execution_id: str, seq: int) -> str:
    """The id of the execution that goes on from another behind an event of it."""
    return hashlib.sha256(f"continue {execution_id} {seq}".encode()).hexdigest()[:32]


def is_due(draft: Draft, wanted: ContinueProgram, tokens: list[Token]) -> bool:
    """Whether the log is long and these tokens are all that is left; never in the decision that starts it."""
    state = draft.state
    if state.seq < wanted.after_events or state.seq == len(draft.events) or state.failing or state.runs:
        return False
    extended = any(not fragment.ended for fragment in state.fragments.values())
    return len(state.tokens) == len(tokens) and not extended


def hand_over(draft: Draft, step: StepProgram, wanted: ContinueProgram, tokens: list[Token]) -> None:
    """End this execution and ask for the one that goes on; or fail, when what it needs cannot be had."""
    state, args = draft.state, _args(draft, tokens)
    try:
        given = _given(draft, step, wanted, tokens[-1], args)
        workload = deep_merge(draft.load(state.workload) or {}, given)
        trigger = in_place(state.trigger, draft.hydrated)
        _check_size(state.ctx)
    except EvaluationError as error:
        abort(draft, {**problem(error.kind, error.message), "step": step.name})
        return
    except NotFound as error:
        abort(draft, {**problem("reference", error.message), "step": step.name})
        return
    successor = successor_id(state.execution_id, state.seq)
    kept = draft.judged(given) if given else {}
    draft.record("execution.continued", None, {"as": successor, "step": step.name, "input": kept})
    for token in tokens:
        draft.emit("token.discarded", token=token.id, step=step.name, reason="continued")
    end_continued(draft)
    draft.successor = Successor(successor, _request(state, step.name, workload, args, trigger))


def _args(draft: Draft, tokens: list[Token]) -> JsonObject:
    args: JsonObject = {}
    for token in tokens:
        args.update(draft.load(token.args))
    return args


def _given(
    draft: Draft, step: StepProgram, wanted: ContinueProgram, token: Token, args: JsonObject
) -> JsonObject:
    scope = template_scopes.arrival(draft, token.event if step.reads_event else None, args)
    given = draft.evaluator.value(("continue", step.name), wanted.input, scope)
    return cast("JsonObject", given)


def _check_size(ctx: JsonObject) -> None:
    size = size_of(ctx)
    if size > CARRIED_BYTES:
        message = f"ctx has {size} bytes, more than the {CARRIED_BYTES} that a continued execution carries"
        raise EvaluationError(
            "limit", f"{message}; keep in ctx what the next round needs, and store the rest"
        )


def _request(
    state: State, step: str, workload: JsonObject, args: JsonObject, trigger: TriggerFacts | None
) -> Start:
    """The request for the successor: the same playbook, asked for by the same, as far as this one came."""
    before: Continuation = {
        "execution_id": state.execution_id,
        "first": state.first,
        "events": state.events_before + state.seq,
    }
    return Start(
        path=state.path,
        hash=state.hash,
        engine=state.engine,
        version=state.version,
        payload=workload,
        workload=workload,
        parent=state.parent,
        kept=_carried(state, step, args),
        continued_from=before,
        until=state.until,
        by=state.by or "cli",
        trigger=trigger,
    )


def _carried(state: State, step: str, args: JsonObject) -> Retained:
    unanswered = state.unanswered
    carried = {
        "ctx": state.ctx,
        "signals": list(state.signals),
        "failures": [unanswered] if unanswered is not None else [],
        "failed_iterations": state.failed_iterations,
    }
    left = {key: value for key, value in carried.items() if value}
    event = {"name": "workflow.started", "step": None}
    token = {"step": step, "event": event, **({"args": args} if args else {})}
    return cast("Retained", {"state": cast("RetainedState", left), "tokens": [token]})
