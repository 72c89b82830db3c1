"""What tasks print, kept in memory."""

from collections.abc import Sequence
from typing import NamedTuple

from noetl.ports.task_lines import PAGE_ROWS, KeptLines, PrintedLines, StoredLines, size_of_lines


class _Kept(NamedTuple):
    stored: StoredLines
    total: int  # bytes of the execution up to here
    upto: int  # bytes of the attempt up to here


class MemoryLines:
    """The lines of executions."""

    def __init__(self) -> None:
        self._printed: dict[str, list[_Kept]] = {}

    def add(self, printed: PrintedLines, kept: KeptLines) -> None:
        """Keep lines, and let those go that are too many."""
        rows = self._printed.setdefault(printed.execution_id, [])
        if printed.batch and any(row.stored.printed.batch == printed.batch for row in rows):
            return
        size = size_of_lines(printed.lines)
        number, total = (rows[-1].stored.number, rows[-1].total) if rows else (0, 0)
        rows.append(_Kept(StoredLines(number + 1, printed), total + size, printed.before + size))
        (beginning, end), upto = kept.of(printed), rows[-1].upto
        attempt = [row for row in rows if row.stored.printed.whose == printed.whose]
        _drop(rows, [row for row in attempt if beginning < row.upto <= upto - end], printed.whose)
        _drop(rows, [row for row in rows if row.total <= rows[-1].total - kept.execution])

    def read(self, execution_id: str, after: int) -> Sequence[StoredLines]:
        """Some lines behind a number."""
        rows = (row.stored for row in self._printed.get(execution_id, ()))
        return [stored for stored in rows if stored.number > after][:PAGE_ROWS]

    def forget(self, execution_id: str) -> None:
        """The execution is gone."""
        self._printed.pop(execution_id, None)


def _drop(rows: list[_Kept], gone: list[_Kept], whose: str | None = None) -> None:
    """Take rows away; the next one that stays says how many lines that were."""
    if not gone:
        return
    numbers = {row.stored.number for row in gone}
    rows[:] = [row for row in rows if row.stored.number not in numbers]
    last = max(numbers)
    stay = [row.stored for row in rows if row.stored.number > last or whose is None]
    following = next(stored for stored in stay if whose in (None, stored.printed.whose))
    following.printed.lost += sum(len(row.stored.printed.lines) + row.stored.printed.lost for row in gone)
