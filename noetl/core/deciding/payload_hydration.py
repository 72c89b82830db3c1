"""Payloads that were put aside, back in their place where the server's templates read them.

Also: which payloads the templates of a decision may read and which references a loop may be about to run
over, so that they can be had before deciding.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from noetl.core.deciding.draft import Draft, stored_refs
from noetl.core.deciding.report_check import well_formed
from noetl.core.event import TERMINAL, Event, step_of
from noetl.core.message import Message, Report, Start
from noetl.core.program.evaluator import EvaluationError
from noetl.core.program.program import Program, StepProgram
from noetl.core.shapes import Output, Reference, TokenParts
from noetl.core.state import LoopState, Run, State
from noetl.core.values.patch import look_up
from noetl.core.values.payload_demand import (
    Path,
    Payloads,
    UnreadablePayload,
    gone,
    is_loaded,
    is_stored,
    payload_reads,
    refers_to_payload,
    stored_payload,
    too_large,
)
from noetl.dsl.templates.reads import PathSet
from noetl.json_value import JsonObject

_WRITING = TERMINAL | {"loop.iteration.done", "loop.iteration.failed"}
_REFERRING = frozenset({"writes", "step", "iter", "rows"})
_WRITTEN = ("writes", "step", "iter", "rows", "last")  # where an event has values for others to read


def hydrated(draft: Draft, run: Run, output: Output) -> Output:
    """The output with its payload in place when it was put aside and the step's own templates read it."""
    ref = stored_payload(output)
    if ref is None or not draft.step(run.step).boundary.reads("output", "data"):
        return output
    most, size = draft.program.max_hydrate_bytes, ref["meta"]["bytes"]
    if size > most:
        raise EvaluationError("limit", f"output.data: {too_large(run.step, size, most)}")
    try:
        payload = draft.hydrated[ref["locator"]["key"]]
    except KeyError:
        raise EvaluationError("reference", f"output.data: {gone(ref)}") from None
    if isinstance(payload, UnreadablePayload):
        raise EvaluationError(payload.kind, f"output.data: {payload.message}")
    return {**output, "data": payload}


@dataclass(frozen=True, slots=True)
class DecisionReads:
    """What the templates of one decision may read: what those read first that are rendered first."""

    paths: tuple[Path, ...]
    unknown: bool  # a fragment that is yet to be made may read anything

    @classmethod
    def of(cls, program: Program, ends: Iterable[str], arrivals: Iterable[str]) -> "DecisionReads":
        """Follow the arcs as far as one decision can: through steps that may end as soon as they start."""
        ended, started = set(ends), set(arrivals)
        queue = deque([*((name, True) for name in ended), *((name, False) for name in started)])
        paths: dict[Path, None] = {}
        while queue:
            name, ends_here = queue.popleft()
            step = program.steps[name]
            if not ends_here:
                paths |= dict.fromkeys(step.arrival.paths)
                if step.may_end_at_once and name not in ended:
                    ended.add(name)
                    queue.append((name, True))
                continue
            paths |= dict.fromkeys(step.boundary.paths)
            targets = {arc.step for arc in step.arcs} - started
            started |= targets
            queue += [(target, False) for target in targets]
        unknown = any(program.steps[name].synthesize is not None for name in ended)
        return cls(tuple(paths), unknown)

    def reads_output_of(self, step: str) -> bool:
        """Whether the payload of a step that ends in the decision may be read in it."""
        mentions, names = PathSet(frozenset(self.paths)), (step, step.rpartition(".")[2])
        carried = mentions.reads("output", "data") or mentions.reads("event", "data", "output", "data")
        return self.unknown or carried or any(payload_reads({name: {} for name in names}, self.paths))


def may_read_payloads(program: Program, state: State, message: Message) -> bool:
    """Whether anything has to be loaded before a message is decided on: a quick look, which most pass."""
    if isinstance(message, Start):
        return message.kept is not None or bool(program.loops_over)
    if not isinstance(message, Report) or message.frames or state.tokens:
        return True
    if program.loops_over or program.results_read:
        return True
    lease = state.leases.get(message.lease)
    loop = None if lease is None else state.runs[lease.run].loop
    if loop is not None and (loop.refs or loop.parts):
        return True
    for event in message.events:
        data = event.data
        if data and _may_refer(data):
            return True
    return False


def _may_refer(data: dict[str, Any]) -> bool:
    """Whether an event, perhaps malformed, has outputs or writes that may rest elsewhere."""
    if not _REFERRING.isdisjoint(data):
        return True
    output = data.get("output")
    return isinstance(output, dict) and ("ref" in output or "part" in output)


def ahead(program: Program, state: State, message: Message) -> DecisionReads | None:
    """What deciding on a message may read; None when no template is rendered for it."""
    origins = {fragment.step for fragment in state.fragments.values() if not fragment.ended}
    arrivals = {token.step for token in state.tokens.values()}
    if isinstance(message, Start):
        return DecisionReads.of(program, (), (program.entry, *(token["step"] for token in _tokens(message))))
    if not isinstance(message, Report):
        return DecisionReads.of(program, origins | {run.step for run in state.runs.values()}, arrivals)
    lease = state.leases.get(message.lease)
    if lease is None or not _may_end(message):
        return None
    return DecisionReads.of(program, origins | {state.runs[lease.run].step}, arrivals)


def _tokens(message: Start) -> list[TokenParts]:
    """The tokens that a retry keeps of the execution that it repeats."""
    return [] if message.kept is None else message.kept["tokens"]


def _may_end(report: Report) -> bool:
    return report.final or any(
        event.name in TERMINAL or event.name == "loop.iteration.failed" for event in report.events
    )


