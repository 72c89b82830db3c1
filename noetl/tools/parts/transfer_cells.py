"""Values of JSON as the columns of a table take them: bytes are base64 text, times without a zone are UTC."""

import base64
import binascii
import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING

from noetl.json_value import Json
from noetl.ports.envelope import Failed

if TYPE_CHECKING:
    from sqlalchemy import Connection

Cell = Callable[[Json], object]


def bytes_cell(column: str) -> Cell:
    """What a column of bytes takes; Failed for a text that is no base64."""

    def decoded(value: Json) -> bytes | None:
        if value is None:
            return None
        try:
            return base64.b64decode(value.encode() if isinstance(value, str) else b"!", validate=True)
        except (binascii.Error, ValueError):
            told = f"the column {column!r} holds bytes, which come as base64; {str(value)[:60]!r} is none"
            raise Failed("value", told, answered=True) from None

    return decoded


def utc_cell(value: Json) -> Json:
    """What MySQL's DATETIME and TIMESTAMP take, which know no zone; other text goes as it is."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.datetime.fromisoformat(value)
    except ValueError:
        return value
    return str(moment.astimezone(datetime.UTC).replace(tzinfo=None)) if moment.tzinfo else value


def mysql_cells(connection: "Connection", table: str, schema: str | None) -> dict[str, Cell]:
    """The columns of a table of MySQL that do not take a value of JSON as it is."""
    from sqlalchemy import inspect
    from sqlalchemy.dialects.mysql import BIT
    from sqlalchemy.types import DateTime, _Binary

    cells: dict[str, Cell] = {}
    for column in inspect(connection).get_columns(table, schema):
        name, kind = str(column["name"]), column["type"]
        if isinstance(kind, _Binary | BIT):
            cells[name] = bytes_cell(name)
        elif isinstance(kind, DateTime):
            cells[name] = utc_cell
    return cells
