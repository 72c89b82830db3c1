"""The router of a finished run: guards of all arcs, sets of the chosen ones, tokens for their targets.

What each guard saw is recorded with the decision. A failure that no arc takes fails the execution at
once; one that an arc took without asking about it fails it in the end.
"""

from collections.abc import Mapping
from typing import Any, TypedDict

from noetl.core.deciding import template_scopes
from noetl.core.deciding.draft import Draft
from noetl.core.deciding.execution_end import abort
from noetl.core.deciding.payload_hydration import hydrated
from noetl.core.event_data import ArcRecord
from noetl.core.program.evaluator import EvaluationError
from noetl.core.program.program import ArcProgram, StepProgram
from noetl.core.shapes import ArcEvent, ArcEventData, ErrorObject, Failure, Output, Patch
from noetl.core.state import Run
from noetl.core.values.event_size import RIDES_BYTES
from noetl.core.values.output import problem
from noetl.core.values.patch import assign
from noetl.core.values.scope import NOTHING, Scope
from noetl.json_value import Json, JsonObject


class ArcEffect(TypedDict):
    """What a chosen arc writes to ctx, and the args of its token."""

    set: Patch
    args: JsonObject | None


_NO_EFFECT: ArcEffect = {"set": [], "args": None}


class FailureFacts(TypedDict, total=False):
    """What became of a failure: an arc took it, or the execution fails with it."""

    failure: Failure
    fails: ErrorObject


def enqueue(draft: Draft, step: str, parts: Mapping[str, object]) -> None:
    """Put a token on its way to a step; parts that are empty are left out."""
    data = {key: value for key, value in parts.items() if value}
    draft.record("token.enqueued", None, {"token": _next_token(draft), "step": step, **data})


def _next_token(draft: Draft) -> str:
    return f"t{draft.state.enqueued + 1}"


def route(draft: Draft, run: Run, name: str, output: Output, of: str | None = None) -> None:
    """Evaluate the arcs of a run that ended with an event; the event may be of the last step it grew."""
    step = draft.step(run.step)
    ended: ArcEvent = {"name": name, "step": of or run.step}
    effects: list[ArcEffect] | None = None
    try:
        scope = NOTHING
        whole = hydrated(draft, run, output) if "ref" in output else output
        if step.arcs_render:
            event: ArcEvent = {**ended, "data": _event_data(output)}
            scope = template_scopes.departure(draft, run, event if step.reads_event else None, whole)
        records, chosen = _guards(draft, run, step, scope)
        if not step.plain_arcs or run.args:
            effects = [_arc_effects(draft, run, index, step.arcs[index], scope) for index in chosen]
            _keep_together(draft, effects)
    except EvaluationError as error:
        draft.emit("next.evaluated", run.id, event=name, error=error.message, kind=error.kind, taken=[])
        abort(draft, _unroutable(error, run, name, output))
        return
    if effects is not None:
        for index, effect in zip(chosen, effects, strict=True):
            if effect["set"]:
                records[index]["set"] = effect["set"]
            if effect["args"]:
                records[index]["args"] = effect["args"]
    taken = [step.arcs[index].step for index in chosen]
    facts: dict[str, object] = {"event": name, "arcs": records, "taken": taken}
    became: FailureFacts = {}
    if name == "step.failed":
        became = _failure_facts(run, step, chosen, output, listed=of is not None)
        facts |= became
    draft.record("next.evaluated", run.id, facts)
    if "fails" in became and not draft.program.drain:
        abort(draft, became["fails"])
        return
    for place, index in enumerate(chosen):
        effect = _NO_EFFECT if effects is None else effects[place]
        _fire(draft, run, step.arcs[index], effect, ended, output)


def _unroutable(error: EvaluationError, run: Run, name: str, output: Output) -> ErrorObject:
    """Why the arcs could not be evaluated; when the step had failed, that failure is told as well."""
    message = error.message
    if name == "step.failed":
        own = (output.get("error") or {}).get("message")
        message += f" (the step had failed: {own}; guard the arc with event.ok)"
    return {**problem(error.kind, message), "step": run.step}


def _event_data(output: Output) -> ArcEventData:
    return {"output": output, "error": output.get("error"), "loop": output.get("loop")}


