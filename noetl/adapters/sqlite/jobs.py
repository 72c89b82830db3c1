"""What is written, as functions of a connection inside a transaction of the writer."""

from collections.abc import Sequence
from operator import attrgetter
from typing import NoReturn

import apsw
import msgspec

from noetl.adapters.sqlite import statements as sql
from noetl.adapters.sqlite import task_lines
from noetl.adapters.sqlite.connection import fetch
from noetl.adapters.sqlite.notifications import NOTIFICATIONS_SQL
from noetl.adapters.sqlite.ticks import TICKS_SQL
from noetl.errors import Conflict, InvariantViolation
from noetl.ports import store
from noetl.ports.notification import notice_values

_written = attrgetter(*sql.WRITTEN_FIELDS)
_summary = attrgetter(*sql.BEGUN_FIELDS)
_changing = attrgetter(*sql.CHANGING_FIELDS)


def append(connection: apsw.Connection, append: store.Append, now: int) -> None:
    """Add to a log, where the decision thought that it ended; begin what goes on from it, with its mail."""
    if append.successor is not None:
        _append(connection, append.successor, now)
        connection.execute(sql.MOVE_MAIL, (append.successor.execution_id, append.execution_id))
    _append(connection, append, now)


def _append(connection: apsw.Connection, append: store.Append, now: int) -> None:
    end = _end(append)
    if append.expected == 0 and append.summary is not None:
        number = _begin(connection, append, append.summary, (*end, now))
        if append.newest:
            _check_newest(connection, append.summary)
        store.check_append(append, 0)
    else:
        number = _go_on(connection, append, end)
    values = [(number, *_written(row)) for row in append.rows]
    try:
        connection.executemany(sql.ADD_ROW, values)
    except apsw.ConstraintError as error:
        raise Conflict(f"the log of {append.execution_id} has that already: {error}") from error
    if append.snapshot is not None:
        connection.execute(sql.SAVE_SNAPSHOT, (number, *end, append.snapshot))
    if append.taken:
        discard(connection, append.taken)
    for notice in append.notices:
        connection.execute(NOTIFICATIONS_SQL["tell"], notice_values(append.execution_id, notice))


def _end(append: store.Append) -> tuple[int, bytes | None]:
    """Where the log ends with an append, and the last link of its hash chain when it is a new one."""
    return (append.rows[-1].last, append.rows[-1].hash) if append.rows else (append.expected, None)


def _begin(
    connection: apsw.Connection,
    append: store.Append,
    summary: store.Summary,
    end: tuple[int, bytes | None, int],
) -> int:
    """The number of a new execution, whose log ends where this append does."""
    if append.keeps is not None:
        named = (summary.retry_of, *append.keeps)
        store.check_kept(append, dict(row for name in named for row in fetch(connection, sql.KEPT, (name,))))
    claim, (seq, head, now) = append.claim, end
    owned: tuple[str | None, int] = (claim[0], now + claim[1]) if claim else (None, 0)
    try:
        fields = (*_summary(summary), *owned, seq, head or b"", store.newest_format(append))
        begun = fetch(connection, sql.BEGIN_EXECUTION, fields)
        return int(begun[0][0])
    except apsw.ConstraintError as error:
        if "idempotency_key" in str(error):
            message = f"an execution with the idempotency key {summary.idempotency_key!r} already exists"
            raise Conflict(message) from error
        raise Conflict(f"the execution {summary.execution_id} already exists") from error


def _check_newest(connection: apsw.Connection, summary: store.Summary) -> None:
    versions = fetch(connection, sql.NEWEST_NUMBER, (summary.path,))
    if versions[0][0] != summary.version:
        raise store.outdated(summary)


def _go_on(connection: apsw.Connection, append: store.Append, end: tuple[int, bytes | None]) -> int:
    """The number of an execution whose log ends where the decision thought, and whose owner appends."""
    execution_id, expected, summary = append.execution_id, append.expected, append.summary
    store.check_append(append, expected)
    fence = (execution_id, expected, append.owner if expected else None)
    moved = (*end, store.newest_format(append))
    if summary is None:
        rows = fetch(connection, sql.MOVE_END, (*moved, *fence))
    else:
        rows = fetch(connection, sql.CHANGE_EXECUTION, (*moved, *_changing(summary), *fence))
    if not rows:
        _refuse(connection, append)
    if summary is not None and summary.ended_at is not None:
        connection.execute(sql.DROP_MAIL, (execution_id,))
    return int(rows[0][0])


def _refuse(connection: apsw.Connection, append: store.Append) -> NoReturn:
    """Say why there is nothing that this could be appended to."""
    rows = fetch(connection, sql.END_AND_OWNER, (append.execution_id,))
    if not rows:
        raise store.unknown_execution(append.execution_id)
    store.check_append(append, rows[0][0])
    store.check_owner(append, rows[0][1])
    raise InvariantViolation(f"nothing keeps anyone from appending to the log of {append.execution_id}")


def discard(connection: apsw.Connection, letters: Sequence[int]) -> None:
    """Throw letters away."""
    connection.executemany(sql.DISCARD_LETTER, [(letter,) for letter in letters])


def take_in_hand(connection: apsw.Connection, execution_id: str, owner: str) -> str | None:
    """Note that an owner is about to read an execution whose last owner died; who had it in hand."""
    rows = fetch(connection, sql.IN_HAND, (execution_id,))
    before: str | None = rows[0][0] if rows else None
    if before is not None:
        connection.execute(sql.TAKE_IN_HAND, (owner, execution_id))
    return before


