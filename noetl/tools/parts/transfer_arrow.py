"""A transfer between two ADBC drivers: batches go from one to the other as they are."""

from typing import TYPE_CHECKING

from noetl.ports.call import Call
from noetl.ports.envelope import Failed
from noetl.tools.parts.auth import with_auth
from noetl.tools.parts.sql_adbc import AdbcSession
from noetl.tools.parts.transfer_places import Source, Target, require, source_query
from noetl.tools.sql import lend

if TYPE_CHECKING:
    from noetl.tools.parts.sql_binding import Values
    from noetl.tools.parts.sql_session import Lent


async def move_batches(
    source: Source, target: Target, mapping: dict[str, str] | None, mode: str, call: Call
) -> int:
    """Let the target take what the source gives, in one transaction; how many rows it was."""
    if mode == "upsert":
        raise Failed("input", "ADBC drivers cannot upsert; use append or replace")
    table = require(target.table, "table", "sql")
    there, here = await with_auth(call, source.auth), await with_auth(call, target.auth)
    async with lend(str(source.driver), there) as giving, lend(str(target.driver), here) as taking:
        text, values = _query(source, mapping, giving)
        giver, taker = giving.session, taking.session
        assert isinstance(giver, AdbcSession)
        assert isinstance(taker, AdbcSession)
        await giving.work(giver.begin, True)
        await taking.work(taker.begin, True)
        await giving.work(giver.run, text, values)
        empties = mode == "replace" and await taking.work(taker.has_table, table)
        moved = await taking.work(taker.take_from, giver, table, empties)
        await taking.work(taker.commit)
        return moved


def _query(source: Source, mapping: dict[str, str] | None, lent: "Lent") -> "tuple[str, Values | None]":
    """What the source is asked; it gives the columns their new names itself."""
    quote = lent.session.quote
    query = source_query(source, quote)
    if mapping is not None:
        names = ", ".join(f"{quote(there)} as {quote(here)}" for here, there in mapping.items())
        query = f"select {names} from ({query.strip().rstrip(';')}) as given"
    text, values, _ = lent.session.binding.bind(query, source.params)
    return text, values
