"""The store port on SQLite. Reads use a connection of their own, so they never wait for the writer."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from noetl.adapters.sqlite.connection import connect, open_database
from noetl.adapters.sqlite.presence import Presence
from noetl.adapters.sqlite.writer import Writer
from noetl.errors import BackendError, Conflict, NotFound
from noetl.ports.store import Append, Listed, PlaybookText, Row, StoredLog, Summary

SUMMARY = (
    "execution_id, status, path, version, hash, requested_at, started_at, ended_at, due_at, parent, "
    "retry_of, idempotency_key, request, result"
)
SUMMARY_FIELDS = tuple(name.strip() for name in SUMMARY.split(","))
ROW = "first, last, ts, cause, body, hash, batch"
PLAYBOOK = "path, version, hash, text, file, registered_at"


def now_ms() -> int:
    """The database and every process on it share one machine, and so one clock."""
    return time.time_ns() // 1_000_000


class SqliteStore:
    """One database file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._writer = Writer(open_database(path))
        self._reader = connect(path)
        self._reading = asyncio.Lock()
        self._presence = Presence(Path(path).parent / "owners")
        self._ids: dict[str, int] = {}

    async def _read(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        async with self._reading:
            try:
                return await asyncio.to_thread(lambda: list(self._reader.execute(sql, values)))
            except apsw.Error as error:
                raise BackendError(f"the database {self.path} could not be read: {error}") from error

    # The log

    async def commit(self, append: Append) -> None:
        """Append durably."""
        if append.claim is not None:
            self._presence.enter(append.claim[0])
        await self._writer.run(lambda connection: self._append(connection, append))

    def _append(self, connection: apsw.Connection, append: Append) -> None:
        if append.summary is not None:
            _put_summary(connection, append.summary, append.claim)
        number = self._number(connection, append.execution_id)
        at = append.expected
        for row in append.rows:
            if row.first != at + 1:
                raise Conflict(f"the log of {append.execution_id} would have a gap at {row.first}")
            at = row.last
        _check_end(connection, number, append)
        values = [(number, r.first, r.last, r.ts, r.cause, r.body, r.hash, r.batch) for r in append.rows]
        try:
            connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        except apsw.ConstraintError as error:
            raise Conflict(f"the log of {append.execution_id} has moved on: {error}") from error
        if append.snapshot is not None:
            saved = (number, append.rows[-1].last, append.rows[-1].hash, append.snapshot)
            connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", saved)

    def _number(self, connection: apsw.Connection, execution_id: str) -> int:
        number = self._ids.get(execution_id)
        if number is None:
            found = list(
                connection.execute("SELECT id FROM executions WHERE execution_id = ?", (execution_id,))
            )
            if not found:
                raise NotFound(f"there is no execution {execution_id}")
            number = self._ids[execution_id] = found[0][0]
        return number

    async def log(self, execution_id: str) -> StoredLog:
        """The newest snapshot and the rows behind it."""
        number = await self._number_of(execution_id)
        saved = await self._read("SELECT seq, state, hash FROM snapshots WHERE execution = ?", (number,))
        seq, state, head = saved[0] if saved else (0, None, b"")
        sql = f"SELECT {ROW} FROM log WHERE execution = ? AND first > ? ORDER BY first"
        rows = [Row(*row) for row in await self._read(sql, (number, seq))]
        return StoredLog(state, rows, rows[-1].hash if rows else head)

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        """Rows in order, from the one that holds an event."""
        number = await self._number_of(execution_id)
        sql = (
            f"SELECT {ROW} FROM log WHERE execution = ?1 AND first >= coalesce("
            "(SELECT max(first) FROM log WHERE execution = ?1 AND first <= ?2), ?2) ORDER BY first LIMIT ?3"
        )
        return [Row(*row) for row in await self._read(sql, (number, first, limit)) if row[1] >= first]

    async def _number_of(self, execution_id: str) -> int:
        found = await self._read("SELECT id FROM executions WHERE execution_id = ?", (execution_id,))
        if not found:
            raise NotFound(f"there is no execution {execution_id}")
        return int(found[0][0])

    async def end(self, execution_id: str) -> int:
        """The number of the newest event."""
        number = await self._number_of(execution_id)
        sql = "SELECT last FROM log WHERE execution = ? ORDER BY first DESC LIMIT 1"
        found = await self._read(sql, (number,))
        return int(found[0][0]) if found else 0

    async def answered(self, execution_id: str, batch: str) -> bool:
        """Whether a batch has been appended."""
        number = await self._number_of(execution_id)
        sql = "SELECT 1 FROM log WHERE execution = ? AND batch = ?"
        return bool(await self._read(sql, (number, batch)))

    # Projections

    async def summary(self, execution_id: str) -> Summary:
        """One execution."""
        found = await self._read(f"SELECT {SUMMARY} FROM executions WHERE execution_id = ?", (execution_id,))
        if not found:
            raise NotFound(f"there is no execution {execution_id}", hint="noetl execution list")
        return Summary(*found[0])

    async def executions(
        self,
        *,
        status: str | None = None,
        path: str | None = None,
        prefix: str = "",
        children: bool = True,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Listed:
        """Executions, the newest first."""
        where: list[str] = ["execution_id >= ? AND execution_id < ?"]
        values: list[str | int] = [prefix, f"{prefix}~"]
        if not children:
            where.append("parent IS NULL")
        for column, value in (("status", status), ("path", path)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        if cursor is not None:
            where.append("id < ?")
            values.append(_cursor(cursor))
        sql = f"SELECT id, {SUMMARY} FROM executions WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?"
        found = await self._read(sql, (*values, limit + 1))
        more = str(found[limit - 1][0]) if len(found) > limit else None
        return Listed([Summary(*row[1:]) for row in found[:limit]], more)

    async def by_key(self, idempotency_key: str) -> Summary | None:
        """The execution with an idempotency key."""
        sql = f"SELECT {SUMMARY} FROM executions WHERE idempotency_key = ?"
        found = await self._read(sql, (idempotency_key,))
        return Summary(*found[0]) if found else None

    # Owners and messages

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the one writer of an execution, or stay it."""
        self._presence.enter(owner)
        holder, _ = await self._holder(execution_id)
        dead = holder if holder is not None and self._presence.gone(holder) else None
        sql = (
            "UPDATE executions SET owner = ?1, owned_until = ?2 WHERE execution_id = ?3 "
            "AND (owner IS NULL OR owner IN (?1, ?5) OR owned_until < ?4) RETURNING 1"
        )
        now = now_ms()
        values = (owner, now + lease_ms, execution_id, now, dead)
        return bool(await self._writer.run(lambda connection: list(connection.execute(sql, values))))

    async def _holder(self, execution_id: str) -> tuple[str | None, int]:
        sql = "SELECT owner, owned_until FROM executions WHERE execution_id = ?"
        found = await self._read(sql, (execution_id,))
        return (found[0][0], found[0][1]) if found else (None, 0)

    async def owned(self, execution_id: str) -> bool:
        """Whether someone alive runs an execution."""
        holder, until = await self._holder(execution_id)
        return holder is not None and until >= now_ms() and not self._presence.gone(holder)

    async def release(self, execution_id: str, owner: str) -> None:
        """Give a claim up."""
        sql = "UPDATE executions SET owner = NULL, owned_until = 0 WHERE execution_id = ? AND owner = ?"
        await self._writer.run(lambda connection: _done(connection, sql, (execution_id, owner)))

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        """Renew every claim of an owner."""
        sql = "UPDATE executions SET owned_until = ? WHERE owner = ? AND ended_at IS NULL"
        await self._writer.run(lambda connection: _done(connection, sql, (now_ms() + lease_ms, owner)))

    async def due(self, now: int, limit: int = 100) -> list[str]:
        """Executions with something due or no fresh owner."""
        sql = (
            "SELECT execution_id FROM executions WHERE ended_at IS NULL AND status != 'paused' "
            "AND (due_at <= ?1 OR owned_until < ?1) ORDER BY due_at LIMIT ?2"
        )
        return [row[0] for row in await self._read(sql, (now, limit))]

    async def post(self, execution_id: str, message: bytes) -> None:
        """Leave a message for the owner of an execution."""
        sql = "INSERT INTO mailbox (execution_id, message) VALUES (?, ?)"
        await self._writer.run(lambda connection: _done(connection, sql, (execution_id, message)))

    async def take(self, owner: str) -> Sequence[tuple[str, bytes]]:
        """The messages left for the executions of an owner."""
        own = "execution_id IN (SELECT execution_id FROM executions WHERE owner = ?)"
        if not await self._read(f"SELECT 1 FROM mailbox WHERE {own} LIMIT 1", (owner,)):
            return []
        sql = f"DELETE FROM mailbox WHERE {own} RETURNING id, execution_id, message"
        found = await self._writer.run(lambda connection: list(connection.execute(sql, (owner,))))
        return [(row[1], row[2]) for row in sorted(found)]

    # Playbooks

    async def register(self, path: str, digest: str, text: str, file: str | None) -> PlaybookText:
        """Keep a playbook; the same text is the version it already is."""
        return await self._writer.run(lambda connection: _register(connection, path, digest, text, file))

    async def playbook(
        self, *, digest: str | None = None, path: str | None = None, version: int | None = None
    ) -> PlaybookText:
        """A playbook by its content, or by path and version."""
        sql = (
            f"SELECT {PLAYBOOK} FROM playbooks WHERE (?1 IS NULL OR hash = ?1) AND (?2 IS NULL OR path = ?2) "
            "AND (?3 IS NULL OR version = ?3) AND (?1 IS NOT NULL OR deleted_at IS NULL) "
            "ORDER BY version DESC LIMIT 1"
        )
        found = await self._read(sql, (digest, path, version))
        if not found:
            which = path or digest
            told = f"there is no playbook {which}" + (f" version {version}" if version is not None else "")
            raise NotFound(told, hint="noetl catalog list")
        return PlaybookText(*found[0])

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        """The newest version of every path, or every version of one."""
        newest = "(SELECT max(version) FROM playbooks WHERE path = p.path AND deleted_at IS NULL)"
        which = f"version = {newest} ORDER BY path" if path is None else "path = ?1 ORDER BY version DESC"
        sql = f"SELECT {PLAYBOOK} FROM playbooks p WHERE deleted_at IS NULL AND {which}"
        return [PlaybookText(*row) for row in await self._read(sql, () if path is None else (path,))]

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version, off the catalog."""
        sql = (
            "UPDATE playbooks SET deleted_at = ?1 WHERE path = ?2 AND (?3 IS NULL OR version = ?3) "
            "AND deleted_at IS NULL RETURNING 1"
        )
        values = (now_ms(), path, version)
        return len(await self._writer.run(lambda connection: list(connection.execute(sql, values))))

    # Credentials

    async def put_secret(self, name: str, sealed: bytes) -> None:
        """Keep a sealed credential."""
        sql = "INSERT OR REPLACE INTO credentials VALUES (?, ?, ?)"
        await self._writer.run(lambda connection: _done(connection, sql, (name, sealed, now_ms())))

    async def secret(self, name: str) -> bytes:
        """A sealed credential."""
        found = await self._read("SELECT sealed FROM credentials WHERE name = ?", (name,))
        if not found:
            raise NotFound(f"there is no credential {name!r}", hint=f"noetl credential set {name}")
        return bytes(found[0][0])

    async def secrets(self) -> Sequence[tuple[str, int]]:
        """Names of credentials and when each was last set."""
        return [
            (row[0], row[1]) for row in await self._read("SELECT name, set_at FROM credentials ORDER BY name")
        ]

    async def delete_secret(self, name: str) -> None:
        """Forget a credential."""
        sql = "DELETE FROM credentials WHERE name = ? RETURNING 1"
        if not await self._writer.run(lambda connection: list(connection.execute(sql, (name,)))):
            raise NotFound(f"there is no credential {name!r}", hint="noetl credential list")

    async def close(self) -> None:
        """Finish what was begun and let go of the file."""
        self._presence.leave()
        await asyncio.to_thread(self._writer.close)
        self._reader.close()


def _done(connection: apsw.Connection, sql: str, values: Sequence[Any]) -> None:
    for _ in connection.execute(sql, values):
        pass


def _cursor(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise NotFound(f"{text!r} is no cursor", hint="use the cursor of the page before") from None


def _put_summary(connection: apsw.Connection, summary: Summary, claim: tuple[str, int] | None) -> None:
    owner, lease_ms = claim or (None, 0)
    values = [getattr(summary, name) for name in SUMMARY_FIELDS]
    values += [owner, now_ms() + lease_ms if owner else 0]
    changes = ", ".join(f"{name} = excluded.{name}" for name in SUMMARY_FIELDS[1:])
    sql = (
        f"INSERT INTO executions ({SUMMARY}, owner, owned_until) VALUES ({', '.join('?' * len(values))}) "
        f"ON CONFLICT (execution_id) DO UPDATE SET {changes}"
    )
    try:
        connection.execute(sql, values)
    except apsw.ConstraintError:
        told = f"an execution with the idempotency key {summary.idempotency_key!r} already exists"
        raise Conflict(told) from None


def _check_end(connection: apsw.Connection, number: int, append: Append) -> None:
    """The log must end where the decision thought it ended."""
    if append.expected == 0:
        return
    sql = "SELECT last FROM log WHERE execution = ? AND first <= ? ORDER BY first DESC LIMIT 1"
    found = list(connection.execute(sql, (number, append.expected)))
    if not found or found[0][0] != append.expected:
        raise Conflict(f"the log of {append.execution_id} does not end at {append.expected}")


def _register(
    connection: apsw.Connection, path: str, digest: str, text: str, file: str | None
) -> PlaybookText:
    sql = f"SELECT {PLAYBOOK}, deleted_at FROM playbooks WHERE path = ? ORDER BY version DESC LIMIT 1"
    newest = list(connection.execute(sql, (path,)))
    if newest and newest[0][2] == digest and newest[0][-1] is None:
        known = PlaybookText(*newest[0][:-1])
        if file is not None and file != known.file:
            moved = (file, known.path, known.version)
            connection.execute("UPDATE playbooks SET file = ? WHERE path = ? AND version = ?", moved)
            known.file = file
        return known
    entry = PlaybookText(path, newest[0][1] + 1 if newest else 1, digest, text, file, now_ms())
    values = (entry.path, entry.version, entry.hash, entry.text, entry.file, entry.registered_at)
    connection.execute(f"INSERT INTO playbooks ({PLAYBOOK}) VALUES (?, ?, ?, ?, ?, ?)", values)
    return entry
