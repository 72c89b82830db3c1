"""What the server's templates can see: the scopes at admission, at the end of a step run and on its arcs."""

from typing import Any

from noetl.core.deciding.draft import Draft, in_place, readable
from noetl.core.deciding.trigger_scope import trigger_of
from noetl.core.shapes import ArcEvent, Output
from noetl.core.state import Run
from noetl.core.values.patch import rests_elsewhere
from noetl.core.values.payload_demand import UnreadablePayload, in_envelope
from noetl.core.values.scope import Scope
from noetl.dsl.net.routing import flags_of
from noetl.dsl.template_scope import TRIGGER
from noetl.dsl.templates.values import Envelope
from noetl.errors import NotFound
from noetl.json_value import JsonObject


def arrival(
    draft: Draft,
    event: ArcEvent | None,
    args: JsonObject,
    input_value: Any = None,
    fragment: str | None = None,
) -> Scope:
    """The scope in which a step's input is rendered (nothing given yet) and its admission decided.

    `event` is None when no template of the step reads it.
    """
    state = draft.state
    own_input = input_value if isinstance(input_value, dict) else {}
    try:
        workload, ctx = draft.load(state.workload) or {}, in_place(state.ctx, draft.hydrated)
        trigger = in_place(trigger_of(state), draft.hydrated)
        damaged = isinstance(input_value, UnreadablePayload)
    except NotFound:
        workload, ctx = readable(state.workload, draft.hydrated) or {}, readable(state.ctx, draft.hydrated)
        trigger = readable(trigger_of(state), draft.hydrated)
        damaged = True
    fixed = {
        "workload": workload,
        "ctx": ctx,
        "args": args,
        "execution_id": state.execution_id,
        "input": input_value if isinstance(input_value, UnreadablePayload) else own_input,
    }
    if event is not None:
        fixed["event"] = {**_with_payload(draft, event), **flags_of(event.get("name", ""))}
    return Scope(
        fixed,
        (own_input, args, ctx, {} if isinstance(workload, UnreadablePayload) else workload),
        steps=_steps(draft, fragment),
        payloads=draft.hydrated,
        most=draft.program.max_hydrate_bytes,
        damaged=damaged,
        last={TRIGGER: trigger},
    )


def departure(draft: Draft, run: Run, event: ArcEvent | None, output: Output) -> Scope:
    """The scope of a finished run: step output, step set and arcs, on the current ctx."""
    input_value = readable(run.input, draft.hydrated) if rests_elsewhere(run.input) else run.input
    scope = arrival(draft, event, draft.load(run.args), input_value, run.fragment)
    scope.fixed["output"] = Envelope(output)
    step = scope.fixed["step"] = in_place(run.step_scope, draft.hydrated)
    own_input, args, ctx, workload = scope.chain
    if run.loop is None:
        iteration = scope.fixed["iter"] = in_place(run.iter_scope, draft.hydrated)
        scope.chain = (own_input, args, ctx, step, iteration, workload)
    else:
        scope.chain = (own_input, args, ctx, step, workload)
    return scope


def ending(draft: Draft, run: Run, event: ArcEvent | None, output: Output) -> Scope:
    """The scope of a step's output and set: the run itself and its tasks have names, and mean this run."""
    scope = departure(draft, run, event, output)
    if draft.step(run.step).reads_itself:
        own = run.step if run.fragment is None else run.step.removeprefix(f"{run.fragment}.")
        scope.steps = {**scope.steps, run.step: output, own: output, **output.get("results", {})}
    return scope


def _with_payload(draft: Draft, event: ArcEvent) -> ArcEvent:
    """The event with its output's payload in place when that was put aside and is at hand."""
    data = event.get("data") or {}
    output = data.get("output") or {}
    whole = in_envelope(output, draft.hydrated, draft.program.max_hydrate_bytes)
    return event if whole is output else {**event, "data": {**data, "output": whole}}


def _steps(draft: Draft, fragment: str | None) -> dict[str, Output]:
    """Finished steps by name; inside a fragment its own steps also by the names its author wrote."""
    results = draft.state.results
    if fragment is None:
        return results
    prefix = f"{fragment}."
    own = {name.removeprefix(prefix): output for name, output in results.items() if name.startswith(prefix)}
    return {**results, **own}
