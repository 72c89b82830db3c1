"""The fold: one transition per event name. Only what happened changes the state, and only here.

`evolve` works in place for speed and gives the state back. An event name without an entry is an error.
Nothing here decides; a decision that is not in an event did not happen.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from noetl.core import claimed_rows, event_data, loop_iterations, state_bounds
from noetl.core.event import CATALOGUE, TERMINAL, Event, step_of
from noetl.core.shapes import IterationRecord, Output
from noetl.core.state import (
    FAILED,
    PENDING,
    RUNNING,
    Claims,
    FinishedIterations,
    Fragment,
    Lease,
    LoopState,
    Parked,
    Run,
    State,
    StepCount,
    Token,
)
from noetl.core.values import patch, scheduling_scopes
from noetl.core.values.output import result_of
from noetl.errors import InvariantViolation

Transition = Callable[[State, Event, Any], None]  # the data is that of its event: event_data.py
_NOTHING: dict[str, Any] = {}
QUICK_MS = 20  # an iteration that takes less is over in next to no time


def evolve(state: State, event: Event) -> State:
    """The state after an event."""
    name = event.name
    transition = TRANSITIONS.get(name)
    if transition is not None:
        transition(state, event, event.data or _NOTHING)
    elif name not in CATALOGUE:
        raise InvariantViolation(f"the log has an event called {name!r} that this engine does not know")
    state.seq += 1
    return state


def fold(state: State, events: Iterable[Event]) -> State:
    """The state after a run of events."""
    for event in events:
        evolve(state, event)
    return state


def _requested(state: State, event: Event, data: event_data.Requested) -> None:
    state.path = data["path"]
    state.version = data.get("version")
    state.parent = data.get("parent")
    state.idempotency_key = data.get("idempotency_key")
    state.retry_of = data.get("retry_of")
    state.continued_from = data.get("continued_from")
    state.until = data.get("until")
    state.by = data.get("by")
    state.trigger = data.get("trigger")
    state.requested_at = event.ts


def _evaluated(state: State, event: Event, data: event_data.Evaluated) -> None:
    state.hash = data.get("hash", "")
    state.engine = data.get("engine", "")
    state.executor_version = data.get("executor_version")
    state.workload = data.get("workload")
    state.error = data.get("error")


def together(before: Any, more: Any) -> Any:
    """What a retry keeps, of which some was told before: entries are added, anything else is told once."""
    if isinstance(before, dict):
        return patch.deep_merge(before, more)
    return [*before, *more] if isinstance(before, list) else more


def _restored(state: State, event: Event, data: event_data.Restored) -> None:
    state.ctx = together(state.ctx, data.get("ctx", _NOTHING))
    state.results = together(state.results, data.get("results", _NOTHING))
    steps = {name: StepCount(**count) for name, count in data.get("steps", _NOTHING).items()}
    state.steps = together(state.steps, steps)
    state_bounds.restore_failures(state, data.get("failures", []))
    state.signals = together(state.signals, data.get("signals", ()))
    state.output = data.get("output", state.output)
    state.failed_iterations = data.get("failed_iterations", state.failed_iterations)


def _loop_restored(state: State, event: Event, data: event_data.LoopRestored) -> None:
    token, total = data["token"], data["total"]
    finished = state.kept.get(token)
    if finished is None and "batch" in data:
        finished = state.kept[token] = FinishedIterations(LoopState(total=0, claims=Claims(0, 0)))
    elif finished is None:
        loop = LoopState(total=total, marks=bytearray([PENDING]) * total)
        finished = state.kept[token] = FinishedIterations(loop, data.get("collection"))
    if "batch" in data:
        claimed_rows.add(finished.loop, data["batch"])
    for index, outcome in data["iterations"].items():
        loop_iterations.note_done(finished.loop, int(index), outcome)
        if finished.loop.claims is not None:
            claimed_rows.let_go(finished.loop.claims, int(index))


def _started(state: State, event: Event, data: event_data.NoData) -> None:
    state.status = "running"
    state.started_at = event.ts


def _enqueued(state: State, event: Event, data: event_data.Enqueued) -> None:
    token = Token(
        id=data["token"],
        step=data["step"],
        source=data.get("from"),
        run=data.get("from_run"),
        event=data.get("event", {}),
        args=data.get("args", {}),
        barred=data.get("barred", []),
        fragment=data.get("fragment"),
    )
    state.tokens[token.id] = token
    state.enqueued += 1


def _held(state: State, event: Event, data: event_data.TokenMoved) -> None:
    state.tokens[data["token"]].held = True


def _refused(state: State, event: Event, data: event_data.TokenMoved) -> None:
    del state.tokens[data["token"]]
    state.kept.pop(data["token"], None)
    state.refused += 1


def _discarded(state: State, event: Event, data: event_data.TokenMoved) -> None:
    del state.tokens[data["token"]]
    state.kept.pop(data["token"], None)
    state.discarded += 1


def _scheduled(state: State, event: Event, data: event_data.Scheduled) -> None:
    step, run_id, tokens = data["step"], event.run or "", data["tokens"]
    for token in tokens:
        del state.tokens[token]
    state.consumed += len(tokens)
    count = state.steps.get(step)
    if count is None:
        count = state.steps[step] = StepCount()
    count.runs += 1
    count.status = "running"
    run = state.runs[run_id] = Run(
        id=run_id,
        step=step,
        tokens=tokens,
        source=data.get("from"),
        event=data.get("event", {}),
        args=data.get("args", {}),
        input=data.get("input"),
        collection=data.get("collection"),
        scheduled_at=event.ts,
        timeout_ms=data.get("timeout_ms"),
        deadline=data.get("deadline"),
        barred=data.get("barred", []),
        fragment=data.get("fragment"),
    )
    if "total" in data and "claim" not in data:
        run.loop = LoopState(total=data["total"], marks=bytearray([PENDING]) * data["total"])
    if state.kept:
        _take_kept(state, run, data)
    if "claim" in data:
        run.loop = claimed_rows.begin(run.loop, data["claim"])
    if "bars" in data:
        _bar_others(state, data["bars"], run_id)
    if "lease" in data:
        state.leases[data["lease"]] = Lease(id=data["lease"], run=run_id, share=data.get("share", 1))


def _take_kept(state: State, run: Run, data: event_data.Scheduled) -> None:
    """A run that goes on with what a retry kept of its loop has the iterations that are over."""
    for token in run.tokens:
        finished = state.kept.pop(token, None)
        if finished is not None and data.get("kept"):
            run.loop = finished.loop


def _bar_others(state: State, join: str, run_id: str) -> None:
    """A `first` join has fired: every other live token, and what descends from it, is refused there."""
    others: list[Token | Run] = [*state.tokens.values(), *state.runs.values()]
    for other in others:
        if other.id != run_id and join not in other.barred:
            other.barred = [*other.barred, join]
    for fragment in state.fragments.values():
        if not fragment.ended and join not in fragment.run["barred"]:  # its origin's arcs are still to come
            fragment.run = {**fragment.run, "barred": [*fragment.run["barred"], join]}


def _granted(state: State, event: Event, data: event_data.LeaseMoved) -> None:
    existing = state.leases.get(data["lease"])
    if existing is not None:
        existing.out, existing.given = True, list(state.runs[existing.run].answers_left())
        return
    if "claim" in data:
        claim = Lease(id=data["lease"], run=event.run or "", claim=data["claim"], since=event.ts)
        state.leases[claim.id] = claim
        return
    lease = Lease(
        id=data["lease"],
        run=event.run or "",
        lo=data["lo"],
        hi=data["hi"],
        share=data.get("share", 1),
        since=event.ts,
    )
    state.leases[lease.id] = lease
    loop = state.runs[lease.run].loop
    if loop is not None:
        loop.next = max(loop.next, data["hi"])


def _step_started(state: State, event: Event, data: event_data.StepStarted) -> None:
    run = state.runs[event.run or ""]
    lease = state.leases.get(data.get("lease", run.id))
    if lease is not None:
        lease.worker = data.get("worker")
        lease.progressed |= run.started_at is None  # whoever takes it over begins as well
    if run.started_at is None:
        run.started_at = event.ts
        if run.timeout_ms is not None:
            run.timeout_at = event.ts + run.timeout_ms


def _checkpointed(state: State, event: Event, data: event_data.Checkpointed) -> None:
    run = state.runs[event.run or ""]
    frames = data["frames"]
    _forget(state, run, lambda address: _is_passed(address, frames))
    run.frame.update(frames)
    lease = state.leases.get(data.get("lease", run.id))
    if lease is not None:
        lease.progressed = True


def _task_done(state: State, event: Event, data: event_data.NoData) -> None:
    state.tasks += 1


def _parked(state: State, event: Event, data: event_data.TaskParked) -> None:
    call = data.get("call")
    spent = 0 if state.paused_at is None else event.ts - state.paused_at  # the resume moves it by all of it
    parked = Parked(
        label=event.label or "",
        visit=event.visit or 1,
        attempt=event.attempt or 1,
        until=data.get("until"),
        signal=data.get("signal"),
        approval=data.get("approval"),
        child=data.get("child"),
        call=None if call is None else {**call, "wait": data.get("wait", True)},
        key=data.get("key") if call is not None else None,
        expires=_moved(data.get("expires"), -spent),
        within=_moved(data.get("within"), -spent),
    )
    state.runs[event.run or ""].parked[event.at or ""] = parked
    if parked.child is not None:
        state.children[parked.child] = f"{event.run} {event.at or ''}"


def _resumed_task(state: State, event: Event, data: event_data.TaskResumed) -> None:
    run = state.runs[event.run or ""]
    parked = run.parked[event.at or ""]
    if data.get("dropped"):
        _drop(state, run, parked)
    parked.output = data["output"]
    if parked.child is not None:
        state.children.pop(parked.child, None)
    if "consumed" in data:
        del state.signals[data["consumed"]]


def _child_waiting(state: State, event: Event, data: event_data.ChildWaiting) -> None:
    parked = state.runs[event.run or ""].parked[event.at or ""]
    parked.child_waits, parked.child_seq = data["waits"], data["child_seq"]


@lru_cache(maxsize=1024)  # an iteration is asked about several times, and those in flight by turns
def outer_index(address: str | None) -> int | None:
    """The index of an outer iteration's address; None for any other address."""
    if address and address[0] == "[" and address.find("]") == len(address) - 1:
        return int(address[1:-1])
    return None


