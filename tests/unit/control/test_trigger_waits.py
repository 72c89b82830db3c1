"""Filter, debounce and batch of triggers: what starts together, when, and that nothing taken is lost."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noetl.control import triggers
from noetl.control.firing_plan import BATCH_BYTES, QUIET_TIMES, FiringPlan, plan
from noetl.errors import BackendError, RequestError
from noetl.ports.arrival import Arrival
from noetl.ports.front import Ask, Collected, Started, WebhookCall
from noetl.ports.schedule import Trigger, TriggerAsk, TriggerBatch
from noetl.ports.store import Find
from noetl.wiring.embedded import Embedded
from tests.unit.server.serving import engine

SECRET = "a secret of some length"
NEXT = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: next, path: tests/next}
workflow:
  - step: start
    tool: {kind: noop}
    output: "{{ trigger.payload }}"
"""
FIRST = NEXT.replace("next", "first").replace("{{ trigger.payload }}", "{{ workload.n }}")


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Embedded]:
    async with engine(tmp_path) as found:
        await found.front.register(NEXT)
        await found.front.register(FIRST)
        yield found


def ask(**more: Any) -> TriggerAsk:
    given = {"name": "t", "kind": "webhook", "path": "tests/next", "secret": SECRET}
    return TriggerAsk(**{**given, **more})


def after(**more: Any) -> TriggerAsk:
    return ask(**{"kind": "playbook", "secret": None, "after": ["tests/first"], **more})


async def call(made: Embedded, payload: Any, key: str | None = None) -> Started | Collected:
    knock = WebhookCall(body=msgspec.json.encode(payload), secret=SECRET, key=key)
    return await made.front.knock("t", knock)


async def run(made: Embedded, n: int) -> None:
    started = await made.front.start(Ask(path="tests/first", workload={"n": n}))
    await made.engine.until_quiet(started.execution_id)


async def outputs(made: Embedded, later_ms: int = 0) -> list[Any]:
    """What the executions read that were started, the oldest first, when so much time has passed."""
    for one in made.store._arrivals.values():  # type: ignore[attr-defined]
        one.at -= later_ms
        one.next_at = one.next_at and max(1, one.next_at - later_ms)
    await made.front.fire_due()
    found = []
    for one in reversed((await made.front.executions(Find(path="tests/next"))).items):
        await made.engine.until_quiet(one.execution_id)
        found.append((await made.front.execution(one.execution_id))["output"])
    return found


async def states(made: Embedded) -> list[str]:
    return [one.state for one in reversed(await made.front.arrivals("t"))]


