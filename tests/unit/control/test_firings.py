"""Triggers on the end of playbooks: each end fires once, all-of waits for each, and rings do not run away."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from noetl.control import firings
from noetl.control.deliveries import ATTEMPTS
from noetl.control.trigger_rings import IN_A_ROW
from noetl.errors import BackendError, NotFound, RequestError
from noetl.ports.arrival import Arrival, ArrivalChange, arrival_facts
from noetl.ports.front import Ask
from noetl.ports.notification import NotificationAsk
from noetl.ports.schedule import Trigger, TriggerAsk
from noetl.ports.store import Find, Summary
from noetl.wiring.embedded import Embedded
from tests.unit.server.serving import engine

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {{name: {name}, path: tests/{name}}}
workflow:
  - step: start
    tool: {{kind: {kind}}}
    output: {{at: "{name}", of: "{{{{ trigger.payload }}}}"}}
"""
FAILS = PLAYBOOK.replace("kind: {kind}", 'kind: python, code: "1 / 0"')
CALLS = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: calls, path: tests/calls}
workflow:
  - step: start
    tool: {kind: playbook, path: tests/a}
"""


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Embedded]:
    async with engine(tmp_path) as found:
        for name in ("a", "b", "c", "next"):
            await found.front.register(PLAYBOOK.format(name=name, kind="noop"))
        await found.front.register(FAILS.format(name="bad"))
        yield found


def ask(**more: Any) -> TriggerAsk:
    given = {"name": "t", "kind": "playbook", "path": "tests/next", "after": ["tests/a"]}
    return TriggerAsk(**{**given, **more})


async def run(made: Embedded, name: str, **more: Any) -> str:
    started = await made.front.start(Ask(path=f"tests/{name}", **more))
    await made.engine.until_quiet(started.execution_id)
    return started.execution_id


async def fired(made: Embedded, path: str = "tests/next") -> list[Summary]:
    """The executions of a playbook, the oldest first, after everything that is due was fired."""
    while await made.store.waiting_triggers():
        await made.front.fire_due()
        for one in (await made.front.executions(Find(limit=200))).items:
            await made.engine.until_quiet(one.execution_id)
    listed = await made.front.executions(Find(path=path, limit=200))
    return list(reversed(listed.items))


async def requested(made: Embedded, execution_id: str) -> dict[str, Any]:
    [first, *_] = await made.front.events(execution_id)
    return dict(first["data"])


async def workload(made: Embedded, execution_id: str) -> Any:
    return (await made.front.execution(execution_id))["workload"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"after": []}, "0 playbooks are named"),
        ({"after": ["x"] * 21}, "21 playbooks are named"),
        ({"on": ["stuck"]}, "'stuck' is no end"),
        ({"on": []}, "no end is named"),
        ({"match": "some"}, "match is 'some'"),
        ({"subject": "orders"}, "no subject"),
        ({"secret": "a secret of some length"}, "no secret"),
        ({"kind": "webhook"}, "waits for no playbooks"),
        ({"kind": "nats", "subject": "x", "after": [], "children": True}, "waits for no playbooks"),
    ],
)
async def test_a_trigger_on_ends_that_makes_no_sense_is_refused(
    made: Embedded, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(RequestError, match=told):
        await made.front.put_trigger(ask(**given))


async def test_each_end_starts_one_execution_that_reads_what_ended(made: Embedded) -> None:
    new = await made.front.put_trigger(ask(workload={"x": 1}, payload_key="ended"))
    assert new.secret is None
    first, second = await run(made, "a"), await run(made, "a")
    await run(made, "b")
    started = await fired(made)
    assert len(started) == 2
    for one, ended in zip(started, (first, second), strict=True):
        said = await requested(made, one.execution_id)
        payload = said["trigger"]["payload"]
        assert (said["trigger"]["kind"], said["trigger"]["name"], said["by"]) == (
            "playbook",
            "t",
            "trigger t",
        )
        assert (payload["execution_id"], payload["path"], payload["status"]) == (
            ended,
            "tests/a",
            "completed",
        )
        assert (payload["output"]["at"], payload["version"], payload["error"]) == ("a", 1, None)
        assert await workload(made, one.execution_id) == {"x": 1, "ended": payload}
        result = await made.front.execution(one.execution_id)
        assert result["output"]["of"] == payload  # type: ignore[index,call-overload]
    assert len(await fired(made)) == 2
    found = await made.front.trigger("t")
    assert (found.pending, found.last_error) == (0, None)
    assert found.last_execution in [one.execution_id for one in started]
    history = [arrival_facts(one) for one in await made.front.arrivals("t")]
    assert [(one["state"], one["execution_id"]) for one in history] == [
        ("fired", started[1].execution_id),
        ("fired", started[0].execution_id),
    ]
    with pytest.raises(NotFound):
        await made.front.arrivals("no")


async def test_only_the_ends_that_are_wanted_count(made: Embedded) -> None:
    await made.front.put_trigger(ask(after=["tests/b?d", "tests/a"], on=["failed"]))
    await run(made, "a")
    failed = await run(made, "bad")
    [started] = await fired(made)
    payload = (await requested(made, started.execution_id))["trigger"]["payload"]
    assert (payload["execution_id"], payload["status"]) == (failed, "failed")
    assert payload["error"]["kind"] == "python"


async def test_all_of_waits_for_each_and_takes_the_newest(made: Embedded) -> None:
    await made.front.put_trigger(ask(after=["tests/a", "tests/b"], match="all"))
    old = await run(made, "a")
    assert await fired(made) == []
    newer = await run(made, "a")
    assert await fired(made) == []
    assert (await made.front.trigger("t")).pending == 1
    other = await run(made, "b")
    [started] = await fired(made)
    payload = (await requested(made, started.execution_id))["trigger"]["payload"]
    assert [one["execution_id"] for one in payload] == [newer, other]
    states = {one.key: one.state for one in await made.front.arrivals("t")}
    assert states == {old: "superseded", newer: "fired", other: "fired"}
    await run(made, "b")
    assert len(await fired(made)) == 1, "the end of a has counted already"


async def test_what_cannot_start_is_tried_again_and_said(made: Embedded) -> None:
    await made.front.put_trigger(ask())
    await made.front.delete_playbook("tests/next")
    await run(made, "a")
    assert await fired(made) == []
    found = await made.front.trigger("t")
    assert (found.pending, found.last_execution) == (1, None)
    assert "there is no playbook with the path 'tests/next'" in (found.last_error or "")
    await made.front.register(PLAYBOOK.format(name="next", kind="noop"))
    [waiting] = made.store._arrivals.values()  # type: ignore[attr-defined]
    waiting.next_at = 0
    assert len(await fired(made)) == 1
    assert (await made.front.trigger("t")).last_error is None


async def test_what_never_starts_is_given_up(made: Embedded) -> None:
    await made.front.put_trigger(ask())
    await made.front.delete_playbook("tests/next")
    await run(made, "a")
    [waiting] = made.store._arrivals.values()  # type: ignore[attr-defined]
    for _ in range(ATTEMPTS):
        waiting.next_at = 0
        await made.front.fire_due()
    assert (waiting.state, waiting.attempts) == ("failed", ATTEMPTS)
    assert waiting.next_at is None
    assert (await made.front.trigger("t")).pending == 0


async def test_a_paused_trigger_fires_nothing(made: Embedded) -> None:
    await made.front.put_trigger(ask())
    await run(made, "a")
    await made.front.put_trigger(ask(enabled=False))
    await run(made, "a")
    assert await fired(made) == []
    await made.front.put_trigger(ask())
    assert len(await fired(made)) == 1, "what had arrived before"


@pytest.mark.parametrize(
    ("others", "given", "told"),
    [
        ([], {"after": ["tests/next"]}, "t starts tests/next, which it waits for"),
        ([], {"after": ["tests/*"]}, "t starts tests/next, which"),
        (
            [
                ask(name="u", path="tests/b", after=["tests/next"]),
                ask(name="v", path="tests/a", after=["tests/b"]),
            ],
            {},
            "t starts tests/next; u starts tests/b; v starts tests/a, which it waits for",
        ),
    ],
)
async def test_a_ring_is_refused_and_shown(
    made: Embedded, others: list[TriggerAsk], given: dict[str, Any], told: str
) -> None:
    for other in others:
        await made.front.put_trigger(other)
    with pytest.raises(RequestError, match=told):
        await made.front.put_trigger(ask(**given))


async def test_chains_and_rings_with_a_paused_trigger_are_no_rings(made: Embedded) -> None:
    await made.front.put_trigger(ask(name="u", path="tests/b", after=["tests/next"]))
    await made.front.put_trigger(ask(name="w", path="tests/c", after=["tests/next", "tests/b"]))
    await made.front.put_trigger(ask(name="v", path="tests/a", after=["tests/b"], enabled=False))
    await made.front.put_trigger(ask())
    await run(made, "a")
    assert [len(await fired(made, f"tests/{name}")) for name in ("a", "next", "b", "c")] == [1, 1, 1, 2]
    with pytest.raises(RequestError, match="for ever"):
        await made.front.put_trigger(ask(name="v", path="tests/a", after=["tests/b"]))


async def test_a_ring_over_children_ends_and_says_why(made: Embedded) -> None:
    await made.front.register(CALLS)
    await made.front.put_trigger(ask(path="tests/calls", children=True))
    await run(made, "a")
    started = await fired(made, "tests/calls")
    assert len(started) == IN_A_ROW
    newest = (await made.front.arrivals("t"))[0]
    assert (newest.state, newest.execution) == ("failed", None)
    assert "looks like a ring of triggers" in (newest.error or "")
    assert (await made.front.trigger("t")).last_error == newest.error


async def test_a_ring_over_a_playbook_that_is_told_ends(made: Embedded) -> None:
    told = NotificationAsk(name="n", target="playbook:tests/a", path="tests/next", occasions=["completed"])
    await made.front.put_notification(told)
    await made.front.put_trigger(ask())
    await run(made, "a")
    for _ in range(IN_A_ROW + 4):
        await fired(made)
        await made.front.finish_sending()
    assert len(await fired(made)) <= IN_A_ROW


class FiresFirst(firings.Firings):
    """A planted bug: what is about to be started counts as fired."""

    async def _begin(self, trigger: Trigger, group: Sequence[Arrival]) -> None:
        await self._change(trigger, group, ArrivalChange(state="fired", settled_at=0))
        await super()._begin(trigger, group)


class DecidesAnew(firings.Firings):
    """A planted bug: what another decided is forgotten, and started under a key of its own."""

    async def _fire(self, trigger: Trigger) -> None:
        for one in made_arrivals(self._store):
            one.firing = None
        await super()._fire(trigger)


def made_arrivals(store: Any) -> list[Arrival]:
    return list(store._arrivals.values())


@pytest.mark.parametrize("starts", [False, True])
@pytest.mark.parametrize(
    ("kind", "counts"), [(firings.Firings, (1, 1)), (FiresFirst, (0, 1)), (DecidesAnew, (1, 2))]
)
async def test_no_end_is_lost_or_fires_twice_with_a_process_and_bugs_that_do_are_caught(
    made: Embedded, kind: type[firings.Firings], counts: tuple[int, int], starts: bool
) -> None:
    """A process dies when it is about to start an execution, or has started it; another goes on."""
    await made.front.put_trigger(ask())
    await run(made, "a")

    async def dies(ask: Ask) -> Any:
        if starts:
            await made.front._started(ask)
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await kind(made.store, dies).round()
    made.store._holders.clear()  # type: ignore[attr-defined]  # its lease is over
    for one in made_arrivals(made.store):
        one.next_at = one.next_at and 0
    await kind(made.store, made.front._started).round()
    listed = await made.front.executions(Find(path="tests/next"))
    assert len(listed.items) == counts[starts]
    for started in listed.items:
        await made.engine.until_quiet(started.execution_id)


async def test_two_that_fire_at_once_start_each_end_once(made: Embedded) -> None:
    await made.front.put_trigger(ask())
    for _ in range(3):
        await run(made, "a")
    servers = [firings.Firings(made.store, made.front._started) for _ in range(4)]
    await asyncio.gather(*(server.round() for server in servers))
    assert len(await fired(made)) == 3


async def test_a_store_that_is_away_is_tried_again(made: Embedded) -> None:
    await made.front.put_trigger(ask())
    await run(made, "a")

    async def away(ask: Ask) -> Any:
        raise BackendError("the store is away")

    with pytest.raises(BackendError):
        await firings.Firings(made.store, away).round()
    [waiting] = made_arrivals(made.store)
    assert (waiting.state, waiting.attempts) == ("pending", 0)
    assert len(await fired(made)) == 1
