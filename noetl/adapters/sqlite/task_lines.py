"""What tasks print, as jobs of the writer and the reader."""

from collections.abc import Sequence

import apsw

from noetl.adapters.sqlite.connection import fetch
from noetl.ports.task_lines import (
    PAGE_BYTES,
    PAGE_ROWS,
    KeptLines,
    PrintedLines,
    StoredLines,
    encode_lines,
    size_of_lines,
    stored_lines,
)

_ADD = (
    "INSERT INTO task_lines (execution, number, total, whose, upto, lines, lost, body, batch) "
    "SELECT e.id, coalesce(l.number, 0) + 1, coalesce(l.total, 0) + ?2, ?3, ?4, ?5, ?6, ?7, nullif(?8, '') "
    "FROM executions e "
    "LEFT JOIN task_lines l ON l.execution = e.id "
    "AND l.number = (SELECT max(number) FROM task_lines WHERE execution = e.id) "
    "WHERE e.execution_id = ?1 ON CONFLICT (execution, batch) WHERE batch IS NOT NULL DO NOTHING "
    "RETURNING execution, total"
)
_OF_ATTEMPT = "execution = ?1 AND whose = ?2 AND upto > ?3 AND upto <= ?4"
_OF_EXECUTION = "execution = ?1 AND total <= ?2"
_COUNT = "SELECT coalesce(sum(lines + lost), 0) FROM task_lines WHERE "
_DROP = "DELETE FROM task_lines WHERE "
_NOTE = "UPDATE task_lines SET lost = lost + ?1 WHERE execution = ?2 AND number = (SELECT min(number) FROM "
_NOTE_ATTEMPT = _NOTE + "task_lines WHERE execution = ?2 AND whose = ?3 AND upto > ?4)"
_NOTE_EXECUTION = _NOTE + "task_lines WHERE execution = ?2)"
_LINES = (
    "SELECT number, lost, body FROM task_lines WHERE execution = ?1 AND number > ?2 AND total <= ?3 + "
    "(SELECT total FROM task_lines WHERE execution = ?1 AND number > ?2 ORDER BY number LIMIT 1) "
    "ORDER BY number LIMIT ?4"
)
_NUMBER = "SELECT id FROM executions WHERE execution_id = ?"
DELETE = "DELETE FROM task_lines WHERE execution = ?"


def add(connection: apsw.Connection, printed: Sequence[PrintedLines], kept: KeptLines) -> None:
    """Keep lines, and let those go that are too many."""
    for one in printed:
        size = size_of_lines(one.lines)
        upto = one.before + size
        told = (len(one.lines), one.lost, encode_lines(one), one.batch)
        values = (one.execution_id, size, one.whose, upto, *told)
        for execution, total in fetch(connection, _ADD, values):
            beginning, end = kept.of(one)
            if upto > beginning + end:
                _trim_attempt(connection, (execution, one.whose, beginning, upto - end))
            if total > kept.execution:
                _trim_execution(connection, (execution, total - kept.execution))


def _trim_attempt(connection: apsw.Connection, which: tuple[int, str, int, int]) -> None:
    gone = fetch(connection, _COUNT + _OF_ATTEMPT, which)[0][0]
    if gone:
        connection.execute(_DROP + _OF_ATTEMPT, which)
        connection.execute(_NOTE_ATTEMPT, (gone, which[0], which[1], which[3]))


def _trim_execution(connection: apsw.Connection, which: tuple[int, int]) -> None:
    gone = fetch(connection, _COUNT + _OF_EXECUTION, which)[0][0]
    if gone:
        connection.execute(_DROP + _OF_EXECUTION, which)
        connection.execute(_NOTE_EXECUTION, (gone, which[0]))


def read(connection: apsw.Connection, execution_id: str, after: int) -> list[StoredLines]:
    """Some lines behind a number."""
    for (execution,) in fetch(connection, _NUMBER, (execution_id,)):
        values = (execution, after, PAGE_BYTES, PAGE_ROWS)
        return [stored_lines(*row) for row in fetch(connection, _LINES, values)]
    return []
