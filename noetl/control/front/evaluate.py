"""A template evaluated against an execution as it was after one of its events."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from noetl.control.history import events
from noetl.core.deciding.draft import in_place, stored_refs
from noetl.core.deciding.trigger_scope import trigger_of
from noetl.core.event import TERMINAL, Event, step_of
from noetl.core.fold import evolve
from noetl.core.program.evaluator import EvaluationError, binding
from noetl.core.shapes import Reference
from noetl.core.state import State
from noetl.core.values import payload_demand
from noetl.core.values.scope import Scope
from noetl.dsl.net.routing import flags_of
from noetl.dsl.template_scope import TRIGGER
from noetl.dsl.templates.limits import TemplateError
from noetl.dsl.templates.syntax import is_template
from noetl.dsl.templates.template import CompiledValue, compile_value
from noetl.errors import NotFound, RequestError
from noetl.json_value import Json
from noetl.ports.results import Payloads, TooLarge
from noetl.ports.store import Store


async def evaluated(
    store: Store, payloads: Payloads, execution_id: str, expression: str, *, seq: int | None, most: int
) -> Json:
    """The value of a template, or of what stands between its braces, after an event or the newest.

    What it mentions of results in the result store is loaded, up to `most` bytes of each.
    """
    template = expression if is_template(expression) else f"{{{{ {expression} }}}}"
    moment = await _moment(store, execution_id, seq)
    try:
        compiled = await asyncio.to_thread(compile_value, template)
        scope = await _scope(payloads, moment, compiled, most)
        bound = binding(compiled, scope)
        return await asyncio.to_thread(compiled.render, bound)  # others need the loop meanwhile
    except (TemplateError, EvaluationError) as error:
        raise _refusal(template, moment, error) from None


def _refusal(template: str, moment: "_Moment", error: TemplateError | EvaluationError) -> RequestError:
    """What is wrong with a template; the names that it could read help only where one is missing."""
    if isinstance(error, TemplateError) and error.missing is None:
        told = error.message if template in error.message else f"{template}: {error.message}"
        return RequestError(told, hint=error.hint)
    known = f"these names are known there: {', '.join(sorted(moment.names))}"
    return RequestError(f"{template}: {error.message}", hint=known)


@dataclass(slots=True)
class _Moment:
    """An execution after one of its events: its state, the latest outputs of its steps, and the event."""

    state: State
    steps: dict[str, Any] = field(default_factory=dict)
    event: Event = field(default_factory=lambda: Event("", 0))

    @property
    def names(self) -> set[str]:
        """The names a template can read."""
        return {*self.steps, *self.fixed()}

    def fixed(self) -> dict[str, Any]:
        """The scopes, as they are kept."""
        event, data, state = self.event, self.event.data or {}, self.state
        step = step_of(event.run) if event.run else data.get("step")
        told = {"name": event.name, **flags_of(event.name), "step": step, "data": data}
        found: dict[str, Any] = {"event": told}
        if isinstance(data.get("output"), dict):
            found["output"] = data["output"]
        if isinstance(data.get("input"), dict):
            found["input"] = data["input"]
        return {
            **found,
            "workload": state.workload or {},
            "ctx": state.ctx,
            "execution_id": state.execution_id,
            **({} if TRIGGER in self.steps else {TRIGGER: trigger_of(state)}),
        }


async def _moment(store: Store, execution_id: str, seq: int | None) -> _Moment:
    moment = _Moment(State(execution_id))
    async for number, event in events(store, execution_id):
        if seq is not None and number > seq:
            break
        _note_output(moment.steps, event)
        evolve(moment.state, event)
        moment.event = event
    if not moment.state.seq or (seq is not None and moment.state.seq < seq):
        message = f"execution {execution_id} has {moment.state.seq} events, not {seq}"
        raise NotFound(message, hint=f"noetl execution events {execution_id}")
    return moment


async def _scope(payloads: Payloads, moment: _Moment, compiled: CompiledValue, most: int) -> Scope:
    """What a template reads of a moment, with the payloads that it mentions."""
    fixed = {name: value for name, value in moment.fixed().items() if name in compiled.names}
    for name in fixed.keys() & {"workload", "ctx", "input", TRIGGER}:
        fixed[name] = await _whole(payloads, fixed[name])
    own = {"output": fixed.pop("output")} if "output" in fixed else {}
    steps = {**moment.steps, **own}
    found: dict[str, Any] = {}
    carried = payload_demand.event_payload_reads(fixed.get("event", {}), compiled.paths)
    for reading in (*payload_demand.payload_reads(steps, compiled.paths), *carried):
        ref = payload_demand.stored_payload(reading.envelope)
        if ref is not None and ref["meta"].get("bytes", 0) <= most:
            found[ref["locator"]["key"]] = await _payload(payloads, reading.owner, ref, most)
    if "event" in fixed and (output := (fixed["event"]["data"].get("output"))):
        data = {**fixed["event"]["data"], "output": payload_demand.in_envelope(output, found, most)}
        fixed["event"] = {**fixed["event"], "data": data}
    return Scope(fixed, steps=steps, payloads=found, most=most)


async def _payload(payloads: Payloads, owner: str, ref: Reference, most: int) -> Any:
    try:
        return await payloads.get(ref, most)
    except NotFound:
        return payload_demand.UnreadablePayload("reference", payload_demand.gone(ref))
    except TooLarge as error:
        return payload_demand.UnreadablePayload(
            "limit", payload_demand.too_large(owner, error.bytes, most, at_least=True)
        )


def _note_output(steps: dict[str, Any], event: Event) -> None:
    if event.name in TERMINAL and event.run:
        steps[step_of(event.run)] = (event.data or {}).get("output") or {}
    elif event.name == "execution.restored":
        steps.update((event.data or {}).get("results", {}))


async def _whole(payloads: Payloads, value: Any) -> Any:
    """A value with everything in it that rests in the result store read and put back."""
    found = {ref["locator"]["key"]: await payloads.get(ref) for ref in stored_refs(value)}
    return in_place(value, found)
