"""The store port, on every product: summaries and lists, owners, mail, playbooks, credentials."""

import asyncio
from typing import Any

import msgspec
import pytest

from noetl.errors import Conflict, NotFound
from noetl.ports.store import AccessToken, Append, Find, ServerAddress, Store, Stuck
from tests.conformance.stores import LEASE_MS, NOW, Clock, begin, eid, end, row, rows, summary

# Summaries and lists


async def test_a_summary_is_kept_with_the_log_and_changes_with_it(store: Store) -> None:
    execution_id = await begin(store, idempotency_key="k", request="r", parent=eid(8), retry_of=eid(9))
    assert await store.summary(execution_id) == summary(
        execution_id, idempotency_key="k", request="r", parent=eid(8), retry_of=eid(9)
    )
    same: dict[str, Any] = {"idempotency_key": "k", "request": "r", "parent": eid(8), "retry_of": eid(9)}
    changed = summary(
        execution_id, status="failed", started_at=2, ended_at=3, due_at=None, result=b"{}", **same
    )
    await store.commit(Append(execution_id, 1, [row(2)], changed))
    assert await store.summary(execution_id) == changed


async def test_an_append_without_a_summary_leaves_it_as_it_was(store: Store) -> None:
    execution_id = await begin(store, due_at=5)
    await store.commit(Append(execution_id, 1, [row(2)]))
    assert (await store.summary(execution_id)).due_at == 5


async def test_an_idempotency_key_is_of_one_execution(store: Store) -> None:
    execution_id = await begin(store, 1, idempotency_key="k")
    with pytest.raises(Conflict, match="'k'"):
        await begin(store, 2, idempotency_key="k")
    assert (await store.by_key("k") or summary("")).execution_id == execution_id
    assert await store.by_key("other") is None
    with pytest.raises(NotFound):
        await store.summary(eid(2))
    await store.commit(Append(execution_id, 1, [row(2)], summary(execution_id, idempotency_key="k")))


