"""A PostgreSQL table that a transfer fills, in one transaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from noetl.ports.call import Call
from noetl.ports.envelope import Reference
from noetl.tools.parts.postgres_copy import load
from noetl.tools.parts.postgres_link import borrow
from noetl.tools.parts.sql import quote
from noetl.tools.parts.transfer_places import Row, Target, require
from noetl.tools.parts.transfer_tables import conflict_sql, table_ref
from noetl.tools.parts.transfer_types import Types

if TYPE_CHECKING:
    from asyncpg import Connection
    from asyncpg.transaction import Transaction


@asynccontextmanager
async def open_writer(
    target: Target, mode: str, keys: list[str], call: Call
) -> AsyncIterator["PostgresWriter"]:
    table = require(target.table, "table", "postgres")
    async with borrow(call) as connection:
        transaction = connection.transaction()
        await transaction.start()
        writer = PostgresWriter(connection, transaction, table, call)
        writer.mode, writer.keys = mode, keys
        try:
            yield writer
        finally:
            if not writer.done:
                await transaction.rollback()


class PostgresWriter:
    """A table that is there; rows arrive over the COPY protocol."""

    mode = "append"
    keys: list[str]
    done = False

    def __init__(self, connection: "Connection", transaction: "Transaction", table: str, call: Call) -> None:
        self.connection, self.transaction = connection, transaction
        self.table, self.into, self.call = table, table, call

    async def begin(self, columns: list[str], rows: list[Row], types: Types) -> None:
        """Empty the table if asked; an upsert fills a table of its own first."""
        self.columns = columns
        if self.mode == "replace":
            await self.connection.execute(f"delete from {quote(self.table)}")
        if self.mode == "upsert":
            self.into = "noetl_incoming"
            like = f"like {quote(self.table)} including defaults"
            await self.connection.execute(f"create temp table noetl_incoming ({like}) on commit drop")

    async def write(self, rows: list[Row]) -> None:
        await load(self.connection, self.into, rows, self.columns)

    async def commit(self) -> None:
        if self.into != self.table and self.columns:
            names = ", ".join(map(quote, self.columns))
            await self.connection.execute(
                f"insert into {quote(self.table)} ({names}) select {names} from noetl_incoming"
                + conflict_sql(self.columns, self.keys)
            )
        await self.transaction.commit()
        self.done = True

    def ref(self) -> Reference:
        return table_ref("postgres", self.table, auth=self.call.auth_name)
