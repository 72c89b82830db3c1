"""Subjects that start executions: subscriptions on a server's connection, kept in step with the triggers.

Servers share the queue group of a trigger, so one of them takes each message. What is said on a subject is
kept by nobody: a message that comes while no server listens starts nothing. A stream's consumer that delivers
to the subject is told when its message has been taken, and sends it again otherwise.
"""

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from noetl.adapters.nats.bus import Bus
from noetl.errors import BackendError, NoetlError
from noetl.json_value import Json
from noetl.ports.schedule import Trigger

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

LOG = logging.getLogger("noetl.trigger")
LOOK_S = 1.0  # how often the triggers are looked at
AGAIN_S = 0.5
MESSAGE_ID = "Nats-Msg-Id"
KEY_LENGTH = 255
FROM_STREAM = "$JS.ACK."

Triggers = Callable[[], Awaitable[Sequence[Trigger]]]


class Fire(Protocol):
    """Starts what a message starts, or keeps the message."""

    async def __call__(self, name: str, payload: Json, *, key: str | None = None) -> object:
        """Take a message, once for each key."""


class SubjectTriggers:
    """The subscriptions of one server."""

    patience_s = 60.0  # for a store that is away

    def __init__(self, bus: Bus, triggers: Triggers, fire: Fire) -> None:
        self._bus, self._triggers, self._fire = bus, triggers, fire
        self._subscriptions: dict[
            tuple[str, str, str], Subscription
        ] = {}  # name, subject and queue -> subscription

    async def look(self) -> None:
        """Subscribe to what is wanted by now, and to nothing else; raises BackendError when NATS is away."""
        from nats.errors import Error

        triggers = [
            trigger for trigger in await self._triggers() if trigger.kind == "nats" and trigger.enabled
        ]
        subscriptions = {(trigger.name, trigger.subject or "", trigger.queue or "") for trigger in triggers}
        try:
            for gone in set(self._subscriptions) - subscriptions:
                await self._subscriptions.pop(gone).unsubscribe()
            for name, subject, queue in sorted(subscriptions - set(self._subscriptions)):
                client = await self._bus.client()
                subscription = await client.subscribe(subject, queue=queue, cb=self._received(name))
                self._subscriptions[name, subject, queue] = subscription
        except (Error, OSError) as error:
            raise BackendError(f"the subjects of triggers cannot be heard: {error}") from error

    def _received(self, name: str) -> Callable[["Msg"], Awaitable[None]]:
        async def received(message: "Msg") -> None:
            redelivered = False
            try:
                await self._start(name, message)
            except NoetlError as error:
                redelivered = isinstance(error, BackendError)  # a stream sends it again
                LOG.warning("a message started nothing: %s", error.message, extra={"trigger": name})
            if str(message.reply).startswith(FROM_STREAM) and not redelivered:
                await message.ack()

        return received

    async def _start(self, name: str, message: "Msg") -> None:
        try:
            payload = msgspec.json.decode(message.data) if message.data else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            LOG.warning("a message is no JSON: %s", error, extra={"trigger": name})
            return
        key = key_of(message) or secrets.token_hex(16)  # its repeats are the same message
        until = asyncio.get_running_loop().time() + self.patience_s
        while True:
            try:
                await self._fire(name, payload, key=key)
            except BackendError:  # the store is away; those behind this message would find the same
                if asyncio.get_running_loop().time() > until:
                    raise
                await asyncio.sleep(AGAIN_S)
            else:
                return


def key_of(message: "Msg") -> str | None:
    """What tells a message from others: the id its sender gave it, else its place in a stream."""
    message_id = str((message.headers or {}).get(MESSAGE_ID) or "")
    if message_id:
        return (
            message_id if len(message_id) <= KEY_LENGTH else hashlib.sha256(message_id.encode()).hexdigest()
        )
    if str(message.reply).startswith(FROM_STREAM):
        place = message.metadata
        return f"{place.stream}/{place.sequence.stream}"
    return None