async def test_of_many_executions_with_one_key_at_once_exactly_one_begins(store: Store) -> None:
    attempts = [begin(store, number, idempotency_key="k") for number in range(1, 11)]
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    assert sum(isinstance(outcome, str) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 9
    assert len((await store.executions()).items) == 1


async def test_an_execution_that_wants_the_newest_version_begins_with_no_other(store: Store) -> None:
    """Without a look beforehand: the commit itself is refused."""

    async def begins(number: int, version: int, newest: bool = True) -> bool:
        begun = summary(eid(number), path="p", version=version)
        try:
            await store.commit(Append(eid(number), 0, rows(1), begun, newest=newest))
        except Conflict:
            with pytest.raises(NotFound):
                await store.summary(eid(number))
            return False
        return (await store.summary(eid(number))).version == version

    assert not await begins(1, 1)  # there is no such playbook
    await store.register("p", "h1", "one", None)
    assert await begins(2, 1)
    await store.register("p", "h2", "two", None)
    await store.register("other", "h3", "three", None)
    assert not await begins(3, 1)
    assert await begins(4, 1, newest=False)
    assert await begins(5, 2)
    await store.delete_playbook("p", 2)
    assert not await begins(6, 2)
    assert await begins(7, 1)


async def test_lists_show_the_newest_first_page_by_page(store: Store) -> None:
    for number in (5, 3, 9, 1, 7):
        await begin(store, number)
    seen, cursor = [], None
    while True:
        page = await store.executions(Find(cursor=cursor, limit=2))
        seen += [one.execution_id for one in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [eid(number) for number in (7, 1, 9, 3, 5)]


async def test_executions_are_counted_by_status_and_part_of_a_span(store: Store) -> None:
    hour = 3_600_000
    for number, at in enumerate((NOW, NOW + hour, NOW + 3 * hour)):
        await begin(store, number, requested_at=NOW)
        await end(store, eid(number), at, requested_at=NOW)
    await begin(store, 7, requested_at=NOW - 9 * hour)  # it is open, however old
    await begin(store, 8, requested_at=NOW - 9 * hour)
    await end(store, eid(8), NOW, requested_at=NOW - 9 * hour)  # it was asked for before
    await begin(store, 9, path="team-a/x", requested_at=NOW + hour)

    async def counted(path: str | None = None) -> list[tuple[str, int, int]]:
        found = await store.tally(NOW, 2 * hour, path)
        return sorted((item.status, item.part, item.number) for item in found)

    of_case = [("completed", 0, 2), ("completed", 1, 1), ("running", 0, 1)]
    assert await counted() == [*of_case[:2], ("running", 0, 2)]
    assert await counted("tests/case") == of_case
    assert await counted("team-a/*") == [("running", 0, 1)]
    assert await counted("team_a/*") == []


async def test_what_another_goes_on_from_is_told(store: Store) -> None:
    await begin(store, 1)
    await begin(store, 2)
    for number in (3, 4):
        await begin(store, number, retry_of=eid(1))
    assert await store.retried([eid(1), eid(2)]) == {eid(1)}
    assert await store.retried([]) == set()


async def test_a_page_is_not_disturbed_by_what_begins_meanwhile(store: Store) -> None:
    for number in range(4):
        await begin(store, number)
    first = await store.executions(Find(limit=2))
    await begin(store, 9)
    rest = await store.executions(Find(limit=2, cursor=first.cursor))
    assert [one.execution_id for one in rest.items] == [eid(1), eid(0)]
    assert rest.cursor is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [0xA3, 0xA2, 0xB1]),
        ({"status": "failed"}, [0xA2]),
        ({"path": "tests/Other"}, [0xA3]),
        ({"path": "tests/other"}, []),
        ({"paths": ["tests/Other", "nowhere"]}, [0xA3]),
        ({"paths": []}, []),
        ({"status": "failed", "path": "tests/Other"}, []),
        ({"children": False}, [0xA2, 0xB1]),
        ({"prefix": eid(0xA0)[:31]}, [0xA3, 0xA2]),
        ({"prefix": eid(0xB1)}, [0xB1]),
        ({"prefix": eid(0xA0)[:31], "children": False}, [0xA2]),
        ({"prefix": "%"}, []),
        ({"prefix": "_"}, []),
        ({"prefix": "0' OR 1=1 --"}, []),
        ({"path": "' OR 1=1 --"}, []),
        ({"path": "tests/O*"}, [0xA3]),
        ({"path": "tests/Othe?"}, [0xA3]),
        ({"path": "tests/[O]*"}, []),
        ({"path": "tests/Othe_*"}, []),
        ({"path": "*\\*"}, []),
        ({"text": "OTHER"}, [0xA3]),
        ({"text": "tests/"}, [0xA3, 0xA2, 0xB1]),
        ({"text": "00a"}, [0xA3, 0xA2]),
        ({"text": "%"}, []),
        ({"text": "other", "status": "failed"}, []),
        ({"since": NOW + 2}, [0xA3, 0xA2]),
        ({"until": NOW + 2}, [0xA2, 0xB1]),
        ({"since": NOW + 2, "until": NOW + 2}, [0xA2]),
        ({"since": NOW + 4}, []),
        ({"parent": eid(0xB1)}, [0xA3]),
        ({"parent": eid(0xB1), "prefix": eid(0xA0)[:31]}, [0xA3]),
        ({"parent": eid(0xB1), "prefix": eid(0xB1)}, []),
        ({"parent": eid(0xB1), "children": False}, []),
        ({"parent": eid(0xA2)}, []),
    ],
)
async def test_lists_are_filtered(store: Store, wanted: dict[str, Any], found: list[int]) -> None:
    await begin(store, 0xB1, requested_at=NOW + 1)
    await begin(store, 0xA2, status="failed", requested_at=NOW + 2)
    await begin(store, 0xA3, path="tests/Other", parent=eid(0xB1), requested_at=NOW + 3)
    items = (await store.executions(Find(**wanted))).items
    assert [one.execution_id for one in items] == [eid(number) for number in found]


