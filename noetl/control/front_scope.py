"""A template evaluated against an execution as it was after one of its events."""

import asyncio
from typing import Any

from noetl.control.history import events
from noetl.core.draft import in_place, stored_refs
from noetl.core.event import TERMINAL, Event, step_of
from noetl.core.fold import evolve
from noetl.core.state import State
from noetl.dsl.template import Envelope, TemplateError, compile_value, is_template
from noetl.errors import NotFound, RequestError
from noetl.ports.results import Payloads
from noetl.ports.store import Store


async def evaluated(
    store: Store, payloads: Payloads, execution_id: str, expression: str, seq: int | None
) -> Any:
    """The value of a template, or of what stands between its braces, after an event or the newest."""
    scope = await _scope(store, payloads, execution_id, seq)
    template = expression if is_template(expression) else f"{{{{ {expression} }}}}"
    try:
        return await asyncio.to_thread(_rendered, template, scope)  # others need the loop meanwhile
    except TemplateError as error:
        known = f"these names are known there: {', '.join(sorted(scope))}"
        raise RequestError(f"{template}: {error.message}", hint=known) from None


def _rendered(template: str, scope: dict[str, Any]) -> Any:
    compiled = compile_value(template)
    return compiled.render({key: scope[key] for key in compiled.names if key in scope})


async def _scope(store: Store, payloads: Payloads, execution_id: str, seq: int | None) -> dict[str, Any]:
    """The names a template can read, as they were after an event."""
    state, steps, last = State(execution_id), dict[str, Any](), None
    async for number, event in events(store, execution_id):
        if seq is not None and number > seq:
            break
        _note_output(steps, event)
        evolve(state, event)
        last = event
    if last is None or (seq is not None and state.seq < seq):
        told = f"execution {execution_id} has {state.seq} events, not {seq}"
        raise NotFound(told, hint=f"noetl execution events {execution_id}")
    scope: dict[str, Any] = {name: Envelope(output) for name, output in steps.items()}
    scope |= await _event_scope(payloads, last)
    scope["workload"] = await _whole(payloads, state.workload) or {}
    scope["ctx"] = await _whole(payloads, state.ctx)
    return {**scope, "execution_id": execution_id}


def _note_output(steps: dict[str, Any], event: Event) -> None:
    if event.name in TERMINAL and event.run:
        steps[step_of(event.run)] = (event.data or {}).get("output") or {}
    elif event.name == "execution.restored":
        steps.update((event.data or {}).get("results", {}))


async def _event_scope(payloads: Payloads, event: Event) -> dict[str, Any]:
    data = event.data or {}
    step = step_of(event.run) if event.run else data.get("step")
    found: dict[str, Any] = {"event": {"name": event.name, "step": step, "data": data}}
    if isinstance(data.get("output"), dict):
        found["output"] = Envelope(data["output"])
    if isinstance(data.get("input"), dict):
        found["input"] = await _whole(payloads, data["input"])
    return found


async def _whole(payloads: Payloads, value: Any) -> Any:
    """A value with everything in it that rests in the result store read and put back."""
    found = {ref["locator"]["key"]: await payloads.get(ref) for ref in stored_refs(value)}
    return in_place(value, found)
