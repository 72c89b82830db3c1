"""Pipelines that wait without a slot: for a time, a signal or a child; and leases sent out again."""

import hashlib
from typing import Any, cast

from noetl.core.deciding.draft import Draft, loaded
from noetl.core.event import Event
from noetl.core.message import (
    ChildEnded,
    ChildWaits,
    ControlChild,
    Deliver,
    Dispatch,
    StartChild,
    waits_as,
)
from noetl.core.shapes import ErrorObject, Output, Parent, Reference
from noetl.core.state import Lease, Run, State
from noetl.core.values.output import failed, ok, problem
from noetl.core.values.payload_demand import Payloads, stored_payload
from noetl.json_value import Json

MAX_DEPTH = 32


def child_id(key: str, dropped: int = 0) -> str:
    """The id of the child that a call's idempotency key stands for, after some that were given up."""
    name = f"child {key} {dropped}" if dropped else f"child {key}"
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def park(draft: Draft, run: Run, event: Event) -> None:
    """Record that a pipeline waits; start its child, or answer it when its signal is already there."""
    data, address = dict(event.data or {}), event.at or ""
    call = data.get("call")
    if call is not None:
        data["child"] = child_id(data["key"], run.dropped.get(data["key"], 0))
    draft.accept(
        Event(event.name, event.ts, event.by, run.id, event.at, event.label, event.visit, event.attempt, data)
    )
    if "error" in data:
        answer(draft, run, address, failed(data["error"]))
    if call is not None:
        _start_child(draft, run, address)
    parked = run.parked[address]
    for index, signal in enumerate(draft.state.signals):
        if parked.awaits(signal["name"]):
            answer(draft, run, address, ok(signal["payload"]), consumed=index)
            return


def _start_child(draft: Draft, run: Run, address: str) -> None:
    command = child_call(draft.state, run, address)
    depth = (command.parent or {})["depth"]
    if depth > MAX_DEPTH:
        error = problem("limit", f"playbooks are nested {depth} deep; at most {MAX_DEPTH} are allowed")
        answer(draft, run, address, failed(error))
        return
    draft.command(command)


def child_call(state: State, run: Run, address: str) -> StartChild:
    """The call of the child that a pipeline waits for, the same each time it is asked for."""
    parked = run.parked[address]
    call = parked.call or {}
    parent: Parent = {
        "execution_id": state.execution_id,
        "run": run.id,
        "at": address,
        "depth": (state.parent or {}).get("depth", 0) + 1,
        "waits": call.get("wait", True),
        "path": state.path,
    }
    return StartChild(parked.child or "", call["path"], call.get("version"), call.get("input"), parent)


def answer(draft: Draft, run: Run, address: str, output: Output, **facts: object) -> None:
    """Give a waiting pipeline its answer, and a worker if it has none."""
    parked = run.parked[address]
    entry = {**output, "data": draft.store(output["data"])}
    draft.emit("task.resumed", run.id, address or None, output=entry, label=parked.label, **facts)
    if draft.state.status != "running":
        return
    lease = lease_of(draft.state, run, address)
    if lease is not None and lease.out:
        task = waits_as(parked.label, parked.visit, parked.attempt)
        draft.command(Deliver(lease.id, address, task, {**output, "data": draft.load(output["data"])}))
    else:
        redispatch(draft, run.id)


def lease_of(state: State, run: Run, address: str) -> Lease | None:
    """The lease that an address of a run belongs to."""
    own = [lease for lease in state.leases.values() if lease.run == run.id]
    if run.loop is not None and run.loop.claims is not None:
        return next((lease for lease in own if _covers(lease, address)), None)
    if address.startswith("["):
        index = int(address[1 : address.index("]")])
        for lease in own:
            if lease.lo is not None and lease.lo <= index < (lease.hi or 0):
                return lease
    return own[0] if own else None


def redispatch(draft: Draft, run_id: str) -> None:
    """Send out again the leases of a run that are with nobody and have something to do."""
    state = draft.state
    if state.status != "running":
        return
    run = state.runs[run_id]
    step = draft.step(run.step)
    for lease in state.leases.values():
        if lease.run == run_id and not lease.out and not only_waits(run, lease):
            draft.emit("lease.granted", run_id, lease=lease.id, lo=lease.lo, hi=lease.hi)
            draft.command(Dispatch(lease.id, step.pool or draft.program.pool))


