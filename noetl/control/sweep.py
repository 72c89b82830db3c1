"""What happens by the clock: ownership is renewed, mail is taken, children are tended. All else is pushed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from noetl.control.engine import Engine
from noetl.control.worker_api import EngineWorkerApi
from noetl.errors import BackendError

_LOG = logging.getLogger("noetl.sweep")
MAIL_S = 0.2
PICK_UP_S = 1.0
LEASES_S = 0.25
SCHEDULES_S = 0.5
NOTIFICATIONS_S = 0.5
TRIGGERS_S = 0.5
OBJECTS_S = 1.0

Work = Callable[[], Awaitable[object]]


async def sweep(engine: Engine) -> None:
    """Keep an engine's executions owned and their mail read, until cancelled."""
    loop = asyncio.get_running_loop()
    beat_s = engine.lease_ms / 3000
    next_beat = loop.time() + beat_s
    while True:
        await asyncio.sleep(min(MAIL_S, beat_s))
        await engine.collect_mail()
        if loop.time() >= next_beat:
            await engine.heartbeat()
            engine.tend()
            next_beat = loop.time() + beat_s


async def serve(
    engine: Engine, worker_api: EngineWorkerApi | None, also: Sequence[tuple[float, Work]] = ()
) -> None:
    """The clockwork of a server, until cancelled: a store that is away is waited for."""
    lease_s = engine.lease_ms / 1000
    every: list[tuple[float, Work]] = [
        (min(MAIL_S, lease_s / 3), engine.collect_mail),
        (lease_s / 3, engine.renew),
        (min(PICK_UP_S, lease_s / 3), engine.pick_up_due),
        *also,
    ]
    if worker_api is not None:
        every.append((min(LEASES_S, lease_s / 8), worker_api.sweep))
    troubles = Troubles()
    async with asyncio.TaskGroup() as group:
        for seconds, work in every:
            group.create_task(repeat(seconds, work, troubles))


async def repeat(seconds: float, work: Work, troubles: "Troubles | None" = None) -> None:
    """Do something again and again; what goes wrong is told once, and tried again."""
    troubles = Troubles() if troubles is None else troubles
    while True:
        try:
            await work()
            troubles.over(work)
        except Exception as error:  # a bug of ours in one round must not end the clockwork
            troubles.met(work, error)
        await asyncio.sleep(seconds)


class Troubles:
    """What goes wrong in the rounds of one process: told once, however many meet it, and when it is over."""

    def __init__(self) -> None:
        self._met: dict[Work, str] = {}

    def met(self, work: Work, error: Exception) -> None:
        """A round has failed."""
        told, expected = str(error), isinstance(error, BackendError)
        known = told in self._met.values()
        self._met[work] = told
        if not known:
            _LOG.log(logging.WARNING if expected else logging.ERROR, told, exc_info=not expected)

    def over(self, work: Work) -> None:
        """A round went well."""
        told = self._met.pop(work, None)
        if told is not None and not self._met:
            _LOG.warning("it goes on; what was wrong: %s", told)
