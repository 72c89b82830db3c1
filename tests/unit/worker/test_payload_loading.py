"""Payloads that the templates of one order read: each loaded once, none without bound, none in silence."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from noetl.core.shapes import Reference
from noetl.core.values.output import externalise
from noetl.core.values.payload_demand import UnreadablePayload
from noetl.errors import BackendError, InvariantViolation, NotFound
from noetl.ports.results import TooLarge
from noetl.worker.payload_loading import PayloadLoader

ID = "e" * 32


class Shelf:
    """A result store that answers as it is told."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), 0
        self.open = asyncio.Event()
        self.open.set()

    async def get(self, ref: Reference, most: int) -> Any:
        self.asked += 1
        await self.open.wait()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def order(most: int = 1000) -> Any:
    return SimpleNamespace(loaded={}, limits={"max_hydrate_bytes": most})


def ref_of(value: Any) -> tuple[Reference, str]:
    ref, payload = externalise(ID, value)
    return ref, payload.key


async def test_pipelines_that_ask_for_one_payload_at_once_load_it_once() -> None:
    around, shelf = order(), Shelf([1])
    (ref, key), loading = ref_of([1]), PayloadLoader(around, shelf.get)
    shelf.open.clear()
    asking = [asyncio.create_task(loading.have([("load", ref)])) for _ in range(3)]
    asyncio.get_running_loop().call_soon(shelf.open.set)
    await asyncio.gather(*asking)
    assert (around.loaded, shelf.asked) == ({key: [1]}, 1)


@pytest.mark.parametrize("error", [NotFound("no"), InvariantViolation("damaged")])
async def test_a_payload_that_is_gone_says_which(error: Exception) -> None:
    around, shelf = order(), Shelf(error)
    ref, key = ref_of([1])
    await PayloadLoader(around, shelf.get).have([("load", ref)])
    assert around.loaded[key] == UnreadablePayload(
        "reference", f"the payload {key} is gone from the result store, or damaged"
    )


async def test_a_payload_that_turns_out_too_large_says_whose() -> None:
    around, shelf = order(), Shelf(TooLarge(5000))
    ref, key = ref_of([1])
    await PayloadLoader(around, shelf.get).have([("load", ref)])
    assert around.loaded[key].kind == "limit"
    assert "the result of load was stored with at least 5000 bytes" in around.loaded[key].message


async def test_what_an_order_holds_together_is_bounded() -> None:
    around, shelf = order(10), Shelf(["..."])
    refs = [ref_of([f"{number:05}"])[0] for number in range(5)]
    await PayloadLoader(around, shelf.get).have([("load", ref) for ref in refs])
    held = [isinstance(around.loaded[ref["locator"]["key"]], UnreadablePayload) for ref in refs]
    assert held == [False, False, False, False, True]


async def test_a_store_that_is_away_is_asked_again() -> None:
    around, shelf = order(), Shelf(BackendError("away"), [1])
    ref, key = ref_of([1])
    await PayloadLoader(around, shelf.get).have([("load", ref)])
    assert (around.loaded, shelf.asked) == ({key: [1]}, 2)


async def test_when_patience_is_over_the_store_is_told_of_and_asked_again_by_the_next_task() -> None:
    around, shelf = order(), Shelf(BackendError("away"), [1])
    (ref, key), loading = ref_of([1]), PayloadLoader(around, shelf.get, patience_s=-1.0)
    await loading.have([("load", ref)])
    assert around.loaded[key] == UnreadablePayload("backend", "the result store is away: away")
    await loading.have([("load", ref)])
    assert around.loaded == {key: [1]}
