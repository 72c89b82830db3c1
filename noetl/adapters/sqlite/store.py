"""The store port on SQLite: one thread writes with group commit, another reads without waiting for it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import apsw
import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.sql.schedules import Record
from noetl.adapters.sql.store import SqlStore
from noetl.adapters.sql.ticks import Call
from noetl.adapters.sqlite import jobs, task_lines
from noetl.adapters.sqlite import statements as sql
from noetl.adapters.sqlite.arrivals import ARRIVALS_SQL
from noetl.adapters.sqlite.connection import fetch, open_database, schema_version
from noetl.adapters.sqlite.notifications import NOTIFICATIONS_SQL
from noetl.adapters.sqlite.presence import Presence
from noetl.adapters.sqlite.reader import Reader
from noetl.adapters.sqlite.schedules import SCHEDULES_SQL
from noetl.adapters.sqlite.ticks import TICKS_SQL
from noetl.adapters.sqlite.writer import Writer
from noetl.ports import store
from noetl.ports.task_lines import KeptLines, PrintedLines, StoredLines

SQL = {**sql.SQL, **SCHEDULES_SQL, **NOTIFICATIONS_SQL, **TICKS_SQL, **ARRIVALS_SQL}
DELETED_AT_ONCE = 20  # executions in one transaction, so that others need not wait long
EXPIRED_AT_ONCE = 100  # the same, for what is only marked


class SqliteStore(SqlStore):
    """One database file."""

    _now: Callable[[], int]

    def __init__(self, path: str, now: Callable[[], int] = now_ms) -> None:
        # the database and every process on it share one machine, and so one clock
        self.path, self._now = path, now
        self._writer = Writer(open_database(path))
        self._reader = Reader(path)
        self._presence = Presence(Path(path).parent / "owners")

    async def clock(self) -> int:
        return self._now()

    async def _rows(self, name: str, *values: object) -> list[Record]:
        return await self._reader.rows(SQL[name], values)

    async def _write(self, name: str, *values: object, again: bool = True) -> list[Record]:
        return await self._writer.run(lambda connection: fetch(connection, SQL[name], values))

    def _names(self, names: Sequence[str]) -> object:
        return _json(list(names))

    def _numbers(self, numbers: Sequence[int]) -> object:
        return _json(list(numbers))

    async def _together(self, first: Call, then: Sequence[Call]) -> list[Record]:
        def job(connection: apsw.Connection) -> list[Record]:
            rows = fetch(connection, SQL[first.name], first.values)
            for call in then if rows else ():
                fetch(connection, SQL[call.name], call.values)
            return rows

        return await self._writer.run(job)

    # The log

    async def commit(self, append: store.Append) -> None:
        if append.claim is not None:
            self._presence.enter(append.claim[0])
        now = self._now()
        await self._writer.run(lambda connection: jobs.append(connection, append, now), short=True)

    async def log(self, execution_id: str) -> store.StoredLog:
        return await self._reader.run(lambda connection: _log(connection, execution_id))

    async def logs(self, execution_ids: Sequence[str]) -> Mapping[str, store.StoredLog]:
        return await self._reader.run(lambda connection: _logs(connection, execution_ids))

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[store.Row]:
        return await self._reader.run(lambda connection: _rows(connection, execution_id, first, limit))

    async def end(self, execution_id: str) -> int:
        return int((await self._row_of("end_and_owner", execution_id))[0])

    async def answered(self, execution_id: str, batch: str) -> bool:
        return await self._reader.run(
            lambda connection: bool(fetch(connection, sql.BATCH, (_number(connection, execution_id), batch)))
        )

    async def add_lines(self, printed: Sequence[PrintedLines], kept: KeptLines) -> None:
        await self._writer.run(lambda connection: task_lines.add(connection, printed, kept))

    async def lines(self, execution_id: str, after: int = 0) -> Sequence[StoredLines]:
        return await self._reader.run(lambda connection: task_lines.read(connection, execution_id, after))

    # Projections

    async def executions(self, find: store.Find = store.EVERY) -> store.Listed:
        start, text = store.page_start(find.cursor), find.text and find.text.lower()
        path = None if find.path is None else store.glob_of(find.path)
        values = {
            **msgspec.structs.asdict(find),
            "path": path,
            "exact": find.path,
            "paths": None if find.paths is None else msgspec.json.encode(find.paths).decode(),
            "start": start,
            "text": text,
        }
        values["limit"] = find.limit + 1
        rows = await self._reader.rows(sql.EXECUTIONS[_lead(find)], values)
        more = str(rows[find.limit - 1][0]) if len(rows) > find.limit else None
        return store.Listed([store.Summary(*row[1:]) for row in rows[: find.limit]], more)

    @staticmethod
    def _pattern(path: str) -> str:
        return store.glob_of(path)

    async def retried(self, execution_ids: Sequence[str]) -> set[str]:
        names = msgspec.json.encode(list(execution_ids)).decode()
        return {name for (name,) in await self._rows("retried", names)}

    # Owners and messages

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        self._presence.enter(owner)
        holder, _ = await self._row_of("holder", execution_id)
        dead = holder if holder is not None and self._presence.gone(holder) else None
        now = self._now()
        return bool(await self._write("claim", owner, now + lease_ms, execution_id, now, dead))

    async def take_in_hand(self, execution_id: str, owner: str) -> str | None:
        return await self._writer.run(lambda connection: jobs.take_in_hand(connection, execution_id, owner))

    async def note_in_hand(self, execution_ids: Sequence[str], owner: str) -> None:
        await self._writer.run(lambda connection: jobs.note_in_hand(connection, execution_ids, owner))

    async def take_over(
        self, owner: str, lease_ms: int, own: Sequence[str] = (), but: Sequence[str] = (), limit: int = 100
    ) -> Sequence[store.Claimed]:
        self._presence.enter(owner)
        dead = [name for (name,) in await self._rows("owners") if self._presence.gone(name)]
        now = self._now()
        lists = {"own": _json(list(own)), "but": _json(list(but)), "dead": _json(dead)}
        wish = {"owner": owner, "now": now, **lists, "limit": limit}
        return await self._writer.run(lambda connection: jobs.take_over(connection, wish, now + lease_ms))

    async def put_down(self, execution_ids: Sequence[str], note: str) -> None:
        await self._writer.run(lambda connection: jobs.put_down(connection, execution_ids, note))

    async def release(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        self._presence.enter(owner)
        until = self._now() + lease_ms
        return await self._writer.run(lambda connection: jobs.release(connection, execution_id, owner, until))

    async def owned(self, execution_id: str) -> bool:
        holder, until = await self._row_of("holder", execution_id)
        return holder is not None and until >= self._now() and not self._presence.gone(holder)

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        await self._write("renew", self._now() + lease_ms, owner)

    async def due(self, now: int | None = None, limit: int = 100) -> list[str]:
        now = self._now() if now is None else now
        return [row[0] for row in await self._rows("due", now, limit)]

    async def discard_mail(self, letters: Sequence[int]) -> None:
        await self._writer.run(lambda connection: jobs.discard(connection, letters))

    # Playbooks

    async def register(
        self,
        path: str,
        digest: str,
        text: str,
        file: str | None,
        by: str | None = None,
        language: int = 1,
    ) -> store.PlaybookText:
        playbook_text = await self._reader.run(
            lambda connection: jobs.known_version(connection, path, digest, file)
        )
        if playbook_text is not None:
            return playbook_text
        entry = store.PlaybookText(path, 1, digest, text, file, self._now(), by, language)
        return await self._writer.run(lambda connection: jobs.register(connection, entry))

    async def playbook(
        self, *, digest: str | None = None, path: str | None = None, version: int | None = None
    ) -> store.PlaybookText:
        rows = await self._rows("find_playbook", digest, path, version)
        if not rows:
            raise store.unknown_playbook(path, digest, version)
        return store.PlaybookText(*rows[0])

    # Credentials

    async def put_token(self, token: store.AccessToken) -> None:
        values = [getattr(token, name) for name in sql.TOKEN_FIELDS]
        await self._write("put_token", *(_json(v) if isinstance(v, list) else v for v in values))

    def _token(self, row: Record) -> store.AccessToken:
        fields = dict(zip(sql.TOKEN_FIELDS, row, strict=True))
        lists = {name: msgspec.json.decode(fields[name]) for name in ("scopes", "prefixes", "pools")}
        return store.AccessToken(**{**fields, **lists})

    # What is over, and how much there is

    async def trim(self, execution_id: str, rows: Sequence[store.Row], *, whole: bool) -> None:
        at = self._now() if whole else None
        await self._writer.run(lambda connection: jobs.trim(connection, execution_id, rows, at))

    async def expire(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        expired: list[str] = []
        for start in range(0, len(execution_ids), EXPIRED_AT_ONCE):
            some = execution_ids[start : start + EXPIRED_AT_ONCE]
            work = partial(jobs.expire, execution_ids=some, before=before, now=self._now())
            expired += await self._writer.run(work)
        return expired

    async def delete(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        deleted: list[str] = []
        expired = await self.expire(execution_ids, before)
        for start in range(0, len(expired), DELETED_AT_ONCE):
            some = expired[start : start + DELETED_AT_ONCE]
            deleted += await self._writer.run(
                partial(jobs.delete, execution_ids=some, before=before, now=self._now())
            )
        return deleted

    async def extent(self) -> store.Extent:
        return await self._reader.run(_extent)

    async def close(self) -> None:
        self._presence.leave()
        await asyncio.to_thread(self._writer.close)
        await self._reader.close()


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _number(connection: apsw.Connection, execution_id: str) -> int:
    rows = fetch(connection, sql.NUMBER, (execution_id,))
    if not rows:
        raise store.unknown_execution(execution_id)
    return int(rows[0][0])


def _log(connection: apsw.Connection, execution_id: str) -> store.StoredLog:
    number = _number(connection, execution_id)
    saved = fetch(connection, sql.SNAPSHOT, (number,))
    seq, state, head = saved[0] if saved else (0, None, b"")
    rows = [store.Row(*row) for row in fetch(connection, sql.ROWS_BEHIND, (number, seq))]
    return store.StoredLog(state, rows, rows[-1].hash if rows else head)


def _logs(connection: apsw.Connection, execution_ids: Sequence[str]) -> dict[str, store.StoredLog]:
    known = [key for key in execution_ids if fetch(connection, sql.NUMBER, (key,))]
    return {key: _log(connection, key) for key in known}


def _lead(find: store.Find) -> str:
    """What an index finds the fewest of, of all that is asked for."""
    if find.prefix or find.parent is not None:
        return "prefix" if find.prefix else "parent"
    if find.status in sql.EXECUTIONS:
        return str(find.status)
    if find.by is not None:
        return "by"
    return "path" if find.path is not None and not store.is_pattern(find.path) else ""


def _rows(connection: apsw.Connection, execution_id: str, first: int, limit: int) -> list[store.Row]:
    number = _number(connection, execution_id)
    return [store.Row(*row) for row in fetch(connection, sql.ROWS_FROM, (number, first, limit))]


def _extent(connection: apsw.Connection) -> store.Extent:
    due = fetch(connection, sql.OLDEST_DUE)
    playbooks, credentials, messages = fetch(connection, sql.COUNT_OTHERS)[0]
    return store.Extent(
        schema=schema_version(connection),
        bytes=fetch(connection, sql.PAGES)[0][0],
        executions=dict(fetch(connection, sql.COUNT_EXECUTIONS)),
        events=fetch(connection, sql.COUNT_EVENTS)[0][0],
        playbooks=playbooks,
        credentials=credentials,
        messages=messages,
        oldest_due=due[0] if due else None,
    )
