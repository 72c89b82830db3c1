"""Payloads that were put aside, back in their place where the step's own templates read them.

Also: which references a loop may be about to run over, so that their payloads can be had before deciding.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from noetl.core.draft import Draft, stored_refs
from noetl.core.event import TERMINAL
from noetl.core.judge import Unjudged
from noetl.core.mention import Mentions
from noetl.core.message import Message, Report, Start
from noetl.core.output import is_reference
from noetl.core.patch import look_up
from noetl.core.program import Program, StepProgram
from noetl.core.state import Run, State


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


def report_references(program: Program, report: Report) -> Iterator[dict[str, Any]]:
    """References to what deciding on a report reads: large writes, outputs that others read."""
    for event in report.events:
        data = event.data or {}
        yield from stored_refs([data.get("writes"), data.get("step")])
    for frame in report.frames.values():
        yield from stored_refs(frame.get("sent"))
    most = program.limits["max_hydrate_bytes"]
    ended = [((event.data or {}).get("output") or {}) for event in report.events if event.name in TERMINAL]
    refs = [output["ref"] for output in ended if is_reference(output.get("ref"))]
    if refs and any(_reads_what_came(step) for step in program.steps.values()):
        yield from (ref for ref in refs if ref["meta"].get("bytes", 0) <= most)


def _reads_what_came(step: StepProgram) -> bool:
    """Whether a step's own templates read the payload of the step before it."""
    if step.wants_event:
        return True
    return (step.routes_only or step.synthesize is not None) and step.boundary.reads("output", "data")


def outputs_of(run: Run, report: Report) -> list[dict[str, Any]]:
    """The outputs that the end of a run may need in memory: of its iterations so far, and in the report."""
    found = [(event.data or {}).get("output") or {} for event in report.events]
    if run.loop is not None:
        found += [{"ref": ref} for ref in run.loop.refs.values()]
        found += [{"part": part} for part in run.loop.parts.values()]
    return found


def arriving_references(program: Program, state: State) -> Iterator[dict[str, Any]]:
    """References to payloads that tokens on their way carry to steps that read them."""
    for token in state.tokens.values():
        output = (token.event.get("data") or {}).get("output") or {}
        if is_reference(output.get("ref")) and _reads_what_came(program.steps[token.step]):
            yield output["ref"]


def loop_references(program: Program, state: State, message: Message) -> Iterator[dict[str, Any]]:
    """References that a loop scheduled by this message can run over: named by its templates or just made."""
    paths = program.loops_over
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
