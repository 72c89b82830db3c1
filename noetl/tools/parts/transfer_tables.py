"""The SQL of a transfer into a table, and the reference to its rows. What runs it is the writers'."""

from noetl.json_value import Json
from noetl.ports.envelope import Failed, Reference, reference
from noetl.tools.parts.sql import quote


def conflict_sql(columns: list[str], keys: list[str]) -> str:
    """What happens to a row whose keys are there."""
    if not keys:
        return ""
    if missing := [key for key in keys if key not in columns]:
        raise Failed("input", f"the key {missing[0]!r} is not among the columns {', '.join(columns)}")
    changes = [f"{quote(name)} = excluded.{quote(name)}" for name in columns if name not in keys]
    action = f"update set {', '.join(changes)}" if changes else "nothing"
    return f" on conflict ({', '.join(map(quote, keys))}) do {action}"


def create_sql(table: str, columns: list[str], types: list[str], keys: list[str]) -> str:
    """A table for the columns, unless it is there."""
    parts = [f"{quote(name)} {kind}".rstrip() for name, kind in zip(columns, types, strict=True)]
    if keys:
        parts.append(f"primary key ({', '.join(map(quote, keys))})")
    return f"create table if not exists {quote(table)} ({', '.join(parts)})"


def table_ref(kind: str, table: str, database: str | None = None, auth: str | None = None) -> Reference:
    locator: dict[str, Json] = {"store": kind, "tool": kind, "table": table}
    if database is not None:
        locator["database"] = database
    return reference("relational", locator, auth=auth, meta={"content_type": "application/json"})