def note_in_hand(connection: apsw.Connection, execution_ids: Sequence[str], owner: str) -> None:
    """Note that an owner is about to decide on executions."""
    connection.executemany(sql.TAKE_IN_HAND, [(owner, execution_id) for execution_id in execution_ids])


def take_over(connection: apsw.Connection, wish: dict[str, object], until: int) -> list[store.Claimed]:
    """Become the owner of executions that nobody alive owns."""
    owner, taken = str(wish["owner"]), []
    for number, before, in_hand in fetch(connection, sql.LEFT, wish):
        died = before not in (None, owner)
        connection.execute(sql.TAKE_OVER, (owner, until, store.reading(owner) if died else in_hand, number))
        *summary, size = fetch(connection, sql.TAKEN_OVER, (number,))[0]
        taken.append(store.Claimed(store.Summary(*summary), (in_hand or "") if died else in_hand, size))
    return taken


def put_down(connection: apsw.Connection, execution_ids: Sequence[str], note: str) -> None:
    """Nobody has executions in hand any more as a note says."""
    connection.executemany(sql.PUT_DOWN, [(execution_id, note) for execution_id in execution_ids])


def release(connection: apsw.Connection, execution_id: str, owner: str, until: int) -> bool:
    """Become the owner of an execution that is stuck."""
    rows = fetch(connection, sql.STUCK, (execution_id,))
    if not rows:
        return False
    why = msgspec.json.decode(rows[0][0], type=store.Stuck)
    connection.execute(sql.RELEASE, (why.status, store.custody_after(why), owner, until, execution_id))
    return True


def known_version(
    connection: apsw.Connection, path: str, digest: str, file: str | None
) -> store.PlaybookText | None:
    """The newest version of a path, when it is this text and file."""
    newest = fetch(connection, sql.NEWEST_VERSION, (path,))
    if not newest or newest[0][-1] is not None:
        return None
    playbook_text = store.PlaybookText(*newest[0][:-1])
    return playbook_text if playbook_text.hash == digest and file in (None, playbook_text.file) else None


def register(connection: apsw.Connection, entry: store.PlaybookText) -> store.PlaybookText:
    """Keep a playbook: a new version, or the newest one in another file."""
    newest = fetch(connection, sql.NEWEST_VERSION, (entry.path,))
    if newest and newest[0][2] == entry.hash and newest[0][-1] is None:
        playbook_text = store.PlaybookText(*newest[0][:-1])
        playbook_text.file = entry.file or playbook_text.file
        connection.execute(sql.MOVE_PLAYBOOK, (playbook_text.file, playbook_text.path, playbook_text.version))
        return playbook_text
    entry.version = newest[0][1] + 1 if newest else 1
    values = (entry.path, entry.version, entry.hash, entry.text, entry.file, entry.registered_at)
    connection.execute(sql.ADD_PLAYBOOK, (*values, entry.by, entry.language))
    return entry


def trim(
    connection: apsw.Connection, execution_id: str, rows: Sequence[store.Row], whole_at: int | None
) -> None:
    """Put rows that say less in the place of the same ones."""
    executions = fetch(connection, sql.IS_OVER, (execution_id,))
    if not executions:
        raise Conflict(f"execution {execution_id} is not over")
    number = executions[0][0]
    values = [(row.body, row.seal, number, row.first, row.last) for row in rows]
    connection.executemany(sql.TRIM_ROW, values)
    if whole_at is not None:
        connection.execute(sql.MARK_TRIMMED, (whole_at, number))


def expire(connection: apsw.Connection, execution_ids: Sequence[str], before: int, now: int) -> list[str]:
    """Give up the payloads of families that were over at a moment, each as a whole."""
    asked: set[str] = set()  # each family is asked for once
    for execution_id in execution_ids:
        if execution_id not in asked and not _is_expired(connection, execution_id):
            family = [store.Outline(*row) for row in fetch(connection, sql.FAMILY, (execution_id,))]
            asked.update(member.execution_id for member in family)
            if store.family_over(family, before):
                connection.executemany(sql.EXPIRE, [(now, member.execution_id) for member in family])
    return [execution_id for execution_id in execution_ids if _is_expired(connection, execution_id)]


def _is_expired(connection: apsw.Connection, execution_id: str) -> bool:
    return any(given_up for _, given_up in fetch(connection, sql.KEPT, (execution_id,)))


def delete(connection: apsw.Connection, execution_ids: Sequence[str], before: int, now: int) -> list[str]:
    """Forget executions whose whole family was over at a moment; a retry may have begun since."""
    deleted = []
    over: dict[str, bool] = {}  # each family is asked for once
    for execution_id in execution_ids:
        if execution_id not in over:
            family = [store.Outline(*row) for row in fetch(connection, sql.FAMILY, (execution_id,))]
            over[execution_id] = store.family_over(family, before)
            over |= {member.execution_id: over[execution_id] for member in family}
        if not over[execution_id]:
            continue
        connection.execute(TICKS_SQL["note_ends"], (execution_id, now))
        number = fetch(connection, sql.NUMBER, (execution_id,))[0][0]
        for statement in (sql.DELETE_LOG, sql.DELETE_SNAPSHOT, task_lines.DELETE, sql.DELETE_EXECUTION):
            connection.execute(statement, (number,))
        connection.execute(sql.DROP_MAIL, (execution_id,))
        deleted.append(execution_id)
    return deleted
