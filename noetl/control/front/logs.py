"""What tasks wrote, read from where lines rest and, for errors, from the log of events: merged by time.

Executions of older releases, and work of older workers, have their lines in the events as well.
"""

import asyncio
from collections.abc import AsyncGenerator, Container, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from noetl.control.history import events
from noetl.core.event import Event, iso, step_of
from noetl.core.reading.task_logs import texts_of
from noetl.core.values.lines import LEVELS
from noetl.errors import InvariantViolation, NewerFormat, NoetlError, RequestError
from noetl.ports.answers import LinesPage, LogLine
from noetl.ports.front import FindLines
from noetl.ports.store import Find, Store
from noetl.ports.task_lines import StoredLines

POLL_S = 0.2
LOOK_S = 1.0  # so often new children are looked for
LINGER_S = 0.6  # lines may come a moment after the end that they are of
CHILDREN_MOST = 1000
SINCE = "@"  # before a moment, in place of a cursor
FAR = 2**62


class Cursor(NamedTuple):
    """How far an execution is read: its events, and its lines; or only what is newer than a moment."""

    seq: int = 0
    number: int = 0
    since: int = -1

    def __str__(self) -> str:
        return f"{self.seq}-{self.number}"


def read_cursor(text: str) -> Cursor:
    """A cursor out of its text; raises RequestError."""
    if not text:
        return Cursor()
    parts = text.removeprefix(SINCE).split("-")
    counts = 1 if text.startswith(SINCE) else 2
    if len(parts) != counts or not all(part.isascii() and part.isdigit() for part in parts) or len(text) > 40:
        raise RequestError(
            f"{text[:40]!r} is no place in the lines of an execution", hint="use `next` of a page"
        )
    if counts == 1:
        return Cursor(since=int(parts[0]))
    return Cursor(int(parts[0]), int(parts[1]))


class _Entry(NamedTuple):
    ts: int
    line: LogLine


class _Source(NamedTuple):
    """Some entries of one of the two places, and whether it has more."""

    entries: list[tuple[int, list[_Entry]]]  # by the number behind which reading goes on
    read_to: int
    more: bool

    @property
    def newest(self) -> int:
        """Until when all is known."""
        return self.entries[-1][1][-1].ts if self.more and self.entries else FAR


async def page(store: Store, execution_id: str, find: FindLines, cursor: Cursor, limit: int) -> LinesPage:
    """Lines of one execution behind a place."""
    entries, after, more = await _page(store, execution_id, find, cursor, limit)
    return {"items": [entry.line for entry in entries], "next": str(after), "more": more}


async def _page(
    store: Store,
    execution_id: str,
    find: FindLines,
    cursor: Cursor,
    limit: int,
    together: Container[str] = (),
) -> tuple[list[_Entry], Cursor, bool]:
    # Lines before events, which come a moment later: who fails has said before why.
    printed = await _printed(store, execution_id, cursor.number, limit)
    recorded = await _recorded(store, execution_id, cursor.seq, limit, together)
    until = min(printed.newest, recorded.newest)
    number, lines = _taken(printed, cursor.number, until)
    seq, errors = _taken(recorded, cursor.seq, until)
    wanted = [entry for entry in lines + errors if entry.ts > cursor.since and _matches(entry.line, find)]
    wanted.sort(key=lambda entry: entry.ts)
    more = printed.more or recorded.more or until < FAR
    return wanted, Cursor(seq, number, cursor.since), more


def _taken(source: _Source, after: int, until: int) -> tuple[int, list[_Entry]]:
    """What is older than a moment, and how far that is read."""
    taken: list[_Entry] = []
    for number, entries in source.entries:
        if entries[0].ts > until:
            return after, taken
        after = number
        taken += entries
    return max(after, source.read_to), taken


async def _printed(store: Store, execution_id: str, after: int, limit: int) -> _Source:
    entries: list[tuple[int, list[_Entry]]] = []
    count = 0
    while count < limit:
        rows = await store.lines(execution_id, after)
        if not rows:
            return _Source(entries, after, False)
        for row in rows:
            own = list(_entries_of(row))
            entries.append((row.number, own))
            count += len(own)
            after = row.number
            if count >= limit:
                break
    return _Source(entries, after, True)


def _entries_of(row: StoredLines) -> Iterator[_Entry]:
    printed = row.printed

    def entry(ts: int, level: str | None, text: str) -> _Entry:
        line: LogLine = {
            "execution_id": printed.execution_id,
            "ts": iso(ts),
            "step": step_of(printed.run),
            "run": printed.run,
            "task": printed.task,
            "iteration": printed.at or None,
            "attempt": printed.attempt,
            "level": level,
            "text": text,
        }
        return _Entry(ts, line)

    if printed.lost or not printed.lines:
        many = "1 line" if printed.lost == 1 else f"{printed.lost:,} lines"
        yield entry(printed.ts, None, f"… {many} left out …")
    for ts, level, text in printed.lines:
        yield entry(ts, level, text)


