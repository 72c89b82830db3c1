"""The work order of a lease: all a worker needs and nothing it does not name.

Large values of its scopes stay in the result store: the order has their markers, and the worker loads them.
"""

from collections.abc import Mapping
from typing import TypeVar

from noetl.core.deciding.draft import in_place, loaded, stored_refs
from noetl.core.deciding.loop_claims import claim_order
from noetl.core.deciding.trigger_scope import trigger_of
from noetl.core.message import LoopOrder, WorkOrder
from noetl.core.program.program import Program, StepProgram
from noetl.core.shapes import Checkpoint, FragmentSteps, IterationRecord, Output, Patch
from noetl.core.state import DONE, FAILED, Lease, LoopState, Run, State
from noetl.core.values.loop_merge import spread
from noetl.core.values.patch import apply, rests_elsewhere
from noetl.core.values.payload_demand import Payloads
from noetl.core.values.scheduling_scopes import seen
from noetl.core.values.scope import pruned
from noetl.dsl.template_scope import TRIGGER
from noetl.dsl.templates.values import Excerpt
from noetl.json_value import Json, JsonObject

V = TypeVar("V")


def build_order(state: State, program: Program, lease: Lease, hydrated: Payloads) -> WorkOrder:
    """Everything the worker of a lease needs: ctx and finished steps are those of the run's scheduling."""
    run = state.runs[lease.run]
    step = program.steps[run.step]
    order = WorkOrder(
        execution_id=state.execution_id,
        lease=lease.id,
        epoch=lease.epoch,
        run=run.id,
        step=run.step,
        program=state.hash,
        pool=step.pool or program.pool,
        fragments=_fragments(state, run),
        workload=_workload(state.workload or {}, step.workload_keys),
        ctx=pruned(seen(state.ctx, run.ctx_then), step.ctx_keys),
        input=run.input,
        args=run.args,
        step_scope=_step_scope(run, step),
        results=_results(state, run, step.names),
        loop=_loop_order(run, lease, hydrated),
        claim=claim_order(state.execution_id, run, lease, hydrated),
        started=run.started_at is not None,
        trigger=trigger_of(state) if TRIGGER in step.names else None,
        stores_call_input=True,
    )
    if run.frame or run.outcomes or run.parked:
        _resume(order, run, hydrated)
    order.aside = bool(hydrated) and bool(stored_refs(scopes_of(order)))
    return order


def _fragments(state: State, run: Run) -> list[FragmentSteps]:
    """The fragment that a run belongs to and those around it, the outermost first."""
    around: list[FragmentSteps] = []
    name = run.fragment
    while name is not None:
        fragment = state.fragments[name]
        around.insert(0, {"origin": fragment.origin, "steps": fragment.steps})
        name = fragment.run.get("fragment")
    return around


def _resume(order: WorkOrder, run: Run, hydrated: Payloads) -> None:
    """Say where the pipelines of a run stand that a worker had before."""
    answered = {at: parked.output for at, parked in run.parked.items() if parked.output is not None}
    order.frames = {at: _frame(frame, hydrated) for at, frame in run.frame.items()}
    order.outcomes = {at: _outcome(outcome, hydrated) for at, outcome in run.outcomes.items()}
    order.answers = {
        at: {**output, "data": loaded(output.get("data"), hydrated)} for at, output in answered.items()
    }
    order.waiting = [at for at, parked in run.parked.items() if parked.output is None]
    order.answered = list(run.answers_left().values())


def _workload(workload: JsonObject, keys: frozenset[str] | None) -> JsonObject:
    """The entries that are read; one that rests in the result store has no entries yet."""
    return workload if rests_elsewhere(workload) and keys != frozenset() else pruned(workload, keys)


def read_workload(order: WorkOrder, program: Program) -> JsonObject:
    """The workload as the templates of an order read it."""
    if program.steps[order.step].workload_keys is None:
        return order.workload or {}
    return Excerpt(order.workload or {}, program.playbook.workload)


def read_ctx(order: WorkOrder, program: Program) -> JsonObject:
    """The ctx as the templates of an order read it."""
    return order.ctx if program.steps[order.step].ctx_keys is None else Excerpt(order.ctx)


def scopes_of(order: WorkOrder) -> list[JsonObject | None]:
    """The values of an order that may rest in the result store."""
    return [order.workload, order.ctx, order.input, order.args, order.step_scope, order.trigger]