def _guards(draft: Draft, run: Run, step: StepProgram, scope: Scope) -> tuple[list[ArcRecord], list[int]]:
    """Every arc's guard, in order; in exclusive mode those behind the first that holds are not asked."""
    records: list[ArcRecord] = []
    chosen: list[int] = []
    for index, arc in enumerate(step.arcs):
        record: ArcRecord = {"step": arc.step, "matched": False}
        records.append(record)
        if chosen and not step.inclusive:
            record["asked"] = False
            continue
        if arc.guard.template is None:
            record["matched"] = bool(arc.guard.literal)
        else:
            judged = draft.evaluator.guard(("arc", run.id, index), arc.guard, scope)
            record["matched"] = judged.value
            if judged.seen:
                record["seen"] = judged.seen
        if record["matched"]:
            chosen.append(index)
    return records, chosen


def _arc_effects(draft: Draft, run: Run, index: int, arc: ArcProgram, scope: Scope) -> ArcEffect:
    """What a chosen arc writes and the args of its token; later arcs see what earlier ones wrote."""
    pairs: Patch = []
    if arc.set:
        pairs = draft.evaluator.writes(("arc-set", run.id, index), arc.set, scope).pairs
    args = dict(draft.load(run.args))
    own: Any = draft.evaluator.value(("arc-args", run.id, index), arc.args, scope)
    args.update(own or {})
    if pairs:
        for path, value in pairs:
            scope.fixed["ctx"] = assign(scope.fixed["ctx"], path[1:], value)
        own_input, token_args, _, *rest = scope.chain
        scope.chain = (own_input, token_args, scope.fixed["ctx"], *rest)
    return {"set": [[path[1:], value] for path, value in pairs], "args": args or None}


def _keep_together(draft: Draft, effects: list[ArcEffect]) -> None:
    """What the chosen arcs write and hand on, as the one event that records it keeps it."""
    places: list[tuple[Any, Any]] = [(pair, 1) for effect in effects for pair in effect["set"]]
    places += [(effect, "args") for effect in effects if effect["args"]]
    values = draft.kept([holder[key] for holder, key in places])
    for (holder, key), value in zip(places, values, strict=True):
        holder[key] = value


def _failure_facts(
    run: Run, step: StepProgram, chosen: list[int], output: Output, *, listed: bool
) -> FailureFacts:
    """What becomes of a failure. That of a fragment was `listed` when an arc inside the fragment took it."""
    error: ErrorObject = {**(output.get("error") or {}), "step": run.step}
    if not chosen:
        return {"fails": error}
    if listed:
        return {}
    asking = [index for index in chosen if step.arcs[index].asks]
    taken_by = step.arcs[(asking or chosen)[0]].step
    return {"failure": {"step": run.step, "error": error, "taken_by": taken_by, "answered": bool(asking)}}


def _fire(
    draft: Draft, run: Run, arc: ArcProgram, effect: ArcEffect, ended: ArcEvent, output: Output
) -> None:
    if effect["set"]:
        draft.emit("ctx.patched", run.id, patch=effect["set"], origin="arc", to=arc.step)
    target = draft.step(arc.step)
    carried: ArcEvent = {"name": ended["name"], "step": ended["step"]}
    if target.wants_event or target.routes_only:
        carried["data"] = _small(draft, _event_data(output), effect["args"])
    data: dict[str, Any] = {"token": _next_token(draft), "step": arc.step, "from": run.step}
    data["from_run"], data["event"] = run.id, carried
    if effect["args"]:
        data["args"] = effect["args"]
    if run.barred:
        data["barred"] = run.barred
    if run.fragment:
        data["fragment"] = run.fragment
    draft.record("token.enqueued", None, data)


def _small(draft: Draft, data: ArcEventData, args: Json) -> ArcEventData:
    """Event data fit for a token: a payload travels as its reference when it has no room beside the args."""
    output = data["output"]
    if "ref" in output and draft.store(output.get("data")) is not output.get("data"):
        output = {**output, "data": None}
    beside = draft.measured(args)[1] if args else 0
    if beside or "results" in output:
        output = draft.slim(output, max(0, beside - RIDES_BYTES))
    return data if output is data["output"] else {**data, "output": output}