async def test_filtered_lists_come_page_by_page(store: Store) -> None:
    for number in range(1, 11):
        await begin(store, number, path="odd" if number % 2 else "even", parent=eid(99))
    seen, cursor = [], None
    for size in (2, 2, 2):
        page = await store.executions(Find(text="odd", parent=eid(99), cursor=cursor, limit=size))
        seen += [one.execution_id for one in page.items]
        cursor = page.cursor
    assert seen == [eid(number) for number in (9, 7, 5, 3, 1)]
    assert cursor is None


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "1 OR 1=1", "²"])
async def test_a_made_up_cursor_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(NotFound, match="cursor"):
        await store.executions(Find(cursor=cursor))


# Owners


async def test_an_execution_has_one_owner_until_the_claim_runs_out(store: Store, clock: Clock) -> None:
    execution_id = await begin(store, owner="a")
    assert await store.owned(execution_id)
    assert not await store.claim(execution_id, "b", LEASE_MS)
    assert await store.claim(execution_id, "a", LEASE_MS)
    clock.now += LEASE_MS
    assert not await store.claim(execution_id, "b", LEASE_MS)
    clock.now += 1
    assert not await store.owned(execution_id)
    assert await store.claim(execution_id, "b", LEASE_MS)
    assert not await store.claim(execution_id, "a", LEASE_MS)


async def test_an_execution_that_nobody_owns_can_be_claimed(store: Store) -> None:
    execution_id = await begin(store)
    assert not await store.owned(execution_id)
    assert await store.claim(execution_id, "a", LEASE_MS)
    assert await store.owned(execution_id)


async def test_of_many_claims_at_once_exactly_one_wins(store: Store) -> None:
    execution_id = await begin(store)
    outcomes = await asyncio.gather(*(store.claim(execution_id, f"o{n}", LEASE_MS) for n in range(10)))
    assert sum(outcomes) == 1


async def test_who_leaves_gives_every_claim_up_and_only_its_own(store: Store) -> None:
    own, also, others = [await begin(store, n, owner=owner) for n, owner in ((1, "a"), (2, "a"), (3, "b"))]
    await store.leave("a")
    assert [await store.owned(one) for one in (own, also, others)] == [False, False, True]
    assert sorted(await store.due()) == [own, also]
    with pytest.raises(Conflict, match="run by nobody"):
        await store.commit(Append(own, 1, [row(2)], owner="a"))
    assert await store.claim(also, "a", LEASE_MS)
    assert await store.owned(also)


async def test_a_heartbeat_renews_every_claim_of_its_owner_and_no_other(store: Store, clock: Clock) -> None:
    own, also, others = (
        await begin(store, 1, owner="a"),
        await begin(store, 2, owner="a"),
        await begin(store, 3, owner="b"),
    )
    clock.now += LEASE_MS
    await store.heartbeat("a", LEASE_MS)
    clock.now += 1
    assert [await store.owned(one) for one in (own, also, others)] == [True, True, False]


async def test_a_commit_after_the_first_does_not_change_the_owner(store: Store) -> None:
    execution_id = await begin(store, owner="a")
    await store.commit(Append(execution_id, 1, [row(2)], summary(execution_id, due_at=7)))
    assert not await store.claim(execution_id, "b", LEASE_MS)


