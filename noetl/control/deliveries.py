"""Sending what is to be told: taken from the store with a lease, tried a bounded number of times, and noted.

Whoever dies between the commit and the answer leaves the delivery due: another sends it again, under the same
key. A target that fails or is slow has places of its own, so that it holds up nobody else.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from noetl.control.notification_message import PageOf, message_of
from noetl.core.values.redact import Redactor
from noetl.errors import BackendError, NoetlError, NotFound
from noetl.json_value import Json
from noetl.ports.notification import (
    Attempt,
    Delivery,
    NotDelivered,
    Outcome,
    Sender,
    target_of,
)
from noetl.ports.store import Store

_LOG = logging.getLogger("noetl.notifications")
ATTEMPTS = 8
FIRST_MS, FACTOR, MOST_MS = (
    5_000,
    4,
    3_600_000,
)  # the waits between attempts: about two and a half hours in all
SEND_S = 15.0
LEASE_MS = 20_000  # longer than an attempt takes
PLACES, MOST = 8, 64  # deliveries under way: of one notification, and of all
KEPT_ANSWERS = 10
KEPT_MS, PRUNE_S = 30 * 24 * 3_600_000, 3600.0  # how long history is kept, and how often it is looked at


class Credentials(Protocol):
    """Credentials by name."""

    async def credential(self, name: str) -> Mapping[str, Json]:
        """A stored credential, opened; raises NotFound."""


class Deliveries:
    """Sends what is due over one store; several processes may do so at once."""

    def __init__(self, store: Store, credentials: Credentials) -> None:
        self._store, self._credentials = store, credentials
        self.sender_of: Callable[[str], Sender | None] = lambda kind: None
        self.page_of: PageOf = lambda execution_id: None
        self.first_ms = FIRST_MS
        self._tasks: dict[asyncio.Task[None], str] = {}  # what is under way, and of which notification
        self._pruned = 0.0
        self.unsent: dict[str, str] = {}  # notifications whose last attempt here failed, and why

    async def round(self) -> int:
        """Begin to send what is due; how much."""
        begun = 0
        while (room := MOST - len(self._tasks)) > 0:
            busy = [name for name, count in Counter(self._tasks.values()).items() if count >= PLACES]
            taken = await self._store.take_deliveries(LEASE_MS, busy, min(room, PLACES))
            for delivery in taken:
                task = asyncio.create_task(self._deliver(delivery))
                self._tasks[task] = delivery.notification
                task.add_done_callback(self._tasks.pop)
            begun += len(taken)
            if not taken:
                break
        if begun:
            await self._prune()
        return begun

    async def _prune(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._pruned or now - self._pruned > PRUNE_S:
            self._pruned = now
            await self._store.prune_deliveries(await self._store.clock() - KEPT_MS)

    async def finish(self) -> None:
        """Wait for what is under way: no attempt takes longer than its time."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _deliver(self, delivery: Delivery) -> None:
        try:
            if await self._came_to_nothing(delivery):
                await self._store.drop_delivery(delivery.id)
                return
            outcome = await self._attempted(delivery)
            await self._store.settle_delivery(delivery.id, delivery.attempts, outcome)
        except BackendError as error:  # the store is away: the delivery is due again when its lease is over
            _LOG.warning(error.message, extra={"execution_id": delivery.execution_id})

    async def _came_to_nothing(self, delivery: Delivery) -> bool:
        """Whether an execution that could have been late was over in time."""
        if delivery.occasion != "late" or delivery.execution_id is None:
            return False
        try:
            ended_at = (await self._store.newest(delivery.execution_id)).ended_at
        except NotFound:
            return True
        return ended_at is not None and ended_at <= delivery.at

    async def _attempted(self, delivery: Delivery) -> Outcome:
        begun_at, begun = await self._store.clock(), asyncio.get_running_loop().time()
        attempt, wait_ms = Attempt(begun_at, taken=_taken(delivery)), 0
        try:
            async with asyncio.timeout(SEND_S):
                attempt.code = await self._send(delivery, attempt.taken)
        except TimeoutError:
            attempt.error = f"no answer within {SEND_S:g} s"
        except NotDelivered as error:
            attempt.code, attempt.error = error.status, error.message
            attempt.taken = [*attempt.taken, *error.taken]
            wait_ms = int(min(error.retry_after_s or 0, MOST_MS / 1000) * 1000)
        except NoetlError as error:
            attempt.error = error.message
        except Exception as error:  # a bug of ours on the way to one target
            _LOG.exception("a delivery failed", extra={"execution_id": delivery.execution_id})
            attempt.error = f"internal: {type(error).__name__}"
        attempt.ms = int((asyncio.get_running_loop().time() - begun) * 1000)
        return self._outcome(delivery, attempt, wait_ms)

    def _outcome(self, delivery: Delivery, attempt: Attempt, wait_ms: int) -> Outcome:
        answers = msgspec.json.decode(delivery.answers, type=list[Attempt])
        kept = msgspec.json.encode([*answers, attempt][-KEPT_ANSWERS:]).decode()
        if attempt.error is None:
            self.unsent.pop(delivery.notification, None)
            return Outcome("delivered", attempt, kept)
        self.unsent[delivery.notification] = attempt.error
        if delivery.attempts >= ATTEMPTS:
            _LOG.error(
                "notification %s was not delivered, and is given up after %d attempts: %s",
                *(delivery.notification, delivery.attempts, attempt.error),
                extra={"execution_id": delivery.execution_id},
            )
            return Outcome("failed", attempt, kept)
        pause = min(self.first_ms * FACTOR ** (delivery.attempts - 1), MOST_MS)
        next_at = attempt.at + attempt.ms + max(pause, wait_ms)
        return Outcome("pending", attempt, kept, next_at)

    async def _send(self, delivery: Delivery, taken: Sequence[str]) -> int | None:
        notification = await self._store.notification(delivery.notification)
        kind, address = target_of(notification.target)
        sender = self.sender_of(kind)
        if sender is None:
            raise NotFound(f"this noetl cannot send to {kind}")
        material = await self._credentials.credential(notification.auth) if notification.auth else {}
        if taken:
            address = ",".join(each for each in (address or "").split(",") if each.strip() not in taken)
            if not address:  # who had not taken it is not to be told any more
                return None
        message = await message_of(self._store, delivery, self.page_of)
        try:
            return await sender.send(address, material, message)
        except NotDelivered as error:  # the other side may have repeated what it was sent
            error.message = _without_secrets(error.message, material)
            raise


def _taken(delivery: Delivery) -> list[str]:
    """The addresses that were told by an attempt at which others were not."""
    answers = msgspec.json.decode(delivery.answers, type=list[Attempt])
    return answers[-1].taken if answers and answers[-1].error is not None else []


def _without_secrets(text: str, material: Mapping[str, Json]) -> str:
    """What is said of an attempt without the credential's secrets, of which its address is one."""
    redactor = Redactor()
    redactor.learn(material)
    with suppress(ValueError):  # what is no address has no parts that are secrets
        address = urlsplit(str(material.get("url") or material.get("value") or ""))
        whole = address._replace(scheme="", netloc="").geturl()
        redactor.learn({"secrets": [address.geturl(), whole, address.path]})
    return redactor.clean(text)
