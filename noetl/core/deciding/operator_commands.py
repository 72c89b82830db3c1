"""What operators and time do to an execution: pause, resume, cancel, signal, takeover of leases, timeouts."""

from collections.abc import Callable
from typing import Literal

from noetl.core import state_bounds
from noetl.core.deciding import loop, waits
from noetl.core.deciding.draft import Draft
from noetl.core.deciding.execution_end import abort, awaited, cancel_left, recall
from noetl.core.deciding.loop_chunks import hand_out
from noetl.core.deciding.loop_claims import claim_key
from noetl.core.deciding.run_end import RunOutcome, finish
from noetl.core.deciding.tokens import settle
from noetl.core.event import Event
from noetl.core.message import Answer, Control, ControlChild, Expire, Recall, Tick
from noetl.core.shapes import ErrorObject
from noetl.core.state import DONE, FAILED, Lease, Run, State
from noetl.core.values.output import bounded, failed, ok, problem


def control(draft: Draft, message: Control) -> Answer:
    """Carry out an operator's wish, or say why the state forbids it."""
    state = draft.state
    if state.ended:
        return Answer(False, f"the execution is already {state.status}", state.seq)
    return CONTROLS[message.what](draft, message)


def _pause(draft: Draft, message: Control) -> Answer:
    state = draft.state
    if state.status == "paused":
        return Answer(False, "the execution is already paused", state.seq)
    draft.emit("execution.paused", by=message.by, why=message.why)
    for lease in state.leases.values():
        if lease.out:
            draft.command(Recall(lease.id, lease.epoch, lease.worker, give_back=True, why="paused"))
    _tell_children(draft, "pause")
    return Answer(seq=state.seq)


def _resume(draft: Draft, message: Control) -> Answer:
    state = draft.state
    if state.status != "paused":
        return Answer(False, f"the execution is {state.status}, not paused", state.seq)
    draft.emit("execution.resumed", by=message.by, why=message.why)
    for run in list(state.runs.values()):
        waits.redispatch(draft, run.id)
        _regrant(draft, run)
    _tell_children(draft, "resume")
    settle(draft)
    return Answer(seq=state.seq)


def _regrant(draft: Draft, run: Run) -> None:
    """A distributed loop whose chunks ended while paused goes on with the next ones."""
    if run.loop is not None and run.loop.limit:
        hand_out(draft, run)


def _tell_children(draft: Draft, what: Literal["pause", "resume"]) -> None:
    """Children that are waited for; any other works for itself, and would not be told to go on."""
    state = draft.state
    for child, waits_at in state.children.items():
        run_id, _, address = waits_at.partition(" ")
        if (state.runs[run_id].parked[address].call or {}).get("wait", True):
            draft.command(ControlChild(child, what, f"the parent was told to {what}"))


def _cancel(draft: Draft, message: Control) -> Answer:
    error = problem("cancelled", message.why or f"cancelled by {message.by}")
    draft.emit("execution.cancelled", by=message.by, why=message.why, error=error)
    abort(draft, error, "cancelled")
    return Answer(seq=draft.state.seq)


def _signal(draft: Draft, message: Control) -> Answer:
    state = draft.state
    if not message.name:
        signals = [
            parked.signal
            for run in state.runs.values()
            for parked in run.parked.values()
            if parked.output is None
        ]
        names = ", ".join(sorted({name for name in signals if name is not None})) or "no signal"
        return Answer(False, f"a signal needs a name; the execution waits for {names}", state.seq)
    waits_for_it = any(
        parked.output is None and parked.awaits(message.name)
        for run in state.runs.values()
        for parked in run.parked.values()
    )
    if not waits_for_it and not state_bounds.takes_signals(state.signals):
        many = f"{len(state.signals)} signals that nothing has taken are kept, and no more"
        return Answer(False, many, state.seq)
    payload = draft.take(message.payload)
    facts: dict[str, object] = {"signal": message.name, "payload": payload, "by": message.by}
    if isinstance(message.payload, dict) and isinstance(claim := message.payload.get("by"), str):
        facts["claimed_by"] = bounded(claim)  # whoever the sender says that they are
    draft.emit("execution.signalled", **facts)
    for run in list(state.runs.values()):
        for address, parked in run.parked.items():
            if parked.output is None and parked.awaits(message.name):
                waits.answer(draft, run, address, ok(payload), consumed=len(state.signals) - 1)
                return Answer(seq=state.seq)
    return Answer(seq=state.seq)


def _recover(draft: Draft, message: Control) -> Answer:
    """The process that ran the execution is gone: every lease that was out goes out again."""
    for lease in [lease for lease in draft.state.leases.values() if lease.out]:
        draft.emit(
            "lease.expired",
            lease.run,
            lease=lease.id,
            epoch=lease.epoch + 1,
            takeovers=lease.fruitless,
            why="resume",
        )
        waits.redispatch(draft, lease.run)
    settle(draft)
    return Answer(seq=draft.state.seq)


CONTROLS: dict[str, Callable[[Draft, Control], Answer]] = {
    "pause": _pause,
    "resume": _resume,
    "cancel": _cancel,
    "signal": _signal,
    "recover": _recover,
}