def result_references(
    program: Program, state: State, message: Message, payloads: Payloads
) -> Iterator[tuple[str, Reference]]:
    """Payloads of finished steps that the templates of this decision may read: whose, and the references."""
    if not program.results_read or (isinstance(message, Report) and not _may_end(message)):
        return
    envelopes = {
        name: envelope
        for name, envelope in _finished(program, state, message)
        if is_stored(envelope, payloads)
    }
    reading = ahead(program, state, message) if envelopes else None
    if reading is None:
        return
    asked = set()
    for path in (*reading.paths, *((name,) for name in envelopes if reading.unknown)):
        for name in [name for name in envelopes if path[0] in (name, name.rpartition(".")[2])]:
            for payload_read in payload_reads(envelopes, [(name, *path[1:])]):
                ref = stored_payload(payload_read.envelope)
                if ref is not None and not is_loaded(ref, payloads) and ref["locator"]["key"] not in asked:
                    asked.add(ref["locator"]["key"])
                    yield payload_read.owner, ref


def _finished(program: Program, state: State, message: Message) -> Iterator[tuple[str, Output]]:
    """Finished steps that the server's templates name, also those that this message finishes."""
    names = program.results_read
    retained = message.kept if isinstance(message, Start) else None
    results = (retained["state"].get("results") if retained else None) or state.results
    if not state.fragments:
        yield from ((name, results[name]) for name in names if name in results)
    else:  # its steps are known by the names its author wrote, too
        yield from (
            (name, envelope) for name, envelope in results.items() if {name, name.rpartition(".")[2]} & names
        )
    for event in message.events if isinstance(message, Report) else ():
        data = _carried(event) if event.name in TERMINAL and event.run else {}
        if data.get("output"):
            output: Output = data["output"]
            yield step_of(event.run or ""), {**output, "results": data.get("results") or {}}
            yield from (data.get("results") or {}).items()


def _carried(event: Event) -> dict[str, Any]:
    """The data of an event when outputs in it may rest elsewhere; nothing of one that is malformed."""
    data = event.data
    if not data:
        return {}
    output = data.get("output") or {}
    if not isinstance(output, dict):
        return {}
    refers = "results" in data or "ref" in output or "part" in output
    return data if refers and well_formed(event) else {}


def report_references(report: Report) -> Iterator[Reference]:
    """References to the large values that a report writes."""
    for event in report.events:
        data = event.data
        if data:
            for part in _WRITTEN:
                if part in data:
                    yield from stored_refs(data[part])
    for frame in report.frames.values():
        yield from stored_refs(frame.get("sent"))


def _reads_what_came(step: StepProgram) -> bool:
    """Whether a step's own templates read the payload of the step before it."""
    if step.wants_event:
        return True
    return (step.routes_only or step.synthesize is not None) and step.boundary.reads("output", "data")


def outputs_of(run: Run, report: Report) -> tuple[list[Reference], list[str]]:
    """What the output of a run that a report ends rests as: references, and keys of packs of iterations."""
    if run.loop is not None and not _over_with(run.loop, report):
        return [], []
    ends = TERMINAL if run.loop is None else ("loop.iteration.done",)
    carried = [data for event in report.events if event.name in ends and (data := _carried(event))]
    if not carried and run.loop is None:
        return [], []
    outputs: list[Output] = [data.get("output") or Output() for data in carried]
    packs = [output["part"][0] for output in outputs if "part" in output]
    if run.loop is not None:
        outputs += [{"ref": ref} for ref in run.loop.refs.values()]
        packs += [key for key, _ in run.loop.parts.values()]
    refs = [ref for output in outputs if "part" not in output and (ref := stored_payload(output)) is not None]
    return refs, list(dict.fromkeys(packs))


def _over_with(loop: LoopState, report: Report) -> bool:
    """Whether a report may be the last of a loop."""
    names = [event.name for event in report.events]
    ended = (
        loop.done + loop.failed + names.count("loop.iteration.done") + names.count("loop.iteration.failed")
    )
    return ended >= loop.total or not TERMINAL.isdisjoint(names)


def arriving_references(program: Program, state: State, message: Message) -> Iterator[Reference]:
    """References to payloads that tokens on their way carry to steps that read them."""
    carried = [(token.step, token.event) for token in state.tokens.values()]
    if isinstance(message, Start):
        carried += [(token["step"], token.get("event") or {}) for token in _tokens(message)]
    for step, event in carried:
        ref = stored_payload((event.get("data") or {}).get("output") or {})
        if ref is not None and _reads_what_came(program.steps[step]):
            yield ref


def loop_references(program: Program, state: State, message: Message) -> Iterator[Reference]:
    """References that a loop scheduled by this message can run over: named by its templates or just made."""
    paths = program.loops_over
    if not paths:
        return
    workload = (message.workload if isinstance(message, Start) else state.workload) or {}
    for path in paths:
        yield from _references(_value_at(state, workload, path))
    for event in message.events if isinstance(message, Report) else ():
        if carried := _carried(event):
            yield from _references((carried.get("output") or {}).get("ref"))
        if event.name in _WRITING and "writes" in (event.data or {}) and well_formed(event):
            for _, value in (event.data or {})["writes"]:
                yield from _references(value)


def _value_at(state: State, workload: JsonObject, path: tuple[str, ...]) -> object:
    scopes: dict[str, object] = {"ctx": state.ctx, "workload": workload}
    scope = scopes.get(path[0], state.results.get(path[0]))
    if scope is not None:
        return look_up(scope, path[1:])
    return look_up(state.ctx if path[0] in state.ctx else workload, path)


def _references(value: object) -> Iterator[Reference]:
    if refers_to_payload(value):
        yield value
