"""What a worker's report leads to: under the lease's current epoch it is accepted, else refused whole.

The report is a message; the events are the server's: what cannot be (report_check.py) is rejected, and the
rest of the report stands. A terminal event is completed here first.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from noetl.core.deciding import loop, waits
from noetl.core.deciding.draft import Draft
from noetl.core.deciding.execution_end import awaited, cancel_left, recall
from noetl.core.deciding.loop_chunks import hand_out
from noetl.core.deciding.loop_claims import is_answered
from noetl.core.deciding.operator_commands import claim_closed, fail_lease
from noetl.core.deciding.report_check import ReportCheck
from noetl.core.deciding.run_end import RunOutcome, finish, publish
from noetl.core.event import TERMINAL, Event
from noetl.core.fold import outer_index
from noetl.core.message import Answer, Report
from noetl.core.shapes import Checkpoint, ErrorObject, Output, Write
from noetl.core.state import PENDING, RUNNING, Lease, LoopState, Run
from noetl.core.values.event_size import ENVELOPE_BYTES, portions
from noetl.core.values.output import failed, problem

Handler = Callable[[Draft, Run, Lease, Event, int], None]  # and the bytes of its data, if measured
UNMEASURED = -1
# What an event that was too large becomes, so that nobody waits for it for ever.
_FAILS_AS = {
    "step.done": "step.failed",
    "step.failed": "step.failed",
    "loop.iteration.done": "loop.iteration.failed",
    "loop.iteration.failed": "loop.iteration.failed",
    "loop.claimed": "loop.claim.failed",
    "loop.claim.failed": "loop.claim.failed",
    "task.parked": "task.parked",
}


def report(draft: Draft, message: Report) -> Answer:
    """Accept a report, or refuse it whole when its lease is not current."""
    state = draft.state
    lease = state.leases.get(message.lease)
    if lease is None or lease.epoch != message.epoch or not lease.out:
        return Answer(False, "the lease is not current", state.seq)
    if lease.worker not in (None, message.worker):
        return Answer(False, f"the lease is with another worker than {message.worker}", state.seq)
    run = state.runs[lease.run]
    check = ReportCheck(draft, run, lease, message.worker)
    why, recorded, size = "", draft.recorded, UNMEASURED
    room = draft.program.max_payload_bytes + ENVELOPE_BYTES
    record, evolve = draft.events.append, draft.evolve
    for event in message.events:
        if not recorded:  # what was refused is not recorded
            wrong = check.event(event)
            if wrong is not None:
                why = _reject(draft, lease, event.name, event.at, wrong)
                continue
            size = check.size
            if size > room and _too_large(draft, event, lease, size):
                if run.id not in state.runs:
                    return Answer(why=why, seq=state.seq)
                continue
        handler = HANDLERS[event.name]
        if handler is None:
            record(event)
            evolve(state, event)
            continue
        handler(draft, run, lease, event, size)
        if run.id not in state.runs:
            return Answer(why=why, seq=state.seq)
    frames = message.frames
    for address, frame in message.frames.items() if not recorded else ():
        wrong = check.frame(address, frame)
        if wrong is not None:
            why = _reject(draft, lease, "step.checkpointed", address, wrong)
            frames = {at: checkpoint for at, checkpoint in frames.items() if at != address}
    _checkpoint(draft, run, lease, frames)
    if message.returned:
        _returned(draft, lease)
    elif message.final and _left(run, lease):
        _unfinished(draft, run, lease, why)
    elif lease.claim is not None and message.final:
        claim_closed(draft, run, lease)
    elif lease.lo is not None:
        _chunk_went_on(draft, run, lease, final=message.final)
    return Answer(why=why, seq=state.seq)


def _reject(draft: Draft, lease: Lease, name: str, at: str | None, why: str) -> str:
    """Record what is not folded, and why; the reason in words."""
    where = at[:200] if at else None
    draft.emit("event.rejected", lease.run, where, event=name[:200], why=why[:1000], lease=lease.id)
    return f"{name[:200]} was rejected: {why[:1000]}"


def _left(run: Run, lease: Lease) -> int:
    """How much of a lease has not ended: its claim, its iterations, or the run itself."""
    if lease.claim is not None:
        return 0 if is_answered(run, lease) else 1
    if run.loop is None or lease.lo is None or lease.hi is None:
        return 1
    marks = run.loop.marks
    return marks.count(PENDING, lease.lo, lease.hi) + marks.count(RUNNING, lease.lo, lease.hi)


def _unfinished(draft: Draft, run: Run, lease: Lease, why: str) -> None:
    """A worker says that nothing more comes, and has not said how it ended: that is an end too."""
    what = f"{_left(run, lease)} iterations" if lease.lo is not None else f"step run {run.id}"
    if lease.claim is not None:
        what = f"claim {lease.claim} of {run.id}"
    message = f"the worker ended its lease and did not say how {what} ended"
    fail_lease(draft, run, lease, problem("internal", f"{message}; {why}" if why else message))


def _too_large(draft: Draft, event: Event, lease: Lease, size: int) -> bool:
    """Refuse an event over the payload limit, with room for what stands around its payloads."""
    data = event.data or {}
    payloads = 1
    if event.name in TERMINAL:  # its writes and scopes are taken off, its results put aside
        payloads += ("writes" in data) + ("step" in data) + ("iter" in data) + len(data.get("results", ()))
    if size <= draft.program.max_payload_bytes * payloads + ENVELOPE_BYTES:
        return False
    draft.emit(
        "event.rejected", event.run, event=event.name, why="larger than max_payload_bytes", lease=lease.id
    )
    name = _FAILS_AS.get(event.name)
    if name is not None:
        error = problem("limit", f"the event {event.name} was larger than limits.max_payload_bytes")
        known = {key: data[key] for key in ("number", "key") if key in data}  # of a claim
        smaller = msgspec.structs.replace(
            event, name=name, data={**known, "error": error, "output": failed(error)}
        )
        handler = HANDLERS[name]
        assert handler is not None
        handler(draft, draft.state.runs[event.run or ""], lease, smaller, UNMEASURED)
    return True


def _step_started(draft: Draft, run: Run, lease: Lease, event: Event, size: int) -> None:
    data = {**(event.data or {}), "lease": lease.id, "epoch": lease.epoch}
    draft.accept(
        Event(
            event.name, event.ts, event.by, event.run, event.at, event.label, event.visit, event.attempt, data
        )
    )


def _parked(draft: Draft, run: Run, lease: Lease, event: Event, size: int) -> None:
    waits.park(draft, run, event)


def _iteration_ended(draft: Draft, run: Run, lease: Lease, event: Event, size: int) -> None:
    children = awaited(draft, run) if run.parked else []
    draft.accept(event)
    if children:
        cancel_left(draft, children, f"the iteration {event.at} of {run.id} that waited for it is over")
    step = draft.step(run.step)
    if step.loop is None or (step.loop.parallel and event.name == "loop.iteration.done"):
        return  # nothing follows from it alone
    if outer_index(event.at) is None:
        return
    if not step.loop.parallel:
        writes = [
            pair for pair in (event.data or {}).get("writes", ()) if tuple(pair[0]) not in step.loop.reduce
        ]
        publish(draft, run, [pair for pair in writes if pair[0][0] == "ctx"], at=event.at)
    if event.name == "loop.iteration.failed" and not step.best_effort and step.loop.distributed:
        recall(draft, run.id, "another iteration failed")
        finish(draft, run, loop.outcome(draft, run))


def _claim_ended(draft: Draft, run: Run, lease: Lease, event: Event, size: int) -> None:
    draft.accept(event)


def _ended(draft: Draft, run: Run, lease: Lease, event: Event, size: int) -> None:
    data: Any = event.data or {}
    if run.loop is not None:
        outcome = loop.outcome(draft, run, by="w")
        wrong = _contradiction(run.loop, event)
        if wrong is not None and outcome.name != "step.failed":
            outcome = RunOutcome("step.failed", failed(wrong, loop=loop.summary(run.loop)), by="w")
    else:
        run.step_scope, run.iter_scope = data.get("step", {}), data.get("iter", {})
        output: Output = data.get("output") or failed(data.get("error") or ErrorObject())
        if "results" in data:
            output = {**output, "results": data["results"]}
        outcome = RunOutcome(event.name, output, data.get("writes", []), by="w", most_bytes=size)
    finish(draft, run, outcome)


def _contradiction(state: LoopState, event: Event) -> ErrorObject | None:
    """What keeps a loop from ending as its worker says; nothing that was not told of counts as done."""
    if event.name == "step.failed":
        own = (event.data or {}).get("error")
        return own or problem(
            "internal", "the worker failed the loop, and no iteration that it told of had failed"
        )
    left = state.total - state.done - state.failed
    if not left:
        return None
    return problem(
        "internal", f"the worker ended the loop, and told nothing of {left} of {state.total} iterations"
    )


def _checkpoint(draft: Draft, run: Run, lease: Lease, reported: dict[str, Checkpoint]) -> None:
    """Keep how far the pipelines of the lease are, and make the writes they sent effective."""
    if not reported:
        return
    sent: list[tuple[str, Write]] = []
    frames: dict[str, Checkpoint] = {}
    for address, frame in reported.items():
        frames[address] = {**frame}
        sent += [(address, pair) for pair in frames[address].pop("sent", ())]
    children = awaited(draft, run)
    for some in portions(frames.items(), draft.program.max_payload_bytes) if len(frames) > 1 else [frames]:
        draft.record("step.checkpointed", run.id, {"frames": dict(some), "lease": lease.id}, by="w")
    cancel_left(draft, children, f"the block of {run.id} that waited for it is over")
    for address, pair in sent:
        publish(draft, run, [pair], origin="checkpoint", at=address or None)


def _returned(draft: Draft, lease: Lease) -> None:
    draft.emit("lease.returned", lease.run, lease=lease.id, epoch=lease.epoch + 1, takeovers=lease.fruitless)
    waits.redispatch(draft, lease.run)


def _chunk_went_on(draft: Draft, run: Run, lease: Lease, *, final: bool) -> None:
    """What a chunk does not use any more of its share goes to the next ones; the last one ends the loop."""
    assert run.loop is not None
    if final:
        draft.emit("lease.closed", run.id, lease=lease.id)
        if run.loop.over:
            finish(draft, run, loop.outcome(draft, run))
            return
    hand_out(draft, run)


HANDLERS: dict[str, Handler | None] = {  # None: it is recorded as it is, and cannot end the run
    "step.started": _step_started,
    "task.started": None,
    "task.done": None,
    "task.parked": _parked,
    "loop.started": None,
    "loop.claimed": _claim_ended,
    "loop.claim.failed": _claim_ended,
    "loop.iteration.started": None,
    "loop.iteration.done": _iteration_ended,
    "loop.iteration.failed": _iteration_ended,
    "loop.done": _ended,
    "step.done": _ended,
    "step.failed": _ended,
}
