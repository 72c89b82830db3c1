"""Who is told of a tick that could start nothing: there is no execution that would say so."""

from fnmatch import fnmatchcase

import msgspec

from noetl.core.event import iso
from noetl.errors import NotFound
from noetl.ports.notification import Notification
from noetl.ports.schedule import Schedule
from noetl.ports.store import Store, glob_of
from noetl.ports.tick import Tick


class Refused(msgspec.Struct):
    """What is told of the tick, beside the path of its playbook."""

    schedule: str
    tick: str
    why: str


async def tell_refused(store: Store, schedule: Schedule, tick: Tick, why: str) -> None:
    """Tell whoever asked for failures; once, while ticks that follow are refused for the same reason."""
    before = await store.ticks(tick.owner, 1, before=tick.tick)
    if before and (before[0].status, before[0].why) == ("refused", why):
        return
    detail = msgspec.json.encode(Refused(schedule.name, iso(tick.tick), why)).decode()
    now = await store.clock()
    for notification in await store.notifications():
        if _hears(notification, schedule.path):
            try:
                await store.add_delivery(notification.name, "failed", now, schedule.path, detail)
            except NotFound:  # it was deleted a moment ago
                continue


def _hears(notification: Notification, path: str) -> bool:
    fits = fnmatchcase(path, glob_of(notification.path))
    return notification.enabled and "failed" in notification.occasions and fits
