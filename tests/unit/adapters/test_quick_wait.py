"""Who is answered quickly stays awake for the next answer; who waits for real work, or has one processor, sleeps."""

import asyncio
from pathlib import Path

import pytest

from noetl.adapters import quick_wait
from noetl.adapters.quick_wait import QUICK_S, QuickWait, processors


class Loop:
    """Counts how often it is asked to look again; a look takes a while of a clock that stands otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.looks = 1.0, 0
        self._soon: list[object] = []
        monkeypatch.setattr(quick_wait, "_clock", lambda: self.now)

    def call_soon(self, work: object) -> None:
        self._soon.append(work)

    def run(self, most: int = 1000) -> int:
        """How often was looked until nobody wanted to look any more."""
        looked = 0
        while self._soon and looked < most:
            self.now += QUICK_S / 10
            self._soon.pop(0)()  # type: ignore[operator]
            looked += 1
        return looked


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def wait_of(loop: Loop, spare: bool = True) -> QuickWait:
    return QuickWait(loop, spare)  # type: ignore[arg-type]


def answered_after(loop: Loop, wait: QuickWait, seconds: float) -> int:
    wait.begin()
    looked = loop.run(most=int(seconds / QUICK_S * 10))
    loop.now += max(0.0, seconds - looked * QUICK_S / 10)
    wait.end()
    return looked + loop.run()


def test_the_first_answer_is_slept_for_and_the_next_one_is_looked_for_until_it_comes(loop: Loop) -> None:
    wait = wait_of(loop)
    assert answered_after(loop, wait, 0.5 * QUICK_S) == 0
    assert answered_after(loop, wait, 0.5 * QUICK_S) == 6  # the last look ends it


def test_nobody_looks_for_longer_than_half_a_millisecond_nor_after_an_answer_that_took_longer(
    loop: Loop,
) -> None:
    wait = wait_of(loop)
    answered_after(loop, wait, 0.5 * QUICK_S)
    assert answered_after(loop, wait, 50 * QUICK_S) in (10, 11)
    assert answered_after(loop, wait, 0.5 * QUICK_S) == 0
    assert answered_after(loop, wait, 0.5 * QUICK_S) > 0


def test_one_look_at_a_time_however_many_answers_are_waited_for(loop: Loop) -> None:
    wait = wait_of(loop)
    answered_after(loop, wait, 0.5 * QUICK_S)
    for _ in range(100):
        wait.begin()
    assert loop.run() in (10, 11)


def test_who_has_no_processor_to_spare_never_looks(loop: Loop) -> None:
    wait = wait_of(loop, spare=False)
    for _ in range(3):
        assert answered_after(loop, wait, 0.1 * QUICK_S) == 0


async def test_an_event_loop_that_waits_goes_on_with_its_work() -> None:
    loop = asyncio.get_running_loop()
    wait = QuickWait(loop, spare=True)
    wait.begin()
    wait.end()
    wait.begin()
    worked = [await asyncio.sleep(0, n) for n in range(3)]
    wait.end()
    assert worked == [0, 1, 2]


@pytest.mark.parametrize(
    "quota, wanted",
    [("50000 100000", 0.5), ("100000 100000", 1.0), ("max 100000", None), ("", None), (None, None)],
)
def test_a_container_has_the_processors_that_it_may_use(
    tmp_path: Path, quota: str | None, wanted: float | None
) -> None:
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota)
    assert processors(file) == (wanted or processors(tmp_path / "none"))
