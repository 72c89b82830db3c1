"""The store port on PostgreSQL: one connection appends in groups, a small pool does all else."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Self

import asyncpg
import msgspec

from noetl.adapters.postgres import task_lines
from noetl.adapters.postgres.batch import refusal
from noetl.adapters.postgres.database import PATIENCE_S, Database
from noetl.adapters.postgres.schema import check, migrate
from noetl.adapters.postgres.statements import SQL
from noetl.adapters.postgres.writer import Writer
from noetl.adapters.sql.store import SqlStore
from noetl.adapters.sql.ticks import Call
from noetl.errors import Conflict
from noetl.ports import store
from noetl.ports.task_lines import KeptLines, PrintedLines, StoredLines

ABSENT_S = 1.0  # far longer than a living server takes to connect again
DELETED_AT_ONCE = 100  # executions in one transaction, so that others need not wait long
# What lists are asked for; each condition takes the value behind it.
_CONDITIONS = {
    "status": "status = {}",
    "path": "path = {}",
    "paths": "path = any({})",
    "pattern": "path like {}",
    "prefix": "execution_id >= {0} and execution_id < {0} || '~'",
    "text": "(strpos(execution_id, {0}) > 0 or strpos(lower(path), {0}) > 0)",
    "since": "requested_at >= {}",
    "until": "requested_at <= {}",
    "parent": "parent = {}",
    "by": "requested_by = {}",
    "start": "id < {}",
}
_TYPES = {"paths": "text[]", "since": "bigint", "until": "bigint", "start": "bigint"}


def _by_name(calls: Sequence[Call]) -> list[tuple[str, list[tuple[object, ...]]]]:
    """Calls in order, those of one statement behind one another together: one round trip for all of them."""
    return [(name, [call.values for call in group]) for name, group in groupby(calls, attrgetter("name"))]


class PostgresStore(SqlStore):
    """One database."""

    def __init__(self, database: Database, now: Callable[[], int | None]) -> None:
        self.database, self._now = database, now
        self.path = database.shown
        self._writer = Writer(database, now)
        self._absent: dict[str, float] = {}

    @classmethod
    async def open(
        cls,
        dsn: str,
        *,
        up_to_date: bool = True,
        now: Callable[[], int] | None = None,
        patience_s: float = PATIENCE_S,
    ) -> Self:
        """Connect; an empty or older database is brought up to date first, or refused when it must not be.

        The database's clock decides who owns what and what is due; `now` takes its place in tests.
        """
        database = Database(dsn, patience_s)
        await (migrate(database) if up_to_date else check(database))
        await database.open()
        return cls(database, now or _database_time)

    async def clock(self) -> int:
        return int((await self._rows("clock", self._now()))[0][0])

    async def _rows(self, name: str, *values: object) -> list[asyncpg.Record]:
        return await self.database.fetch(SQL[name], *values)

    async def _write(self, name: str, *values: object, again: bool = True) -> list[asyncpg.Record]:
        return await self.database.fetch(SQL[name], *values, again=again)

    def _names(self, names: Sequence[str]) -> object:
        return list(names)

    def _numbers(self, numbers: Sequence[int]) -> object:
        return list(numbers)

    async def _together(self, first: Call, then: Sequence[Call]) -> list[asyncpg.Record]:
        async with self.database.transaction() as connection:
            rows: list[asyncpg.Record] = await connection.fetch(SQL[first.name], *first.values)
            for name, values in _by_name(then) if rows else ():
                await connection.executemany(SQL[name], values)
        return rows

    # The log

    async def commit(self, append: store.Append) -> None:
        store.check_append(append, append.expected)
        if not await self._writer.write(append):
            rows = await self._rows("standing", append.execution_id)
            raise refusal(append, rows[0] if rows else None)

    async def log(self, execution_id: str) -> store.StoredLog:
        executions = await self._rows("recovery", execution_id)
        if not executions:
            raise store.unknown_execution(execution_id)
        seq, state, head, number = executions[0]
        rows = [store.Row(*row) for row in await self._rows("rows_behind", number, seq or 0)]
        return store.StoredLog(state, rows, rows[-1].hash if rows else head or b"")

    async def logs(self, execution_ids: Sequence[str]) -> Mapping[str, store.StoredLog]:
        found = await self._rows("recoveries", list(execution_ids))
        numbers, ends = [one["id"] for one in found], [one["seq"] or 0 for one in found]
        behind: dict[int, list[store.Row]] = {number: [] for number in numbers}
        for number, *row in map(tuple, await self._rows("rows_behind_each", numbers, ends)):
            behind[number].append(store.Row(*row))
        return {
            one["execution_id"]: store.StoredLog(
                one["state"], rows, rows[-1].hash if rows else one["hash"] or b""
            )
            for one in found
            for rows in (behind[one["id"]],)
        }

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[store.Row]:
        rows = await self._rows("rows_from", execution_id, first, limit)
        if not rows:
            await self._row_of("standing", execution_id)
        return [store.Row(*row) for row in rows]

    async def end(self, execution_id: str) -> int:
        return int((await self._row_of("standing", execution_id))[0])

    async def answered(self, execution_id: str, batch: str) -> bool:
        return bool((await self._row_of("answered", execution_id, batch))[0])

    async def add_lines(self, printed: Sequence[PrintedLines], kept: KeptLines) -> None:
        await task_lines.add(self.database, printed, kept)

    async def lines(self, execution_id: str, after: int = 0) -> Sequence[StoredLines]:
        return await task_lines.read(self.database, execution_id, after)

    # Projections

    def listing(self, find: store.Find) -> tuple[str, list[object]]:
        """The statement that finds executions, and its values."""
        text, start = find.text and find.text.lower(), store.page_start(find.cursor)
        fields = {**msgspec.structs.asdict(find), "text": text, "start": start, "pattern": None}
        if find.path is not None and store.is_pattern(find.path):
            fields["path"], fields["pattern"] = None, store.like_of(find.path)
        values = {name: fields[name] for name in _CONDITIONS if fields[name] not in (None, "")}
        wheres = [
            _CONDITIONS[name].format(f"${place}::{_TYPES.get(name, 'text')}")
            for place, name in enumerate(values, 1)
        ]
        wheres += [] if find.children else ["parent is null"]
        wheres += [] if find.continued else ["continued_as is null"]
        where = f" where {' and '.join(wheres)}" if wheres else ""
        statement = f"{SQL['executions']}{where} order by id desc limit {int(find.limit) + 1}"
        return statement, list(values.values())

    async def executions(self, find: store.Find = store.EVERY) -> store.Listed:
        statement, values = self.listing(find)
        rows = await self.database.fetch(statement, *values)
        more = str(rows[find.limit - 1][0]) if len(rows) > find.limit else None
        return store.Listed([store.Summary(*row[1:]) for row in map(tuple, rows[: find.limit])], more)

    @staticmethod
    def _pattern(path: str) -> str:
        return store.like_of(path)

    async def retried(self, execution_ids: Sequence[str]) -> set[str]:
        return {name for (name,) in await self._rows("retried", list(execution_ids))}

    # Owners and messages

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        exists, claimed = (await self._write("claim", execution_id, owner, lease_ms, self._now()))[0]
        if not exists:
            raise store.unknown_execution(execution_id)
        return bool(claimed)

    async def take_in_hand(self, execution_id: str, owner: str) -> str | None:
        rows = await self._write("take_in_hand", execution_id, owner)
        return rows[0][0] if rows else None

    async def note_in_hand(self, execution_ids: Sequence[str], owner: str) -> None:
        await self._write("note_in_hand", list(execution_ids), owner)

    async def take_over(
        self, owner: str, lease_ms: int, own: Sequence[str] = (), but: Sequence[str] = (), limit: int = 100
    ) -> Sequence[store.Claimed]:
        await self._let_go()
        values = (owner, lease_ms, self._now(), list(own), limit, store.reading(owner), list(but))
        rows = map(tuple, await self._write("take_over", *values))
        return [store.Claimed(store.Summary(*summary), in_hand, size) for in_hand, size, *summary in rows]

    async def put_down(self, execution_ids: Sequence[str], note: str) -> None:
        await self._write("put_down", list(execution_ids), note)

    async def release(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        stuck = (await self.summary(execution_id)).stuck
        if stuck is None:
            return False
        why = msgspec.json.decode(stuck, type=store.Stuck)
        values = (why.status, store.custody_after(why), self._now(), stuck)
        return bool(await self._write("release", execution_id, owner, lease_ms, *values))

    async def owned(self, execution_id: str) -> bool:
        return bool((await self._row_of("owned", execution_id, self._now()))[0])

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        await self._write("heartbeat", owner, lease_ms, self._now())
        await self._write("drop_late_mail")

    async def due(self, now: int | None = None, limit: int = 100) -> list[str]:
        await self._let_go()
        return [row[0] for row in await self._rows("due", self._now() if now is None else now, limit)]

    async def _let_go(self) -> None:
        """Give up for owners that stay without any connection; what they may yet write is refused."""
        now = asyncio.get_running_loop().time()
        absent = [row[0] for row in await self._rows("absent")]
        self._absent = {owner: self._absent.get(owner, now) for owner in absent}
        for owner, since in self._absent.items():
            if now - since >= ABSENT_S:
                await self._write("desert", owner)

    async def discard_mail(self, letters: Sequence[int]) -> None:
        await self._write("discard_mail", list(letters))

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
        playbook_text = _as_known(await self._rows("newest_version", path), digest)
        if playbook_text is not None and file in (None, playbook_text.file):
            return playbook_text
        async with self.database.transaction() as connection:
            await connection.fetch(SQL["lock_path"], path)
            newest = await connection.fetch(SQL["newest_version"], path)
            playbook_text = _as_known(newest, digest)
            if playbook_text is not None:
                playbook_text.file = file or playbook_text.file
                await connection.fetch(SQL["move_playbook"], path, playbook_text.version, playbook_text.file)
                return playbook_text
            number = newest[0]["version"] + 1 if newest else 1
            values = (path, number, digest, text, file, self._now(), by, language)
            return store.PlaybookText(*await connection.fetchrow(SQL["add_playbook"], *values))

    async def playbook(
        self, *, digest: str | None = None, path: str | None = None, version: int | None = None
    ) -> store.PlaybookText:
        if digest is not None:
            rows = await self._rows("playbook_by_hash", digest, path, version)
        else:
            rows = await self._rows("playbook_by_path", path, version)
        if not rows:
            raise store.unknown_playbook(path, digest, version)
        return store.PlaybookText(*rows[0])

    # Credentials and tokens

    async def put_token(self, token: store.AccessToken) -> None:
        values = (token.id, token.hash, token.name, token.scopes, token.prefixes)
        pools = token.pools
        await self._write("put_token", *values, token.created_at, token.expires_at, token.by, pools)

    # What is over, and how much there is

    async def trim(self, execution_id: str, rows: Sequence[store.Row], *, whole: bool) -> None:
        parts = [[getattr(row, name) for row in rows] for name in ("first", "last", "body", "seal")]
        if not await self._write("trim", execution_id, *parts, whole, self._now()):
            raise Conflict(f"execution {execution_id} is not over")

    async def expire(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        expired: list[str] = []
        for some in _portions(execution_ids):
            async with self.database.transaction() as connection:
                locked = [row[0] for row in await connection.fetch(SQL["lock_families"], some, before)]
                if locked:
                    await connection.execute(SQL["expire"], some, before, locked, self._now())
                expired += [row[0] for row in await connection.fetch(SQL["expired"], some)]
        return expired

    async def delete(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        deleted: list[str] = []
        for some in _portions(await self.expire(execution_ids, before)):
            async with self.database.transaction() as connection:  # a retry is seen, or refused
                locked = [row[0] for row in await connection.fetch(SQL["lock_expired"], some)]
                await connection.execute(SQL["note_ends"], locked, self._now())
                deleted += [row[0] for row in await connection.fetch(SQL["delete"], locked, before)]
        return deleted

    async def extent(self) -> store.Extent:
        events, playbooks, credentials, messages, size = (await self._rows("counts"))[0]
        due = await self._rows("oldest_due")
        return store.Extent(
            schema=int((await self._rows("schema"))[0][0]),
            bytes=size,
            executions={row[0]: row[1] for row in await self._rows("by_status")},
            events=events,
            playbooks=playbooks,
            credentials=credentials,
            messages=messages,
            oldest_due=(due[0][0], due[0][1]) if due else None,
        )

    async def close(self) -> None:
        await self._writer.close()
        await self.database.close()


def _portions(execution_ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(execution_ids), DELETED_AT_ONCE):
        yield list(execution_ids[start : start + DELETED_AT_ONCE])


def _database_time() -> None:
    """No moment: the database takes its own."""


def _as_known(newest: Sequence[asyncpg.Record], digest: str) -> store.PlaybookText | None:
    """The newest version of a path, when it is this text and still on the catalog."""
    if not newest or newest[0]["hash"] != digest or newest[0]["deleted_at"] is not None:
        return None
    return store.PlaybookText(*tuple(newest[0])[:-1])
