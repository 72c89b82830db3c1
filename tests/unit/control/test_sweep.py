"""What happens by the clock goes on, whatever one round or one execution does."""

import asyncio
import logging
from pathlib import Path

import pytest

from noetl.control.sweep import Troubles, repeat
from noetl.errors import BackendError
from noetl.ports.hash_chain import chained
from noetl.ports.store import Append, Row, Summary
from noetl.settings import load
from noetl.wiring.embedded import MEMORY, build

BOUND_S = 30.0


@pytest.mark.parametrize("error", [BackendError("the store is away"), KeyError("a bug")])
async def test_a_round_that_fails_is_told_once_and_the_next_ones_come(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    rounds = 0
    enough = asyncio.Event()

    async def work() -> None:
        nonlocal rounds
        rounds += 1
        if rounds > 4:
            enough.set()
        if rounds < 4:
            raise error

    with caplog.at_level(logging.WARNING, "noetl.sweep"):
        clockwork = asyncio.create_task(repeat(0, work))
        await asyncio.wait_for(enough.wait(), BOUND_S)
        clockwork.cancel()
        await asyncio.gather(clockwork, return_exceptions=True)
    assert [record.message for record in caplog.records] == [
        str(error),
        f"it goes on; what was wrong: {error}",
    ]


def test_what_several_rounds_meet_is_told_once_and_when_it_is_over_for_all_of_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def mail() -> None: ...
    async def leases() -> None: ...

    away, troubles = BackendError("the store is away"), Troubles()
    for _ in range(3):
        troubles.met(mail, away)
        troubles.met(leases, away)
    troubles.over(mail)
    assert [record.message for record in caplog.records] == ["the store is away"]
    troubles.over(leases)
    troubles.over(leases)
    assert [record.message for record in caplog.records][1:] == [
        "it goes on; what was wrong: the store is away"
    ]


async def test_an_execution_whose_log_cannot_be_read_keeps_no_other_from_going_on(tmp_path: Path) -> None:
    made = build(load({"store": MEMORY}, folder=tmp_path))
    try:
        for number, body in ((1, b"no events"), (2, b"[]")):
            execution_id = f"{number:032x}"
            row = Row(1, 1, 1, b'{"type":"tick"}', body, chained(b"", body))
            summary = Summary(execution_id, "running", "tests/poison", requested_at=1, due_at=1)
            await made.store.commit(Append(execution_id, 0, [row], summary))
        assert await made.engine.pick_up_due() == 2
        assert made.engine.running() == (f"{2:032x}",)
    finally:
        await made.close()
