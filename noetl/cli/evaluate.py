"""`noetl render`: a template evaluated against an execution as it was at one of its events."""

import asyncio
from typing import Any

import click

from noetl.cli import options
from noetl.cli.render import emit
from noetl.core.event import Event
from noetl.core.state import State
from noetl.wiring.embedded import Embedded


@click.command("render")
@click.argument("expression", metavar="EXPR")
@click.option(
    "--at", "place", required=True, metavar="EXEC[:SEQ]", help="The execution, and the event; else its end."
)
@options.as_json
def command(expression: str, place: str, as_json: bool) -> None:
    """Evaluate a template against an execution as it was after an event.

    EXPR is a template such as "{{ ctx.total }}", or only what stands between the braces. It reads `workload`,
    `ctx`, finished steps by name, and `event`; at an event that has an output also `output`.
    """
    asyncio.run(_render(expression, place, as_json))


async def _render(expression: str, place: str, as_json: bool) -> None:
    from noetl.cli import local
    from noetl.cli.closing import pretty
    from noetl.dsl.template import TemplateError, compile_value, is_template
    from noetl.errors import RequestError

    name, seq = _split(place)
    async with local.consulted() as made:
        scope = await _scope(made, await local.find(made, name), seq)
    template = expression if is_template(expression) else f"{{{{ {expression} }}}}"
    try:
        compiled = compile_value(template)
        value = compiled.render({key: scope[key] for key in compiled.names if key in scope})
    except TemplateError as error:
        known = f"these names are known there: {', '.join(sorted(scope))}"
        raise RequestError(f"{template}: {error.message}", hint=known) from None
    emit(value if isinstance(value, str) and not as_json else pretty(value))


def _split(place: str) -> tuple[str, int | None]:
    name, separator, number = place.partition(":")
    if not separator:
        return name, None
    if not number.isdecimal() or int(number) < 1:
        raise click.UsageError(
            f"--at takes EXEC or EXEC:SEQ, and SEQ counts from 1; '{number}' is no such number"
        )
    return name, int(number)


async def _scope(made: Embedded, execution_id: str, seq: int | None) -> dict[str, Any]:
    """The names a template can read, as they were after an event."""
    from noetl.control.history import events
    from noetl.core.fold import evolve
    from noetl.dsl.template import Envelope
    from noetl.errors import NotFound

    state, steps, last = State(execution_id), dict[str, Any](), None
    async for number, event in events(made.store, execution_id):
        if seq is not None and number > seq:
            break
        _note_output(steps, event)
        evolve(state, event)
        last = event
    if last is None or (seq is not None and state.seq < seq):
        raise NotFound(f"execution {execution_id} has {state.seq} events, not {seq}")
    scope: dict[str, Any] = {name: Envelope(output) for name, output in steps.items()}
    scope |= await _event_scope(made, last)
    scope["workload"] = await _in_place(made, state.workload) or {}
    scope["ctx"] = await _in_place(made, state.ctx)
    return {**scope, "execution_id": execution_id}


def _note_output(steps: dict[str, Any], event: Event) -> None:
    from noetl.core.event import TERMINAL, step_of

    if event.name in TERMINAL and event.run:
        steps[step_of(event.run)] = (event.data or {}).get("output") or {}
    elif event.name == "execution.restored":
        steps.update((event.data or {}).get("results", {}))


async def _event_scope(made: Embedded, event: Event) -> dict[str, Any]:
    from noetl.core.event import step_of
    from noetl.dsl.template import Envelope

    data = event.data or {}
    found: dict[str, Any] = {
        "event": {
            "name": event.name,
            "step": step_of(event.run) if event.run else data.get("step"),
            "data": data,
        }
    }
    if isinstance(data.get("output"), dict):
        found["output"] = Envelope(data["output"])
    if isinstance(data.get("input"), dict):
        found["input"] = await _in_place(made, data["input"])
    return found


async def _in_place(made: Embedded, value: Any) -> Any:
    """A value with everything in it that rests in the result store put back."""
    from noetl.core.patch import STORED

    if isinstance(value, dict):
        if len(value) == 1 and STORED in value:
            return await made.payloads.get(value[STORED])
        return {key: await _in_place(made, item) for key, item in value.items()}
    return value
