"""The store port over SQL, as far as a method is one statement, called by its name, and the same for all.

How rows are appended, who owns an execution and how lists are filtered is each database's own.
"""

from abc import abstractmethod
from collections.abc import Sequence

import msgspec

from noetl.adapters.sql.arrivals import SqlArrivals
from noetl.adapters.sql.notifications import SqlNotifications
from noetl.adapters.sql.schedules import Record
from noetl.adapters.sql.ticks import SqlTicks
from noetl.ports import store


class SqlStore(SqlNotifications, SqlArrivals, SqlTicks):
    """The statements that are the same for every database but in their text."""

    async def _row_of(self, name: str, execution_id: str, *values: object) -> Record:
        rows = await self._rows(name, execution_id, *values)
        if not rows:
            raise store.unknown_execution(execution_id)
        return rows[0]

    async def projection(self, execution_id: str) -> store.Projection:
        seq, head, *columns = await self._row_of("projection", execution_id)
        snapshot = None if columns[0] is None else store.Snapshot(*columns[:3])
        return store.Projection(store.Summary(*columns[3:]), seq, head, snapshot)

    async def summary(self, execution_id: str) -> store.Summary:
        return store.Summary(*await self._row_of("execution", execution_id))

    async def newest(self, execution_id: str) -> store.Summary:
        return store.Summary(*await self._row_of("newest", execution_id))

    async def by_key(self, idempotency_key: str) -> store.Summary | None:
        rows = await self._rows("execution_by_key", idempotency_key)
        return store.Summary(*rows[0]) if rows else None

    @staticmethod
    @abstractmethod
    def _pattern(path: str) -> str:
        """A path with `*` and `?` as the database writes it."""

    async def tally(self, since: int, part_ms: int, path: str | None = None) -> Sequence[store.Tally]:
        rows = await self._rows("tally", since, part_ms, path and self._pattern(path), store.TALLIED)
        return [store.Tally(*row) for row in rows]

    async def set_aside(self, execution_id: str, owner: str, why: store.Stuck) -> bool:
        return bool(await self._write("set_aside", execution_id, owner, msgspec.json.encode(why).decode()))

    async def stuck(self) -> int:
        return int((await self._rows("count_stuck"))[0][0])

    async def leave(self, owner: str) -> None:
        await self._write("leave", owner)

    async def let_go(self, execution_id: str, owner: str) -> None:
        await self._write("let_go", execution_id, owner)

    async def announce(self, address: store.ServerAddress, lease_ms: int) -> None:
        await self._write("announce", address.server, address.url, lease_ms, self._now())

    async def withdraw(self, server: str) -> None:
        await self._write("withdraw", server, self._now())

    async def servers(self) -> Sequence[store.ServerAddress]:
        return [store.ServerAddress(*row) for row in await self._rows("servers", self._now())]

    async def post(self, execution_id: str, message: bytes) -> int | None:
        """Leave a message for the owner of an execution that is not over."""
        rows = await self._write("post", execution_id, message, again=False)
        return int(rows[0][0]) if rows else None

    async def is_posted(self, letter: int) -> bool:
        return bool(await self._rows("is_posted", letter))

    async def mail(self, owner: str) -> Sequence[store.Letter]:
        return [store.Letter(*row) for row in await self._rows("mail", owner)]

    async def playbooks(self, path: str | None = None) -> Sequence[store.PlaybookText]:
        rows = await (self._rows("playbooks") if path is None else self._rows("versions", path))
        return [store.PlaybookText(*row) for row in rows]

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        return len(await self._write("delete_playbook", path, version, self._now()))

    async def put_secret(self, name: str, sealed: bytes) -> None:
        await self._write("put_credential", name, sealed, self._now())

    async def secret(self, name: str) -> bytes:
        rows = await self._rows("credential", name)
        if not rows:
            raise store.unknown_credential(name)
        return bytes(rows[0][0])

    async def reseal_secret(self, name: str, old: bytes, new: bytes) -> bool:
        return bool(await self._write("reseal_credential", name, old, new))

    async def secrets(self) -> Sequence[tuple[str, int]]:
        return [(name, set_at) for name, set_at in await self._rows("credentials")]

    async def delete_secret(self, name: str) -> None:
        if not await self._write("delete_credential", name):
            raise store.unknown_credential(name, hint="noetl credential list")

    async def token(self, token_id: str) -> store.AccessToken:
        rows = await self._rows("token", token_id)
        if not rows:
            raise store.unknown_token(token_id)
        return self._token(rows[0])

    async def tokens(self) -> Sequence[store.AccessToken]:
        return [self._token(row) for row in await self._rows("tokens")]

    def _token(self, row: Record) -> store.AccessToken:
        return store.AccessToken(*row)

    async def delete_token(self, token_id: str) -> None:
        if not await self._write("delete_token", token_id):
            raise store.unknown_token(token_id)

    async def ended(self, before: int, *, after: str = "", limit: int = 200) -> Sequence[store.Outline]:
        return [store.Outline(*row) for row in await self._rows("ended", before, after, limit)]

    async def family(self, execution_id: str) -> Sequence[store.Outline]:
        return [store.Outline(*row) for row in await self._rows("family", execution_id)]
