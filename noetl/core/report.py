"""What a worker's report leads to: under the lease's current epoch it is accepted, else refused whole.

The report is a message; the events are the server's: a terminal event is completed here first.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from noetl.core import loop, park
from noetl.core.bound import ENVELOPE_BYTES, portions
from noetl.core.chunk import hand_out
from noetl.core.draft import Draft
from noetl.core.ending import awaited, cancel_left, recall
from noetl.core.event import TERMINAL, Event
from noetl.core.finish import RunOutcome, finish, publish
from noetl.core.fold import outer_index
from noetl.core.message import Answer, Report
from noetl.core.output import failed, problem
from noetl.core.state import Lease, LoopState, Run

Handler = Callable[[Draft, Run, Lease, Event], None]
_encode = msgspec.json.encode
# What an event that was too large becomes, so that nobody waits for it for ever.
_FAILS_AS = {
    "step.done": "step.failed",
    "step.failed": "step.failed",
    "loop.iteration.done": "loop.iteration.failed",
    "loop.iteration.failed": "loop.iteration.failed",
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
    for event in message.events:
        handler = HANDLERS.get(event.name)
        if handler is None or event.run != run.id:
            draft.emit(
                "event.rejected", run.id, event=event.name, why="not for a worker to report", lease=lease.id
            )
        elif draft.judge.recorded or not _too_large(draft, event, lease):  # what was refused is not recorded
            handler(draft, run, lease, event)
        if run.id not in state.runs:
            return Answer(seq=state.seq)
    _checkpoint(draft, run, lease, message)
    if message.returned:
        _returned(draft, lease)
    elif lease.lo is not None:
        _chunk_went_on(draft, run, lease, final=message.final)
    return Answer(seq=state.seq)


def _too_large(draft: Draft, event: Event, lease: Lease) -> bool:
    """Refuse an event over the payload limit, with room for what stands around its payloads."""
    data = event.data or {}
    payloads = 1
    if event.name in TERMINAL:  # its writes and scopes are taken off, its results put aside
        payloads += ("writes" in data) + ("step" in data) + ("iter" in data) + len(data.get("results", ()))
    if not data or len(_encode(data)) <= draft.limit("max_payload_bytes") * payloads + ENVELOPE_BYTES:
        return False
    draft.emit(
        "event.rejected", event.run, event=event.name, why="larger than max_payload_bytes", lease=lease.id
    )
    name = _FAILS_AS.get(event.name)
    if name is not None:
        error = problem("limit", f"the event {event.name} was larger than limits.max_payload_bytes")
        smaller = msgspec.structs.replace(event, name=name, data={"error": error, "output": failed(error)})
        HANDLERS[name](draft, draft.state.runs[event.run or ""], lease, smaller)
    return True


def _accept(draft: Draft, run: Run, lease: Lease, event: Event) -> None:
    draft.accept(event)


def _step_started(draft: Draft, run: Run, lease: Lease, event: Event) -> None:
    data = {**(event.data or {}), "lease": lease.id, "epoch": lease.epoch}
    draft.accept(msgspec.structs.replace(event, data=data))


def _parked(draft: Draft, run: Run, lease: Lease, event: Event) -> None:
    park.park(draft, run, event)


def _iteration_ended(draft: Draft, run: Run, lease: Lease, event: Event) -> None:
    children = awaited(draft, run)
    draft.accept(event)
    cancel_left(draft, children, f"the iteration {event.at} of {run.id} that waited for it is over")
    step = draft.step(run.step)
    if step.loop is None or outer_index(event.at) is None:
        return
    if not step.loop.parallel:
        writes = [
            pair for pair in (event.data or {}).get("writes", ()) if tuple(pair[0]) not in step.loop.reduce
        ]
        publish(draft, run, [pair for pair in writes if pair[0][0] == "ctx"], at=event.at)
    if event.name == "loop.iteration.failed" and not step.best_effort and step.loop.distributed:
        recall(draft, run.id, "another iteration failed")
        finish(draft, run, loop.outcome(draft, run))


def _ended(draft: Draft, run: Run, lease: Lease, event: Event) -> None:
    data = event.data or {}
    if run.loop is not None:
        outcome = loop.outcome(draft, run, by="w")
        wrong = _contradiction(run.loop, event)
        if wrong is not None and outcome.name != "step.failed":
            outcome = RunOutcome("step.failed", failed(wrong, loop=loop.summary(run.loop)), by="w")
    else:
        run.step_scope, run.iter_scope = data.get("step", {}), data.get("iter", {})
        output = data.get("output") or failed(data.get("error") or {})
        extra = {"results": data["results"]} if "results" in data else {}
        output = {**output, **extra}
        outcome = RunOutcome(event.name, output, data.get("writes", []), by="w")
    finish(draft, run, outcome)


def _contradiction(state: LoopState, event: Event) -> dict[str, Any] | None:
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


def _checkpoint(draft: Draft, run: Run, lease: Lease, message: Report) -> None:
    """Keep how far the pipelines of the lease are, and make the writes they sent effective."""
    if not message.frames:
        return
    sent: list[tuple[str, list[Any]]] = []
    frames: dict[str, Any] = {}
    for address, frame in message.frames.items():
        frames[address] = {key: value for key, value in frame.items() if key != "sent"}
        sent += [(address, pair) for pair in frame.get("sent", ())]
    children = awaited(draft, run)
    for some in portions(frames.items(), draft.limit("max_payload_bytes")) if len(frames) > 1 else [frames]:
        draft.emit_as("w", "step.checkpointed", run.id, frames=dict(some), lease=lease.id)
    cancel_left(draft, children, f"the block of {run.id} that waited for it is over")
    for address, pair in sent:
        publish(draft, run, [pair], origin="checkpoint", at=address or None)


def _returned(draft: Draft, lease: Lease) -> None:
    draft.emit("lease.returned", lease.run, lease=lease.id, epoch=lease.epoch + 1, takeovers=lease.fruitless)
    park.redispatch(draft, lease.run)


def _chunk_went_on(draft: Draft, run: Run, lease: Lease, *, final: bool) -> None:
    """What a chunk does not use any more of its share goes to the next ones; the last one ends the loop."""
    assert run.loop is not None
    if final:
        draft.emit("lease.closed", run.id, lease=lease.id)
        if run.loop.over:
            finish(draft, run, loop.outcome(draft, run))
            return
    hand_out(draft, run)


HANDLERS: dict[str, Handler] = {
    "step.started": _step_started,
    "task.started": _accept,
    "task.done": _accept,
    "task.parked": _parked,
    "loop.started": _accept,
    "loop.iteration.started": _accept,
    "loop.iteration.done": _iteration_ended,
    "loop.iteration.failed": _iteration_ended,
    "loop.done": _ended,
    "step.done": _ended,
    "step.failed": _ended,
}