async def _recorded(
    store: Store, execution_id: str, after: int, limit: int, together: Container[str]
) -> _Source:
    entries: list[tuple[int, list[_Entry]]] = []
    count = 0
    try:
        async for seq, event in events(store, execution_id, after + 1):
            after = seq
            if event.name == "task.done" and (own := list(_entries_in(execution_id, event, together))):
                entries.append((seq, own))
                count += len(own)
                if count >= limit:
                    return _Source(entries, after, True)
    except (InvariantViolation, NewerFormat) as error:  # what tasks printed rests elsewhere, and is shown
        damaged = await store.rows(execution_id, after + 1, 1)
        entries += [(FAR, [_unreadable(execution_id, row.ts, error)]) for row in damaged]
        after = FAR
    return _Source(entries, after, False)


def _unreadable(execution_id: str, ts: int, error: NoetlError) -> _Entry:
    line: LogLine = {
        "execution_id": execution_id,
        "ts": iso(ts),
        "step": "",
        "run": "",
        "task": "",
        "iteration": None,
        "attempt": None,
        "level": "error",
        "text": f"… with what errors tasks ended is not known from here on: {error.message} …",
    }
    return _Entry(ts, line)


def _entries_in(execution_id: str, event: Event, together: Container[str]) -> Iterator[_Entry]:
    run = event.run or ""
    for text, level in texts_of(event.data or {}, event.label or "", together):
        line: LogLine = {
            "execution_id": execution_id,
            "ts": iso(event.ts),
            "step": step_of(run),
            "run": run,
            "task": event.label or "",
            "iteration": event.at or None,
            "attempt": event.attempt,
            "level": level,
            "text": text,
        }
        yield _Entry(event.ts, line)


def _matches(line: LogLine, find: FindLines) -> bool:
    if find.step not in (None, line["step"]) or find.task not in (None, line["task"]):
        return False
    if find.level is not None and LEVELS.index(line["level"] or "info") < LEVELS.index(find.level):
        return False
    return not find.text or find.text.casefold() in line["text"].casefold()


@dataclass(slots=True)
class _Member:
    """One of the executions that are read together."""

    cursor: Cursor
    more: bool = True
    over: bool = False  # it has ended, and all of it was read after that
    ended_for: float | None = None  # since when it is known to have ended
    pending: list[_Entry] = field(default_factory=list)


class LogFollower:
    """Reads the lines of an execution, and perhaps of its children, until all are over, or once."""

    def __init__(self, store: Store, execution_id: str, find: FindLines, after: str, limit: int) -> None:
        self._store, self._find, self._limit = store, find, limit
        cursor = read_cursor(after)
        if find.children and cursor.since < 0 and after:
            raise RequestError(
                "lines with those of children are read on by the time", hint="as in @1700000000000"
            )
        self._id, self._first, self._since = execution_id, cursor.since, cursor.since
        self._members = {execution_id: _Member(cursor)}
        self._looked = -LOOK_S

    async def pages(self, *, live: bool) -> AsyncGenerator[LinesPage]:
        """Lines as they come; `live`: until the end of the execution, else as far as it goes now."""
        while True:
            items = await self._round(live)
            more = any(member.more or member.pending for member in self._members.values())
            if items or live:
                yield {"items": [entry.line for entry in items], "next": self._next(items), "more": more}
            if more:
                continue
            if not live or await self._all_over():
                return
            await asyncio.sleep(POLL_S)

    async def _all_over(self) -> bool:
        """Whether nothing more can come; a child that began at last is read too."""
        if not all(member.over for member in self._members.values()):
            return False
        known = len(self._members)
        if self._find.children:
            await self._look_for_children()
        return len(self._members) == known

    def _next(self, items: list[_Entry]) -> str:
        if self._find.children:
            self._since = max(self._since, items[-1].ts if items else -1)
            return f"{SINCE}{self._since}" if self._since >= 0 else ""
        return str(self._members[self._id].cursor)

    async def _round(self, live: bool) -> list[_Entry]:
        now = asyncio.get_running_loop().time()
        if self._find.children and now - self._looked >= LOOK_S:
            self._looked = now
            await self._look_for_children()
        for execution_id, member in self._members.items():
            if not member.over and not member.pending:
                await self._read(execution_id, member, now, live)
        until = min((m.pending[-1].ts for m in self._members.values() if m.more and m.pending), default=FAR)
        items: list[_Entry] = []
        for member in self._members.values():
            items += [entry for entry in member.pending if entry.ts <= until]
            member.pending = [entry for entry in member.pending if entry.ts > until]
        items.sort(key=lambda entry: entry.ts)
        return items

    async def _read(self, execution_id: str, member: _Member, now: float, live: bool) -> None:
        if live and member.ended_for is None:
            summary = await self._store.summary(execution_id)
            member.ended_for = None if summary.ended_at is None else now
        read = await _page(
            self._store, execution_id, self._find, member.cursor, self._limit, self._members.keys()
        )
        member.pending, member.cursor, member.more = read
        lingered = member.ended_for is not None and now - member.ended_for >= LINGER_S
        member.over = not member.more and (lingered or not live)

    async def _look_for_children(self) -> None:
        parents = list(self._members)
        for parent in parents:
            find = Find(parent=parent, children=True, continued=True, limit=CHILDREN_MOST)
            for child in (await self._store.executions(find)).items:
                known = child.execution_id in self._members or not self._find.sees(child.path)
                if not known and len(self._members) < CHILDREN_MOST:
                    self._members[child.execution_id] = _Member(Cursor(since=self._first))
                    parents.append(child.execution_id)
