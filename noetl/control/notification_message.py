"""What is told of an execution: path, status, first error, counts, what it waits for, the page.

Nothing is sent here, and no whole log is read: one that is told of may be long.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from noetl.control.log_rows import events_of, stored_result
from noetl.control.notices import TEXT_LENGTH, told_error
from noetl.control.recovery import newest_state
from noetl.control.refused_ticks import Refused
from noetl.control.stuck_executions import WORDS, stuck_of
from noetl.core.event import iso, step_of
from noetl.core.reading import explain_text
from noetl.core.state import State
from noetl.errors import NoetlError, NotFound
from noetl.json_value import JsonObject
from noetl.ports.notification import Delivery, NotificationMessage
from noetl.ports.store import Store, Summary

STEPS_MOST = 3  # that are named of those that wait or run
ROWS_MOST = 200  # that are looked through for the first iteration that failed
_VERBS = {
    "failed": "failed",
    "completed": "completed",
    "stuck": "is stuck",
    "waiting": "is waiting",
    "step.done": "ended well",
    "loop.done": "ended well",
    "step.failed": "failed",
}
PageOf = Callable[[str], str | None]  # the address of an execution's page, where there are pages


async def message_of(store: Store, delivery: Delivery, page_of: PageOf) -> NotificationMessage:
    """What a delivery tells, as it is known now; an execution that is gone is told of by its name."""
    message = NotificationMessage(
        id=delivery.key,
        notification=delivery.notification,
        event=delivery.occasion,
        at=iso(delivery.at),
        text="",
        execution_id=delivery.execution_id,
        path=delivery.path,
    )
    if delivery.execution_id is None:
        return _without_execution(message, delivery)
    message.url = page_of(delivery.execution_id)
    try:
        _add_execution(message, await store.summary(delivery.execution_id))
    except NotFound:
        message.status = None
    _add_detail(message, delivery)
    message.text = (_sentence(message) + await _circumstances(store, message))[: 2 * TEXT_LENGTH]
    return message


def _without_execution(message: NotificationMessage, delivery: Delivery) -> NotificationMessage:
    """A sample, or a tick of a schedule that could not start anything."""
    refused = msgspec.json.decode(delivery.detail, type=Refused) if delivery.detail else None
    if refused is None:
        message.text = f"a sample from noetl, sent by the notification {delivery.notification}"
        return message
    why = refused.why[:TEXT_LENGTH]
    message.by, message.error = f"schedule {refused.schedule}", {"kind": "not-started", "message": why}
    message.text = f"{message.path} was not started by {message.by} at {refused.tick}: {why}"
    return message


async def _circumstances(store: Store, message: NotificationMessage) -> str:
    """What else whoever is told wants to know first; nothing where the log cannot say it now."""
    execution_id = message.execution_id or ""
    try:
        if message.event in ("waiting", "late"):
            state = await newest_state(store, execution_id)
            return _waits(state) if message.event == "waiting" else _under_way(state)
        if message.step is None and (message.counts or {}).get("failed_iterations"):
            return await _first_iteration(store, execution_id)
    except NoetlError:  # it is gone, damaged or of a newer release, and told of all the same
        pass
    return ""


def _waits(state: State) -> str:
    waits = [
        f"{parked.approval or f'the signal {parked.signal}'} (step {run.step})"
        for run in state.runs.values()
        for parked in run.parked.values()
        if parked.output is None and parked.signal is not None
    ]
    return f" for {_some(waits)}" if waits else ""


def _under_way(state: State) -> str:
    steps = list(dict.fromkeys(run.step for run in state.runs.values()))
    return f"; it is at {_some([f'step {step}' for step in steps])}" if steps else ""


def _some(texts: list[str]) -> str:
    more = len(texts) - STEPS_MOST
    return ", ".join(texts[:STEPS_MOST]) + (f" and {more} more" if more > 0 else "")


async def _first_iteration(store: Store, execution_id: str) -> str:
    """The first iteration that failed, where it is not far down the log."""
    for row in await store.rows(execution_id, 1, ROWS_MOST):
        for event in events_of(row):
            if event.name == "loop.iteration.failed":
                error = explain_text.error_and_body((event.data or {}).get("error"))[:TEXT_LENGTH]
                return f", the first: {error} (step {step_of(event.run or '')})"
    return ""


def _add_execution(message: NotificationMessage, summary: Summary) -> None:
    message.status, message.version, message.by = summary.status, summary.version, summary.requested_by
    why = stuck_of(summary)
    if why is not None:
        message.error = {
            "kind": "stuck",
            "message": f"{WORDS[why.reason]}: {why.error}"[:TEXT_LENGTH],
            "step": None,
        }
    if summary.result is None:
        return
    try:
        result = stored_result(summary)
    except NoetlError:  # what a newer release wrote, or what is damaged, is message of all the same
        return
    message.counts, message.duration_ms = result["counts"], result["duration_ms"]
    failures = [failure["error"] for failure in result["failures"] if not failure["answered"]]
    error = result["error"] or next(iter(failures), None)
    message.error = told_error(error) if error is not None else None


def _add_detail(message: NotificationMessage, delivery: Delivery) -> None:
    """What the event itself says: of a step, and of one that is late."""
    detail: dict[str, Any] = msgspec.json.decode(delivery.detail) if delivery.detail else {}
    message.step = detail.get("step")
    if message.step is not None:  # how the step ended, whatever became of the execution
        message.error = detail.get("error")
    if "expected_ms" in detail:
        message.expected_ms = detail["expected_ms"]


def _error_words(error: JsonObject, *, but: str | None = None) -> str:
    names = ("step", "task", "iteration", "line")
    known = [(name, error[name]) for name in names if error.get(name) is not None]
    place = ", ".join(f"{name} {value}" for name, value in known if (name, value) != ("step", but))
    body = f": {error['body']}" if error.get("body") else ""
    return f"{error['kind']}: {error['message']}{body}" + (f" ({place})" if place else "")


def _sentence(message: NotificationMessage) -> str:
    what = f"step {message.step} " if message.step else ""
    what += _VERBS.get(message.event, message.event)
    if message.event == "late":
        what = f"is late: it should have taken {(message.expected_ms or 0) / 1000:g} s"
    text = f"{message.path} {what}"
    if message.error is not None and message.event not in ("completed", "waiting"):
        text += f": {_error_words(message.error, but=message.step)}"
    failed = (message.counts or {}).get("failed_iterations")
    if message.event in ("completed", "failed") and failed:
        before = "; before it " if message.event == "failed" else ", "
        text += f"{before}{failed} iteration{'' if failed == 1 else 's'} failed"
    return text