async def test_who_lost_an_execution_cannot_append_to_it(store: Store, clock: Clock) -> None:
    execution_id = await begin(store, owner="a")
    await store.commit(Append(execution_id, 1, [row(2)], owner="a"))
    clock.now += LEASE_MS + 1
    await store.commit(Append(execution_id, 2, [row(3)], owner="a"))  # late, but nobody has taken it
    assert await store.claim(execution_id, "b", LEASE_MS)
    changed = summary(execution_id, status="failed")
    with pytest.raises(Conflict, match="run by b"):
        await store.commit(Append(execution_id, 3, [row(4)], changed, owner="a"))
    assert await store.end(execution_id) == 3
    assert (await store.summary(execution_id)).status == "running"
    await store.commit(Append(execution_id, 3, [row(4)], owner="b"))
    await store.leave("b")
    with pytest.raises(Conflict, match="run by nobody"):
        await store.commit(Append(execution_id, 4, [row(5)], owner="b"))


async def test_many_open_executions_are_renewed_and_found_by_their_owner(store: Store, clock: Clock) -> None:
    await asyncio.gather(*(begin(store, number, owner="a", due_at=NOW + 5) for number in range(300)))
    clock.now += LEASE_MS
    await store.heartbeat("a", LEASE_MS)
    clock.now += 1
    assert await store.owned(eid(299))
    assert len(await store.due(limit=1000)) == 300
    assert await store.due(NOW, 1000) == []


async def test_due_is_what_is_over_its_time_or_has_no_fresh_owner(store: Store, clock: Clock) -> None:
    await begin(store, 1, owner="a", due_at=NOW + 10)
    await begin(store, 2, owner="a", due_at=NOW - 10)
    await begin(store, 3, owner="a")
    await begin(store, 4)
    await begin(store, 5, status="paused", due_at=1)
    over = await begin(store, 6, due_at=1)
    await end(store, over, NOW)
    assert sorted(await store.due(NOW)) == [eid(2), eid(4)]
    assert sorted(await store.due(NOW + 10)) == [eid(1), eid(2), eid(4)]
    assert sorted(await store.due(NOW + LEASE_MS + 1)) == [eid(number) for number in (1, 2, 3, 4)]


async def test_due_work_comes_oldest_first_and_bounded(store: Store) -> None:
    for number, due_at in ((1, 30), (2, 10), (3, 20)):
        await begin(store, number, owner="a", due_at=due_at)
    assert await store.due(NOW, 2) == [eid(2), eid(3)]
    assert await store.due(limit=2) == [eid(2), eid(3)]


# Mail


async def bodies(store: Store, owner: str) -> list[tuple[str, bytes]]:
    return [(letter.execution_id, letter.body) for letter in await store.mail(owner)]


async def test_mail_is_read_in_order_by_the_owner_and_stays(store: Store) -> None:
    own, others = await begin(store, 1, owner="a"), await begin(store, 2, owner="b")
    for message in (b"1", b"2", b"3"):
        await store.post(own, message)
    await store.post(others, b"not for a")
    for _ in range(2):
        assert await bodies(store, "a") == [(own, b"1"), (own, b"2"), (own, b"3")]
    assert await bodies(store, "b") == [(others, b"not for a")]


async def test_a_letter_goes_with_the_commit_that_took_it(store: Store) -> None:
    own = await begin(store, 1, owner="a")
    for message in (b"1", b"2", b"3"):
        await store.post(own, message)
    first, second, _ = [letter.id for letter in await store.mail("a")]
    with pytest.raises(Conflict):
        await store.commit(Append(own, 7, [row(8)], taken=[first]))
    assert len(await store.mail("a")) == 3
    await store.commit(Append(own, 1, [row(2)], taken=[first, second]))
    assert await bodies(store, "a") == [(own, b"3")]


async def test_what_is_over_or_not_there_has_no_mail(store: Store) -> None:
    own, open_ = await begin(store, 1, owner="a"), await begin(store, 2, owner="a")
    for told in (own, open_):
        await store.post(told, b"before")
    await end(store, own, NOW)
    for told in (own, open_, eid(3)):
        await store.post(told, b"after")
    assert await bodies(store, "a") == [(open_, b"before"), (open_, b"after")]
    assert (await store.extent()).messages == 2


