"""What happens by the clock: ownership is renewed, mail is taken, children are tended. All else is pushed."""

import asyncio

from noetl.control.engine import Engine

MAIL_S = 0.2


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
