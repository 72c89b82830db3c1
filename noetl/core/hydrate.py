"""Payloads that were put aside, back in their place where the step's own templates read them.

Also: which references a loop may be about to run over, so that their payloads can be had before deciding.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from noetl.core.draft import Draft
from noetl.core.judge import Unjudged
from noetl.core.mention import Mentions
from noetl.core.message import Message, Report, Start
from noetl.core.output import is_reference
from noetl.core.patch import look_up
from noetl.core.program import Program
from noetl.core.state import State


def hydrated(draft: Draft, mentions: Mentions, output: dict[str, Any]) -> dict[str, Any]:
    """The output with its payload in place when it was put aside and these templates read it."""
    ref: Any = output.get("ref")
    if output.get("data") is not None or not is_reference(ref) or not mentions.reads("output", "data"):
        return output
    if ref["locator"].get("store") != "results":
        return output
    if ref["meta"]["bytes"] > draft.limit("max_hydrate_bytes"):
        size = ref["meta"]["bytes"]
        raise Unjudged(
            "limit", f"output.data has {size} bytes, more than limits.max_hydrate_bytes; use kind: resolve"
        )
    return {**output, "data": draft.hydrated[ref["locator"]["key"]]}


def loop_references(program: Program, state: State, message: Message) -> Iterator[dict[str, Any]]:
    """References that a loop scheduled by this message can run over: named by its templates or just made."""
    paths = {path for step in program.steps.values() for path in step.loops_over}
    if not paths:
        return
    workload = (message.workload if isinstance(message, Start) else state.workload) or {}
    for path in paths:
        yield from _references(_value_at(state, workload, path))
    for event in message.events if isinstance(message, Report) else ():
        data = event.data or {}
        yield from _references((data.get("output") or {}).get("ref"))
        for _, value in data.get("writes", ()):
            yield from _references(value)


def _value_at(state: State, workload: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    scopes: dict[str, Any] = {"ctx": state.ctx, "workload": workload}
    scope = scopes.get(path[0], state.results.get(path[0]))
    if scope is not None:
        return look_up(scope, path[1:])
    return look_up(state.ctx if path[0] in state.ctx else workload, path)


def _references(value: Any) -> Iterator[dict[str, Any]]:
    if is_reference(value):
        yield value
