"""Damage to a log or to what stands beside it: `audit` says it in words, whatever was done, on every database."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.adapters.clock.wall import now_ms
from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.postgres.store import PostgresStore
from noetl.adapters.sqlite.connection import fetch
from noetl.adapters.sqlite.store import SqliteStore
from noetl.control import log_audit as audit_module
from noetl.control import log_rows as rows_module
from noetl.control.log_audit import audit
from noetl.control.log_rows import events_of
from noetl.core.formats import OLDEST_ROW_FORMAT, ROW_FORMAT
from noetl.ports import hash_chain
from noetl.ports.hash_chain import chained, link
from noetl.ports.store import Row, Store
from noetl.settings import load
from noetl.wiring.embedded import Embedded, assemble
from tests.conformance.stores import Ground, opened
from tests.engine.harness import begin, playbook

Change = Callable[..., Awaitable[None]]  # a statement with ? for values, on the raw database
TEXT = playbook(
    """
    - step: start
      loop: {in: [1, 2, 3], iterator: i}
      tool: {kind: noop}
      next: {arcs: [{step: m}]}
    - {step: m, tool: {kind: noop}, next: {arcs: [{step: e}]}}
    - {step: e, tool: {kind: noop, output: {n: 1}}}
    """
)


class Damaged:
    """An execution that is over, and its rows to change behind the store's back."""

    def __init__(self, made: Embedded, store: Store, execution_id: str, change: Change) -> None:
        self.made, self.store, self.execution_id, self.change = made, store, execution_id, change
        self.rows: list[Row] = []

    async def problems(self) -> list[str]:
        program = await self.made.catalog.program((await self.recorded_hash()) or "")
        return (await audit(self.store, self.execution_id, program, self.made.catalog.engine)).problems

    async def recorded_hash(self) -> str | None:
        return str(msgspec.json.decode(self.rows[0].cause)["hash"])

    async def row(self, place: int, **values: Any) -> None:
        sets = ", ".join(f"{name} = ?" for name in values)
        await self.change(f"UPDATE log SET {sets} WHERE first = ?", *values.values(), self.rows[place].first)

    async def body(self, place: int, old: bytes, new: bytes) -> None:
        body = self.rows[place].body
        assert old in body, body
        await self.row(place, body=body.replace(old, new, 1))

    async def execution(self, **values: Any) -> None:
        sets = ", ".join(f"{name} = ?" for name in values)
        await self.change(f"UPDATE executions SET {sets}", *values.values())

    async def result(self, **values: Any) -> None:
        found = msgspec.json.decode((await self.store.summary(self.execution_id)).result or b"")
        await self.execution(result=msgspec.json.encode({**found, **values}))


def changing(store: Store) -> Change:
    async def sqlite(statement: str, *values: Any) -> None:
        assert isinstance(store, SqliteStore)
        await store._writer.run(lambda connection: fetch(connection, statement, values))

    async def postgres(statement: str, *values: Any) -> None:
        assert isinstance(store, PostgresStore)
        for place in range(1, len(values) + 1):
            statement = statement.replace("?", f"${place}", 1)
        await store.database.fetch(statement, *values)

    return sqlite if isinstance(store, SqliteStore) else postgres


@asynccontextmanager
async def executed(name: str, ground: Ground) -> AsyncIterator[Damaged]:
    """An execution that is over, on a database of this kind."""
    async with opened(name, ground) as store:
        folder = Path(ground.folder)
        settings = load({"store": str(folder / "x.db"), "home": str(folder)}, environ={}, folder=folder)
        made = assemble(settings, store, MemoryResults(now_ms), now_ms)
        execution_id = await begin(made, TEXT)
        await made.engine.until_quiet(execution_id)
        found = Damaged(made, store, execution_id, changing(store))
        found.rows = await store.rows(execution_id)
        assert len(found.rows) > 3
        assert (await store.projection(execution_id)).snapshot is not None
        assert await found.problems() == []
        yield found
        await made.pool.stop()
        await made.engine.close()


@pytest.fixture(autouse=True)
def early_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "SNAPSHOT_BYTES", 500)


@pytest.fixture(params=["sqlite", "postgres"])
async def damaged(request: pytest.FixtureRequest, ground: Ground) -> AsyncIterator[Damaged]:
    async with executed(request.param, ground) as found:
        yield found


