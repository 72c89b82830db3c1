"""Targets that take Arrow batches: ADBC drivers, DuckDB, tables of a lake, and Parquet files and objects."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from noetl.ports.call import Call
from noetl.ports.envelope import Failed, Reference
from noetl.tools.parts.auth import with_auth
from noetl.tools.parts.content import format_of
from noetl.tools.parts.sql_adbc import PREFIX, AdbcSession
from noetl.tools.parts.transfer_batches import (
    Fit,
    Flow,
    as_given,
    with_plain_lists,
    without_nested,
)
from noetl.tools.parts.transfer_files import FileWriter
from noetl.tools.parts.transfer_lake import LakeWriter
from noetl.tools.parts.transfer_places import Target, in_thread, require
from noetl.tools.parts.transfer_remote import ObjectWriter
from noetl.tools.parts.transfer_targets import DuckdbWriter
from noetl.tools.sql import lend

if TYPE_CHECKING:
    from noetl.tools.parts.sql_session import Lent

LAKES = ("delta", "iceberg")
FITS: dict[str, Fit] = {
    "adbc_driver_postgresql": with_plain_lists,
    "adbc_driver_sqlite": without_nested,
}


def takes_batches(target: Target, mode: str) -> bool:
    """Whether a target takes Arrow batches in this mode."""
    if target.kind == "sql":
        return (target.driver or "").startswith(PREFIX)
    if target.kind in ("duckdb", "delta", "iceberg"):
        return mode != "upsert"  # of rows with one key, the last is to win, which one statement does not do
    name = {"file": target.path, "object": target.key}.get(target.kind)
    return bool(name) and format_of(str(name), target.format) == "parquet"


class Taker(Protocol):
    """An open target; what it took is undone unless it was committed."""

    @property
    def fit(self) -> Fit:
        """What becomes of types that it does not have."""

    async def take(self, flow: Flow) -> None:
        """Take everything; cancelled, stop the flow."""

    async def commit(self) -> None:
        """Let it hold."""

    def ref(self) -> Reference | None:
        """Where the rows are now."""


@asynccontextmanager
async def open_taker(target: Target, mode: str, call: Call) -> AsyncIterator[Taker]:
    """A target that takes batches."""
    call = await with_auth(call, target.auth)
    if target.kind == "sql":
        if mode == "upsert":
            raise Failed("input", "ADBC drivers cannot upsert; use append or replace")
        async with lend(str(target.driver), call) as lent:
            yield AdbcTable(lent, target, mode)
        return
    taking = await _lake(target, mode, call) if target.kind in LAKES else _local(target, mode, call)
    async with aclosing(taking) as taker:
        yield taker


async def _lake(target: Target, mode: str, call: Call) -> "Lake":
    if target.kind == "delta":
        from noetl.tools.parts.transfer_delta import DeltaWriter, place_of

        return Lake(DeltaWriter(await place_of(target, call), mode, []))
    from noetl.tools.parts.transfer_iceberg import IcebergWriter, catalog_of

    return Lake(IcebergWriter(await catalog_of(target, call), mode, []))


def _local(target: Target, mode: str, call: Call) -> "Written | Sent":
    if target.kind == "object":
        return Sent(ObjectWriter(target, mode, call))
    return Written(
        DuckdbWriter(target, mode, [], call) if target.kind == "duckdb" else FileWriter(target, mode, call)
    )


class AdbcTable:
    """A table behind an ADBC driver."""

    def __init__(self, lent: "Lent", target: Target, mode: str) -> None:
        assert isinstance(lent.session, AdbcSession)
        self.lent, self.session = lent, lent.session
        self.table, self.replaces = require(target.table, "table", "sql"), mode == "replace"
        self.fit = FITS.get(str(target.driver), as_given)

    async def take(self, flow: Flow) -> None:
        self.session.on_cancel = flow.stop
        await self.lent.work(self._take, flow)

    def _take(self, flow: Flow) -> None:
        self.session.begin(True)
        empties = self.replaces and self.session.has_table(self.table)
        self.session.take(flow.reader(), self.table, empties)

    async def commit(self) -> None:
        await self.lent.work(self.session.commit)

    def ref(self) -> None:
        """`resolve` does not read what a driver of somebody else's keeps."""


class Written:
    """A DuckDB table or a Parquet file, written in a thread."""

    fit = staticmethod(as_given)

    def __init__(self, writer: DuckdbWriter | FileWriter) -> None:
        self.writer = writer

    async def take(self, flow: Flow) -> None:
        await in_thread(self.writer.take, flow.reader(), stop=flow.stop)

    async def commit(self) -> None:
        await in_thread(self.writer.put)

    async def aclose(self) -> None:
        await in_thread(self.writer.close)

    def ref(self) -> Reference:
        return self.writer.ref()


class Sent:
    """A Parquet object: a file that is sent when it is whole."""

    fit = staticmethod(as_given)

    def __init__(self, writer: ObjectWriter) -> None:
        self.writer = writer

    async def take(self, flow: Flow) -> None:
        await in_thread(self.writer.file.take, flow.reader(), stop=flow.stop)

    async def commit(self) -> None:
        await in_thread(self.writer.file.put)
        await self.writer.send()

    async def aclose(self) -> None:
        await self.writer.aclose()

    def ref(self) -> Reference:
        return self.writer.ref()


class Lake:
    """A Delta or Iceberg table: batches wait in a file, then are one commit."""

    def __init__(self, writer: LakeWriter) -> None:
        self.writer, self.fit = writer, writer.fit

    async def take(self, flow: Flow) -> None:
        await in_thread(self.writer.take, flow.reader(), stop=flow.stop)

    async def commit(self) -> None:
        await in_thread(self.writer.commit)

    async def aclose(self) -> None:
        await in_thread(self.writer.close)

    def ref(self) -> None:
        """`resolve` does not read tables of a lake."""
