"""What a server writes: the head of an answer with its body, and nothing late."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from noetl.server import listen
from noetl.server.closing import Closing
from noetl.server.joined_answer import JoinedAnswer
from tests.unit.server.serving import LONG, served


class Wire:
    """The transport of a connection, as far as answers use it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


async def test_the_head_of_an_answer_goes_out_with_the_beginning_of_its_body() -> None:
    wire = Wire()
    answer = JoinedAnswer(wire, asyncio.get_running_loop())
    answer.write(b"head ")
    answer.write(b"body")
    assert wire.written == [b"head body"]
    answer.write(b"more")
    await asyncio.sleep(0)
    assert wire.written == [b"head body", b"more"]


async def test_a_head_whose_body_comes_later_is_not_held_back() -> None:
    wire = Wire()
    answer = JoinedAnswer(wire, asyncio.get_running_loop())
    answer.write(b"head")
    assert wire.written == []
    await asyncio.sleep(0)
    assert wire.written == [b"head"]
    answer.write(b"body")
    assert wire.written == [b"head", b"body"]


async def test_an_answer_without_a_body_goes_out_before_the_end() -> None:
    wire = Wire()
    answer = JoinedAnswer(wire, asyncio.get_running_loop())
    answer.write(b"head")
    answer.close()
    assert (wire.written, answer.is_closing()) == ([b"head"], True)
    await asyncio.sleep(0)
    assert wire.written == [b"head"]


async def test_a_head_is_thrown_away_when_whoever_asked_is_gone() -> None:
    wire = Wire()
    answer = JoinedAnswer(wire, asyncio.get_running_loop())
    answer.write(b"head")
    wire.close()
    await asyncio.sleep(0)
    assert wire.written == []


async def test_who_waits_is_told_that_the_server_stops_and_nobody_waits_afterwards() -> None:
    closing, never = Closing(), asyncio.Event()
    waiting = asyncio.create_task(closing.before(never.wait()))
    await asyncio.sleep(0)
    closing.set()
    closing.set()
    with pytest.raises(TimeoutError):
        await waiting
    with pytest.raises(TimeoutError):
        await closing.before(never.wait())


async def test_what_is_over_before_the_server_stops_is_what_came_of_it() -> None:
    closing = Closing()
    assert await closing.before(asyncio.sleep(0, "done")) == "done"
    closing.set()


async def test_a_request_that_is_broken_off_when_the_server_stops_is_told_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "DRAIN_S", 0)
    asked = asyncio.Event()

    async def workers(front: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    async with served(tmp_path) as server:
        monkeypatch.setattr(type(server.made.front), "workers", workers)
        question = asyncio.create_task(server.client.get("/api/v1/workers"))
        await asyncio.wait_for(asked.wait(), LONG)
        server.stopping.set()
        answer = await question
        assert answer.status_code == 503
        assert answer.json()["detail"] == "the server stops, and nothing is known yet of what was asked"
        assert int(answer.headers["retry-after"]) > 0
