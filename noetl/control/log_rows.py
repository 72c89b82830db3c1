"""How decisions rest: one row per decided message, the projection that lists show, and letters.

Each says the version of its format (core/formats.py); what a newer release wrote is not guessed at.
"""

from typing import Any

import msgspec

from noetl.control.loaded_execution import LoadedExecution
from noetl.core import formats
from noetl.core.deciding.operator_commands import next_due
from noetl.core.deciding.waiting_status import status_of, step_statuses
from noetl.core.event import Event
from noetl.core.message import Message, Report, Start
from noetl.core.shapes import ErrorObject
from noetl.core.snapshot import saved
from noetl.core.state import State
from noetl.core.upcast import upcast
from noetl.core.values.patch import STORED, rests_elsewhere
from noetl.errors import BackendError, InvariantViolation, NewerFormat
from noetl.ports.answers import ExecutionOutcome, Failure, PlaybookVersion, RequestFields
from noetl.ports.front import with_failed_iterations
from noetl.ports.hash_chain import link
from noetl.ports.store import Append, Row, Summary

SNAPSHOT_BYTES = 512 * 1024  # of rows behind a snapshot, at least
_ENCODER = msgspec.json.Encoder()
_EVENTS = msgspec.json.Decoder(list[Event])
_MESSAGES = msgspec.json.Decoder(Message)
_RESULTS = msgspec.json.Decoder(dict[str, Any])


class _Enveloped(msgspec.Struct):
    """A message as it is left for another process; the first releases left it bare."""

    format: int = 0
    message: msgspec.Raw = msgspec.Raw(b"")


_LETTERS = msgspec.json.Decoder(_Enveloped)


def encode_row(
    last: int,
    head: bytes,
    message: Message,
    events: list[Event],
    now: int,
    program: int = formats.OLDEST_ROW_FORMAT,
) -> Row:
    """The row of a decision whose events end at `last`; the cause does not repeat what they say.

    `program`: the oldest format in which executions of its playbook can be logged.
    """
    body = _ENCODER.encode(events)
    batch = None
    if isinstance(message, Report):
        batch = message.batch_id
        message = msgspec.structs.replace(message, events=[], frames={})
    elif isinstance(message, Start):
        message = msgspec.structs.replace(
            message, payload=None, workload=None, diagnostics=[], kept=None, keeps=[], trigger=None
        )
    cause = _ENCODER.encode(message)
    row = Row(last - len(events) + 1, last, now, cause, body, b"", batch)
    row.format = formats.format_of_row(events, program)
    row.hash = link(head, row)
    return row


def events_of(row: Row) -> list[Event]:
    """The events of a row, of whatever format.

    Raises NewerFormat for a row that a newer noetl wrote, InvariantViolation for one that is damaged.
    """
    formats.check_row_format(row.first, row.format)
    try:
        events = upcast(_EVENTS.decode(row.body), row.format)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(row, error) from None
    formats.check_events(row.first, events)
    return events


def message_of(row: Row) -> Message:
    """The message of a row, without the events of a report."""
    try:
        message: Message = _MESSAGES.decode(row.cause)
        return message
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(row, error) from None


def _unreadable(row: Row, error: Exception) -> InvariantViolation:
    message = f"the row of event {row.first} cannot be read: {error}"
    return InvariantViolation(message, hint="the log is damaged; its replay says where")


def encode_message(message: Message) -> bytes:
    """A message as it is left for another process."""
    written_in = formats.format_of_letter(str(type(message).__struct_config__.tag))
    return b'{"format":%d,"message":%b}' % (written_in, _ENCODER.encode(message))


def decode_message(body: bytes) -> Message:
    """A message another process left; raises NewerFormat for one that a newer noetl left."""
    letter = _LETTERS.decode(body)
    if letter.format > formats.LETTER_FORMAT:
        raise NewerFormat(
            f"a message for it has format {letter.format}; this noetl reads up to {formats.LETTER_FORMAT}"
        )
    decoded: Message = _MESSAGES.decode(letter.message if letter.format else body)
    return decoded


def summary_of(state: State, due: int | None, request: str | None) -> Summary:
    """The projection of a state."""
    return Summary(
        execution_id=state.execution_id,
        status=status_of(state),
        path=state.path,
        version=state.version,
        hash=state.hash,
        requested_at=state.requested_at,
        started_at=state.started_at,
        ended_at=state.ended_at,
        due_at=due,
        parent=(state.parent or {}).get("execution_id"),
        retry_of=state.retry_of,
        idempotency_key=state.idempotency_key,
        request=request,
        requested_by=state.by,
        result=_result_of(state) if state.ended else None,
        continued_from=state.before,
        continued_as=state.continued_as,
        chain=state.first if state.before is not None else None,
    )