def only_waits(run: Run, lease: Lease) -> bool:
    """Whether a worker could do nothing: all that a lease stands for, or all that may run of it, is waiting.

    An answer that nobody took when the lease went out with it is no reason to send it out again.
    """
    unanswered = [address for address, parked in run.parked.items() if parked.output is None]
    if not unanswered:
        return False
    fresh = [address for name, address in run.answers_left().items() if name not in lease.given]
    if lease.claim is not None:
        unanswered, fresh = [at for at in unanswered if at[:1] != "["], [at for at in fresh if at[:1] != "["]
        return bool(unanswered) and not fresh
    if run.loop is None:
        return not fresh
    open_ended = [
        index for index in range(lease.lo or 0, lease.hi or run.loop.total) if run.loop.marks[index] in b"pr"
    ]
    waiting = [index for index in open_ended if _below(index, unanswered) and not _below(index, fresh)]
    return bool(open_ended) and (waiting == open_ended or len(waiting) >= lease.share)


def _below(index: int, addresses: list[str]) -> bool:
    return any(address.startswith(f"[{index}]") for address in addresses)


def child_ended(draft: Draft, message: ChildEnded) -> None:
    """A child is over: its parent's pipeline goes on with its output."""
    waits = draft.state.children.get(message.execution_id)
    if waits is None:
        return
    run_id, _, address = waits.partition(" ")
    run = draft.state.runs[run_id]
    if message.status == "completed":
        answer(draft, run, address, _child_output(message.output))
        return
    answer(draft, run, address, failed(_child_error(message)))


def _child_output(result: Json) -> Output:
    """What a call is answered with: one that was put aside in the child stays there, and is read as any."""
    aside = stored_payload({"ref": cast("Reference", result)})
    return ok(result) if aside is None else {**ok(None), "ref": aside}


def _child_error(message: ChildEnded) -> ErrorObject:
    """The error of a child, the cause first; of children of children only the cause is told, and whose."""
    own, path = message.error or {}, [message.execution_id]
    if own.get("kind") == "child":
        details = own.get("details") or {}
        path += details.get("path", ())
        own = details.get("error") or own
    cause = own.get("message") or "no error was given"
    below = f", {len(path)} calls down" if len(path) > 1 else ""
    facts: dict[str, Any] = {
        "execution_id": message.execution_id,
        "status": message.status,
        "error": own,
        "path": path,
    }
    return problem("child", f"{cause} (child execution {path[-1]} {message.status}{below})", **facts)


def child_waits(draft: Draft, message: ChildWaits) -> None:
    """A child waits itself, or goes on: whether its parent waits depends on that."""
    waits = draft.state.children.get(message.execution_id)
    if waits is None:
        return
    run_id, _, address = waits.partition(" ")
    parked = draft.state.runs[run_id].parked[address]
    if message.seq > parked.child_seq and message.waits != parked.child_waits:
        facts = {"child": message.execution_id, "waits": message.waits, "child_seq": message.seq}
        draft.emit("child.waiting", run_id, address or None, **facts)


def forsaken(state: State) -> list[ControlChild]:
    """The end of children that were given up; after a crash nobody knows whether they were told."""
    return [ControlChild(child, "cancel", "what waited for it is over") for child in state.left]


def undelivered(state: State, hydrated: Payloads) -> list[Deliver]:
    """Answers for pipelines that wait under a lease; after a crash nobody knows whether they were brought."""
    return [
        Deliver(
            lease.id,
            address,
            waits_as(parked.label, parked.visit, parked.attempt),
            {**parked.output, "data": loaded(parked.output.get("data"), hydrated)},
        )
        for lease in state.leases.values()
        if lease.out
        for address, parked in state.runs[lease.run].parked.items()
        if parked.output is not None and _covers(lease, address)
    ]


def _covers(lease: Lease, address: str) -> bool:
    if lease.lo is None:
        return lease.claim is None or not address.startswith("[")
    if not address.startswith("["):
        return False  # the claim that is out beside the iterations
    index = int(address[1 : address.index("]")])
    return lease.lo <= index < (lease.hi or 0)


def due(state: State, run: Run, now: int) -> list[str]:
    """Addresses whose waiting time is over."""
    return [
        address
        for address, parked in run.parked.items()
        if parked.output is None and any(moment <= now for moment in _moments(state, run, address).values())
    ]


def _moments(state: State, run: Run, address: str) -> dict[str, int]:
    """What can end a wait, and when. A worker that has the lease sees to the calls around it itself."""
    parked = run.parked[address]
    ends = {"until": parked.until, "expires": parked.expires}
    if parked.within is not None:
        lease = lease_of(state, run, address)
        ends["within"] = None if lease is not None and lease.out else parked.within
    return {name: moment for name, moment in ends.items() if moment is not None}


def ended_by(state: State, run: Run, address: str) -> str:
    """What ends a wait first: its time, the task's own timeout, or that of a call that it is inside of."""
    moments = _moments(state, run, address)
    return min(moments, key=moments.__getitem__)


def moments(state: State, run: Run) -> list[int]:
    """When waiting pipelines of a run are due."""
    return [
        moment
        for address, parked in run.parked.items()
        if parked.output is None
        for moment in _moments(state, run, address).values()
    ]
