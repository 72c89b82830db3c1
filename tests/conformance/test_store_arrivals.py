"""The store port, on every product: what arrives for triggers, written by the commit that ends an execution."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from noetl.errors import Conflict
from noetl.ports.arrival import Arrival, ArrivalChange, ListedObject, Listing
from noetl.ports.schedule import Trigger, TriggerBatch
from noetl.ports.store import Append, Store
from tests.conformance.stores import NOW, Clock, begin, eid, end, row, rows, summary


def trigger(name: str = "after", **more: Any) -> Trigger:
    given: dict[str, Any] = {"kind": "playbook", "path": "tests/next", "after": ["tests/case"]}
    return Trigger(name=name, **{**given, "created_at": NOW, "by": "ann", **more})


async def arrived(store: Store, *names: str) -> dict[str, list[str]]:
    """The keys of what arrived, by trigger, the oldest first."""
    return {name: [one.key for one in reversed(await store.arrivals(name))] for name in names}


async def fail(store: Store, execution_id: str, **more: Any) -> None:
    failed = summary(execution_id, status="failed", ended_at=NOW + 9, result=b"{}", **more)
    await store.commit(Append(execution_id, 1, [row(2)], failed))


async def test_a_trigger_on_ends_is_kept_as_it_was_given(store: Store) -> None:
    full = trigger("full", after=["a/*", "b"], match="all", on=["failed", "completed"], children=True)
    full = replace(full, filter="{{ trigger.payload }}", debounce="30s", batch=TriggerBatch(100, "5s"))
    for given in (full, trigger("plain")):
        assert await store.put_trigger(given)
        assert await store.trigger(given.name) == given


async def test_the_commit_that_ends_an_execution_writes_what_arrives(store: Store) -> None:
    await store.put_trigger(trigger("both", on=["failed", "completed"]))
    await store.put_trigger(trigger("good"))
    await store.put_trigger(trigger("bad", on=["failed"]))
    await store.put_trigger(trigger("off", enabled=False))
    await store.put_trigger(trigger("hook", kind="webhook"))
    first, second = await begin(store, 1), await begin(store, 2)
    names = ("both", "good", "bad", "off", "hook")
    assert not any((await arrived(store, *names)).values())
    await end(store, first, NOW + 5)
    await fail(store, second)
    expected = {"both": [first, second], "good": [first], "bad": [second], "off": [], "hook": []}
    assert await arrived(store, *names) == expected
    [found] = await store.arrivals("bad")
    assert (found.at, found.state, found.next_at, found.firing) == (NOW + 9, "pending", 0, None)
    assert msgspec.json.decode(found.body) == {
        "execution_id": second,
        "path": "tests/case",
        "status": "failed",
    }
    assert (await store.trigger("both")).pending == 2


async def test_a_commit_that_is_refused_brings_nothing(store: Store) -> None:
    await store.put_trigger(trigger(on=["failed"]))
    execution_id = await begin(store)
    await fail(store, execution_id)
    with pytest.raises(Conflict):
        await fail(store, execution_id)
    assert await arrived(store, "after") == {"after": [execution_id]}


@pytest.mark.parametrize(
    ("patterns", "path", "matches"),
    [
        (["etl/*"], "etl/a/b", True),
        (["etl/?"], "etl/ab", False),
        (["a_b", "a%"], "axb", False),
        (["x", "[a]*"], "[a]b", True),
        (["a\\*"], "a\\b", True),
    ],
)
async def test_patterns_say_whose_ends_count(
    store: Store, patterns: list[str], path: str, matches: bool
) -> None:
    await store.put_trigger(trigger(after=patterns))
    await begin(store, status="completed", ended_at=NOW, path=path)
    assert bool(await store.arrivals("after")) == matches


async def test_ends_of_children_count_where_that_is_wanted(store: Store) -> None:
    await store.put_trigger(trigger("all", children=True))
    await store.put_trigger(trigger("parents"))
    await begin(store, status="completed", ended_at=NOW, parent=eid(9))
    assert await arrived(store, "all", "parents") == {"all": [eid(1)], "parents": []}


async def test_an_execution_that_goes_on_as_another_has_not_ended(store: Store) -> None:
    await store.put_trigger(trigger())
    first = await begin(store, owner="o")
    after = summary(eid(2), continued_from=first, chain=first)
    ended = summary(first, status="completed", ended_at=NOW + 5, result=b"{}", continued_as=eid(2))
    successor = Append(eid(2), 0, rows(1), after, claim=("o", 30_000))
    await store.commit(Append(first, 1, [row(2)], ended, owner="o", successor=successor))
    assert await store.arrivals("after") == []


async def test_a_key_arrives_once_and_nothing_for_a_trigger_that_is_not_there(store: Store) -> None:
    await store.put_trigger(trigger())
    assert await store.add_arrival("after", "k", "1")
    assert not await store.add_arrival("after", "k", "2")
    assert not await store.add_arrival("no", "k", "1")
    assert [one.body for one in await store.arrivals("after")] == ["1"]


async def test_one_holds_a_trigger_until_it_lets_go_or_is_silent(store: Store, clock: Clock) -> None:
    await store.put_trigger(trigger())
    await store.add_arrival("after", "k", "1")
    assert await store.waiting_triggers() == ["after"]
    held = await asyncio.gather(*(store.hold_trigger("after", f"s{number}", 1000) for number in range(4)))
    assert held.count(True) == 1
    holder = f"s{held.index(True)}"
    assert await store.waiting_triggers() == []
    assert await store.hold_trigger("after", holder, 1000)
    assert await store.change_arrivals("after", "other", [1], ArrivalChange(state="fired")) == 0
    clock.now += 1001
    assert await store.hold_trigger("after", "other", 1000)
    await store.let_go_of_trigger("after", holder)
    assert not await store.hold_trigger("after", holder, 1000), "another holds it by now"
    await store.let_go_of_trigger("after", "other")
    assert await store.hold_trigger("after", holder, 1000)
    assert not await store.hold_trigger("no", holder, 1000)


async def test_what_is_decided_is_kept_and_settled_once(store: Store, clock: Clock) -> None:
    await store.put_trigger(trigger())
    for key in ("a", "b", "c"):
        await store.add_arrival("after", key, "null")
    first, second, third = [one.id for one in await store.pending_arrivals("after")]
    assert await store.hold_trigger("after", "me", 1000)
    later = ArrivalChange(firing="f", attempts=1, next_at=NOW + 50)
    assert await store.change_arrivals("after", "me", [first, second], later) == 2
    assert [one.id for one in await store.pending_arrivals("after")] == [third], "decided, for later"
    assert await store.change_arrivals("after", "me", [third], ArrivalChange()) == 1
    await store.let_go_of_trigger("after", "me")
    assert await store.waiting_triggers() == []
    clock.now = NOW + 50
    assert await store.waiting_triggers() == ["after"]
    assert [one.firing for one in await store.pending_arrivals("after")] == ["f", "f", None]
    assert await store.hold_trigger("after", "me", 1000)
    fired = ArrivalChange(state="fired", firing="f", attempts=2, execution=eid(7), settled_at=NOW + 60)
    assert await store.change_arrivals("after", "me", [first, second], fired) == 2
    assert await store.change_arrivals("after", "me", [first], fired) == 0
    newest = (await store.arrivals("after", 2))[-1]
    assert newest == Arrival(
        id=second, trigger="after", key="b", at=NOW, body="null", state="fired", firing="f", attempts=2,
        next_at=None, execution=eid(7), settled_at=NOW + 60,
    )  # fmt: skip
    assert [one.id for one in await store.arrivals("after", before=second)] == [first]
    assert await store.prune_arrivals(NOW + 60) == 0
    assert await store.prune_arrivals(NOW + 61) == 2
    assert [one.id for one in await store.arrivals("after")] == [third]


async def test_a_trigger_says_what_it_did_last_and_keeps_that_when_it_is_changed(
    store: Store, clock: Clock
) -> None:
    await store.put_trigger(trigger())
    await store.note_firing("after", eid(1), None)
    clock.now += 10
    await store.note_firing("after", eid(2), None)  # within a second
    assert await last(store) == (NOW, eid(1), None)
    await store.note_firing("after", None, "no playbook")
    assert await last(store) == (NOW + 10, eid(1), "no playbook")
    await store.put_trigger(trigger(path="tests/other"))
    assert await last(store) == (NOW + 10, eid(1), "no playbook")
    clock.now += 10
    await store.note_firing("after", eid(3), None)
    assert await last(store) == (NOW + 20, eid(3), None)
    await store.note_firing("no", eid(3), None)


async def last(store: Store) -> tuple[int | None, str | None, str | None]:
    found = await store.trigger("after")
    return found.last_at, found.last_execution, found.last_error


async def test_a_deleted_trigger_takes_with_it_what_arrived(store: Store) -> None:
    await store.put_trigger(trigger())
    await store.add_arrival("after", "k", "1")
    await store.delete_trigger("after")
    await store.put_trigger(trigger())
    assert await store.arrivals("after") == []
    assert (await store.trigger("after")).pending == 0


def listed(*keys: str, tag: str = "1") -> list[ListedObject]:
    return [ListedObject(key, tag, True, {"key": key}) for key in keys]


async def test_what_was_seen_and_what_arrived_of_a_place_are_one_fact(store: Store, clock: Clock) -> None:
    await store.put_trigger(trigger("inbox", kind="object", source="s3://inbox", every="5s", existing=True))
    await store.put_trigger(trigger("off", kind="object", source="s3://inbox", enabled=False))
    await store.put_trigger(trigger("hook", kind="webhook"))
    assert await store.due_listings() == ["inbox"]
    assert await store.seen_objects("inbox") == (None, {})
    assert await store.hold_trigger("inbox", "me", 1000)
    assert await store.due_listings() == [], "somebody looks"
    listing = Listing(source="s3://inbox", next_look=NOW + 5000, arrived=listed("a"), kept=listed("b", "c"))
    assert not await store.note_listing("inbox", "other", listing)
    assert await store.seen_objects("inbox") == (None, {})
    assert await store.note_listing("inbox", "me", listing)
    assert await store.seen_objects("inbox") == ("s3://inbox", {"a": "1", "b": "1", "c": "1"})
    assert [one.body for one in await store.arrivals("inbox")] == ['{"key":"a"}']
    await store.let_go_of_trigger("inbox", "me")
    assert await store.due_listings() == []
    clock.now += 5000
    assert await store.due_listings() == ["inbox"]
    assert await store.hold_trigger("inbox", "me", 1000)
    newer = Listing(source="s3://inbox", next_look=NOW + 9000, arrived=listed("a", tag="2"), gone=["b"])
    assert await store.note_listing("inbox", "me", newer)
    assert await store.seen_objects("inbox") == ("s3://inbox", {"a": "2", "c": "1"})
    assert len(await store.arrivals("inbox")) == 2
    await store.put_trigger(trigger("inbox", kind="object", source="s3://other"))
    assert (await store.seen_objects("inbox"))[0] == "s3://inbox", "it is the trigger's, not of its asking"
    await store.delete_trigger("inbox")
    assert await store.seen_objects("inbox") == (None, {})
