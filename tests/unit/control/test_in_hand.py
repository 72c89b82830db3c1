"""Notes of what is being decided on: those of one moment are one statement, and fail together."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from noetl.control import in_hand
from noetl.control.in_hand import InHand
from noetl.errors import BackendError


class Notes:
    """A store that answers when it may."""

    def __init__(self) -> None:
        self.noted: list[list[str]] = []
        self.put: list[list[str]] = []
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.fails: Exception | None = None

    async def note_in_hand(self, execution_ids: Sequence[str], owner: str) -> None:
        self.noted.append([owner, *execution_ids])
        self.asked.set()
        await self.may_answer.wait()
        if self.fails is not None:
            raise self.fails

    async def put_down(self, execution_ids: Sequence[str], owner: str) -> None:
        self.put.append([owner, *execution_ids])


def made() -> tuple[InHand, Notes]:
    notes = Notes()
    return InHand(cast("Any", notes), "me"), notes


async def test_what_is_said_at_one_moment_is_one_statement_and_what_comes_meanwhile_the_next() -> None:
    notes, store = made()
    first = [asyncio.create_task(notes.note(one)) for one in ("a", "b")]
    await asyncio.wait_for(store.asked.wait(), 60)
    then = [asyncio.create_task(notes.note(one)) for one in ("c", "d")]
    await notes.put_down("e")
    assert (store.noted, store.put) == ([["me", "a", "b"]], [["me", "e"]])
    store.may_answer.set()
    await asyncio.gather(*first, *then)
    assert store.noted == [["me", "a", "b"], ["me", "c", "d"]]


@pytest.mark.parametrize("fails", [BackendError("away"), RuntimeError("away")])
async def test_whoever_was_in_a_statement_that_failed_hears_of_it_and_the_next_is_tried(
    fails: Exception,
) -> None:
    notes, store = made()
    store.fails = fails
    store.may_answer.set()
    failed = await asyncio.gather(notes.note("a"), notes.note("b"), return_exceptions=True)
    assert [str(error) for error in failed] == ["away", "away"]
    store.fails = None
    await notes.note("a")
    assert len(store.noted) == 2


async def test_whoever_does_not_wait_any_more_keeps_nobody_else_from_hearing() -> None:
    notes, store = made()
    gone, stays = asyncio.create_task(notes.note("a")), asyncio.create_task(notes.note("b"))
    await asyncio.wait_for(store.asked.wait(), 60)
    gone.cancel()
    store.may_answer.set()
    await asyncio.wait_for(stays, 60)
    assert gone.cancelled()


async def test_a_statement_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_hand, "MOST", 2)
    notes, store = made()
    store.may_answer.set()
    await asyncio.gather(*(notes.note(one) for one in "abc"))
    assert store.noted == [["me", "a", "b"], ["me", "c"]]
