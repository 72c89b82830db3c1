"""The start of an execution: the request is recorded, then judged, then its first token is on its way."""

from collections.abc import Iterator
from typing import Any

from noetl.core.draft import Draft
from noetl.core.ending import tell_parent
from noetl.core.message import Answer, Start
from noetl.core.output import size_of
from noetl.core.route import enqueue
from noetl.core.token import settle


def start(draft: Draft, message: Start) -> Answer:
    """Record a request and start it, or record why it cannot run."""
    asked = {
        "path": message.path,
        "version": message.version,
        "payload": draft.judged(message.payload),
        "idempotency_key": message.idempotency_key,
        "parent": message.parent,
        "retry_of": message.retry_of,
        "until": message.until,
        "by": message.by,
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
    if message.diagnostics:
        judged["diagnostics"] = message.diagnostics
    draft.emit("playbook.request.evaluated", **judged)
    _begin(draft, message)
    return Answer(seq=draft.state.seq)


def _begin(draft: Draft, message: Start) -> None:
    draft.emit("workflow.started")
    event = {"name": "workflow.started", "step": None}
    if message.kept is None:
        enqueue(draft, draft.program.entry, event=event)
    else:
        tokens = message.kept["tokens"]
        draft.emit("execution.restored", of=message.retry_of, tokens=len(tokens), **message.kept["state"])
        for token in tokens:
            draft.emit("step.retried", step=token["step"], of=message.retry_of)
            _restore(draft, token)
    settle(draft)


def _restore(draft: Draft, token: dict[str, Any]) -> None:
    """Put a kept token on its way, with the iterations that its run need not repeat."""
    parts = {key: value for key, value in token.items() if key not in ("step", "loop")}
    enqueue(draft, token["step"], **parts)
    loop = token.get("loop")
    if loop is None:
        return
    facts = {"token": f"t{draft.state.enqueued}", "step": token["step"], "total": loop["total"]}
    for number, iterations in enumerate(_portions(loop["iterations"], draft.limit("max_payload_bytes"))):
        more = {} if number else {"collection": loop["collection"]}
        draft.emit("loop.restored", **facts, iterations=iterations, **more)


def _portions(iterations: dict[str, Any], limit: int) -> Iterator[dict[str, Any]]:
    """Iterations in portions that one event can hold."""
    portion: dict[str, Any] = {}
    size = 0
    for index, outcome in iterations.items():
        size += size_of(outcome)
        if portion and size > limit:
            yield portion
            portion, size = {}, size_of(outcome)
        portion[index] = outcome
    yield portion
