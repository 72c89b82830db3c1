"""The start of a step run: its input and items are fixed, its lease is made, its first work is handed out.

A step whose input or items cannot be had is scheduled and fails before it starts. A step without tools
completes here. Handing out the chunks of a distributed loop is loop.py's.
"""

from typing import Any

import msgspec

from noetl.core.deciding import loop, template_scopes
from noetl.core.deciding.draft import Draft
from noetl.core.deciding.run_end import RunOutcome, finish
from noetl.core.message import Dispatch
from noetl.core.program.evaluator import EvaluationError
from noetl.core.program.program import LoopProgram, StepProgram
from noetl.core.shapes import ArcEvent, ErrorObject
from noetl.core.state import Token
from noetl.core.values.output import is_reference, ok, problem, size_of
from noetl.core.values.payload_demand import UnreadablePayload
from noetl.core.values.scope import Scope
from noetl.json_value import Json, JsonObject

_ABSENT = UnreadablePayload("reference", "not at hand")


class Arrival(msgspec.Struct):
    """The tokens that start a run together, merged."""

    step: StepProgram
    tokens: list[Token]
    run_id: str
    event: ArcEvent
    args: JsonObject
    source: str | None
    barred: list[str]
    fragment: str | None
    bars: str | None
    input: JsonObject | None = None

    @classmethod
    def of(cls, draft: Draft, step: StepProgram, tokens: list[Token], bars: str | None) -> "Arrival":
        """Merge tokens: args key by key in arrival order, the event of the last one."""
        count = draft.state.steps.get(step.name)
        last = tokens[-1]
        args: JsonObject = {}
        for token in tokens:
            if token.args:
                args.update(draft.load(token.args))
        barred = []
        if last.barred:
            everywhere = [name for name in last.barred if all(name in token.barred for token in tokens)]
            barred = [name for name in everywhere if name != bars]
        run_id = f"{step.name}.{(count.runs if count else 0) + 1}"
        return cls(step, tokens, run_id, last.event, args, last.source, barred, last.fragment, bars)

    def scope(self, draft: Draft) -> Scope:
        """What the step's input, gate and items can see."""
        event = self.event if self.step.reads_event else None
        return template_scopes.arrival(draft, event, self.args, self.input, self.fragment)

    def facts(self, draft: Draft, items: list[Json] | None = None, beside: int = 0) -> dict[str, Any]:
        """What `step.scheduled` says of every run, and the items of a loop."""
        args: Json = self.args or None
        own_input: Json = self.input
        collection: Json = items
        if args or own_input or collection:
            values = draft.kept([args, own_input, collection], lambda: beside + size_of(self.event))
            args, own_input, collection = values
        parts = {
            "from": self.source,
            "event": self.event,
            "args": args,
            "input": own_input,
            "barred": self.barred,
            "fragment": self.fragment,
            "bars": self.bars,
        }
        facts: dict[str, Any] = {"step": self.step.name, "tokens": [token.id for token in self.tokens]}
        facts |= {key: value for key, value in parts.items() if value}
        if items is not None:
            facts |= {"total": len(items), "collection": collection}
        return facts


def fail_before_start(draft: Draft, arrived: Arrival, error: ErrorObject) -> None:
    """Schedule a run only to record why it cannot start."""
    for token in arrived.tokens:
        draft.emit("token.claimed", token=token.id, step=arrived.step.name)
    _schedule_failed(draft, arrived, error, "input")


def _schedule_failed(draft: Draft, arrived: Arrival, error: ErrorObject, place: str) -> None:
    draft.emit("step.scheduled", arrived.run_id, **arrived.facts(draft), problem=error, place=place)
    finish(draft, draft.state.runs[arrived.run_id], RunOutcome.failed(error))


def schedule(draft: Draft, arrived: Arrival) -> None:
    """Start a run."""
    step, run_id = arrived.step, arrived.run_id
    share, chunk = 1, 0
    try:
        if step.starts_plainly:
            facts = arrived.facts(draft)
        else:
            facts = _judged_facts(draft, arrived)
        if step.loop is not None and facts.get("total") != 0:
            share, chunk = loop.bounds(draft, run_id, step.loop, arrived.scope(draft))
            chunk = _claim_bounds(draft, arrived, step.loop, facts, share) or chunk
    except EvaluationError as error:
        _schedule_failed(draft, arrived, problem(error.kind, error.message), "schedule")
        return
    pool = step.pool or draft.program.pool
    if step.routes_only or facts.get("total") == 0:
        draft.record("step.scheduled", run_id, facts)
        _complete_at_once(draft, arrived)
    elif step.loop is not None and step.loop.distributed:
        facts["pool"], facts["max_in_flight"] = pool, share
        draft.record("step.scheduled", run_id, facts)
        loop.begin(draft, draft.state.runs[run_id], share, chunk)
    else:
        facts["pool"], facts["lease"], facts["share"] = pool, run_id, share
        draft.record("step.scheduled", run_id, facts)
        draft.command(Dispatch(run_id, pool))


