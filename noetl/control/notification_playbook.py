"""A playbook that is told: one execution for each delivery, however often that is sent."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from noetl.control.tick_runner import StartAsked
from noetl.errors import Conflict
from noetl.json_value import Json
from noetl.ports.front import Ask
from noetl.ports.notification import KEY_PREFIX, NotificationMessage


class NotificationPlaybook:
    """Starts a playbook with what is told as `event` of its workload."""

    def __init__(self, start: StartAsked, by_key: Callable[[str], Awaitable[object | None]]) -> None:
        self._start, self._by_key = start, by_key

    async def send(
        self, address: str | None, material: Mapping[str, Json], message: NotificationMessage
    ) -> int | None:
        """Start it, once for each delivery."""
        key = f"{KEY_PREFIX}{message.id}"
        ask = Ask(path=address, workload={"event": msgspec.to_builtins(message)})
        ask.idempotency_key, ask.by = key, f"notification {message.notification}"
        ask.trigger = {"kind": "notification", "name": message.notification}
        try:
            await self._start(ask)
        except Conflict:  # an earlier attempt began it, and what is known of the event has changed since
            if await self._by_key(key) is None:
                raise
        return None
