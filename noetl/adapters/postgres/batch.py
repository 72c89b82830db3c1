"""Appends as the columns of one statement, and why an append was refused. Nothing waits here."""

from collections.abc import Sequence
from operator import attrgetter

import asyncpg

from noetl.errors import Conflict, NoetlError
from noetl.ports import store

# All but the execution's id; why it is stuck and how it goes on have statements of their own.
_SUMMARY = store.Summary.__struct_fields__[1 : store.Summary.__struct_fields__.index("stuck")]
_ROW = ("first", "last", "ts", "cause", "body", "hash", "batch", "format")
_NOTHING = (None,) * len(_SUMMARY)
_CHANGING = ("status", "path", "version", "hash", "started_at", "due_at")
_UNCHANGED = (None,) * len(_CHANGING)
_ENDING = (*_CHANGING, "ended_at", "result")
_row_columns, _all_of = attrgetter(*_ROW), attrgetter(*_SUMMARY)
_changing, _ending = attrgetter(*_CHANGING), attrgetter(*_ENDING)


def begins(append: store.Append) -> bool:
    """Whether an append is the first of an execution."""
    return append.expected == 0 and append.summary is not None


def key_of(append: store.Append) -> str | None:
    """The idempotency key that an append wants for itself."""
    return append.summary.idempotency_key if begins(append) and append.summary else None


def weight(append: store.Append) -> int:
    """About how many bytes an append sends."""
    size = len(append.snapshot or b"")
    for row in append.rows:
        size += len(row.body) + len(row.cause)
    return size


def columns(appends: Sequence[store.Append], now: int | None) -> list[object]:
    """The arguments of the append statement."""
    rows, snapshots, letters = [], [], []
    for n, append in enumerate(appends):
        rows += [(n, *_row_columns(row)) for row in append.rows]
        if append.snapshot is not None:
            snapshots.append((n, append.rows[-1].last, append.rows[-1].hash, append.snapshot))
        letters += [(n, letter) for letter in append.taken]
    heads = [_head(n, append) for n, append in enumerate(appends)]
    formats = [store.newest_format(append) for append in appends]
    others = [*_turned(rows, 9), *_turned(snapshots, 4), *_turned(letters, 2)]
    return [*_turned(heads, 24), *others, now, formats]


def alone(append: store.Append, now: int | None) -> tuple[str, list[object]] | None:
    """The statement of an append that is committed alone, and its arguments; None: it takes that of many."""
    summary, rows = append.summary, append.rows
    if append.snapshot is not None or not rows:
        return None
    if summary is not None and (begins(append) or summary.ended_at is not None):
        if len(rows) > 1:
            return None
        if begins(append):
            return "begin_one", _beginning(append, summary, now)
        return "end_one", [*_place(append), *_ending(summary), *_row(rows[0])]
    if append.taken:
        return None
    if len(rows) == 1 and summary is None:
        return "advance_one", [*_place(append), *_row(rows[0])]
    if len(rows) == 1 and summary is not None:
        return "change_one", [*_place(append), *_changing(summary), *_row(rows[0])]
    changes = (False, *_UNCHANGED) if summary is None else (True, *_changing(summary))
    return "advance", [*_place(append), *changes, *([getattr(row, name) for row in rows] for name in _ROW)]


def _beginning(append: store.Append, summary: store.Summary, now: int | None) -> list[object]:
    row, (owner, lease) = append.rows[0], append.claim or (None, None)
    fields = _all_of(summary)
    return [row.last, row.hash, append.execution_id, *fields, owner, append.newest, lease, now, *_row(row)]


def _place(append: store.Append) -> tuple[object, ...]:
    end = append.rows[-1]
    return append.execution_id, append.expected, end.last, append.owner, end.hash


def _row(row: store.Row) -> tuple[object, ...]:
    """What a row has that its place in the log does not tell."""
    return row.first, row.ts, row.cause, row.body, row.batch, row.format


def _head(n: int, append: store.Append) -> tuple[object, ...]:
    summary, first = append.summary, begins(append)
    owner, lease = (append.claim or (None, None)) if first else (append.owner, None)
    seq = append.rows[-1].last if append.rows else append.expected
    fields = _NOTHING if summary is None else _all_of(summary)
    place = (n, append.execution_id, append.expected, seq)
    link = append.rows[-1].hash if append.rows else b"" if first else None
    return (*place, owner, first, lease, summary is not None, *fields, append.newest, link)


def _turned(rows: Sequence[tuple[object, ...]], width: int) -> list[object]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def refusal(append: store.Append, standing: asyncpg.Record | None) -> NoetlError:
    """Why an append did not find what it expected, seen afterwards: the end of the log and its owner."""
    execution_id = append.execution_id
    if standing is None and begins(append) and append.newest and key_of(append) is None and append.summary:
        return store.outdated(append.summary)
    if standing is None and begins(append):
        return Conflict(f"an execution with the idempotency key {key_of(append)!r} already exists")
    if standing is None:
        return store.unknown_execution(execution_id)
    if begins(append):
        return Conflict(f"the execution {execution_id} already exists")
    if standing[0] != append.expected:
        return Conflict(f"the log of {execution_id} ends at {standing[0]}, not at {append.expected}")
    try:
        store.check_owner(append, standing[1])
    except Conflict as error:
        return error
    return Conflict(f"the log of {execution_id} was being written by another")