def _loop_started(state: State, event: Event, data: event_data.LoopStarted) -> None:
    loop = state.runs[event.run or ""].loop
    if loop is not None and "chunk" in data:
        loop.limit, loop.chunk = data["max_in_flight"], data["chunk"] or 0


def _claimed(state: State, event: Event, data: event_data.Claimed) -> None:
    loop, claims = _claiming(state, event, data)
    count = data["count"]
    if count:
        claimed_rows.add(loop, {"count": count, "rows": data["rows"], "last": data.get("last")})
    claims.over = not count or claims.number == claims.most


def _claim_failed(state: State, event: Event, data: event_data.Claimed) -> None:
    _, claims = _claiming(state, event, data)
    claims.over, claims.error = True, data["error"]


def _claiming(state: State, event: Event, data: event_data.Claimed) -> tuple[LoopState, Claims]:
    """A loop whose claim was answered; where that one stood is of no use any more."""
    run = state.runs[event.run or ""]
    loop = run.loop
    assert loop is not None
    assert loop.claims is not None
    loop.claims.number = data["number"]
    _forget(state, run, lambda address: not address.startswith("["))
    return loop, loop.claims


def _iteration_started(state: State, event: Event, data: event_data.NoData) -> None:
    index = outer_index(event.at)
    loop = state.runs[event.run or ""].loop
    if index is not None and loop is not None:
        loop.marks[index] = RUNNING