async def test_a_letter_is_there_until_a_commit_takes_it(store: Store) -> None:
    own, over = await begin(store, 1, owner="a"), await begin(store, 2, owner="a")
    letters = [await store.post(told, b"m") for told in (own, own, over)]
    assert await store.post(eid(3), b"m") is None
    first, second, third = [letter for letter in letters if letter is not None]
    await store.commit(Append(own, 1, [row(2)], taken=[first]))
    await end(store, over, NOW)
    assert [await store.is_posted(letter) for letter in (first, second, third)] == [False, True, False]


async def test_letters_that_change_nothing_are_thrown_away(store: Store) -> None:
    own = await begin(store, 1, owner="a")
    for message in (b"1", b"2", b"3"):
        await store.post(own, message)
    first, second, third = [letter.id for letter in await store.mail("a")]
    await store.discard_mail([first, third])
    assert [letter.id for letter in await store.mail("a")] == [second]
    await store.discard_mail([])
    await store.discard_mail([first, second])
    assert list(await store.mail("a")) == []
    await store.post(own, b"4")
    assert [letter.id for letter in await store.mail("a")] > [third]  # a number is never used again


async def test_mail_waits_for_the_next_owner(store: Store) -> None:
    execution_id = await begin(store)
    await store.post(execution_id, b"m")
    assert await bodies(store, "a") == []
    await store.claim(execution_id, "a", LEASE_MS)
    assert await bodies(store, "a") == [(execution_id, b"m")]


async def test_mail_for_what_is_over_is_thrown_away(store: Store) -> None:
    execution_id = await begin(store, owner="a")
    await store.post(execution_id, b"late")
    await end(store, execution_id, NOW)
    assert await bodies(store, "a") == []
    assert (await store.extent()).messages == 0


# Playbooks


async def test_a_new_text_under_a_path_is_a_new_version(store: Store) -> None:
    one = await store.register("a/b", "h1", "one", None)
    two = await store.register("a/b", "h2", "two", "f.yaml")
    again = await store.register("a/b", "h2", "two", None)
    back = await store.register("a/b", "h1", "one", None)
    assert [entry.version for entry in (one, two, again, back)] == [1, 2, 2, 3]
    assert again.file == "f.yaml"
    assert one.registered_at == NOW
    assert (await store.playbook(path="a/b")).version == 3
    assert (await store.playbook(path="a/b", version=2)).text == "two"
    assert (await store.playbook(digest="h2")).text == "two"


async def test_the_same_text_in_another_file_is_the_same_version(store: Store) -> None:
    await store.register("a/b", "h1", "one", "old.yaml")
    assert (await store.register("a/b", "h1", "one", "new.yaml")).version == 1
    assert (await store.playbook(path="a/b")).file == "new.yaml"


async def test_registering_one_text_many_times_at_once_makes_one_version(store: Store) -> None:
    made = await asyncio.gather(*(store.register("a/b", "h1", "one", None) for _ in range(10)))
    assert {entry.version for entry in made} == {1}
    assert len(await store.playbooks("a/b")) == 1


async def test_the_catalog_lists_the_newest_of_each_path_and_all_of_one(store: Store) -> None:
    for path, digest in (("b", "h1"), ("a", "h2"), ("b", "h3")):
        await store.register(path, digest, digest, None)
    assert [(one.path, one.version) for one in await store.playbooks()] == [("a", 1), ("b", 2)]
    assert [one.version for one in await store.playbooks("b")] == [2, 1]
    assert list(await store.playbooks("c")) == []


