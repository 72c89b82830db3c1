"""The store port, on every product: lines of tasks, in order, bounded with a count, as long as their execution."""

import asyncio

from noetl.core.values.lines import Line
from noetl.ports.store import Store
from noetl.ports.task_lines import PAGE_ROWS, KeptLines, PrintedLines
from tests.conformance.stores import NOW, begin, eid, end

KEPT = KeptLines(1000, 4000)


def printed(*texts: str, task: str = "fetch", before: int = 0, keep: int | None = None) -> PrintedLines:
    lines = [Line(NOW, None, text) for text in texts]
    return PrintedLines(eid(1), "load.1", task, "[2]", 1, 1, NOW, lines, 0, before, keep)


async def texts(store: Store, number: int = 1) -> list[str]:
    """The first letters of all lines, and a number where some are missing before."""
    found: list[str] = []
    after = 0
    while page := await store.lines(eid(number), after):
        for stored in page:
            assert stored.number > after
            after = stored.number
            found += [str(stored.printed.lost)] if stored.printed.lost else []
            found += [line.text.rstrip("x") for line in stored.printed.lines]
    return found


async def fill(store: Store, names: str, task: str = "fetch", keep: int | None = None) -> None:
    for place, name in enumerate(names):
        one = printed(name + "x" * 83, task=task, before=place * 100, keep=keep)
        await store.add_lines([one], KEPT)


async def test_lines_are_read_back_as_they_were_written(store: Store) -> None:
    await begin(store)
    one, two = printed("a", "b"), printed("ü\n", task="load")
    one.lines[0] = Line(NOW + 1, "error", "a")
    two.lost = 3
    await store.add_lines([one, two], KEPT)
    await store.add_lines([printed("c", before=4)], KEPT)
    stored = await store.lines(eid(1))
    assert [found.printed for found in stored] == [one, two, printed("c", before=4)]
    assert await store.lines(eid(1), stored[0].number) == stored[1:]
    assert list(await store.lines(eid(1), stored[-1].number)) == []


async def test_of_one_attempt_its_beginning_and_its_end_stay(store: Store) -> None:
    await begin(store)
    await fill(store, "abcdefghijklmnop")
    await fill(store, "qr", task="other")
    assert await texts(store) == ["a", "b", "6", *"ijklmnop", "q", "r"]


async def test_a_task_may_keep_fewer_lines_than_others(store: Store) -> None:
    await begin(store)
    await fill(store, "abcdefgh", keep=400)
    assert await texts(store) == ["a", "4", "f", "g", "h"]


async def test_of_an_execution_the_newest_lines_stay(store: Store) -> None:
    await begin(store)
    for task in range(6):
        await fill(store, "abcdefghij", task=str(task))
    found = await texts(store)
    assert (len(found), found[0], found[1]) == (41, "20", "a")


async def test_lines_written_at_once_all_have_their_place(store: Store) -> None:
    await begin(store)
    await asyncio.gather(*(store.add_lines([printed(str(number))], KEPT) for number in range(30)))
    assert sorted(map(int, await texts(store))) == list(range(30))


async def test_many_lines_are_read_in_parts(store: Store) -> None:
    await begin(store)
    many = [printed(str(number), task=f"t{number}") for number in range(PAGE_ROWS + 5)]
    await store.add_lines(many, KeptLines())
    assert await texts(store) == [str(number) for number in range(PAGE_ROWS + 5)]


async def test_lines_of_an_execution_that_is_not_there_are_dropped(store: Store) -> None:
    await store.add_lines([printed("a")], KEPT)
    await begin(store)
    assert await texts(store) == []


async def test_lines_go_with_their_execution(store: Store) -> None:
    execution_id = await begin(store)
    await begin(store, 2)
    await store.add_lines([printed("a")], KEPT)
    await end(store, execution_id, NOW)
    assert await store.delete([execution_id], NOW) == [execution_id]
    assert list(await store.lines(execution_id)) == []
    assert await texts(store, 2) == []


async def test_a_batch_that_is_sent_again_is_kept_once(store: Store) -> None:
    await begin(store)
    one, two = printed("a"), printed("b", before=17)
    one.batch, two.batch, two.lost = "w.1", "w.2", 2
    await store.add_lines([one], KEPT)
    await store.add_lines([one, two], KEPT)
    await store.add_lines([two, one], KEPT)
    other = printed("a")
    other.batch = "v.1"
    await store.add_lines([other, printed("n"), printed("n")], KEPT)  # of workers that number nothing: each
    assert await texts(store) == ["a", "2", "b", "a", "n", "n"]
