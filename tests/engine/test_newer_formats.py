"""What a newer release wrote is left to servers that can read it: never guessed at, never marked."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from noetl.cli.processes.serving import options_for
from noetl.control import left_executions, log_rows, recovery
from noetl.control.log_rows import encode_message, stored_result
from noetl.core import formats
from noetl.core.formats import ROW_FORMAT
from noetl.core.message import Control, Report
from noetl.core.state import restore
from noetl.errors import NewerFormat
from noetl.ports.hash_chain import link
from noetl.settings import load
from tests.engine.harness import Clock, begin, control, engine, finish, playbook
from tests.engine.test_mailbox import parked
from tests.engine.test_stuck import counted

GO = encode_message(Control("signal", name="go"))


def rewritten(made: Any, execution_id: str, **changes: Any) -> Any:
    """Write the last row of a log as a newer release would; what it was."""
    rows = made.store._executions[execution_id].rows
    before = rows[-1]
    rows[-1] = msgspec.structs.replace(before, **changes)
    return before


def newer_event(row: Any) -> bytes:
    """The events of a row, the last of them one that nobody knows yet."""
    events = msgspec.json.decode(row.body)
    events[-1][0] = "token.teleported"
    return msgspec.json.encode(events)


@pytest.mark.parametrize("what", ["row", "event"])
async def test_a_newer_row_is_left_to_others_with_its_mail_and_said_once(tmp_path, caplog, what):
    clock = Clock()
    async with engine(tmp_path) as made:
        execution_id, sound = await parked(made), await parked(made)
        row = made.store._executions[execution_id].rows[-1]
    newer = {"format": ROW_FORMAT + 1} if what == "row" else {"body": newer_event(row)}
    rewritten(made, execution_id, **newer)
    async with engine(tmp_path, made, clock) as other:
        caplog.set_level(logging.WARNING)
        await other.store.post(execution_id, GO)
        for _ in range(3):
            await other.engine.pick_up_due()
            await other.engine.collect_mail()
        assert other.engine.running() == (sound,)
        summary = await other.store.summary(execution_id)
        assert (summary.status, summary.stuck) == ("waiting", None)
        assert not await other.store.owned(execution_id)
        assert (await other.store.extent()).messages == 1
        said = [record.message for record in caplog.records if execution_id in record.message]
        assert len(said) == 1
        assert "left to servers of a newer release" in said[0]
        with pytest.raises(NewerFormat, match=f"event {row.first if what == 'row' else row.last}"):
            await other.engine.send(execution_id, Control("pause"))
        with pytest.raises(NewerFormat):  # its worker sends it again, to whoever has it then
            await other.engine.report(execution_id, Report("start.1", 1, "w", "start.1/1/9"))
        rewritten(
            made, execution_id, body=row.body, format=row.format
        )  # as one that can read it would see it
        clock.forward(left_executions.AGAIN_MS / 1000)
        await other.engine.pick_up_due()
        await other.engine.collect_mail()
        assert (await finish(other, execution_id)).status == "completed"


async def test_what_the_store_says_is_newer_is_not_even_claimed(tmp_path, monkeypatch, caplog):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
    rewritten(made, execution_id, format=ROW_FORMAT + 1)
    made.store._executions[execution_id].summary.format = ROW_FORMAT + 1
    async with engine(tmp_path, made) as other:
        claims = counted(monkeypatch, other.store, "claim")
        await other.engine.pick_up_due()
        assert (claims, other.engine.running()) == ([], ())
        metrics = options_for(load({}, environ={}, folder=tmp_path), other.engine).collect()
        assert [metric.samples[0].value for metric in metrics if metric.name == "noetl_executions_left"] == [
            1
        ]
        assert f"execution {execution_id} is left" in caplog.text


async def test_a_newer_letter_stays_and_its_execution_is_left_to_others(tmp_path, caplog):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        newer = b'{"format":%d,"message":{"type":"quota"}}' % (formats.LETTER_FORMAT + 1)
        await made.store.post(execution_id, newer)
        await made.store.post(execution_id, GO)
        await made.engine.collect_mail()
        await made.engine.collect_mail()
        assert made.engine.running() == ()
        with pytest.raises(NewerFormat, match="a message for it has format"):
            await made.engine.load(execution_id)
        assert (await made.store.summary(execution_id)).stuck is None
        assert (await made.store.extent()).messages == 2
        await asyncio.gather(*made.engine._background)
        assert not await made.store.owned(execution_id)


async def test_letters_of_before_they_had_a_format_are_read(tmp_path):
    async with engine(tmp_path) as made:
        execution_id = await parked(made)
        await made.store.post(execution_id, msgspec.json.encode(Control("signal", name="go")))
        await made.engine.collect_mail()
        assert (await finish(made, execution_id)).status == "completed"


async def left_with(tmp_path, monkeypatch, change: Any) -> Any:
    """An execution whose snapshot another release wrote, taken over by this one; and how it ends."""
    monkeypatch.setattr(log_rows, "SNAPSHOT_BYTES", 1)
    text = playbook("""
    - {step: a, tool: {kind: noop}, next: {arcs: [{step: b}]}}
    - {step: b, tool: {kind: wait, input: {signal: go}}, set: {ctx.n: 1}}
    """)
    async with engine(tmp_path) as made:
        execution_id = await begin(made, text)
        await made.engine.read(execution_id, lambda state: None)
        await control(made, execution_id, "signal", name="early")
        execution = made.store._executions[execution_id]
        assert execution.snapshot is not None
        execution.snapshot.state = change(execution.snapshot.state)
    async with engine(tmp_path, made) as other:
        loaded = await other.engine.pick_up(execution_id)
        assert not loaded.tail
        await control(other, execution_id, "signal", name="go")
        return await finish(other, execution_id)


def of_a_newer_format(state: bytes) -> bytes:
    """A snapshot that says of another number of events in its own way."""
    return state.replace(b'"format":1', b'"format":99').replace(b'"enqueued":', b'"arrived":')


def with_a_newer_field(state: bytes) -> bytes:
    return state.replace(b'"enqueued":', b'"lanes":{"x":1},"enqueued":')


@pytest.mark.parametrize("change", [of_a_newer_format, with_a_newer_field])
async def test_a_snapshot_that_is_not_understood_is_not_used(tmp_path, monkeypatch, change):
    ran = await left_with(tmp_path, monkeypatch, change)
    assert (ran.status, ran.ctx) == ("completed", {"n": 1})


async def test_a_newer_result_is_not_shown_by_guess(tmp_path):
    async with engine(tmp_path) as made:
        ran = await finish(made, await begin(made, playbook("- {step: a, tool: {kind: noop, output: 1}}")))
        execution = made.store._executions[ran.execution_id]
        assert ran.result["format"] == formats.RESULT_FORMAT
        assert "format" not in stored_result(execution.summary)
        execution.summary.result = msgspec.json.encode({**ran.result, "format": formats.RESULT_FORMAT + 1})
        with pytest.raises(NewerFormat, match=ran.execution_id):
            await made.front.execution(ran.execution_id)


# ---- planted ---------------------------------------------------------------------------------------------


async def test_planted_a_newer_row_folded_by_guess_is_found(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(formats, "check_row_format", lambda first, written_in: None)
    with pytest.raises(AssertionError):
        await test_a_newer_row_is_left_to_others_with_its_mail_and_said_once(tmp_path, caplog, "row")


async def test_planted_a_snapshot_of_a_newer_format_is_used(tmp_path, monkeypatch):
    def guessed(kept: bytes) -> Any:
        return restore(msgspec.json.decode(kept, type=dict[str, msgspec.Raw])["state"])

    monkeypatch.setattr(recovery, "opened", guessed)
    with pytest.raises(AssertionError):
        await left_with(tmp_path, monkeypatch, of_a_newer_format)


async def test_rows_are_written_in_the_oldest_format_and_only_what_needs_a_newer_one_in_that(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(formats, "ROW_FORMAT", ROW_FORMAT + 1)
    monkeypatch.setitem(formats.EVENTS_SINCE, "ctx.patched", ROW_FORMAT + 1)
    async with engine(tmp_path) as made:
        text = "- {step: a, tool: {kind: noop}, set: {ctx.n: 1}, next: {arcs: [{step: b}]}}\n- {step: b, tool: {kind: noop}}"
        ran = await finish(made, await begin(made, playbook(text)))
        rows = await made.store.rows(ran.execution_id)
        assert {row.format for row in rows} == {formats.OLDEST_ROW_FORMAT, ROW_FORMAT + 1}
        head = b""
        for row in rows:
            assert ("ctx.patched" in row.body.decode()) == (row.format == ROW_FORMAT + 1)
            head = link(head, row)
            assert head == row.hash
