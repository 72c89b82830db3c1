"""The start of an execution: the request is recorded, then judged, then its first token is on its way."""

from collections.abc import Iterator, Mapping
from typing import Any

from noetl.core.deciding.draft import Draft
from noetl.core.deciding.execution_end import tell_parent
from noetl.core.deciding.router import enqueue
from noetl.core.deciding.tokens import settle
from noetl.core.message import Answer, Start
from noetl.core.shapes import TokenParts, TriggerFacts
from noetl.core.values.event_size import RIDES_BYTES, leaves, portions
from noetl.core.values.output import size_of
from noetl.core.values.patch import assign

_KEPT_PARTS = ("ctx", "results", "failures", "signals")  # of what a retry keeps, those that may be large


def start(draft: Draft, message: Start) -> Answer:
    """Record a request and start it, or record why it cannot run."""
    asked = {
        "path": message.path,
        "version": message.version,
        "payload": draft.judged(message.payload),
        "idempotency_key": message.idempotency_key,
        "parent": message.parent,
        "retry_of": message.retry_of,
        "continued_from": message.continued_from,
        "until": message.until,
        "by": message.by,
        "trigger": _trigger(draft, message),
    }
    draft.emit(
        "playbook.execution.requested", **{key: value for key, value in asked.items() if value is not None}
    )
    if message.problem is not None:
        draft.emit("playbook.request.evaluated", status="error", error=message.problem, hash=message.hash)
        draft.emit("playbook.processed", status="failed", error=message.problem)
        tell_parent(draft, "failed", None, message.problem)
        return Answer(False, message.problem["message"], draft.state.seq)
    judged: dict[str, Any] = {
        "hash": message.hash,
        "engine": message.engine,
        "workload": draft.judged(message.workload),
    }
    if (version := draft.program.playbook.executor.version) is not None:
        judged["executor_version"] = version
    if message.diagnostics:
        judged["diagnostics"] = message.diagnostics
    draft.emit("playbook.request.evaluated", **judged)
    _begin(draft, message)
    return Answer(seq=draft.state.seq)


def _trigger(draft: Draft, message: Start) -> TriggerFacts | None:
    """What started it, as it is recorded: a large payload is put aside."""
    if message.trigger is None or message.trigger.get("payload") is None:
        return message.trigger
    return {**message.trigger, "payload": draft.judged(message.trigger["payload"])}


def _begin(draft: Draft, message: Start) -> None:
    draft.emit("workflow.started")
    event = {"name": "workflow.started", "step": None}
    if message.kept is None:
        enqueue(draft, draft.program.entry, {"event": event})
    else:
        tokens = message.kept["tokens"]
        before = message.continued_from["execution_id"] if message.continued_from else message.retry_of
        facts: dict[str, object] = {"of": before, "tokens": len(tokens)}
        for part in _kept_portions(message.kept["state"], draft.program.max_payload_bytes):
            draft.emit("execution.restored", **facts, **part)
            facts["more"] = True
        for token in tokens:
            if message.continued_from is None:
                draft.emit("step.retried", step=token["step"], of=message.retry_of)
            _restore(draft, token)
    settle(draft)


def _restore(draft: Draft, token: TokenParts) -> None:
    """Put a kept token on its way, with the iterations that its run need not repeat."""
    parts = {key: value for key, value in token.items() if key not in ("step", "loop")}
    enqueue(draft, token["step"], parts)
    loop = token.get("loop")
    if loop is None:
        return
    facts = {"token": f"t{draft.state.enqueued}", "step": token["step"], "total": loop["total"]}
    room = draft.program.max_payload_bytes
    for batch in loop.get("batches", ()):
        draft.emit("loop.restored", **facts, batch=batch, iterations={})
    beside = size_of(loop.get("collection"))
    batches = list(portions(loop["iterations"].items(), room)) or [[]]
    if beside + sum(size_of(outcome) for _, outcome in batches[0]) > room + RIDES_BYTES:
        batches = [[], *batches]
    for number, iterations in enumerate(batches):
        more = {} if number or "batches" in loop else {"collection": loop["collection"]}
        draft.emit("loop.restored", **facts, iterations=dict(iterations), **more)


def _kept_portions(state: Mapping[str, Any], room: int) -> Iterator[Mapping[str, object]]:
    """What a retry keeps, in portions that one event can hold: mappings key by key, lists item by item."""
    if size_of(state) <= room:
        yield state
        return
    rest = {key: value for key, value in state.items() if key not in _KEPT_PARTS}
    yield rest
    for key in (part for part in _KEPT_PARTS if part in state):
        entries = state[key]
        if isinstance(entries, list):
            for items in portions(((None, item) for item in entries), room):
                yield {key: [item for _, item in items]}
        else:
            parts = (
                leaves(entries, room)
                if key == "ctx"
                else (([name], entry) for name, entry in entries.items())
            )
            for pairs in portions(parts, room):
                part: dict[str, Any] = {}
                for path, value in pairs:
                    part = assign(part, path, value)
                yield {key: part}
