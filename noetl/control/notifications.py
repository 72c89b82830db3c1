"""Notifications: which ones make sense, and what became of them. Sending is in deliveries.py."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

import msgspec

from noetl.control.deliveries import Deliveries
from noetl.control.named_rows import put_named
from noetl.control.schedules import FindAsked, check_name
from noetl.control.storable import require_plain
from noetl.dsl.nearest import nearest
from noetl.errors import Conflict, NotFound, RequestError
from noetl.ports.front import Ask
from noetl.ports.notification import (
    EVERY_DELIVERY,
    KINDS,
    OCCASIONS,
    SAMPLE,
    Delivery,
    FindDeliveries,
    Notification,
    NotificationAsk,
    target_of,
    unknown_delivery,
)
from noetl.ports.store import Store

SAMPLE_S, LOOK_S = 30.0, 0.05
RECIPIENTS = 20
_MAILBOX = re.compile(r"[^@\s,<>\"]+@[^@\s,<>\"]+")
NEEDS_AUTH = {
    "webhook": "the secret that signs what is sent (secret), and the address unless --to has it (url)",
    "slack": "the address of the incoming webhook (url)",
    "teams": "the address of the incoming webhook (url)",
    "mail": "the server (host, port, username, password, from)",
}


class NotificationBook:
    """The notifications of a store: a part of the front."""

    def __init__(self, store: Store, sending: Deliveries, find: FindAsked) -> None:
        self._store, self._sending, self._find_playbook = store, sending, find

    async def put_notification(self, ask: NotificationAsk, *, new: bool = False) -> Notification:
        check_name(ask.name, "notification")
        require_plain(ask.path, "path")
        require_plain(ask.target, "to")
        _check_occasions(ask.occasions)
        kind, address = _checked_target(ask)
        if kind == "playbook":
            await self._find_playbook(Ask(path=address))
        if ask.auth is not None:
            await self._store.secret(ask.auth)
        fields = {**msgspec.structs.asdict(ask), "occasions": list(dict.fromkeys(ask.occasions))}
        notification = Notification(**fields, created_at=await self._store.clock())
        put, find, existing = self._store.put_notification, self._store.notification, None
        with suppress(NotFound):
            existing = await find(ask.name)
        if not await put_named(put, find, notification, existing, new=new):
            message = f"there is a notification '{ask.name}' already"
            raise Conflict(message, hint=f"choose another name, or: noetl notification edit {ask.name}")
        return await self._store.notification(ask.name)

    async def notifications(self) -> Sequence[Notification]:
        return await self._store.notifications()

    async def notification(self, name: str) -> Notification:
        return await self._store.notification(name)

    async def delete_notification(self, name: str) -> None:
        await self._store.delete_notification(name)

    async def deliveries(self, find: FindDeliveries = EVERY_DELIVERY) -> Sequence[Delivery]:
        return await self._store.deliveries(find)

    async def delivery(self, number: int) -> Delivery:
        return await self._store.delivery(number)

    async def redeliver(self, number: int) -> Delivery:
        before = await self._store.delivery(number)
        if not await self._store.redeliver(number):
            raise unknown_delivery(number)
        return await self._answered(before)

    async def send_sample(self, name: str) -> Delivery:
        return await self._answered(await self._store.add_delivery(name, SAMPLE, await self._store.clock()))

    async def _answered(self, before: Delivery) -> Delivery:
        """A delivery after its next attempt, whoever makes that; as it is, when nobody does in time."""
        delivery = before
        for _ in range(int(SAMPLE_S / LOOK_S)):
            await self.send_due()
            delivery = await self._store.delivery(before.id)
            if delivery.answers != before.answers:
                break
            await asyncio.sleep(LOOK_S)
        return delivery

    async def send_due(self) -> None:
        """Begin to send what is due."""
        await self._sending.round()

    async def finish_sending(self) -> None:
        """Send what is due, each once, and wait for the answers."""
        await self._sending.finish()
        while await self._sending.round():
            await self._sending.finish()


def _check_occasions(occasions: Sequence[str]) -> None:
    for occasion in occasions:
        if occasion not in OCCASIONS:
            near = nearest(occasion, OCCASIONS)
            hint = f"did you mean '{near}'?" if near else f"any of {', '.join(OCCASIONS)}"
            raise RequestError(f"'{occasion[:80]}' is nothing that can be told", hint=hint)


def _checked_target(ask: NotificationAsk) -> tuple[str, str | None]:
    """The kind and address of a target that makes sense; raises RequestError."""
    kind, address = target_of(ask.target)
    if kind not in KINDS:
        if kind in ("http", "https"):
            hint = f"a webhook is written as webhook:{kind}://…"
        else:
            near = nearest(kind, KINDS)
            hint = f"did you mean '{near}'?" if near else f"one of {', '.join(KINDS)}"
        raise RequestError(f"'{_shown(ask.target)}' names no way to tell somebody", hint=hint)
    if kind in NEEDS_AUTH and ask.auth is None:
        message = f"a target of the kind {kind} needs a credential with {NEEDS_AUTH[kind]}"
        raise RequestError(message, hint="noetl credential set NAME --input FILE, then --auth NAME")
    if kind == "playbook" and ask.auth is not None:
        raise RequestError("a playbook needs no credential", hint="leave --auth out")
    if kind == "playbook" and ask.children:
        message = "a playbook is not told of executions that others started: it could tell itself for ever"
        raise RequestError(message, hint="leave --children out")
    _check_address(kind, address)
    return kind, address


def _check_address(kind: str, address: str | None) -> None:
    if kind in ("slack", "teams") and address is not None:
        message = f"the address of {kind} is a secret and is not written here"
        raise RequestError(
            message, hint=f"--to {kind} --auth NAME, with the address as url of that credential"
        )
    if kind == "webhook" and address is not None:
        check_url(address)
    if kind == "playbook" and address is None:
        raise RequestError("no playbook is named", hint="--to playbook:PATH")
    if kind == "mail":
        recipients = (address or "").split(",")
        if len(recipients) > RECIPIENTS or not all(_MAILBOX.fullmatch(each.strip()) for each in recipients):
            message = f"'{(address or '')[:80]}' is no list of up to {RECIPIENTS} mail addresses"
            raise RequestError(message, hint="--to mail:ops@example.com,dev@example.com")


def check_url(url: str) -> None:
    """Refuse what is no address of a webhook, or has a password in it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host or not url.isprintable() or " " in url:
        raise RequestError(f"'{_shown(url)}' is no address of a webhook", hint="https://HOST/PATH")
    if parts.username is not None or parts.query:
        message = "the address of the webhook has a user, a password or a query in it, which may be secret"
        raise RequestError(message, hint="keep the whole address in the credential, as url")


def _shown(text: str) -> str:
    """The beginning of a target, without what may be a secret."""
    return text.partition("?")[0].rpartition("@")[2][:80]
