"""What the SQL kinds have in common: the inputs, the shape of an answer, and the reference to stored rows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Failed, Reference, reference
from noetl.ports.tool import Input, Size, doc
from noetl.ports.values import to_json

QUERY = "One SQL statement, or several separated by semicolons. Bind values with `params`."
PARAMS = "Values to bind: a list for `{}`, a mapping for `{}`. `{}` is bound by itself."
STORE = "Where these statements put their rows; the answer then carries a reference to them."
SHAPE = (
    "`{rows: [{...}], row_count, columns}` of the last statement that returned rows; "
    "`statements` beside it when there were several"
)
MAX_ROWS = 1_000_000
HELD_BYTES = 256 * 1024**2
SMALLER = "select fewer or smaller columns, or use kind: transfer"
HOLD_BYTES = 16 * 1024**2
KEY = "idempotency_key"
_NUMBER = re.compile(r"-?\d+")
_STRETCH = re.compile(r"(?P<column>[^:]+):(?P<start>-?[^-]*)-(?P<end>.*)")

Params = list[Json] | dict[str, Json]


class Range(Input):
    """A stretch of a table: the rows whose column lies between two values, both included."""

    column: Annotated[str, doc("The column that is compared.")]
    start: Annotated[Json, doc("The lowest value; left out, from the beginning.")] = None
    end: Annotated[Json, doc("The highest value; left out, to the end.")] = None


class Store(Input):
    """Where rows were put."""

    table: Annotated[str, doc("The table, with its schema where it has one.")]
    range: Annotated[Range | str | None, doc("Which rows, also as `id:100-150`; left out, all.")] = None


class Statements(Input):
    """The SQL of a task."""

    query: Annotated[str | None, doc(QUERY)] = None
    command: Annotated[str | None, doc(QUERY)] = None

    @property
    def text(self) -> str:
        return self.query or self.command or ""


class StatementKnobs(Input):
    transaction: Annotated[bool, doc("Run several statements in one transaction.")] = True
    max_rows: Annotated[Size, doc("More rows than this are error kind `limit`.")] = MAX_ROWS


@dataclass(slots=True)
class Result:
    """What one statement gave: its rows when it returns any, else how many it changed."""

    columns: list[str] | None = None
    rows: list[dict[str, Json]] = field(default_factory=list)
    changed: int = 0
    ref: Reference | None = None  # where the rows are when they are too many to hold
    held_size: int = 0  # characters and bytes of the rows

    def add(self, row: Sequence[object]) -> None:
        """Take one row; Failed (kind `limit`) when the rows have become more than a worker may hold."""
        for value in row:
            if isinstance(value, str | bytes):
                self.held_size += len(value)
        if self.held_size > HELD_BYTES:
            raise Failed("limit", f"the rows hold more than {HELD_BYTES >> 20} MiB; {SMALLER}", answered=True)
        cells = zip(self.columns or (), row, strict=True)
        self.rows.append({name: to_json(value, name) for name, value in cells})

    @property
    def data(self) -> dict[str, object]:
        """The statement as authors read it."""
        if self.ref is not None:
            return {"rows": None, "row_count": self.changed, "columns": self.columns or []}
        count = self.changed if self.columns is None else len(self.rows)
        return {"rows": self.rows, "row_count": count, "columns": self.columns or []}


def columns_of(names: Iterable[str]) -> list[str]:
    """Column names, each once: a second `id` becomes `id_2`."""
    counts: dict[str, int] = {}
    unique = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        unique.append(name if counts[name] == 1 else f"{name}_{counts[name]}")
    return unique


def with_key(params: Params | None, text: str, mark: str, call: Call) -> Params | None:
    """The values to bind, with the call's idempotency key where the SQL names it and nobody gives it."""
    if f"{mark}{KEY}" not in text or (isinstance(params, dict) and KEY in params):
        return params
    if isinstance(params, list):
        raise Failed("input", f"{mark}{KEY} needs params as a mapping; they are a list")
    return {**(params or {}), KEY: call.idempotency_key}


def hold_bytes(call: Call) -> int:
    """How much of an answer is held in memory before it goes into the result store."""
    return call.limit("max_hydrate_bytes", HOLD_BYTES)


def data_of(results: list[Result], call: Call) -> dict[str, object]:
    returning = [result for result in results if result.columns is not None]
    last = (returning or results or [Result()])[-1]
    data = last.data
    if len(results) > 1:
        data["statements"] = [result.data for result in results]
    if call.mentions("command_"):
        data |= {f"command_{number}": result.data for number, result in enumerate(results)}
    return data


def stored_reference(results: list[Result]) -> dict[str, Reference]:
    """The envelope's `ref` when the rows of the last statement that returned any are in the result store."""
    last = next((result for result in reversed(results) if result.columns is not None), Result())
    return {} if last.ref is None else {"ref": last.ref}


def ref_parts(store: Store | None, locator: Mapping[str, Json], call: Call) -> dict[str, Reference]:
    """The envelope's `ref` when the task says where its rows are."""
    if store is None:
        return {}
    where: dict[str, Json] = {**locator, "tool": locator["store"], "table": store.table}
    if store.range is not None:
        where["range"] = stretch(store.range)
    meta = {"content_type": "application/json"}
    return {"ref": reference("relational", where, auth=call.auth_name, meta=meta)}


def stretch(text: Range | str) -> dict[str, Json]:
    """A stretch of a table as references have it; `id:100-150` is the short way to write one."""
    if isinstance(text, Range):
        return {"column": text.column, "start": text.start, "end": text.end}
    match = _STRETCH.fullmatch(text)
    if match is None:
        raise Failed("input", f"store.range is {text!r}; write column:start-end, such as id:100-150")
    return {"column": match["column"], "start": _limit(match["start"]), "end": _limit(match["end"])}


def _limit(text: str) -> Json:
    """One end of a stretch; nothing there is no bound."""
    if _NUMBER.fullmatch(text):
        return int(text)
    return text or None


def literal(text: str) -> str:
    """A text as it stands in SQL."""
    return "'" + text.replace("'", "''") + "'"


def quote(name: str) -> str:
    """A table or column as a quoted identifier; a dot separates the schema."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))
