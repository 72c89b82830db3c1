"""The store port on PostgreSQL: one connection appends in groups, a small pool does all else."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Self

import asyncpg
import msgspec

from noetl.adapters.postgres.batch import refusal
from noetl.adapters.postgres.database import PATIENCE_S, Database
from noetl.adapters.postgres.schedules import PostgresSchedules
from noetl.adapters.postgres.schema import check, migrate, newest_version
from noetl.adapters.postgres.statements import SQL
from noetl.adapters.postgres.writer import Writer
from noetl.errors import Conflict, NotFound
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
    check_append,
    custody_after,
    page_start,
    unknown_execution,
    unknown_token,
)

ABSENT_S = 1.0  # far longer than a living server takes to connect again
DELETED_AT_ONCE = 100  # executions in one transaction, so that others need not wait long
# What lists are asked for; each condition takes the value behind it.
_CONDITIONS = {
    "status": "status = {}",
    "path": "path = {}",
    "prefix": "execution_id >= {0} and execution_id < {0} || '~'",
    "text": "(strpos(execution_id, {0}) > 0 or strpos(lower(path), {0}) > 0)",
    "since": "requested_at >= {}",
    "until": "requested_at <= {}",
    "parent": "parent = {}",
    "by": "requested_by = {}",
    "start": "id < {}",
}
_TYPES = {"since": "bigint", "until": "bigint", "start": "bigint"}


class PostgresStore(PostgresSchedules):
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

    async def _fetch(self, name: str, *values: object) -> list[asyncpg.Record]:
        return await self.database.fetch(SQL[name], *values)

    # The log

    async def commit(self, append: Append) -> None:
        """Append durably."""
        check_append(append, append.expected)
        if not await self._writer.write(append):
            found = await self._fetch("standing", append.execution_id)
            raise refusal(append, found[0] if found else None)

    async def log(self, execution_id: str) -> StoredLog:
        """The newest snapshot and the rows behind it."""
        found = await self._fetch("recovery", execution_id)
        if not found:
            raise unknown_execution(execution_id)
        seq, state, head, number = found[0]
        rows = [Row(*row) for row in await self._fetch("rows_behind", number, seq or 0)]
        return StoredLog(state, rows, rows[-1].hash if rows else head or b"")

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        """Rows in order, from the one that holds an event."""
        found = await self._fetch("rows_from", execution_id, first, limit)
        if not found:
            await self._known("standing", execution_id)
        return [Row(*row) for row in found]

    async def end(self, execution_id: str) -> int:
        """The number of the newest event."""
        return int((await self._known("standing", execution_id))[0])

    async def projection(self, execution_id: str) -> Projection:
        """What stands beside the log."""
        seq, head, *found = await self._known("projection", execution_id)
        snapshot = None if found[0] is None else Snapshot(*found[:3])
        return Projection(Summary(*found[3:]), seq, head, snapshot)

    async def answered(self, execution_id: str, batch: str) -> bool:
        """Whether a batch has been appended."""
        return bool((await self._known("answered", execution_id, batch))[0])

    async def _known(self, name: str, execution_id: str, *values: object) -> asyncpg.Record:
        found = await self._fetch(name, execution_id, *values)
        if not found:
            raise unknown_execution(execution_id)
        return found[0]

    # Projections

    async def summary(self, execution_id: str) -> Summary:
        """One execution."""
        return Summary(*await self._known("summary", execution_id))

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
        given: dict[str, str | int | None] = {
            "status": status,
            "path": path,
            "prefix": prefix or None,
            "text": text and text.lower(),
        }
        given |= {"since": since, "until": until, "parent": parent, "by": by, "start": page_start(cursor)}
        asked = {name: value for name, value in given.items() if value is not None and value != ""}
        wheres = [
            _CONDITIONS[name].format(f"${place}::{_TYPES.get(name, 'text')}")
            for place, name in enumerate(asked, 1)
        ]
        wheres += [] if children else ["parent is null"]
        where = f" where {' and '.join(wheres)}" if wheres else ""
        statement = f"{SQL['executions']}{where} order by id desc limit {int(limit) + 1}"
        found = await self.database.fetch(statement, *asked.values())
        more = str(found[limit - 1][0]) if len(found) > limit else None
        return Listed([Summary(*row[1:]) for row in map(tuple, found[:limit])], more)

    async def by_key(self, idempotency_key: str) -> Summary | None:
        """The execution with an idempotency key."""
        found = await self._fetch("by_key", idempotency_key)
        return Summary(*found[0]) if found else None

    # Owners and messages

    async def claim(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the one writer of an execution, or stay it."""
        known, claimed = (await self._fetch("claim", execution_id, owner, lease_ms, self._now()))[0]
        if not known:
            raise unknown_execution(execution_id)
        return bool(claimed)

    async def take_in_hand(self, execution_id: str, owner: str, *, always: bool = False) -> str | None:
        """Note that an owner is about to read or decide on an execution."""
        found = await self._fetch("take_in_hand", execution_id, owner, always)
        return found[0][0] if found else None

    async def put_down(self, execution_id: str, owner: str) -> None:
        """It went well."""
        await self._fetch("put_down", execution_id, owner)

    async def set_aside(self, execution_id: str, owner: str, why: Stuck) -> bool:
        """Give up an execution of an owner."""
        return bool(await self._fetch("set_aside", execution_id, owner, msgspec.json.encode(why).decode()))

    async def release(self, execution_id: str, owner: str, lease_ms: int) -> bool:
        """Become the owner of an execution that is stuck."""
        told = (await self.summary(execution_id)).stuck
        if told is None:
            return False
        why = msgspec.json.decode(told, type=Stuck)
        values = (why.status, custody_after(why), self._now(), told)
        return bool(await self._fetch("release", execution_id, owner, lease_ms, *values))

    async def stuck(self) -> int:
        """How many executions are stuck."""
        return int((await self._fetch("stuck"))[0][0])

    async def owned(self, execution_id: str) -> bool:
        """Whether someone alive runs an execution."""
        return bool((await self._known("owned", execution_id, self._now()))[0])

    async def leave(self, owner: str) -> None:
        """Give every claim of an owner up."""
        await self._fetch("leave", owner)

    async def heartbeat(self, owner: str, lease_ms: int) -> None:
        """Renew every claim of an owner."""
        await self._fetch("heartbeat", owner, lease_ms, self._now())
        await self._fetch("drop_late_mail")

    async def due(self, now: int | None = None, limit: int = 100) -> list[str]:
        """Executions with something due or no fresh owner."""
        await self._let_go()
        return [row[0] for row in await self._fetch("due", self._now() if now is None else now, limit)]

    async def _let_go(self) -> None:
        """Give up for owners that stay without any connection; what they may yet write is refused."""
        now = asyncio.get_running_loop().time()
        absent = [row[0] for row in await self._fetch("absent")]
        self._absent = {owner: self._absent.get(owner, now) for owner in absent}
        for owner, since in self._absent.items():
            if now - since >= ABSENT_S:
                await self._fetch("desert", owner)

    async def post(self, execution_id: str, message: bytes) -> None:
        """Leave a message for the owner of an execution."""
        await self.database.fetch(SQL["post"], execution_id, message, again=False)

    async def mail(self, owner: str) -> Sequence[Letter]:
        """The messages left for the executions of an owner."""
        return [Letter(*row) for row in await self._fetch("mail", owner)]

    async def discard_mail(self, letters: Sequence[int]) -> None:
        """Throw letters away."""
        await self._fetch("discard_mail", list(letters))

    # Playbooks

    async def register(
        self, path: str, digest: str, text: str, file: str | None, by: str | None = None
    ) -> PlaybookText:
        """Keep a playbook; the same text is the version it already is."""
        playbook_text = _as_known(await self._fetch("newest_version", path), digest)
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
            values = (path, number, digest, text, file, self._now(), by)
            return PlaybookText(*await connection.fetchrow(SQL["add_playbook"], *values))

    async def playbook(
        self, *, digest: str | None = None, path: str | None = None, version: int | None = None
    ) -> PlaybookText:
        """A playbook by its content, or by path and version."""
        if digest is not None:
            found = await self._fetch("playbook_by_hash", digest, path, version)
        else:
            found = await self._fetch("playbook_by_path", path, version)
        if not found:
            message = f"there is no playbook {path or digest}"
            message += f" version {version}" if version is not None else ""
            raise NotFound(message, hint="noetl catalog list")
        return PlaybookText(*found[0])

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        """The newest version of every path, or every version of one."""
        found = await (self._fetch("playbooks") if path is None else self._fetch("versions", path))
        return [PlaybookText(*row) for row in found]

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        """Take a playbook, or one version, off the catalog."""
        return len(await self._fetch("delete_playbook", path, version, self._now()))

    # Credentials and tokens

    async def put_secret(self, name: str, sealed: bytes) -> None:
        """Keep a sealed credential."""
        await self._fetch("put_credential", name, sealed, self._now())

    async def reseal_secret(self, name: str, old: bytes, new: bytes) -> bool:
        """Put other bytes in place of exactly these."""
        return bool(await self._fetch("reseal_credential", name, old, new))

    async def secret(self, name: str) -> bytes:
        """A sealed credential."""
        found = await self._fetch("credential", name)
        if not found:
            raise NotFound(f"there is no credential {name!r}", hint=f"noetl credential set {name} --value -")
        return bytes(found[0][0])

    async def secrets(self) -> Sequence[tuple[str, int]]:
        """Names of credentials and when each was last set."""
        return [(row[0], row[1]) for row in await self._fetch("credentials")]

    async def delete_secret(self, name: str) -> None:
        """Forget a credential."""
        if not await self._fetch("delete_credential", name):
            raise NotFound(f"there is no credential {name!r}", hint="noetl credential list")

    async def put_token(self, token: AccessToken) -> None:
        """Keep a token."""
        values = (token.id, token.hash, token.name, token.scopes, token.prefixes)
        await self._fetch("put_token", *values, token.created_at, token.expires_at, token.by)

    async def token(self, token_id: str) -> AccessToken:
        """One token."""
        found = await self._fetch("token", token_id)
        if not found:
            raise unknown_token(token_id)
        return AccessToken(*found[0])

    async def tokens(self) -> Sequence[AccessToken]:
        """Every token, the newest first."""
        return [AccessToken(*row) for row in await self._fetch("tokens")]

    async def delete_token(self, token_id: str) -> None:
        """Forget a token."""
        if not await self._fetch("delete_token", token_id):
            raise unknown_token(token_id)

    # What is over, and how much there is

    async def ended(self, before: int, *, after: str = "", limit: int = 200) -> Sequence[Outline]:
        """Executions that were over at a moment, by id."""
        return [Outline(*row) for row in await self._fetch("ended", before, after, limit)]

    async def family(self, execution_id: str) -> Sequence[Outline]:
        """An execution with all that may hold its references."""
        return [Outline(*row) for row in await self._fetch("family", execution_id)]

    async def trim(self, execution_id: str, rows: Sequence[Row], *, whole: bool) -> None:
        """Put rows that say less in the place of the same ones."""
        parts = [[getattr(row, name) for row in rows] for name in ("first", "last", "body", "seal")]
        if not await self._fetch("trim", execution_id, *parts, whole, self._now()):
            raise Conflict(f"execution {execution_id} is not over")

    async def delete(self, execution_ids: Sequence[str], before: int) -> Sequence[str]:
        """Forget executions with their logs, those whose whole family is over."""
        deleted: list[str] = []
        for start in range(0, len(execution_ids), DELETED_AT_ONCE):
            some = list(execution_ids[start : start + DELETED_AT_ONCE])
            deleted += [row[0] for row in await self._fetch("delete", some, before)]
        return deleted

    async def extent(self) -> Extent:
        """How much there is."""
        events, playbooks, credentials, messages, size = (await self._fetch("counts"))[0]
        due = await self._fetch("oldest_due")
        return Extent(
            schema=newest_version(),
            bytes=size,
            executions={row[0]: row[1] for row in await self._fetch("by_status")},
            events=events,
            playbooks=playbooks,
            credentials=credentials,
            messages=messages,
            oldest_due=(due[0][0], due[0][1]) if due else None,
        )

    async def close(self) -> None:
        """Finish what was begun and let go of the database."""
        await self._writer.close()
        await self.database.close()


def _database_time() -> None:
    """No moment: the database takes its own."""


def _as_known(newest: Sequence[asyncpg.Record], digest: str) -> PlaybookText | None:
    """The newest version of a path, when it is this text and still on the catalog."""
    if not newest or newest[0]["hash"] != digest or newest[0]["deleted_at"] is not None:
        return None
    return PlaybookText(*tuple(newest[0])[:-1])
