"""What is told of an execution: path, status, first error, counts, the page. Nothing is sent here."""

from collections.abc import Callable
from typing import Any

import msgspec

from noetl.control.log_rows import stored_result
from noetl.control.stuck_executions import WORDS, stuck_of
from noetl.core.event import iso
from noetl.errors import NoetlError, NotFound
from noetl.json_value import JsonObject
from noetl.ports.notification import Delivery, NotificationMessage
from noetl.ports.store import Store, Summary

TEXT_LENGTH = 1000  # of an error's text
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
        message.text = f"a sample from noetl, sent by the notification {delivery.notification}"
        return message
    message.url = page_of(delivery.execution_id)
    try:
        _add_execution(message, await store.summary(delivery.execution_id))
    except NotFound:
        message.status = None
    _add_detail(message, delivery)
    message.text = _sentence(message)
    return message


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
    failures = [failure["error"] for failure in result["failures"]]
    error = result["error"] or next(iter(failures), None)
    message.error = _first_error(error) if error is not None else None


def _add_detail(message: NotificationMessage, delivery: Delivery) -> None:
    """What the event itself says: of a step, and of one that is late."""
    detail: dict[str, Any] = msgspec.json.decode(delivery.detail) if delivery.detail else {}
    message.step = detail.get("step")
    if detail.get("error") is not None:
        message.error = _first_error(detail["error"])
    if "expected_ms" in detail:
        message.expected_ms = detail["expected_ms"]


def _first_error(error: dict[str, Any]) -> JsonObject:
    return {
        "kind": error.get("kind"),
        "message": str(error.get("message") or "")[:TEXT_LENGTH],
        "step": error.get("step"),
    }


def _sentence(message: NotificationMessage) -> str:
    verbs = {"failed": "failed", "completed": "completed", "stuck": "is stuck", "waiting": "is waiting"}
    what = (
        f"step {message.step}: {message.event}" if message.step else verbs.get(message.event, message.event)
    )
    if message.event == "late":
        what = f"is late: it should have taken {(message.expected_ms or 0) / 1000:g} s"
    text = f"{message.path} {what}"
    if message.error is not None and message.event not in ("completed", "waiting"):
        step = f" (step {message.error['step']})" if message.error["step"] else ""
        text += f": {message.error['kind']}: {message.error['message']}{step}"
    failed = (message.counts or {}).get("failed_iterations")
    if message.event == "completed" and failed:
        text += f", {failed} iterations failed"
    return text