def put_in_place(order: WorkOrder, payloads: Payloads) -> None:
    """Put the values of an order that rest in the result store back where they are read."""
    order.workload, order.ctx, order.input, order.args, order.step_scope, order.trigger = (
        in_place(scope, payloads) for scope in scopes_of(order)
    )


def _frame(frame: Checkpoint, hydrated: Payloads) -> Checkpoint:
    """A checkpoint with its values in place."""
    whole: Checkpoint = {**frame}
    if "writes" in frame:
        whole["writes"] = _writes(frame["writes"], hydrated)
    if "prev" in frame:
        whole["prev"] = loaded(frame["prev"], hydrated)
    if "output" in frame:
        whole["output"] = loaded(frame["output"], hydrated)
    if "results" in frame:
        whole["results"] = _scope(frame["results"], hydrated)
    if "iter" in frame:
        whole["iter"] = _scope(frame["iter"], hydrated)
    if "step" in frame:
        whole["step"] = _scope(frame["step"], hydrated)
    return whole


def _scope(scope: Mapping[str, V], hydrated: Payloads) -> dict[str, V]:
    return {name: loaded(value, hydrated) for name, value in scope.items()}


def _outcome(outcome: IterationRecord, hydrated: Payloads) -> IterationRecord:
    """How an iteration ended, with its output and what its error tells in place."""
    whole: IterationRecord = {**outcome}
    if "writes" in outcome:
        whole["writes"] = _writes(outcome["writes"], hydrated)
    output, error = outcome.get("output"), outcome.get("error")
    if output and "data" in output:
        whole["output"] = {**output, "data": loaded(output["data"], hydrated)}
    if error and "details" in error:
        whole["error"] = {**error, "details": loaded(error["details"], hydrated)}
    return whole


def _writes(writes: Patch, hydrated: Payloads) -> Patch:
    return [
        [path, operand]
        for path, value in writes
        for operand in spread(value, lambda aside: loaded(aside, hydrated))
    ]


def _results(state: State, run: Run, names: frozenset[str]) -> dict[str, Output]:
    """Finished steps by name; inside a fragment also by the name its author wrote."""
    if not names:
        return {}
    results = seen(state.results, run.results_then)
    outputs = {name: results[name] for name in names if name in results}
    if run.fragment is not None:
        own = {name: f"{run.fragment}.{name}" for name in names}
        outputs |= {name: results[full] for name, full in own.items() if full in results}
    return outputs


def _step_scope(run: Run, step: StepProgram) -> JsonObject:
    """In a sequential loop on another worker, what earlier iterations wrote to `step` is there."""
    if run.loop is None or step.loop is None or step.loop.parallel:
        return run.step_scope
    scope = run.step_scope
    for index in sorted(int(key) for key in run.loop.writes):
        own = [[path[1:], value] for path, value in run.loop.writes[str(index)] if path[0] == "step"]
        scope = apply(scope, own)
    return scope


def _loop_order(run: Run, lease: Lease, hydrated: Payloads) -> LoopOrder | None:
    loop = run.loop
    if loop is None or lease.claim is not None:
        return None
    lo, hi = lease.lo or 0, loop.total if lease.hi is None else lease.hi
    items = (
        in_place(run.collection, hydrated)[lo:hi] if loop.claims is None else _rows(loop, lo, hi, hydrated)
    )
    finished = {
        str(index): _known(loop, index) for index in range(lo, hi) if loop.marks[index] in (DONE, FAILED)
    }
    return LoopOrder(total=loop.total, lo=lo, hi=hi, share=lease.share, items=items, finished=finished)


def _rows(loop: LoopState, lo: int, hi: int, hydrated: Payloads) -> list[Json]:
    """The rows lo..hi-1 as they were claimed; those of batches that are over are not needed again."""
    assert loop.claims is not None
    rows: list[Json] = [None] * (hi - lo)
    for batch in loop.claims.open:
        first, last = max(lo, batch.lo), min(hi, batch.lo + batch.count)
        if first < last:
            whole = loaded(batch.rows, hydrated)
            rows[first - lo : last - lo] = whole[first - batch.lo : last - batch.lo]
    return rows


def _known(loop: LoopState, index: int) -> IterationRecord:
    """That an iteration is over; its output stays with the server."""
    if loop.marks[index] == FAILED:
        return {"error": loop.errors.get(str(index), {"kind": "failed", "message": "failed earlier"})}
    return {}