def _result_of(state: State) -> bytes:
    return _ENCODER.encode({"format": formats.RESULT_FORMAT, **outcome_of(state), **request_of(state)})


def append_of(
    execution: LoadedExecution, before: int, rows: list[Row], taken: list[int], claim: tuple[str, int]
) -> Append:
    """What is committed of an execution: its rows, and what lists and recovery want to know anew."""
    state, owner = execution.state, claim[0]
    due = next_due(state)
    changed = (status_of(state), due) != execution.shown or state.ended
    long = execution.tail_bytes >= max(SNAPSHOT_BYTES, execution.snapshot_bytes) and not state.ended
    return Append(
        execution_id=state.execution_id,
        expected=before,
        rows=rows,
        summary=summary_of(state, due, execution.request) if changed else None,
        snapshot=saved(state) if long else None,
        claim=None if before else claim,
        owner=owner if before else None,
        taken=taken,
        newest=execution.newest and not before,
        keeps=execution.keeps if state.retry_of is not None and not before else None,
    )


def _playbook(state: State) -> PlaybookVersion:
    fields: PlaybookVersion = {"path": state.path, "version": state.version, "hash": state.hash}
    if state.executor_version is not None:
        fields["executor_version"] = state.executor_version
    return fields


def outcome_of(state: State) -> ExecutionOutcome:
    """An execution as `noetl run --json` and the API show it."""
    counts = {
        "events": state.seq,
        "steps": state.step_runs,
        "tasks": state.tasks,
        "iterations": state.iterations,
        "failed_iterations": state.failed_iterations,
    }
    end = state.ended_at or state.requested_at
    statuses = step_statuses(state)
    outcome: ExecutionOutcome = {
        "execution_id": state.execution_id,
        "status": status_of(state),
        "playbook": _playbook(state),
        "output": state.output,
        "error": None if state.error is None else error_fields(state.error),
        "failures": failure_fields(state),
        "ctx": referenced(state.ctx),
        "steps": {name: {"runs": step.runs, "status": statuses[name]} for name, step in state.steps.items()},
        "counts": counts,
        "duration_ms": end - state.requested_at,
        "parent": state.parent,
        "retry_of": state.retry_of,
        "continued_from": state.before,
        "continued_as": state.continued_as,
    }
    if state.failures_left_out:
        outcome["failures_left_out"] = state.failures_left_out
    return outcome


def stored_result(summary: Summary) -> dict[str, Any]:
    """An ended execution as its readers see it; what an older release did not keep is filled in."""
    try:
        result: dict[str, Any] = _RESULTS.decode(summary.result or b"")
        _check_result(summary, result.pop("format", 1))
        result["counts"] = with_failed_iterations(result["counts"])
        result["failures"] = [{"answered": False, **failure} for failure in result["failures"]]
        result = {"continued_from": None, "continued_as": None, **result}
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError) as error:
        execution_id = summary.execution_id
        message = (
            f"what was kept of execution {execution_id}, which {summary.status}, cannot be read: {error}"
        )
        hint = f"its log is kept apart from that, and checked by: noetl execution replay {execution_id}"
        raise BackendError(message, hint=hint) from None
    return result


def _check_result(summary: Summary, written_in: int) -> None:
    if written_in > formats.RESULT_FORMAT:
        message = (
            f"what was kept of execution {summary.execution_id}, which {summary.status}, "
            f"has format {written_in}; this noetl reads up to {formats.RESULT_FORMAT}"
        )
        raise NewerFormat(message, hint="ask a server of the newer release, or upgrade this one")


def request_of(state: State) -> RequestFields:
    """What an execution was asked to work on, and by whom."""
    return {"workload": referenced(state.workload), "by": state.by}


def referenced(value: Any) -> Any:
    """A value in which every field that rests in the result store is shown as its reference."""
    if isinstance(value, dict):
        if rests_elsewhere(value):
            return value[STORED]
        return {key: referenced(item) for key, item in value.items()}
    return value


def error_fields(error: ErrorObject) -> dict[str, Any]:
    """An error with every field of the contract."""
    fields = ("kind", "message", "step", "task", "iteration", "attempt", "details")
    return {**{field: error.get(field) for field in fields}, **error}


def failure_fields(state: State) -> list[Failure]:
    """The failures that an arc took; older logs have only those that it took without asking about them."""
    return [
        {
            "step": failure["step"],
            "error": error_fields(failure["error"]),
            "taken_by": failure["taken_by"],
            "answered": failure.get("answered", False),
        }
        for failure in state.failures
    ]