async def the_last_row_deleted(it: Damaged) -> None:
    await it.change("DELETE FROM log WHERE first = ?", it.rows[-1].first)


async def a_middle_row_deleted(it: Damaged) -> None:
    await it.change("DELETE FROM log WHERE first = ?", it.rows[1].first)


async def every_row_deleted(it: Damaged) -> None:
    await it.change("DELETE FROM log")


async def a_body_edited(it: Damaged) -> None:
    await it.body(-1, b'"n":1', b'"n":2')


async def an_event_renamed(it: Damaged) -> None:
    await it.body(-1, b'"step.done"', b'"step.failed"')


async def a_status_edited(it: Damaged) -> None:
    await it.body(-1, b'"status":"completed"', b'"status":"cancelled"')


async def a_cause_edited(it: Damaged) -> None:
    await it.row(0, cause=it.rows[0].cause.replace(b'"path":"tests/case"', b'"path":"tests/cast"'))


async def a_moment_edited(it: Damaged) -> None:
    await it.row(1, ts=it.rows[1].ts + 1)


async def a_hash_edited(it: Damaged) -> None:
    await it.row(1, hash=bytes(32))


async def the_last_hash_edited(it: Damaged) -> None:
    await it.row(-1, hash=bytes(32))


async def a_batch_edited(it: Damaged) -> None:
    await it.row(-1, batch="another")


async def a_format_edited(it: Damaged) -> None:
    await it.row(1, format=1)


async def two_rows_swapped(it: Damaged) -> None:
    one, other = it.rows[1], it.rows[2]
    await it.row(1, body=other.body, cause=other.cause)
    await it.row(2, body=one.body, cause=one.cause)


async def _inserted(it: Damaged, row: Row) -> None:
    await it.change(
        "INSERT INTO log (execution, first, last, ts, cause, body, hash, format) "
        "SELECT id, ?, ?, ?, ?, ?, ?, ? FROM executions",
        *(row.first, row.last, row.ts, row.cause, row.body, row.hash, row.format),
    )


async def a_row_twice(it: Damaged) -> None:
    last = it.rows[-1]
    more = last.last - last.first + 1
    await _inserted(it, msgspec.structs.replace(last, first=last.first + more, last=last.last + more))


async def a_foreign_row(it: Damaged) -> None:
    last = it.rows[-1]
    event = msgspec.json.encode([["step.started", last.ts, "w", "e.9", None, None, None, None, {}]])
    row = Row(last.last + 1, last.last + 1, last.ts, b'{"type":"tick"}', event, b"", format=OLDEST_ROW_FORMAT)
    row.hash = link(last.hash, row)  # by someone who knows how links are made
    await _inserted(it, row)


async def broken_json(it: Damaged) -> None:
    await it.row(1, body=it.rows[1].body[:-3])


async def a_broken_cause(it: Damaged) -> None:
    await it.row(1, cause=b'{"type":"nothing"}')


async def a_row_of_nothing(it: Damaged) -> None:
    await it.row(1, body=b"[]")


async def the_status_shown(it: Damaged) -> None:
    await it.execution(status="failed")


async def the_end_shown(it: Damaged) -> None:
    await it.execution(ended_at=1)


async def the_path_shown(it: Damaged) -> None:
    await it.execution(path="tests/other")


async def the_output_shown(it: Damaged) -> None:
    await it.result(output={"n": 2})


async def the_counts_shown(it: Damaged) -> None:
    await it.result(counts={"events": 3})


async def the_error_shown(it: Damaged) -> None:
    await it.result(error={"kind": "made up"})


async def a_broken_result(it: Damaged) -> None:
    await it.execution(result=b"{")


async def the_head_of_the_log(it: Damaged) -> None:
    await it.execution(head=bytes(32))


async def the_end_of_the_log(it: Damaged) -> None:
    await it.execution(seq=it.rows[-1].last - 1)


async def the_snapshot(it: Damaged) -> None:
    saved = (await it.store.projection(it.execution_id)).snapshot
    assert saved is not None
    await it.change("UPDATE snapshots SET state = ?", saved.state.replace(b'"running"', b'"pausedd"'))


async def the_link_of_the_snapshot(it: Damaged) -> None:
    await it.change("UPDATE snapshots SET hash = ?", bytes(32))