def _iteration_done(state: State, event: Event, data: IterationRecord) -> None:
    run = state.runs[event.run or ""]
    index, loop = outer_index(event.at), run.loop
    state.iterations += 1
    if index is None or loop is None:
        run.outcomes[event.at or ""] = data
        return
    loop_iterations.note_done(loop, index, data)
    _settle_iteration(state, run, event, index)


def _iteration_failed(state: State, event: Event, data: IterationRecord) -> None:
    run = state.runs[event.run or ""]
    index, loop = outer_index(event.at), run.loop
    state.iterations += 1
    if index is None or loop is None:
        run.outcomes[event.at or ""] = data
        run.failed_inside += 1
        return
    loop.marks[index] = FAILED
    loop.failed += 1
    loop_iterations.note_error(loop, index, data["error"])
    _settle_iteration(state, run, event, index)


def _settle_iteration(state: State, run: Run, event: Event, index: int) -> None:
    """What was known of the inside of an iteration is of no use once it is over; its lease went on."""
    if run.frame or run.outcomes or run.parked or state.children:
        prefix = event.at or ""
        _forget(state, run, lambda address: address.startswith(prefix))
    for lease in (state.leases[run.id],) if run.id in state.leases else state.leases.values():
        if lease.run == run.id and lease.has(index):
            lease.progressed = True
    if run.loop is not None and run.loop.claims is not None:
        claimed_rows.let_go(run.loop.claims, index)


