"""A table of ClickHouse that a transfer fills: rows wait in a file until all are there, then are one insert.

ClickHouse has no transactions, and one large insert is what it is made for. It reads the rows as JSON lines,
so that the columns of a table that is there say what becomes of dates, decimals and lists.
"""

import os
import tempfile
from typing import TYPE_CHECKING

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts import content
from noetl.tools.parts.sql_clickhouse import ClickhouseSession
from noetl.tools.parts.transfer_places import Row
from noetl.tools.parts.transfer_types import Types

if TYPE_CHECKING:
    from noetl.tools.parts.sql_session import Lent

NEW = "engine = MergeTree order by tuple()"
READS = {"date_time_input_format": "best_effort"}


class ClickhouseWriter:
    """Rows on their way into a table."""

    def __init__(self, lent: "Lent", table: str, mode: str, call: Call) -> None:
        assert isinstance(lent.session, ClickhouseSession)
        if mode == "upsert":
            raise Failed(
                "input",
                "ClickHouse has no upsert; append to a table of the engine ReplacingMergeTree, "
                "which keeps the newest row of a key",
            )
        self.lent, self.session = lent, lent.session
        self.table = ".".join(_quote(part) for part in table.split(".", 1))
        self.mode, self.key = mode, call.idempotency_key
        self.folder = tempfile.TemporaryDirectory(prefix="noetl-transfer-")
        self.path = os.path.join(self.folder.name, "rows.jsonl")
        self.columns: list[str] = []

    async def begin(self, columns: list[str], rows: list[Row], types: Types) -> None:
        """Make the table if need be, with the types of the first rows."""
        self.columns = columns if rows else []
        await self.lent.work(self.session.begin, False)
        if rows:
            cells = ", ".join(f"{_quote(name)} {_type([row.get(name) for row in rows])}" for name in columns)
            await self._run(f"create table if not exists {self.table} ({cells}) {NEW}")

    async def write(self, rows: list[Row]) -> None:
        await self.lent.work(self._keep, rows)

    async def commit(self) -> None:
        """Empty the table if asked, and insert what waits."""
        if self.mode == "replace":
            await self._run(f"truncate table if exists {self.table}")
        if self.columns:
            await self.lent.work(self._insert)

    def ref(self) -> None:
        """`resolve` does not read what a driver of somebody else's keeps."""

    def close(self) -> None:
        self.folder.cleanup()

    async def _run(self, text: str) -> None:
        await self.lent.work(self.session.execute, text, None)

    # ---- in a thread ----

    def _keep(self, rows: list[Row]) -> None:
        with open(self.path, "ab") as file:
            file.write(content.encode([*rows], "jsonl"))

    def _insert(self) -> None:
        """Where the table knows repeated inserts, it is the call that they are known by."""
        emptied = self.mode == "replace"
        known = {"insert_deduplicate": "0"} if emptied else {"insert_deduplication_token": self.key}
        with open(self.path, "rb") as file, self.session.asking():
            self.session.client.raw_insert(
                self.table, self.columns, file, settings=READS | known, fmt="JSONEachRow"
            )


def _quote(name: str) -> str:
    inside = name.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{inside}`"


def _type(values: list[Json]) -> str:
    types = {type(value) for value in values if value is not None}
    if types == {bool}:
        return "Nullable(Bool)"
    if types == {int}:
        return "Nullable(Int64)"
    return "Nullable(Float64)" if types and types <= {int, float} else "Nullable(String)"
