"""Loops as the server sees them: how they begin, and what the iterations amount to in the end.

Driving the iterations of one lease is the worker's, handing them out is loop_chunks.py's; here are the
bounds, the order of outputs, the merging of buffered writes, and the step's outcome.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from noetl.core.deciding.draft import Draft, in_place, stored_refs
from noetl.core.deciding.loop_chunks import hand_out
from noetl.core.deciding.run_end import RunOutcome, finish
from noetl.core.event_data import ClaimBounds
from noetl.core.program.evaluator import EvaluationError
from noetl.core.program.program import ClaimProgram, LoopProgram, StepProgram
from noetl.core.shapes import ErrorObject, LoopTotals, Output, Patch
from noetl.core.state import LoopState, Run
from noetl.core.values.event_size import bounded_errors
from noetl.core.values.loop_merge import IterationWrite, merged, spread
from noetl.core.values.output import failed, manifest, ok, problem
from noetl.core.values.patch import PatchProblem, look_up, rests_elsewhere
from noetl.core.values.payload_demand import UnreadablePayload, too_large
from noetl.core.values.scope import Scope
from noetl.json_value import Json, JsonObject

BATCH = 100  # rows that a claim asks for, unless its author says how many


def bounds(draft: Draft, run_id: str, loop: LoopProgram, scope: Scope) -> tuple[int, int]:
    """How many iterations may run at one moment, and how many the author wants to go out together, or 0."""
    limit, chunk = 1, 0
    if loop.parallel:
        number = draft.evaluator.value(("limits", run_id, "max_in_flight"), loop.max_in_flight, scope)
        limit = whole_number(number, "max_in_flight", 10)
    if loop.distributed:
        number = draft.evaluator.value(("limits", run_id, "chunk"), loop.chunk, scope)
        chunk = whole_number(number, "chunk", 0)
    return limit, chunk


def claim_bounds(draft: Draft, run_id: str, claim: ClaimProgram, limit: int, scope: Scope) -> ClaimBounds:
    """How many rows a loop claims at once, when the next claim is due, and how many there may be."""

    def bound(name: str, default: int) -> int:
        number = draft.evaluator.value(("limits", run_id, name), getattr(claim, name), scope)
        return whole_number(number, name, default)

    most = bound("max_batches", 0)
    return {"batch": bound("batch", BATCH), "prefetch": bound("prefetch", limit), "max_batches": most or None}


def whole_number(number: Any, name: str, default: int) -> int:
    """A bound of a loop as a number of at least 1; EvaluationError when it is none."""
    if number is None:
        return default
    try:
        whole = int(number)
    except (TypeError, ValueError, OverflowError):
        whole = 0
    if whole < 1 or isinstance(number, bool):
        raise EvaluationError(
            "value", f"{name} of a loop is {number!r}; it must be a whole number of at least 1"
        )
    return whole


def begin(draft: Draft, run: Run, limit: int, chunk: int) -> None:
    """Start a distributed loop: hand out its first chunks, or its first claim; a retry may find none left."""
    assert run.loop is not None
    known = {"total": run.loop.total} if run.loop.claims is None else {}
    draft.emit("loop.started", run.id, **known, max_in_flight=limit, chunk=chunk or None)
    if run.loop.over:
        finish(draft, run, outcome(draft, run))
    else:
        hand_out(draft, run)


def summary(loop: LoopState) -> LoopTotals:
    """The loop part of the step's output: the totals, and what went wrong where."""
    totals = loop.totals()
    if loop.errors:
        by_index = sorted(loop.errors.items(), key=lambda item: int(item[0]))
        totals["errors"] = bounded_errors([(int(index), error) for index, error in by_index])
    return totals


def outcome(draft: Draft, run: Run, by: str = "s") -> RunOutcome:
    """What the iterations amount to: the step's terminal event, output and writes."""
    step, loop = draft.step(run.step), run.loop
    assert loop is not None
    assert step.loop is not None
    totals = summary(loop)
    if loop.failed and not step.best_effort:
        index = min(map(int, loop.errors))
        first = loop.errors[str(index)]
        error: ErrorObject = {**first, "iteration": first.get("iteration", index)}
        return RunOutcome("step.failed", failed(error, loop=totals), _published(loop), by=by)
    if loop.claims is not None and loop.claims.error is not None:
        return RunOutcome("step.failed", failed(loop.claims.error, loop=totals), _published(loop), by=by)
    try:
        writes = merged_writes(draft, step.loop, run)
    except EvaluationError as wrong:
        return RunOutcome("step.failed", failed(problem(wrong.kind, wrong.message), loop=totals), by=by)
    return RunOutcome("loop.done", {**_output(draft, step, loop), "loop": totals}, writes, by=by)


