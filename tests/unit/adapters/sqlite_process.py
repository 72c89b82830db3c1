"""A process of its own on a database file: `<path> <what> <first execution> <count>`.

Every answer is printed before the next is asked for, so that whoever kills it knows what was promised.
"""

import asyncio
import sys

from noetl.adapters.sqlite.store import SqliteStore
from noetl.errors import Conflict
from noetl.ports.store import Append
from tests.conformance.stores import begin, eid, row


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def grow(store: SqliteStore, first: int, count: int) -> None:
    """Executions that grow side by side; each answered append is said."""

    async def one(number: int) -> None:
        execution_id = await begin(store, number)
        for seq in range(1, count):
            await store.commit(Append(execution_id, seq, [row(seq + 1)]))
            say(number, seq + 1)

    await asyncio.gather(*(one(number) for number in range(first, first + 4)))


async def contend(store: SqliteStore, first: int, count: int) -> None:
    """One log that others write too: every place is tried, and a won one is said."""
    for seq in range(1, count):
        try:
            await store.commit(Append(eid(first), seq, [row(seq + 1)]))
        except Conflict:
            continue
        say(first, seq + 1)


async def own(store: SqliteStore, first: int, count: int) -> None:
    """Own an execution until killed."""
    say(await store.claim(eid(first), "child", 3_600_000))
    await asyncio.Event().wait()


async def main() -> None:
    path, what, first, count = sys.argv[1:]
    store = SqliteStore(path)
    await {"grow": grow, "contend": contend, "own": own}[what](store, int(first), int(count))
    await store.close()


asyncio.run(main())
