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
    logs: dict[str, RecordedLog]  # the execution, those that went on from it, and the children of all
    payloads: dict[str, str] = {}  # compressed, as base64

    def chain(self) -> list[str]:
        """The execution, and those that went on from one another behind it."""
        members = [self.execution_id]
        while (following := self.logs[members[-1]].summary.continued_as) is not None:
            members.append(following)
        return members


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


async def restored(
    history: History, last: str | None = None, rows: int | None = None
) -> tuple[MemoryStore, MemoryResults]:
    """A store that has a history: all of it, or of its chain up to so many rows of one, and what there was by then."""
    store, results = MemoryStore(now_ms), MemoryResults(now_ms)
    for entry in history.playbooks:
        await store.register(entry.path, entry.hash, entry.text, None)
    for execution_id, kept in _kept(history, last or history.chain()[-1], rows).items():
        await store.commit(_append(execution_id, history.logs[execution_id], kept))
    for key, body in history.payloads.items():
        await results.write(Payload(key, zlib.decompress(b64decode(body))))
    return store, results


def _kept(history: History, last: str, rows: int | None) -> dict[str, list[RecordedRow]]:
    """The rows of each log; those of children are as old as the newest of the chain, or older."""
    chain, newest = history.chain(), history.logs[last].rows[:rows]
    kept = {before: history.logs[before].rows for before in chain[: chain.index(last)]}
    kept[last] = newest
    for execution_id, log in reversed(history.logs.items()):  # the oldest first: others went on from them
        if execution_id not in chain:
            kept[execution_id] = [row for row in log.rows if rows is None or row.ts < newest[-1].ts]
    return {execution_id: some for execution_id, some in kept.items() if some}


def _append(execution_id: str, log: RecordedLog, kept: list[RecordedRow]) -> Append:
    rows = [row.row() for row in kept]
    if len(rows) == len(log.rows):
        return Append(execution_id, 0, rows, log.summary)
    state = State(execution_id)
    for row in rows:
        fold(state, events_of(row))
    return Append(execution_id, 0, rows, summary_of(state, next_due(state), log.summary.request))