DAMAGES: dict[Callable[[Damaged], Awaitable[None]], str] = {
    the_last_row_deleted: "its last commit ended at event",
    a_middle_row_deleted: "the log has a gap",
    every_row_deleted: "the log has no events",
    a_body_edited: "the hash chain breaks at event",
    an_event_renamed: "the hash chain breaks at event",
    a_status_edited: "the hash chain breaks at event",
    a_cause_edited: "the hash chain breaks at event 1",
    a_moment_edited: "the hash chain breaks at event",
    a_hash_edited: "the hash chain breaks at event",
    the_last_hash_edited: "is not the one that the last commit left",
    a_batch_edited: "the hash chain breaks at event",
    a_format_edited: "the hash chain breaks at event",
    two_rows_swapped: "the hash chain breaks at event",
    a_row_twice: "stands after playbook.processed",
    a_foreign_row: "the log goes on to event",
    broken_json: "cannot be read",
    a_broken_cause: "cannot be read",
    a_row_of_nothing: "holds 0 events",
    the_status_shown: 'the projection says status "failed", the log says "completed"',
    the_end_shown: "the projection says ended_at 1, the log says",
    the_path_shown: 'the projection says path "tests/other", the log says "tests/case"',
    the_output_shown: 'the projection says result.output {"n":2}, the log says {"n":1}',
    the_counts_shown: "the projection says result.counts",
    the_error_shown: "the projection says result.error",
    a_broken_result: "the projection's result cannot be read",
    the_head_of_the_log: "is not the one that the last commit left",
    the_end_of_the_log: "its last commit ended at event",
    the_snapshot: "is not the state that the log gives",
    the_link_of_the_snapshot: "does not stand on the log's hash chain",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
async def test_damage_is_said_in_words(
    damaged: Damaged, damage: Callable[[Damaged], Awaitable[None]]
) -> None:
    await damage(damaged)
    problems = await damaged.problems()
    assert any(DAMAGES[damage] in problem for problem in problems), problems


async def test_rows_of_the_first_format_still_verify(damaged: Damaged) -> None:
    head = b""
    for place, row in enumerate(damaged.rows):
        head = chained(head, row.body)
        await damaged.row(place, hash=head, format=1)
    await damaged.execution(head=head)
    saved = (await damaged.store.projection(damaged.execution_id)).snapshot
    assert saved is not None
    [link_there] = [
        row.hash for row in await damaged.store.rows(damaged.execution_id) if row.last == saved.seq
    ]
    await damaged.change("UPDATE snapshots SET hash = ?", link_there)
    assert await damaged.problems() == []


async def test_a_row_of_a_newer_format_is_not_guessed_at(damaged: Damaged) -> None:
    await damaged.row(1, format=ROW_FORMAT + 1)
    problems = await damaged.problems()
    assert f"has format {ROW_FORMAT + 1}; this noetl reads up to {ROW_FORMAT}" in problems[0]
    with pytest.raises(Exception, match="reads up to"):
        events_of((await damaged.store.rows(damaged.execution_id))[1])


def a_hash_over_the_body_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(hash_chain._LINKS, OLDEST_ROW_FORMAT, lambda previous, row: chained(previous, row.body))


def a_log_that_may_end_anywhere(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(audit_module, "_end_problems", lambda reading: [])


def a_projection_that_nobody_compares(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(audit_module, "_beside_problems", lambda reading, same_engine: [])


PLANTED = [
    (a_hash_over_the_body_alone, a_moment_edited),
    (a_hash_over_the_body_alone, a_cause_edited),
    (a_log_that_may_end_anywhere, the_last_row_deleted),
    (a_log_that_may_end_anywhere, the_head_of_the_log),
    (a_projection_that_nobody_compares, the_status_shown),
    (a_projection_that_nobody_compares, the_snapshot),
]


@pytest.mark.parametrize(("bug", "damage"), PLANTED, ids=lambda planted: planted.__name__)
async def test_each_part_of_the_audit_is_needed(
    ground: Ground,
    monkeypatch: pytest.MonkeyPatch,
    bug: Callable[[pytest.MonkeyPatch], None],
    damage: Callable[[Damaged], Awaitable[None]],
) -> None:
    bug(monkeypatch)
    async with executed("sqlite", ground) as found:
        await damage(found)
        assert not any(DAMAGES[damage] in problem for problem in await found.problems())
