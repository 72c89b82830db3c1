"""The store port, on every product: the log."""

import asyncio

import pytest

from noetl.errors import Conflict, NotFound
from noetl.ports.store import Append, Find, Store
from tests.conformance.stores import NOW, begin, continuing, eid, end, row, rows, summary


async def test_what_was_committed_is_read_back_as_it_was(store: Store) -> None:
    written = rows(3, 1, 2)
    written[1].batch = "b1"
    await store.commit(Append(eid(1), 0, written, summary(eid(1))))
    assert await store.rows(eid(1)) == written


async def test_an_append_of_several_rows_is_all_or_nothing(store: Store) -> None:
    execution_id = await begin(store)
    broken = [row(2), row(3, batch="twice"), row(4, batch="twice")]
    with pytest.raises(Conflict):
        await store.commit(Append(execution_id, 1, broken))
    assert [one.last for one in await store.rows(execution_id)] == [1]


@pytest.mark.parametrize("expected", [0, 1, 2, 4, 9])
async def test_an_append_that_expects_another_end_is_refused(store: Store, expected: int) -> None:
    await store.commit(Append(eid(1), 0, rows(1, 2), summary(eid(1))))
    with pytest.raises(Conflict):
        await store.commit(Append(eid(1), expected, [row(expected + 1)], summary(eid(1), status="failed")))
    assert [one.last for one in await store.rows(eid(1))] == [1, 3]
    assert (await store.summary(eid(1))).status == "running"


@pytest.mark.parametrize(
    "found",
    [
        pytest.param([row(3)], id="one event left out"),
        pytest.param([row(2), row(4)], id="a hole between two rows"),
        pytest.param([row(2, 4), row(4)], id="two rows overlap"),
        pytest.param([row(1)], id="an event twice"),
    ],
)
async def test_a_log_has_no_gaps(store: Store, found: list) -> None:
    execution_id = await begin(store)
    with pytest.raises(Conflict):
        await store.commit(Append(execution_id, 1, found))
    assert len(await store.rows(execution_id)) == 1


async def test_a_refused_append_leaves_nothing_behind(store: Store) -> None:
    """Neither the execution it would have begun, nor a changed summary."""
    with pytest.raises(Conflict):
        await store.commit(Append(eid(7), 0, [row(2)], summary(eid(7))))
    with pytest.raises(NotFound):
        await store.summary(eid(7))
    assert (await store.executions()).items == []


async def test_an_execution_begins_with_a_summary(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.commit(Append(eid(1), 0, rows(1)))


async def test_an_execution_cannot_begin_twice(store: Store) -> None:
    await begin(store)
    with pytest.raises(Conflict):
        await begin(store)


async def test_a_batch_is_appended_once(store: Store) -> None:
    execution_id = await begin(store)
    await store.commit(Append(execution_id, 1, [row(2, batch="b1")]))
    assert await store.answered(execution_id, "b1")
    with pytest.raises(Conflict):
        await store.commit(Append(execution_id, 2, [row(3, batch="b1")]))
    assert not await store.answered(execution_id, "b2")


async def test_the_same_batch_id_may_be_of_two_executions(store: Store) -> None:
    one, other = await begin(store, 1), await begin(store, 2)
    await store.commit(Append(one, 1, [row(2, batch="b")]))
    await store.commit(Append(other, 1, [row(2, batch="b")]))
    assert await store.answered(other, "b")


async def test_rows_begin_with_the_one_that_holds_the_event(store: Store) -> None:
    await store.commit(Append(eid(1), 0, rows(3, 4, 2), summary(eid(1))))
    for first, expected in ((1, [1, 4, 8]), (3, [1, 4, 8]), (4, [4, 8]), (7, [4, 8]), (9, [8]), (10, [])):
        assert [one.first for one in await store.rows(eid(1), first)] == expected


async def test_pages_of_rows_make_the_whole_log(store: Store) -> None:
    await store.commit(Append(eid(1), 0, rows(*[1, 3] * 10), summary(eid(1))))
    found, first = [], 1
    while page := await store.rows(eid(1), first, 3):
        assert len(page) <= 3
        found += page
        first = page[-1].last + 1
    assert found == rows(*[1, 3] * 10)


async def test_recovery_reads_the_newest_snapshot_and_what_follows(store: Store) -> None:
    parts = rows(2, 2, 2, 2)
    await store.commit(Append(eid(1), 0, parts[:1], summary(eid(1)), b"first"))
    await store.commit(Append(eid(1), 2, parts[1:2], None, b"second"))
    found = await store.log(eid(1))
    assert (found.snapshot, found.rows, found.head) == (b"second", [], parts[1].hash)
    await store.commit(Append(eid(1), 4, parts[2:]))
    found = await store.log(eid(1))
    assert (found.snapshot, found.rows, found.head) == (b"second", parts[2:], parts[3].hash)


async def test_recovery_without_a_snapshot_reads_the_whole_log(store: Store) -> None:
    await store.commit(Append(eid(1), 0, rows(2, 2), summary(eid(1))))
    found = await store.log(eid(1))
    assert (found.snapshot, found.rows, found.head) == (None, rows(2, 2), rows(2, 2)[-1].hash)


async def test_an_unknown_execution_is_not_found(store: Store) -> None:
    for question in (
        store.log(eid(9)),
        store.rows(eid(9)),
        store.answered(eid(9), "b"),
        store.summary(eid(9)),
        store.claim(eid(9), "me", 1000),
        store.owned(eid(9)),
        store.commit(Append(eid(9), 4, [row(5)])),
    ):
        with pytest.raises(NotFound):
            await question


async def test_bytes_and_large_rows_come_back_unchanged(store: Store) -> None:
    odd = row(2)
    odd.body = bytes(range(256)) * 4096
    odd.cause = '{"why":"ünïcode ✓\\u0000"}'.encode()
    execution_id = await begin(store)
    await store.commit(Append(execution_id, 1, [odd]))
    assert (await store.rows(execution_id, 2)) == [odd]


async def test_appends_to_many_executions_at_once_are_all_committed(store: Store) -> None:
    async def grow(number: int) -> None:
        execution_id = await begin(store, number)
        for seq in range(1, 10):
            await store.commit(Append(execution_id, seq, [row(seq + 1)]))

    await asyncio.gather(*(grow(number) for number in range(40)))
    for number in range(40):
        assert [one.first for one in await store.rows(eid(number))] == list(range(1, 11))


async def test_of_many_writers_after_one_event_exactly_one_wins(store: Store) -> None:
    execution_id = await begin(store)
    attempts = [store.commit(Append(execution_id, 1, [row(2, batch=f"b{n}")])) for n in range(20)]
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    assert sum(outcome is None for outcome in outcomes) == 1
    assert all(outcome is None or isinstance(outcome, Conflict) for outcome in outcomes)
    assert len(await store.rows(execution_id)) == 2


async def test_a_refused_append_does_not_undo_those_beside_it(store: Store) -> None:
    one, other = await begin(store, 1), await begin(store, 2)
    outcomes = await asyncio.gather(
        store.commit(Append(one, 1, [row(2)])),
        store.commit(Append(other, 7, [row(8)], summary(other, status="failed"))),
        store.commit(Append(eid(3), 0, rows(1), summary(eid(3)))),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), Conflict, type(None)]
    assert (await store.summary(other)).status == "running"
    assert len(await store.rows(one)) == 2
    assert len(await store.rows(eid(3))) == 1