BATCH = TriggerBatch(2, "5s")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"debounce": "soon"}, "debounce is 'soon'"),
        ({"debounce": "0s"}, "debounce is '0s'"),
        ({"debounce": "2d"}, "debounce is '2d'"),
        ({"batch": TriggerBatch(5, "x")}, "batch.within is 'x'"),
        ({"batch": TriggerBatch(0, "5s")}, "batch.max is 0"),
        ({"batch": TriggerBatch(1001, "5s")}, "batch.max is 1001"),
        ({"filter": "true"}, "'true' is no template"),
        ({"filter": "{{ trigger.payload. }}"}, "the filter cannot be used"),
        ({"filter": "{{ order.paid }}"}, "reads 'order', which it cannot know"),
        ({"filter": "{{ trigger.body }}"}, "reads 'trigger.body'"),
        ({"kind": "playbook", "secret": None, "after": ["x"], "match": "all", "batch": BATCH}, "no debounce"),
        (
            {"kind": "playbook", "secret": None, "after": ["x"], "match": "all", "debounce": "1s"},
            "no debounce",
        ),
    ],
)
async def test_waits_and_filters_that_make_no_sense_are_refused(
    made: Embedded, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(RequestError, match=told):
        await made.front.put_trigger(ask(**given))


async def test_a_filter_lets_calls_go_by(made: Embedded) -> None:
    await made.front.put_trigger(
        ask(filter="{{ trigger.payload.n > workload.least }}", workload={"least": 3})
    )
    assert await call(made, {"n": 3}) == Collected("filtered", "tests/next")
    assert isinstance(await call(made, {"n": 4}), Started)
    with pytest.raises(
        RequestError, match=r"the filter of the trigger 't' cannot tell: trigger.payload.n is missing"
    ):
        await call(made, {})
    assert await outputs(made) == [{"n": 4}]


async def test_a_filter_of_ends_reads_what_ended(made: Embedded) -> None:
    await made.front.put_trigger(after(filter="{{ trigger.payload.output > 1 }}"))
    for n in (1, 2):
        await run(made, n)
    assert [one["output"] for one in await outputs(made)] == [2]
    assert await states(made) == ["filtered", "fired"]


async def test_a_filter_that_cannot_tell_is_said(made: Embedded) -> None:
    await made.front.put_trigger(after(filter="{{ trigger.payload.output.no > 1 }}"))
    await run(made, 1)
    assert await outputs(made) == []
    [found] = await made.front.arrivals("t")
    assert (found.state, found.execution) == ("failed", None)
    assert "cannot tell" in (found.error or "")
    assert (await made.front.trigger("t")).last_error == found.error


async def test_a_batch_starts_when_it_is_full_or_has_waited(made: Embedded) -> None:
    await made.front.put_trigger(ask(batch=BATCH))
    for n in (1, 2, 3):
        assert await call(made, n, key=f"k{n}") == Collected("collected", "tests/next")
    assert await call(made, 3, key="k3") == Collected("collected", "tests/next"), "a repeat counts once"
    assert await outputs(made) == [[1, 2]]
    assert (await made.front.trigger("t")).pending == 1
    assert await outputs(made, 4_000) == [[1, 2]]
    assert await outputs(made, 1_500) == [[1, 2], [3]]
    assert await states(made) == ["fired"] * 3


async def test_a_debounce_waits_for_quiet_and_takes_the_newest(made: Embedded) -> None:
    await made.front.put_trigger(ask(debounce="30s"))
    for n in (1, 2, 3):
        await call(made, n)
        assert await outputs(made, 10_000) == []
    assert await outputs(made, 25_000) == [3]
    assert await states(made) == ["superseded", "superseded", "fired"]


async def test_ends_are_collected_too(made: Embedded) -> None:
    await made.front.put_trigger(after(batch=BATCH))
    for n in (1, 2):
        await run(made, n)
    [together] = await outputs(made)
    assert [one["output"] for one in together] == [1, 2]


async def test_more_than_may_wait_is_not_taken(made: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triggers, "PENDING_MOST", 2)
    await made.front.put_trigger(ask(batch=TriggerBatch(100, "5s")))
    for n in (1, 2):
        await call(made, n)
    with pytest.raises(BackendError, match="2 messages wait for the trigger 't' already"):
        await call(made, 3)
    assert await outputs(made, 6_000) == [[1, 2]]


async def test_run_by_hand_starts_at_once(made: Embedded) -> None:
    await made.front.put_trigger(ask(debounce="1d", filter="{{ false }}"))
    assert (await made.front.fire_trigger("t", 7)).execution_id
    assert await outputs(made) == [7]


# ---- the plan alone -------------------------------------------------------------------------------------


def arrivals(*ats: int, size: int = 1) -> list[Arrival]:
    return [
        Arrival(id=number, trigger="t", key="", at=at, body="1" * size) for number, at in enumerate(ats, 1)
    ]


def planned(
    of: list[Arrival], now: int, **more: Any
) -> tuple[list[list[int]], list[int], list[int], int | None]:
    found: FiringPlan = plan(Trigger(name="t", kind="webhook", path="p", **more), of, now)
    groups = [[one.id for one in group] for group in found.together]
    return groups, [one.id for one in found.superseded], [one.id for one in found.waiting], found.look_at


def test_a_debounce_waits_no_longer_than_some_times_its_length() -> None:
    busy = arrivals(*range(0, QUIET_TIMES * 1000, 500))
    last = busy[-1].id
    assert planned(busy, QUIET_TIMES * 1000 - 1, debounce="1s")[2:] == ([1, last], QUIET_TIMES * 1000)
    groups, superseded, waiting, _ = planned(busy, QUIET_TIMES * 1000, debounce="1s")
    assert (groups, waiting, len(superseded)) == ([[last]], [], last - 1)


def test_one_alone_is_debounced() -> None:
    assert planned(arrivals(0), 999, debounce="1s") == ([], [], [1], 1000)
    assert planned(arrivals(0), 1000, debounce="1s") == ([[1]], [], [], None)
    assert planned([], 0, debounce="1s") == ([], [], [], None)


def test_a_batch_ends_early_when_nothing_more_arrives() -> None:
    waits = {"batch": TriggerBatch(3, "1h"), "debounce": "1s"}
    assert planned(arrivals(0, 0, 0, 500), 600, **waits) == ([[1, 2, 3]], [], [4], 1500)
    assert planned(arrivals(0, 500), 1500, **waits) == ([[1, 2]], [], [], None)


def test_what_is_large_starts_in_smaller_batches() -> None:
    half = arrivals(0, 0, 0, size=BATCH_BYTES // 2)
    assert planned(half, 0, batch=TriggerBatch(100, "1h"))[0] == [[1, 2]]
    alone = arrivals(0, 0, size=BATCH_BYTES + 1)
    assert planned(alone, 0, batch=TriggerBatch(100, "1h"))[0] == [[1]]
