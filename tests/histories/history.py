"""A recorded execution as a file: playbooks, logs of the execution and its children, payloads, and its end."""

import zlib
from base64 import b64decode, b64encode
from pathlib import Path

import msgspec

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.control.log_rows import events_of, summary_of
from noetl.core.deciding.operator_commands import next_due
from noetl.core.fold import fold
from noetl.core.message import Payload
from noetl.core.state import State
from noetl.json_value import Json
from noetl.ports.store import Append, PlaybookText, Row, Summary

FOLDER = Path(__file__).parent


class RecordedRow(msgspec.Struct, omit_defaults=True):
    """A row as text: what it holds is JSON already, and its hash needs every byte of it."""

    first: int
    last: int
    ts: int
    cause: str
    body: str
    hash: str
    format: int
    batch: str | None = None

    def row(self) -> Row:
        """The row as a store has it."""
        cause, body = self.cause.encode(), self.body.encode()
        return Row(
            self.first,
            self.last,
            self.ts,
            cause,
            body,
            bytes.fromhex(self.hash),
            self.batch,
            None,
            self.format,
        )


class RecordedLog(msgspec.Struct):
    """What a store had of one execution."""

    summary: Summary
    rows: list[RecordedRow]


class History(msgspec.Struct):
    """One recorded execution."""

    scenario: str
    engine: str
    store: str
    execution_id: str
    status: str
    output: Json
    playbooks: list[PlaybookText]
    logs: dict[str, RecordedLog]  # the execution, and its children
    payloads: dict[str, str] = {}  # compressed, as base64


def files() -> list[Path]:
    """Every recorded execution of every release."""
    return sorted(FOLDER.glob("*/*.json"))


def read(file: Path) -> History:
    """A recorded execution."""
    return msgspec.json.decode(file.read_bytes(), type=History)


def write(history: History, folder: Path) -> Path:
    """Keep a recorded execution, one row on a line, so that a change of it can be read."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{history.scenario}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(history), indent=1) + b"\n")
    return file


def recorded(row: Row) -> RecordedRow:
    """A row as it is written to a file."""
    return RecordedRow(
        row.first,
        row.last,
        row.ts,
        row.cause.decode(),
        row.body.decode(),
        row.hash.hex(),
        row.format,
        row.batch,
    )


def packed(body: bytes) -> str:
    """A payload as it is written to a file."""
    return b64encode(zlib.compress(body, 9)).decode()


async def restored(history: History, rows: int | None = None) -> tuple[MemoryStore, MemoryResults]:
    """A store that has a history, or so many of its rows and of the children what there was by then."""
    store, results = MemoryStore(now_ms), MemoryResults(now_ms)
    for entry in history.playbooks:
        await store.register(entry.path, entry.hash, entry.text, None)
    own = history.logs[history.execution_id].rows
    until = None if rows is None else own[rows - 1].ts
    for execution_id, log in history.logs.items():
        if execution_id == history.execution_id:
            kept = log.rows[:rows]
        else:
            kept = [row for row in log.rows if until is None or row.ts < until]
        if kept:
            await store.commit(_append(execution_id, log, kept))
    for key, body in history.payloads.items():
        await results.write(Payload(key, zlib.decompress(b64decode(body))))
    return store, results


def _append(execution_id: str, log: RecordedLog, kept: list[RecordedRow]) -> Append:
    rows = [row.row() for row in kept]
    if len(rows) == len(log.rows):
        return Append(execution_id, 0, rows, log.summary)
    state = State(execution_id)
    for row in rows:
        fold(state, events_of(row))
    return Append(execution_id, 0, rows, summary_of(state, next_due(state), log.summary.request))
