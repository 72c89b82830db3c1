"""What happens by the clock goes on, whatever one round or one execution does."""

import asyncio
import logging
from pathlib import Path

import pytest

from noetl.control.sweep import repeat
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
        if rounds > 3:
            enough.set()
            return
        raise error

    with caplog.at_level(logging.WARNING, "noetl.sweep"):
        clockwork = asyncio.create_task(repeat(0, work))
        await asyncio.wait_for(enough.wait(), BOUND_S)
        clockwork.cancel()
        await asyncio.gather(clockwork, return_exceptions=True)
    assert len(caplog.records) == 1


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
