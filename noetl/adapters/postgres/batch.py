"""Appends as the columns of one statement, and why an append was refused. Nothing waits here."""

from collections.abc import Sequence
from typing import Any

from noetl.errors import Conflict, NoetlError
from noetl.ports.store import Append, Summary, check_owner, outdated, unknown_execution

_SUMMARY = Summary.__struct_fields__[1:-1]  # all but the execution's id, and why it is stuck
_ROW = ("first", "last", "ts", "cause", "body", "hash", "batch", "format")
_NOTHING = (None,) * len(_SUMMARY)
_CHANGING = ("status", "path", "version", "hash", "started_at", "due_at")
_UNCHANGED = (None,) * len(_CHANGING)


def begins(append: Append) -> bool:
    """Whether an append is the first of an execution."""
    return append.expected == 0 and append.summary is not None


def key_of(append: Append) -> str | None:
    """The idempotency key that an append wants for itself."""
    return append.summary.idempotency_key if begins(append) and append.summary else None


def weight(append: Append) -> int:
    """About how many bytes an append sends."""
    return sum(len(row.body) + len(row.cause) for row in append.rows) + len(append.snapshot or b"")


def columns(appends: Sequence[Append], now: int | None) -> list[Any]:
    """The arguments of the append statement."""
    rows, snapshots, letters = [], [], []
    for n, append in enumerate(appends):
        rows += [(n, *(getattr(row, name) for name in _ROW)) for row in append.rows]
        if append.snapshot is not None:
            snapshots.append((n, append.rows[-1].last, append.rows[-1].hash, append.snapshot))
        letters += [(n, letter) for letter in append.taken]
    heads = [_head(n, append) for n, append in enumerate(appends)]
    return [*_turned(heads, 24), *_turned(rows, 9), *_turned(snapshots, 4), *_turned(letters, 2), now]


def is_plain(append: Append) -> bool:
    """Whether an append does no more than add rows to a log that goes on, and perhaps change its summary."""
    ends = append.summary is not None and append.summary.ended_at is not None
    return append.expected > 0 and not (ends or append.taken or append.snapshot)


def plain_columns(append: Append) -> list[Any]:
    """The arguments of the statement for one plain append."""
    summary, rows = append.summary, append.rows
    shown = _UNCHANGED if summary is None else [getattr(summary, name) for name in _CHANGING]
    seq = rows[-1].last if rows else append.expected
    place = (append.execution_id, append.expected, seq, append.owner, rows[-1].hash if rows else None)
    return [*place, summary is not None, *shown, *([getattr(row, name) for row in rows] for name in _ROW)]


def _head(n: int, append: Append) -> tuple[Any, ...]:
    summary, first = append.summary, begins(append)
    owner, lease = (append.claim or (None, None)) if first else (append.owner, None)
    seq = append.rows[-1].last if append.rows else append.expected
    shown = _NOTHING if summary is None else tuple(getattr(summary, name) for name in _SUMMARY)
    place = (n, append.execution_id, append.expected, seq)
    link = append.rows[-1].hash if append.rows else b"" if first else None
    return (*place, owner, first, lease, summary is not None, *shown, append.newest, link)


def _turned(rows: list[Any], width: int) -> list[Any]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def refusal(append: Append, found: Sequence[Any] | None) -> NoetlError:
    """Why an append did not find what it expected, seen afterwards: the end of the log and its owner."""
    execution_id = append.execution_id
    if found is None and begins(append) and append.newest and key_of(append) is None and append.summary:
        return outdated(append.summary)
    if found is None and begins(append):
        return Conflict(f"an execution with the idempotency key {key_of(append)!r} already exists")
    if found is None:
        return unknown_execution(execution_id)
    if begins(append):
        return Conflict(f"the execution {execution_id} already exists")
    if found[0] != append.expected:
        return Conflict(f"the log of {execution_id} ends at {found[0]}, not at {append.expected}")
    try:
        check_owner(append, found[1])
    except Conflict as error:
        return error
    return Conflict(f"the log of {execution_id} was being written by another")
