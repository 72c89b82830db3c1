"""The store port on SQLite: one thread writes with group commit, another reads without waiting for it."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import apsw
import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.sqlite import jobs
from noetl.adapters.sqlite import statements as sql
from noetl.adapters.sqlite.connection import Record, fetch, open_database, schema_version
from noetl.adapters.sqlite.presence import Presence
from noetl.adapters.sqlite.reader import Reader
from noetl.adapters.sqlite.schedules import SqliteSchedules
from noetl.adapters.sqlite.writer import Writer
from noetl.errors import NotFound
from noetl.ports.store import (
    AccessToken,
    Append,
    Extent,
    Letter,
    Listed,
    Outline,
    PlaybookText,
    Projection,
    Row,
    Snapshot,
    StoredLog,
    Stuck,
    Summary,
    page_start,
    unknown_execution,
    unknown_token,
)

DELETED_AT_ONCE = 20  # executions in one transaction, so that others need not wait long


class SqliteStore(SqliteSchedules):
    """One database file."""

    def __init__(self, path: str, now: Callable[[], int] = now_ms) -> None:
        # the database and every process on it share one machine, and so one clock
        self.path, self._now = path, now
        self._writer = Writer(open_database(path))
        self._reader = Reader(path)
        self._presence = Presence(Path(path).parent / "owners")

    async def _write(self, statement: str, *values: object) -> list[Record]:
        return await self._writer.run(lambda connection: fetch(connection, statement, values))

    # The log

    async def commit(self, append: Append) -> None:
        """Append durably."""
        if append.claim is not None:
            self._presence.enter(append.claim[0])
        now = self._now()
        await self._writer.run(lambda connection: jobs.append(connection, append, now))

    async def log(self, execution_id: str) -> StoredLog:
        """The newest snapshot and the rows behind it."""
        return await self._reader.run(lambda connection: _log(connection, execution_id))

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        """Rows in order, from the one that holds an event."""
        return await self._reader.run(lambda connection: _rows(connection, execution_id, first, limit))

    async def end(self, execution_id: str) -> int:
        """The number of the newest event."""
        found = await self._reader.rows(sql.NUMBER_AND_END, (execution_id,))
        if not found:
            raise unknown_execution(execution_id)
        return int(found[0][1])

    async def projection(self, execution_id: str) -> Projection:
        """What stands beside the log."""
        found = await self._reader.rows(sql.PROJECTION, (execution_id,))
        if not found:
            raise unknown_execution(execution_id)
        seq, head, *saved = found[0][:5]
        return Projection(Summary(*found[0][5:]), seq, head, None if saved[0] is None else Snapshot(*saved))

    async def answered(self, execution_id: str, batch: str) -> bool:
        """Whether a batch has been appended."""
        return await self._reader.run(
            lambda connection: bool(fetch(connection, sql.BATCH, (_number(connection, execution_id), batch)))
        )

    # Projections

    async def summary(self, execution_id: str) -> Summary:
        """One execution."""
        found = await self._reader.rows(sql.EXECUTION, (execution_id,))
        if not found:
            raise unknown_execution(execution_id)
        return Summary(*found[0])

    async def executions(
        self,
        *,
        status: str | None = None,
        path: str | None = None,
        prefix: str = "",
        text: str | None = None,
        since: int | None = None,
        until: int | None = None,
        parent: str | None = None,
        by: str | None = None,
        children: bool = True,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Listed:
        """Executions, the newest first."""
        lead = "prefix" if prefix else "parent" if parent is not None else "by" if by is not None else ""
        given: dict[str, str | int | None] = {
            "status": status,
            "path": path,
            "prefix": prefix,
            "text": text and text.lower(),
        }
        given |= {"by": by, "parent": parent, "children": children, "since": since, "until": until}
        given |= {"start": page_start(cursor), "limit": limit + 1}
        found = await self._reader.rows(sql.EXECUTIONS[lead], given)
        more = str(found[limit - 1][0]) if len(found) > limit else None
        return Listed([Summary(*row[1:]) for row in found[:limit]], more)

    async def by_key(self, idempotency_key: str) -> Summary | None:
        """The execution with an idempotency key."""
        found = await self._reader.rows(sql.EXECUTION_BY_KEY, (idempotency_key,))
        return Summary(*found[0]) if found else None

    # Owners and messages

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the one writer of an execution, or stay it."""
        self._presence.enter(owner)
        holder, _ = await self._holder(execution_id)
        dead = holder if holder is not None and self._presence.gone(holder) else None
        now = self._now()
        return bool(await self._write(sql.CLAIM, owner, now + lease_ms, execution_id, now, dead))

    async def _holder(self, execution_id: str) -> tuple[str | None, int]:
        found = await self._reader.rows(sql.HOLDER, (execution_id,))
        if not found:
            raise unknown_execution(execution_id)
        return found[0][0], found[0][1]

    async def take_in_hand(self, execution_id: str, owner: str, *, always: bool = False) -> str | None:
        """Note that an owner is about to read or decide on an execution."""
        return await self._writer.run(
            lambda connection: jobs.take_in_hand(connection, execution_id, owner, always)
        )

    async def put_down(self, execution_id: str, owner: str) -> None:
        """It went well."""
        await self._write(sql.PUT_DOWN, execution_id, owner)

    async def set_aside(self, execution_id: str, owner: str, why: Stuck) -> bool:
        """Give up an execution of an owner."""
        return bool(await self._write(sql.SET_ASIDE, execution_id, owner, _json(why)))

    async def release(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the owner of an execution that is stuck."""
        self._presence.enter(owner)
        until = self._now() + lease_ms
        return await self._writer.run(lambda connection: jobs.release(connection, execution_id, owner, until))

    async def stuck(self) -> int:
        """How many executions are stuck."""
        return int((await self._reader.rows(sql.COUNT_STUCK))[0][0])

    async def owned(self, execution_id: str) -> bool:
        """Whether someone alive runs an execution."""
        holder, until = await self._holder(execution_id)
        return holder is not None and until >= self._now() and not self._presence.gone(holder)

    async def leave(self, owner: str) -> None:
        """Give every claim of an owner up."""
        await self._write(sql.LEAVE, owner)

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        """Renew every claim of an owner."""
        await self._write(sql.RENEW, self._now() + lease_ms, owner)

    async def due(self, now: int | None = None, limit: int = 100) -> list[str]:
        """Executions with something due or no fresh owner."""
        now = self._now() if now is None else now
        return [row[0] for row in await self._reader.rows(sql.DUE, (now, limit))]

    async def post(self, execution_id: str, message: bytes) -> None:
        """Leave a message for the owner of an execution that is not over."""
        await self._write(sql.POST, execution_id, message)

    async def mail(self, owner: str) -> Sequence[Letter]:
        """The messages left for the executions of an owner."""
        return [Letter(*row) for row in await self._reader.rows(sql.MAIL, (owner,))]

    async def discard_mail(self, letters: Sequence[int]) -> None:
        """Throw letters away."""
        await self._writer.run(lambda connection: jobs.discard(connection, letters))

    # Playbooks

    async def register(
        self, path: str, digest: str, text: str, file: str | None, by: str | None = None
    ) -> PlaybookText:
        """Keep a playbook; the same text is the version it already is."""
        playbook_text = await self._reader.run(
            lambda connection: jobs.known_version(connection, path, digest, file)
        )
        if playbook_text is not None:
            return playbook_text
        entry = PlaybookText(path, 1, digest, text, file, self._now(), by)
        return await self._writer.run(lambda connection: jobs.register(connection, entry))

    async def playbook(
        self, *, digest: str | None = None, path: str | None = None, version: int | None = None
    ) -> PlaybookText:
        """A playbook by its content, or by path and version."""
        found = await self._reader.rows(sql.FIND_PLAYBOOK, (digest, path, version))
        if not found:
            which = path or digest
            message = f"there is no playbook {which}" + (f" version {version}" if version is not None else "")
            raise NotFound(message, hint="noetl catalog list")
        return PlaybookText(*found[0])

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        """The newest version of every path, or every version of one."""
        statement, values = (sql.PLAYBOOKS, ()) if path is None else (sql.VERSIONS, (path,))
        return [PlaybookText(*row) for row in await self._reader.rows(statement, values)]

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version, off the catalog."""
        return len(await self._write(sql.DELETE_PLAYBOOK, self._now(), path, version))

    # Credentials

    async def put_secret(self, name: str, sealed: bytes) -> None:
        """Keep a sealed credential."""
        await self._write(sql.PUT_CREDENTIAL, name, sealed, self._now())

    async def secret(self, name: str) -> bytes:
        """A sealed credential."""
        found = await self._reader.rows(sql.CREDENTIAL, (name,))
        if not found:
            raise NotFound(f"there is no credential {name!r}", hint=f"noetl credential set {name} --value -")
        return bytes(found[0][0])

    async def reseal_secret(self, name: str, old: bytes, new: bytes) -> bool:
        """Put other bytes in place of exactly these."""
        return bool(await self._write(sql.RESEAL_CREDENTIAL, new, name, old))

    async def secrets(self) -> Sequence[tuple[str, int]]:
        """Names of credentials and when each was last set."""
        return [(row[0], row[1]) for row in await self._reader.rows(sql.CREDENTIALS)]

    async def delete_secret(self, name: str) -> None:
        """Forget a credential."""
        if not await self._write(sql.DELETE_CREDENTIAL, name):
            raise NotFound(f"there is no credential {name!r}", hint="noetl credential list")

    async def put_token(self, token: AccessToken) -> None:
        """Keep a token."""
        values = [getattr(token, name) for name in sql.TOKEN_FIELDS]
        await self._write(sql.PUT_TOKEN, *(_json(v) if isinstance(v, list) else v for v in values))

    async def token(self, token_id: str) -> AccessToken:
        """One token."""
        found = await self._reader.rows(sql.TOKEN, (token_id,))
        if not found:
            raise unknown_token(token_id)
        return _token(found[0])

    async def tokens(self) -> Sequence[AccessToken]:
        """Every token, the newest first."""
        return [_token(row) for row in await self._reader.rows(sql.TOKENS)]

    async def delete_token(self, token_id: str) -> None:
        """Forget a token."""
        if not await self._write(sql.DELETE_TOKEN, token_id):
            raise unknown_token(token_id)

    # What is over, and how much there is

    async def ended(self, before: int, *, after: str = "", limit: int = 200) -> Sequence[Outline]:
        """Executions that were over at a moment, by id."""
        return [jobs.outline(row) for row in await self._reader.rows(sql.ENDED, (before, after, limit))]

    async def family(self, execution_id: str) -> Sequence[Outline]:
        """An execution with all that may hold its references."""
        return [jobs.outline(row) for row in await self._reader.rows(sql.FAMILY, (execution_id,))]

    async def trim(self, execution_id: str, rows: Sequence[Row], *, whole: bool) -> None:
        """Put rows that say less in the place of the same ones."""
        at = self._now() if whole else None
        await self._writer.run(lambda connection: jobs.trim(connection, execution_id, rows, at))

    async def delete(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        """Forget executions with their logs, those whose whole family is over."""
        deleted: list[str] = []
        for start in range(0, len(execution_ids), DELETED_AT_ONCE):
            some = execution_ids[start : start + DELETED_AT_ONCE]
            deleted += await self._writer.run(partial(jobs.delete, execution_ids=some, before=before))
        return deleted

    async def extent(self) -> Extent:
        """How much there is."""
        return await self._reader.run(_extent)

    async def close(self) -> None:
        """Finish what was begun and let go of the file."""
        self._presence.leave()
        await asyncio.to_thread(self._writer.close)
        await self._reader.close()


def _token(row: Record) -> AccessToken:
    named = dict(zip(sql.TOKEN_FIELDS, row, strict=True))
    lists = {name: msgspec.json.decode(named[name]) for name in ("scopes", "prefixes")}
    return AccessToken(**{**named, **lists})


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _number(connection: apsw.Connection, execution_id: str) -> int:
    found = fetch(connection, sql.NUMBER, (execution_id,))
    if not found:
        raise unknown_execution(execution_id)
    return int(found[0][0])


def _log(connection: apsw.Connection, execution_id: str) -> StoredLog:
    number = _number(connection, execution_id)
    saved = fetch(connection, sql.SNAPSHOT, (number,))
    seq, state, head = saved[0] if saved else (0, None, b"")
    rows = [Row(*row) for row in fetch(connection, sql.ROWS_BEHIND, (number, seq))]
    return StoredLog(state, rows, rows[-1].hash if rows else head)


def _rows(connection: apsw.Connection, execution_id: str, first: int, limit: int) -> list[Row]:
    number = _number(connection, execution_id)
    return [Row(*row) for row in fetch(connection, sql.ROWS_FROM, (number, first, limit))]


def _extent(connection: apsw.Connection) -> Extent:
    due = fetch(connection, sql.OLDEST_DUE)
    playbooks, credentials, messages = fetch(connection, sql.COUNT_OTHERS)[0]
    return Extent(
        schema=schema_version(connection),
        bytes=fetch(connection, sql.PAGES)[0][0],
        executions=dict(fetch(connection, sql.COUNT_EXECUTIONS)),
        events=fetch(connection, sql.COUNT_EVENTS)[0][0],
        playbooks=playbooks,
        credentials=credentials,
        messages=messages,
        oldest_due=due[0] if due else None,
    )