async def test_rows_are_trimmed_only_after_the_end_and_keep_their_place(store: Store) -> None:
    execution_id = await begin(store)
    shorter = row(1)
    shorter.body, shorter.seal = b"[]", b"seal"
    with pytest.raises(Conflict):
        await store.trim(execution_id, [shorter], whole=True)
    await end(store, execution_id, 1)
    assert not (await store.ended(1))[0].trimmed
    await store.trim(execution_id, [shorter], whole=False)
    assert not (await store.ended(1))[0].trimmed
    await store.trim(execution_id, [], whole=True)
    assert (await store.ended(1))[0].trimmed
    found = await store.rows(execution_id)
    assert (found[0].body, found[0].seal, found[0].hash) == (b"[]", b"seal", row(1).hash)
    assert found[1].seal is None


async def test_the_end_of_a_log_is_its_newest_event(store: Store) -> None:
    execution_id = await begin(store)
    assert await store.end(execution_id) == 1
    await store.commit(Append(execution_id, 1, rows(4, first=2)))
    assert await store.end(execution_id) == 5
    with pytest.raises(NotFound):
        await store.end(eid(9))


# Executions that go on as another


async def test_an_execution_ends_and_the_one_that_goes_on_begins_in_one_commit(store: Store) -> None:
    await begin(store, 1, owner="a")
    await store.commit(continuing(1, 1, 2))
    await store.commit(continuing(2, 1, 3))
    assert (await store.summary(eid(1))).continued_as == eid(2)
    middle = await store.summary(eid(2))
    assert (middle.continued_from, middle.continued_as, middle.chain) == (eid(1), eid(3), eid(1))
    for number in (1, 2, 3):
        assert (await store.newest(eid(number))).execution_id == eid(3)
    assert await store.owned(eid(3))
    listed = await store.executions(Find(continued=False))
    assert [item.execution_id for item in listed.items] == [eid(3)]
    assert len((await store.executions()).items) == 3
    family = {outline.execution_id for outline in await store.family(eid(2))}
    assert family == {eid(1), eid(2), eid(3)}
    assert await store.delete([eid(1)], NOW + 1) == []


async def test_a_continuation_that_is_refused_leaves_neither(store: Store) -> None:
    await begin(store, 1, owner="a")
    other = await begin(store, 2, owner="a")
    with pytest.raises(Conflict):  # the log has another end
        await store.commit(continuing(1, 5, 3))
    stale = continuing(1, 1, 3)
    stale.owner = "b"
    with pytest.raises(Conflict):
        await store.commit(stale)
    with pytest.raises(NotFound):
        await store.summary(eid(3))
    with pytest.raises(Conflict):  # what would begin is there already
        await store.commit(continuing(1, 1, 2))
    found = await store.summary(eid(1))
    assert (found.status, found.continued_as) == ("running", None)
    assert (await store.summary(other)).continued_from is None
    assert [one.last for one in await store.rows(eid(1))] == [1]


async def test_mail_goes_with_the_execution_that_goes_on(store: Store) -> None:
    own = await begin(store, 1, owner="a")
    for message in (b"1", b"2", b"3"):
        assert await store.post(own, message)
    first = next(letter.id for letter in await store.mail("a"))
    append = continuing(1, 1, 2)
    append.taken = [first]
    await store.commit(append)
    assert [(letter.execution_id, letter.body) for letter in await store.mail("a")] == [
        (eid(2), b"2"),
        (eid(2), b"3"),
    ]
    assert not await store.post(own, b"4")
