"""What starts executions by itself, with two servers over one store and one bus."""

import asyncio
from pathlib import Path

from noetl.adapters.nats.bus import Bus
from noetl.ports.schedule import ScheduleAsk, TriggerAsk
from noetl.ports.store import Find
from noetl.settings import Settings, load
from noetl.wiring.distributed import Serving, serving
from tests.servers import NatsServer
from tests.unit.server.serving import WAITS

LONG = 60.0


def settings(folder: Path, bus: str) -> Settings:
    given = {"store": str(folder / "noetl.db"), "home": str(folder / "home"), "bus": bus}
    return load(given, environ={}, folder=folder)


async def started(made: Serving, by: str, count: int) -> list[str | None]:
    """Wait until so many executions were started by something; who all of them were started by."""
    async with asyncio.timeout(LONG):
        while True:
            listed = await made.front.executions(Find(path="tests/waits"))
            makers = [(await made.front.execution(one.execution_id))["by"] for one in listed.items]
            if makers.count(by) >= count:
                return makers
            await asyncio.sleep(0.05)


async def test_one_of_two_servers_starts_what_a_message_or_a_tick_asks_for(
    tmp_path: Path, nats_server: NatsServer
) -> None:
    chosen = settings(tmp_path, nats_server.url)
    subject = f"test{tmp_path.name.replace('_', '')}.new"
    async with serving(chosen) as one, serving(chosen) as other:
        await one.front.register(WAITS)
        await one.front.put_trigger(
            TriggerAsk(name="orders", kind="nats", path="tests/waits", subject=subject)
        )
        await other.front.put_schedule(
            ScheduleAsk(name="tick", path="tests/waits", every_s=1, overlap="allow")
        )
        ticks = (await started(other, "schedule tick", 2)).count("schedule tick")
        tick = await one.front.schedule("tick")
        await one.front.put_schedule(
            ScheduleAsk(name="tick", path="tests/waits", every_s=1, overlap="allow", enabled=False)
        )
        assert tick.last_error is None
        assert ticks >= 2
        makers = await _told(one, chosen, subject)
    assert makers.count("trigger orders") == 1


async def _told(made: Serving, chosen: Settings, subject: str) -> list[str | None]:
    """Say the same message until a server listens; its id makes it one execution."""
    bus = Bus(chosen.bus or "", "test")
    await bus.connect()
    try:
        async with asyncio.timeout(LONG):
            while True:
                for _ in range(3):
                    await (await bus.client()).publish(subject, b"1", headers={"Nats-Msg-Id": "m"})
                await (await bus.client()).flush()
                listed = await made.front.executions(Find(path="tests/waits"))
                makers = [(await made.front.execution(one.execution_id))["by"] for one in listed.items]
                if "trigger orders" in makers:
                    return makers
                await asyncio.sleep(0.1)
    finally:
        await bus.close()