def _is_passed(address: str, frames: dict[str, Any]) -> bool:
    """Whether an address is below one of these pipelines, but not in the block that it is inside of."""
    end = address.find("/")
    while end >= 0:
        frame = frames.get(address[:end])
        if frame is not None and not _within(address, frame.get("inside")):
            return True
        end = address.find("/", end + 1)
    return False


def _forget(state: State, run: Run, is_over: Callable[[str], bool]) -> None:
    """Drop what is known of addresses that are over."""
    for address, parked in run.parked.items():
        if is_over(address):
            _drop(state, run, parked)
    for by_address in (run.frame, run.outcomes, run.parked):
        if by_address:
            for address in [place for place in by_address if is_over(place)]:
                del by_address[address]
    if state.children:
        for child, waits in list(state.children.items()):
            run_id, _, address = waits.partition(" ")
            if run_id == run.id and address not in run.parked:
                del state.children[child]


def _drop(state: State, run: Run, parked: Parked) -> None:
    """Nothing waits for a child any more: whoever calls it again calls another one."""
    if parked.child is not None and parked.output is None and (parked.call or _NOTHING).get("wait", True):
        run.dropped[parked.key or ""] = run.dropped.get(parked.key or "", 0) + 1
        state_bounds.leave_child(state, parked.child)


def _within(address: str, block: str | None) -> bool:
    return block is not None and (address == block or address.startswith((f"{block}/", f"{block}[")))


def _ended(state: State, event: Event, data: event_data.RunEnded) -> None:
    run_id = event.run or ""
    step = step_of(run_id)
    run = state.runs.pop(run_id)
    for parked in run.parked.values():
        _drop(state, run, parked)
    state.leases.pop(run_id, None)
    if state.leases:  # the chunks of a distributed loop, or what other runs have
        for lease in [lease.id for lease in state.leases.values() if lease.run == run_id]:
            del state.leases[lease]
    if state.children:
        for child in [child for child, waits in state.children.items() if waits.split(" ")[0] == run_id]:
            del state.children[child]
    state.steps[step].status = "failed" if event.name == "step.failed" else "done"
    output: Output = data.get("output") or {"status": "error", "error": data.get("error") or {}}
    if data.get("keep", True):
        for other in state.runs.values():
            scheduling_scopes.remember(other.results_then, state.results, (step,))
        state.results[step] = output
    if data.get("result"):
        state.output = result_of(output)
    if "failed_iterations" in data:
        state.failed_iterations += data["failed_iterations"]
    fragment = state.fragments.get(data["fragment"]) if "fragment" in data else None
    while fragment is not None:  # and every fragment around it
        fragment.last = {"name": event.name, "step": step, "output": output}
        fragment = state.fragments.get(fragment.run["fragment"] or "")


def _patched(state: State, event: Event, data: event_data.Patched) -> None:
    before, pairs = state.ctx, data["patch"]
    state.ctx = patch.apply(before, pairs)
    keys = [path[0] for path, _ in pairs]
    for run in state.runs.values():
        if run.id == event.run:
            scheduling_scopes.written(run.ctx_then, pairs)
        else:
            scheduling_scopes.remember(run.ctx_then, before, keys)


def _lease_expired(state: State, event: Event, data: event_data.LeaseMoved) -> None:
    lease = state.leases[data["lease"]]
    lease.epoch = data["epoch"]
    lease.worker, lease.out = None, False
    lease.takeovers = data.get("takeovers", 0)
    lease.progressed = False
    loop = state.runs[lease.run].loop
    if loop is not None and lease.claim is None:
        loop_iterations.release(loop, lease)