async def test_a_deleted_playbook_is_off_the_catalog_but_its_text_stays(store: Store) -> None:
    for digest in ("h1", "h2", "h3"):
        await store.register("a", digest, digest, None)
    assert await store.delete_playbook("a", 3) == 1
    assert (await store.playbook(path="a")).version == 2
    assert (await store.playbook(digest="h3")).text == "h3"
    assert (await store.register("a", "h3", "h3", None)).version == 4
    assert await store.delete_playbook("a") == 3
    assert await store.delete_playbook("a") == 0
    with pytest.raises(NotFound):
        await store.playbook(path="a")
    assert list(await store.playbooks()) == []


@pytest.mark.parametrize("asked", [{"path": "x"}, {"digest": "x"}, {"path": "a", "version": 2}])
async def test_an_unknown_playbook_is_not_found(store: Store, asked: dict[str, Any]) -> None:
    await store.register("a", "h1", "one", None)
    with pytest.raises(NotFound):
        await store.playbook(**asked)


# Credentials


async def test_credentials_are_kept_replaced_listed_and_forgotten(store: Store, clock: Clock) -> None:
    await store.put_secret("b", b"\x00\xff")
    clock.now += 5
    await store.put_secret("a", b"1")
    await store.put_secret("a", b"2")
    assert await store.secret("b") == b"\x00\xff"
    assert await store.secret("a") == b"2"
    assert list(await store.secrets()) == [("a", NOW + 5), ("b", NOW)]
    clock.now += 5
    assert [await store.reseal_secret(name, b"2", b"3") for name in ("a", "a", "b", "c")] == [
        True,
        False,
        False,
        False,
    ]
    assert (await store.secret("a"), list(await store.secrets())) == (b"3", [("a", NOW + 5), ("b", NOW)])
    await store.delete_secret("a")
    for question in (store.secret("a"), store.delete_secret("a")):
        with pytest.raises(NotFound):
            await question


# Tokens


async def test_tokens_are_kept_replaced_listed_and_forgotten(store: Store) -> None:
    one = AccessToken("t1", "h1", "ci", ["run", "read"], ["etl/", "ü"], 10, 99, "admin", ["default"])
    two = AccessToken("t2", "h2", "worker", created_at=20)
    for token in (one, two):
        await store.put_token(token)
    assert await store.token("t1") == one
    assert list(await store.tokens()) == [two, one]
    one.expires_at = 5
    await store.put_token(one)
    assert (await store.token("t1")).expires_at == 5
    await store.delete_token("t1")
    for question in (store.token("t1"), store.delete_token("t1"), store.token("h2")):
        with pytest.raises(NotFound):
            await question
    assert list(await store.tokens()) == [two]


# What is over


async def test_the_extent_counts_what_is_there(store: Store) -> None:
    await end(store, await begin(store, 1), 5)
    await begin(store, 2, due_at=77)
    await begin(store, 3, due_at=66)
    await begin(store, 4, due_at=1, status="paused")
    await store.register("a", "h", "text", None)
    await store.put_secret("s", b"x")
    await store.post(eid(2), b"m")
    found = await store.extent()
    assert found.executions == {"completed": 1, "running": 2, "paused": 1}
    assert (found.events, found.playbooks, found.credentials, found.messages) == (5, 1, 1, 1)
    assert found.oldest_due == (eid(3), 66)
    assert found.bytes > 0


async def test_an_empty_store_has_nothing_due(store: Store) -> None:
    found = await store.extent()
    assert (found.executions, found.events, found.oldest_due) == ({}, 0, None)
    assert (await store.executions()).items == []
    assert await store.due(NOW) == []


# What is stuck, and who had what in hand


