"""Who is told of a tick that could start nothing: there is no execution that would say so."""

from fnmatch import fnmatchcase

import msgspec

from noetl.core.event import iso
from noetl.ports.notification import Notification
from noetl.ports.schedule import Schedule
from noetl.ports.store import Store, glob_of
from noetl.ports.tick import Tick


class Refused(msgspec.Struct):
    """What is told of the tick, beside the path of its playbook."""

    schedule: str
    tick: str
    why: str


async def refuse(store: Store, schedule: Schedule, tick: Tick, why: str) -> None:
    """Note that a tick was refused, and with it who asked for failures; once, while the reason stays."""
    before = await store.ticks(tick.owner, 1, before=tick.tick)
    known = bool(before) and (before[0].status, before[0].why) == ("refused", why)
    hearers = [] if known else await store.notifications()
    told = [notification.name for notification in hearers if _hears(notification, schedule.path)]
    detail = msgspec.json.encode(Refused(schedule.name, iso(tick.tick), why)).decode()
    await store.refuse_tick(
        msgspec.structs.replace(tick, status="refused", why=why), told, schedule.path, detail
    )


def _hears(notification: Notification, path: str) -> bool:
    fits = fnmatchcase(path, glob_of(notification.path))
    return notification.enabled and "failed" in notification.occasions and fits