def expire(draft: Draft, message: Expire) -> Answer:
    """Leases that nobody carries on are issued again, or fail when that did not help before."""
    state, epochs = draft.state, message.leases if isinstance(message.leases, dict) else {}
    for lease_id in message.leases:
        lease = state.leases.get(lease_id)
        if lease is not None and lease.out and epochs.get(lease_id, lease.epoch) == lease.epoch:
            _expire_one(draft, lease, message.why)
    settle(draft)
    return Answer(seq=state.seq)


def _expire_one(draft: Draft, lease: Lease, why: str) -> None:
    run = draft.state.runs[lease.run]
    takeovers = lease.fruitless + (why == "silent")
    facts: dict[str, object] = {
        "lease": lease.id,
        "epoch": lease.epoch + 1,
        "takeovers": takeovers,
        "why": why,
    }
    draft.emit("lease.expired", lease.run, **facts, worker=lease.worker)
    most = int(draft.step(run.step).limits["max_takeovers"])
    if takeovers <= most:
        waits.redispatch(draft, lease.run)
        return
    error = problem(
        "worker_lost", f"step run {run.id} lost its worker {takeovers} times without progress in between"
    )
    fail_lease(draft, run, lease, error)


def fail_lease(draft: Draft, run: Run, lease: Lease, error: ErrorObject) -> None:
    """Fail what a lease stands for: a claim, the iterations of a chunk, or the run itself."""
    if lease.claim is not None:
        _fail_claim(draft, run, lease, error)
    elif lease.lo is None:
        finish(draft, run, lost(run, error))
    else:
        _fail_chunk(draft, run, lease, error)


def lost(run: Run, error: ErrorObject) -> RunOutcome:
    """A run that the server ends; a loop keeps its counts."""
    totals = None if run.loop is None else loop.summary(run.loop)
    return RunOutcome("step.failed", failed(error, totals))


def _fail_claim(draft: Draft, run: Run, lease: Lease, error: ErrorObject) -> None:
    """Claim nothing more; the iterations over what was claimed before still run to their end."""
    number = lease.claim or 0
    key = claim_key(draft.state.execution_id, run.id, number)
    draft.emit("loop.claim.failed", run.id, number=number, key=key, error=error)
    claim_closed(draft, run, lease)


def claim_closed(draft: Draft, run: Run, lease: Lease) -> None:
    """Go on with what a claim brought, or end the loop when that was the last of it."""
    assert run.loop is not None
    draft.emit("lease.closed", run.id, lease=lease.id)
    if run.loop.over:
        finish(draft, run, loop.outcome(draft, run))
    else:
        hand_out(draft, run)


def _fail_chunk(draft: Draft, run: Run, lease: Lease, error: ErrorObject) -> None:
    """Fail the iterations of a chunk that have not ended, and go on without them."""
    assert run.loop is not None
    children = awaited(draft, run)
    for index in range(lease.lo or 0, lease.hi or 0):
        if run.loop.marks[index] not in (DONE, FAILED):
            draft.accept(
                Event("loop.iteration.failed", draft.now, "s", run.id, f"[{index}]", data={"error": error})
            )
    cancel_left(draft, children, "the iteration that waited for it was lost")
    draft.emit("lease.closed", run.id, lease=lease.id)
    if run.loop.over or not draft.step(run.step).best_effort:
        recall(draft, run.id, "iterations were lost")
        finish(draft, run, loop.outcome(draft, run))
    else:
        hand_out(draft, run)


def tick(draft: Draft, message: Tick) -> Answer:
    """Do whatever is due by now."""
    state, now = draft.state, draft.now
    if state.ended or state.status == "paused":
        return Answer(seq=state.seq)
    for run in list(state.runs.values()):
        if run.id not in state.runs:
            continue  # the end of another run has ended it
        if any(moment <= now for moment in _bounds(run)):
            _time_out(draft, run)
            continue
        for address in waits.due(state, run, now):
            _wake(draft, run, address)
    settle(draft)
    return Answer(seq=state.seq)


def _bounds(run: Run) -> list[int]:
    return [moment for moment in (run.timeout_at, run.deadline) if moment is not None]


def _time_out(draft: Draft, run: Run) -> None:
    recall(draft, run.id, "timeout")
    late = run.deadline is not None and run.deadline <= draft.now
    bound = "its deadline" if late else f"{(run.timeout_ms or 0) / 1000:g} s"
    finish(draft, run, lost(run, problem("timeout", f"step run {run.id} exceeded {bound}")))


def _wake(draft: Draft, run: Run, address: str) -> None:
    parked = run.parked[address]
    cause = waits.ended_by(draft.state, run, address)
    if cause != "until":
        dropped = {}
        if parked.child is not None and (parked.call or {}).get("wait", True):
            dropped = {"dropped": True}
            draft.command(ControlChild(parked.child, "cancel", "the task that waits for it timed out"))
        whose = "its timeout" if cause == "expires" else "the timeout of the call that it is inside of"
        error = problem("timeout", f"task {parked.label!r} took longer than {whose}", retryable=True)
        waits.answer(draft, run, address, failed(error), **dropped)
    elif parked.signal is None:
        waits.answer(draft, run, address, ok())
    else:
        error = problem("timeout", f"no signal {parked.signal!r} came in time", retryable=True)
        waits.answer(draft, run, address, failed(error))


def next_due(state: State) -> int | None:
    """When something of this execution is next due, in milliseconds since the epoch."""
    if state.ended or state.status == "paused":
        return None
    times: list[int] = []
    for run in state.runs.values():
        times += _bounds(run)
        if run.parked:
            times += waits.moments(state, run)
    return min(times, default=None)