def _lease_closed(state: State, event: Event, data: event_data.LeaseMoved) -> None:
    lease = state.leases.pop(data["lease"])
    loop = state.runs[lease.run].loop
    if loop is not None and lease.claim is None:
        size = (lease.hi or 0) - (lease.lo or 0)
        loop.quick = (event.ts - lease.since) * lease.share < QUICK_MS * size


def _paused(state: State, event: Event, data: event_data.Controlled) -> None:
    state.status = "paused"
    state.paused_at, state.paused_by = event.ts, data.get("by")


def _resumed(state: State, event: Event, data: event_data.NoData) -> None:
    paused_at = state.paused_at or event.ts
    state.status, state.paused_at, state.paused_by, state.until = "running", None, None, None
    for run in state.runs.values():
        if run.timeout_at is not None:
            run.timeout_at += event.ts - max(paused_at, run.started_at or paused_at)
        _move_bounds(run, event.ts - paused_at)


def _move_bounds(run: Run, by: int) -> None:
    """A pause does not count against what bounds a wait or a call; a wait for a time ends at that time."""
    for parked in run.parked.values():
        parked.expires, parked.within = _moved(parked.expires, by), _moved(parked.within, by)
    for address, frame in run.frame.items():
        ends = frame.get("call_ends")
        if ends is not None:
            run.frame[address] = {**frame, "call_ends": ends + by}


def _moved(moment: int | None, by: int) -> int | None:
    return None if moment is None else moment + by


def _cancelled(state: State, event: Event, data: event_data.Controlled) -> None:
    state.error = data.get("error")


def _continued(state: State, event: Event, data: event_data.Continued) -> None:
    state.continued_as = data["as"]


def _signalled(state: State, event: Event, data: event_data.Signalled) -> None:
    state.signals.append({"name": data["signal"], "payload": data.get("payload")})


def _extended(state: State, event: Event, data: event_data.Extended) -> None:
    state.fragments[event.run or ""] = Fragment(
        origin=event.run or "", step=data["step"], steps=data["steps"], run=data["origin"]
    )


def _fragment_ended(state: State, event: Event, data: event_data.NoData) -> None:
    state.fragments[event.run or ""].ended = True
    state_bounds.drop_fragments(state)


def _finished(state: State, event: Event, data: event_data.Finished) -> None:
    state.status = data["status"]
    state.ended_at = event.ts
    state.output = data.get("output")
    state.error = data.get("error")
    state.failing = False


def _processed(state: State, event: Event, data: event_data.Finished) -> None:
    state.status = data["status"]
    state.ended_at = event.ts
    state.error = data.get("error", state.error)


def _routed(state: State, event: Event, data: event_data.Routed) -> None:
    if "failure" in data:
        state_bounds.note_failure(state, data["failure"])
    if "fails" in data and not state.failing:
        state.failing = True
        state.error = (state.unanswered or {}).get("error") or data["fails"]


TRANSITIONS: dict[str, Transition] = {
    "playbook.execution.requested": _requested,
    "playbook.request.evaluated": _evaluated,
    "execution.restored": _restored,
    "loop.restored": _loop_restored,
    "workflow.started": _started,
    "token.enqueued": _enqueued,
    "token.held": _held,
    "token.refused": _refused,
    "token.discarded": _discarded,
    "step.scheduled": _scheduled,
    "lease.granted": _granted,
    "step.started": _step_started,
    "step.checkpointed": _checkpointed,
    "task.done": _task_done,
    "task.parked": _parked,
    "task.resumed": _resumed_task,
    "child.waiting": _child_waiting,
    "loop.started": _loop_started,
    "loop.claimed": _claimed,
    "loop.claim.failed": _claim_failed,
    "loop.iteration.started": _iteration_started,
    "loop.iteration.done": _iteration_done,
    "loop.iteration.failed": _iteration_failed,
    **dict.fromkeys(TERMINAL, _ended),
    "ctx.patched": _patched,
    "next.evaluated": _routed,
    "lease.expired": _lease_expired,
    "lease.returned": _lease_expired,
    "lease.closed": _lease_closed,
    "execution.paused": _paused,
    "execution.resumed": _resumed,
    "execution.cancelled": _cancelled,
    "execution.signalled": _signalled,
    "execution.continued": _continued,
    "workflow.extended": _extended,
    "workflow.contracted": _fragment_ended,
    "workflow.finished": _finished,
    "playbook.processed": _processed,
}
