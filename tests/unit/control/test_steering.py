"""A wish that an execution took just before it went on as another counts as told, wherever the waiting stood."""

from types import SimpleNamespace
from typing import Any

from noetl.control.front.control import Steering
from noetl.core.message import Control


class Chain:
    """A log that gets the wish, and a successor, between two looks."""

    def __init__(self) -> None:
        self.continued: dict[str, str | None] = {"first": None, "second": None}

    async def summary(self, execution_id: str) -> Any:
        return SimpleNamespace(execution_id=execution_id, continued_as=self.continued[execution_id])


async def test_what_was_taken_and_then_continued_is_found(monkeypatch: Any) -> None:
    chain, looks = Chain(), list[str]()
    steering = Steering(SimpleNamespace(store=chain), adopts=True)  # type: ignore[arg-type]

    async def taken(execution_id: str, wish: Control, end: int) -> bool:
        looks.append(execution_id)
        told = chain.continued["first"] is not None and execution_id == "first"
        chain.continued["first"] = "second"  # it takes the wish and goes on right after this look
        return told

    monkeypatch.setattr(steering, "_taken", taken)
    await steering._proven("first", Control("signal", name="go"), 0)
    assert looks == ["first", "first"]