def _claim_bounds(
    draft: Draft, arrived: Arrival, program: LoopProgram, facts: dict[str, Any], limit: int
) -> int:
    """Say how a loop claims its items; how many of them go out together, if its author did not choose."""
    if program.claim is None:
        return 0
    claims = loop.claim_bounds(draft, arrived.run_id, program.claim, limit, arrived.scope(draft))
    facts["claim"] = claims
    return claims["batch"] if program.claim.whole else 0


def _judged_facts(draft: Draft, arrived: Arrival) -> dict[str, Any]:
    """What `step.scheduled` says of a run whose input has a schema, whose time is bounded, or that loops."""
    step = arrived.step
    draft.evaluator.fits(("input", arrived.run_id), step.validate.get("input"), arrived.input or {})
    bounds, collection = _bounds(draft, arrived), _known_collection(draft, arrived)
    listed = step.loop is not None and step.loop.claim is None and not collection
    items = _items(draft, arrived) if listed else None
    return {**arrived.facts(draft, items, size_of(collection) if collection else 0), **bounds, **collection}


def _complete_at_once(draft: Draft, arrived: Arrival) -> None:
    """A step without tools passes on the output it came with; a loop over nothing is through."""
    run = draft.state.runs[arrived.run_id]
    if arrived.step.loop is not None:
        draft.emit("loop.started", run.id, total=0)
        finish(draft, run, loop.outcome(draft, run))
        return
    carried = (arrived.event.get("data") or {}).get("output")
    finish(draft, run, RunOutcome("step.done", {**carried} if carried else ok()))


def _bounds(draft: Draft, arrived: Arrival) -> dict[str, int]:
    """The run's timeout and deadline, rendered now."""
    step, bounds = arrived.step, {}
    for name, value in (("timeout_ms", step.timeout), ("deadline", step.deadline)):
        if value.static and value.value is None:
            continue
        scope = arrived.scope(draft)
        seconds: Any = draft.evaluator.value(("limits", arrived.run_id, name), value, scope)
        try:
            bounds[name] = int(float(seconds) * 1000)
        except (TypeError, ValueError, OverflowError):
            raise EvaluationError(
                "template", f"spec of step {step.name!r}: {seconds!r} is not a number of seconds"
            ) from None
    if "deadline" in bounds:
        bounds["deadline"] += draft.state.started_at or draft.now
    return bounds


def _known_collection(draft: Draft, arrived: Arrival) -> dict[str, Any]:
    """The items of a loop that is retried: it runs over those whose iterations it keeps."""
    if arrived.step.loop is None:
        return {}
    for token in arrived.tokens:
        finished = draft.state.kept.get(token.id)
        if finished is not None:
            return {"total": finished.loop.total, "collection": finished.collection, "kept": True}
    return {}


def _items(draft: Draft, arrived: Arrival) -> list[Json]:
    """The loop's collection as a list."""
    assert arrived.step.loop is not None
    scope = arrived.scope(draft)
    value = draft.evaluator.value(("loop", arrived.run_id), arrived.step.loop.collection, scope)
    if not is_reference(value):
        return as_items(value, arrived.step.name)
    locator = value["locator"]
    key = locator.get("key") if isinstance(locator, dict) else None
    payload = draft.hydrated.get(key, _ABSENT) if isinstance(key, str) else _ABSENT
    if isinstance(payload, UnreadablePayload):
        message = f"loop of step {arrived.step.name!r}: its reference is missing or expired"
        raise EvaluationError("reference", message)
    return as_items(payload, arrived.step.name)


def as_items(value: Json | range | tuple[Json, ...], step: str) -> list[Json]:
    """A collection as a list of items; a mapping gives {key, value} pairs."""
    if isinstance(value, dict):
        return [{"key": key, "value": item} for key, item in value.items()]
    if isinstance(value, list | tuple | range):
        return list(value)
    kind = "null" if value is None else type(value).__name__
    raise EvaluationError("value", f"loop of step {step!r}: `in` gave {kind}, which is not a list or mapping")
