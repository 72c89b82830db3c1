"""Runs the CLI in a process that kills itself at one point: `python -m tests.distributed.faulty POINT:N ARGS`.

The product has no such points; they are put around its methods here. N counts the times a point is reached.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Fuse:
    """Burns down a little each time."""

    def __init__(self, times: int) -> None:
        self.left = times

    def burn(self) -> None:
        self.left -= 1
        if self.left == 0:
            die()


def around(owner: type, name: str, fuse: Fuse, *, after: bool) -> None:
    """Kill the process before or after a coroutine method of a class."""
    original: Callable[..., Any] = getattr(owner, name)

    async def wrapped(self: Any, *args: Any, **more: Any) -> Any:
        if not after:
            fuse.burn()
        result = await original(self, *args, **more)
        if after:
            fuse.burn()
        return result

    setattr(owner, name, wrapped)


def before_commit(fuse: Fuse) -> None:
    around(_store(), "commit", fuse, after=False)


def after_commit(fuse: Fuse) -> None:
    """Committed, and nobody has been told."""
    around(_store(), "commit", fuse, after=True)


def _store() -> type:
    if os.environ["NOETL_STORE"].startswith("postgres"):
        from noetl.adapters.postgres.store import PostgresStore

        return PostgresStore
    from noetl.adapters.sqlite.store import SqliteStore

    return SqliteStore


def after_mail(fuse: Fuse) -> None:
    """What operators wish was read where others had left it, and nothing of it is decided."""
    original = _store().mail  # type: ignore[attr-defined]

    async def wrapped(self: Any, owner: str) -> Any:
        letters = await original(self, owner)
        if letters:
            fuse.burn()
        return letters

    _store().mail = wrapped  # type: ignore[attr-defined]


def before_answered_mail(fuse: Fuse) -> None:
    """What a letter wished is decided, and not committed."""
    _answered_mail(fuse, after=False)


def after_answered_mail(fuse: Fuse) -> None:
    """It is in the log, and the letter is gone with the same commit."""
    _answered_mail(fuse, after=True)


def _answered_mail(fuse: Fuse, *, after: bool) -> None:
    original = _store().commit  # type: ignore[attr-defined]

    async def wrapped(self: Any, append: Any) -> Any:
        if append.taken and not after:
            fuse.burn()
        result = await original(self, append)
        if append.taken and after:
            fuse.burn()
        return result

    _store().commit = wrapped  # type: ignore[attr-defined]


def after_answer(fuse: Fuse) -> None:
    """The worker was answered, and the others have not heard that there is work."""
    import asyncio

    from noetl.adapters.direct.serve import LinkServer
    from noetl.adapters.nats.bus import Bus

    over_bus, over_connection = Bus._answer, LinkServer._answer

    async def on_bus(self: Any, message: Any, answer_to: Any) -> None:
        await over_bus(self, message, answer_to)
        if message.subject.endswith(".report"):
            await self._wire.flush()
            fuse.burn()

    async def on_connection(self: Any, connection: Any, number: int, what: bytes, body: bytes) -> None:
        await over_connection(self, connection, number, what, body)
        if what == b"report":
            while connection.transport.get_write_buffer_size():  # noqa: ASYNC110
                await asyncio.sleep(0)
            fuse.burn()

    Bus._answer, LinkServer._answer = on_bus, on_connection  # type: ignore[method-assign]


def before_hint(fuse: Fuse) -> None:
    from noetl.adapters.direct.serve import LinkServer
    from noetl.adapters.nats.serve import NatsWorkerChannel

    for channel in (NatsWorkerChannel, LinkServer):
        _before_hint(channel, fuse)


def _before_hint(channel: Any, fuse: Fuse) -> None:
    original = channel.hint

    def wrapped(self: Any, pool: str) -> None:
        fuse.burn()
        original(self, pool)

    channel.hint = wrapped


def before_telling(fuse: Fuse) -> None:
    """Somebody has to be told, the delivery is taken, and nothing was sent."""
    from noetl.adapters.notify.webhook import Webhook

    around(Webhook, "send", fuse, after=False)


def after_telling(fuse: Fuse) -> None:
    """Somebody was told, and that is not noted."""
    from noetl.adapters.notify.webhook import Webhook

    around(Webhook, "send", fuse, after=True)


def before_firing(fuse: Fuse) -> None:
    """It is decided what a trigger fires, and nothing was started."""
    from noetl.control.firings import Firings

    around(Firings, "_execution", fuse, after=False)


def after_firing(fuse: Fuse) -> None:
    """The execution was started, and that is not noted."""
    from noetl.control.firings import Firings

    around(Firings, "_execution", fuse, after=True)


def before_report(fuse: Fuse) -> None:
    for link in _links():
        around(link, "report", fuse, after=False)


def after_report(fuse: Fuse) -> None:
    for link in _links():
        around(link, "report", fuse, after=True)


def _links() -> tuple[type, type]:
    from noetl.adapters.direct.link import DirectLink
    from noetl.adapters.nats.link import NatsLink

    return DirectLink, NatsLink


def before_task(fuse: Fuse) -> None:
    from noetl.worker.toolbox import Toolbox

    around(Toolbox, "call", fuse, after=False)


def after_task(fuse: Fuse) -> None:
    """The effect has happened, and nobody knows."""
    from noetl.worker.toolbox import Toolbox

    around(Toolbox, "call", fuse, after=True)


def on_deadly_report(fuse: Fuse) -> None:
    """Deciding on any report of the playbook distributed/deadly ends the process, each time."""
    from noetl.control import engine
    from noetl.core.decide import decide
    from noetl.core.message import Report

    def wrapped(state: Any, message: Any, *others: Any, **more: Any) -> Any:
        if isinstance(message, Report) and state.path == "distributed/deadly":
            die()
        return decide(state, message, *others, **more)

    engine.decide = wrapped  # type: ignore[attr-defined]


POINTS = {
    point.__name__: point
    for point in (
        before_commit,
        after_commit,
        after_mail,
        before_answered_mail,
        after_answered_mail,
        after_answer,
        before_hint,
        before_report,
        after_report,
        before_task,
        after_task,
        on_deadly_report,
        before_telling,
        after_telling,
        before_firing,
        after_firing,
    )
}

if __name__ == "__main__":
    point, _, times = sys.argv.pop(1).partition(":")
    POINTS[point](Fuse(int(times)))
    from noetl.cli.main import main

    main()