def _published(loop: LoopState) -> Patch:
    """A failed loop applies none of its buffered ctx writes; step writes are read by its set and arcs."""
    return [[path, value] for _, path, value in _in_order(loop) if path[0] == "step"]


def _output(draft: Draft, step: StepProgram, loop: LoopState) -> Output:
    """The iterations' outputs, a manifest when some rest as payloads; those of claimed rows are not kept."""
    if loop.claims is not None:
        return ok()
    data = [loop.outputs.get(str(index)) for index in range(loop.total)]
    if not loop.refs and not loop.parts:
        return ok(data)
    keys = [ref["locator"]["key"] for ref in loop.refs.values()] + [key for key, _ in loop.parts.values()]
    wrong = next(
        (item for item in map(draft.hydrated.get, keys) if isinstance(item, UnreadablePayload)), None
    )
    if wrong is None and step.boundary.reads("output", "data"):
        return ok(_complete(draft, loop, data))
    ref, payload = manifest(draft.state.execution_id, data, loop.refs, loop.parts)
    draft.payloads.append(payload)
    size = len(payload.body) + sum(item["meta"].get("bytes", 0) for item in loop.refs.values())
    if wrong is None and size > (most := draft.program.max_hydrate_bytes):
        wrong = UnreadablePayload("limit", too_large(step.name, size, most, at_least=bool(loop.parts)))
    if wrong is not None:
        draft.hydrated[payload.key] = wrong
    elif all(key in draft.hydrated for key in keys):  # for those who read it in this very decision
        draft.hydrated[payload.key] = _complete(draft, loop, data)
    return {"status": "ok", "data": None, "ref": ref}


def _complete(draft: Draft, loop: LoopState, data: list[Any]) -> list[Json]:
    """Every output in its place, from the payloads at hand."""
    for index, ref in loop.refs.items():
        data[int(index)] = draft.hydrated.get(ref["locator"]["key"])
    for index, (key, item) in loop.parts.items():
        pack = draft.hydrated.get(key)
        data[int(index)] = pack[item] if isinstance(pack, list) and 0 <= item < len(pack) else None
    return data


def _in_order(loop: LoopState) -> Iterable[IterationWrite]:
    for index in sorted(int(key) for key in loop.writes):
        for path, value in loop.writes[str(index)]:
            yield index, path, value


def merged_writes(draft: Draft, program: LoopProgram, run: Run) -> Patch:
    """The writes of all iterations; those of a sequential loop to ctx took effect as they came."""
    assert run.loop is not None
    ctx = draft.state.ctx
    writes = [
        write
        for write in _in_order(run.loop)
        if program.parallel or write[1][0] == "step" or tuple(write[1]) in program.reduce
    ]
    operands = [(path, value) for _, path, value in writes if tuple(path) in program.reduce]
    aside = stored_refs([[value, _as_kept(ctx, path)] for path, value in operands])

    def merge() -> Patch:
        whole = in_place(ctx, draft.hydrated)
        try:
            patch = merged(
                _operands(draft, program, writes),
                reduce=program.reduce,
                parallel=program.parallel,
                existing=lambda key: look_up(whole, key[1:]) if key[0] == "ctx" else None,
            )
        except PatchProblem as wrong:
            raise EvaluationError("conflict", f"step {run.step!r}: {wrong}") from None
        return [
            [path, draft.take(value) if tuple(path) in program.reduce else value] for path, value in patch
        ]

    return draft.evaluator.merged(("merge", run.id), merge, aside=bool(aside))


def _operands(
    draft: Draft, program: LoopProgram, writes: Iterable[IterationWrite]
) -> Iterator[IterationWrite]:
    """Writes of which those that are reduced are live."""
    for index, path, value in writes:
        if tuple(path) in program.reduce:
            yield from ((index, path, operand) for operand in spread(value, draft.load))
        else:
            yield index, path, value


def _as_kept(ctx: JsonObject, path: list[str]) -> Json:
    """What the state holds at a path of ctx, or the marker of what it is inside of."""
    value: Json = ctx
    for key in path[1:]:
        if not isinstance(value, dict) or rests_elsewhere(value):
            break
        value = value.get(key)
    return value