async def test_what_is_set_aside_is_nobodys_until_it_is_released(store: Store, clock: Clock) -> None:
    one, other = await begin(store, 1, owner="a", due_at=1), await begin(store, 2, owner="a", due_at=1)
    why = Stuck("decision", "a bug", NOW, "a", "noetl 1")
    assert not await store.set_aside(one, "b", why)
    assert await store.set_aside(one, "a", why)
    assert (await store.summary(one)).status == "stuck"
    assert msgspec.json.decode((await store.summary(one)).stuck or "", type=Stuck) == Stuck(
        "decision", "a bug", NOW, "a", "noetl 1", status="running"
    )
    assert [item.execution_id for item in (await store.executions(Find(status="stuck"))).items] == [one]
    assert [item.execution_id for item in (await store.executions(Find(status="running"))).items] == [other]
    assert (await store.stuck(), (await store.extent()).executions) == (1, {"running": 1, "stuck": 1})
    assert (await store.projection(one)).summary.stuck is not None
    clock.now += 2 * LEASE_MS
    assert await store.due() == [other]
    assert not await store.claim(one, "b", LEASE_MS)
    with pytest.raises(Conflict, match="run by nobody"):
        await store.commit(Append(one, 1, [row(2)], owner="a"))
    await store.post(one, b"kept")
    assert list(await store.mail("a")) == []
    assert await store.release(one, "b", LEASE_MS)
    assert not await store.release(one, "b", LEASE_MS)
    assert ((await store.summary(one)).status, (await store.summary(one)).stuck) == ("running", None)
    assert [letter.body for letter in await store.mail("b")] == [b"kept"]
    await store.commit(Append(one, 1, [row(2)], owner="b"))
    assert await store.owned(one)


async def test_what_is_over_is_not_stuck(store: Store) -> None:
    execution_id = await begin(store, owner="a")
    await end(store, execution_id, 5)
    assert not await store.set_aside(execution_id, "a", Stuck("log", "?", NOW))
    assert (await store.summary(execution_id)).status == "completed"


async def test_who_had_an_execution_in_hand_is_known_only_when_its_owner_died(
    store: Store, clock: Clock
) -> None:
    execution_id = await begin(store, owner="a")
    assert await store.take_in_hand(execution_id, "a") is None
    await store.leave("a")
    assert await store.claim(execution_id, "b", LEASE_MS)
    assert await store.take_in_hand(execution_id, "b") is None  # who leaves in order did not die
    clock.now += LEASE_MS + 1
    assert await store.claim(execution_id, "c", LEASE_MS)
    assert await store.take_in_hand(execution_id, "c") == ""  # b died, and had something else in hand
    clock.now += LEASE_MS + 1
    assert await store.claim(execution_id, "d", LEASE_MS)
    assert await store.take_in_hand(execution_id, "d") == "c"
    await store.put_down([execution_id], "c")
    assert await store.take_in_hand(execution_id, "d") == "d"
    await store.put_down([execution_id], "d")
    assert await store.take_in_hand(execution_id, "d") is None
    await store.note_in_hand([execution_id], "d")
    assert await store.take_in_hand(execution_id, "d") == "d"
    await store.leave("d")
    assert await store.claim(execution_id, "e", LEASE_MS)
    assert await store.take_in_hand(execution_id, "e") is None


async def test_what_ended_processes_is_in_hand_of_whoever_releases_it(store: Store) -> None:
    execution_id = await begin(store, owner="a")
    assert await store.set_aside(execution_id, "a", Stuck("owners", "it died", NOW, "a"))
    assert await store.release(execution_id, "a", LEASE_MS)
    assert await store.take_in_hand(execution_id, "a") not in (None, "", "a")


async def test_servers_are_listed_until_they_go_or_are_silent_for_too_long(store: Store) -> None:
    one, two = ServerAddress("a", "http://one:1"), ServerAddress("b", "http://two:2")
    await store.announce(two, 3_600_000)
    await store.announce(one, 3_600_000)
    assert list(await store.servers()) == [one, two]
    await store.announce(ServerAddress("b", "http://elsewhere:2"), 3_600_000)
    await store.announce(ServerAddress("c", "http://silent:3"), -1000)
    assert [address.url for address in await store.servers()] == ["http://one:1", "http://elsewhere:2"]
    await store.withdraw("a")
    assert [address.server for address in await store.servers()] == ["b"]
