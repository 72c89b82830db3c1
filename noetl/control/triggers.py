"""Triggers: messages from elsewhere that start executions, and how a webhook's caller proves who they are."""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from noetl.control.firings import Firings
from noetl.control.named_rows import put_named
from noetl.control.object_watch import ObjectWatch
from noetl.control.schedules import FindAsked
from noetl.control.storable import storable_json
from noetl.control.tick_runner import StartAsked
from noetl.control.trigger_check import check_trigger
from noetl.control.trigger_filter import passes
from noetl.control.trigger_rings import check_ring
from noetl.errors import BackendError, Conflict, Denied, NotFound, RequestError
from noetl.json_value import Json, JsonObject
from noetl.ports.arrival import PENDING_MOST, Arrival
from noetl.ports.bearer import SECRET_BYTES, digest
from noetl.ports.front import Ask, Collected, NewTrigger, Started, WebhookCall
from noetl.ports.schedule import Trigger, TriggerAsk
from noetl.ports.store import Store

NO_SECRET = "0" * 64
SECRETLESS = ("playbook", "object", "nats")


class Keeper(Protocol):
    """Keeps credentials, sealed."""

    async def keep(self, name: str, material: JsonObject) -> None:
        """Store a credential."""

    async def credential(self, name: str) -> Mapping[str, Json]:
        """A stored credential, opened; raises NotFound."""


class TriggerBook:
    """The triggers of a store: a part of the front.

    Who signs calls needs the secret itself: it rests sealed, as a credential.
    """

    def __init__(self, store: Store, keeper: Keeper, start: StartAsked, find: FindAsked) -> None:
        self._store, self._keeper = store, keeper
        self._start_playbook, self._find_playbook = start, find
        self._firings = Firings(store, start)
        self.watching = ObjectWatch(store, keeper, secrets.token_hex(8))

    async def put_trigger(self, ask: TriggerAsk, *, new: bool = False) -> NewTrigger:
        """Keep a trigger; the secret of a webhook is made unless it is given, or was."""
        check_trigger(ask)
        existing = await self._existing_trigger(ask.name)
        if ask.kind == "playbook":
            check_ring(ask, await self._store.triggers())
        if ask.auth is not None:
            await self._store.secret(ask.auth)
        if existing is None or (existing.path, existing.version) != (ask.path, ask.version):
            await self._find_playbook(Ask(path=ask.path, version=ask.version))
        secret = ask.secret
        old_digest = existing.secret if existing is not None else None
        if ask.kind == "webhook" and secret is None and old_digest is None:
            secret = secrets.token_urlsafe(SECRET_BYTES)
        trigger = Trigger(**msgspec.structs.asdict(ask), created_at=await self._store.clock())
        trigger.secret = digest(secret) if secret is not None and ask.kind not in SECRETLESS else None
        if ask.kind == "nats":
            trigger.queue = ask.queue or f"noetl-trigger-{ask.name}"
        put, find = self._store.put_trigger, self._store.trigger
        if not await put_named(put, find, trigger, existing, new=new):
            message = f"there is a trigger '{ask.name}' already"
            raise Conflict(message, hint="choose another name, or delete that one")
        if secret is not None:
            await self._keeper.keep(credential_of(ask.name), {"secret": secret})
        kept = await self._store.trigger(ask.name)
        if ask.kind == "webhook" and kept.secret is None:  # the one with the secret was deleted meanwhile
            return await self.put_trigger(ask, new=new)
        return NewTrigger(kept, secret)

    async def _existing_trigger(self, name: str) -> Trigger | None:
        try:
            return await self._store.trigger(name)
        except NotFound:
            return None

    async def triggers(self) -> Sequence[Trigger]:
        return await self._store.triggers()

    async def trigger(self, name: str) -> Trigger:
        return await self._store.trigger(name)

    async def arrivals(self, trigger: str, limit: int = 100, before: int | None = None) -> Sequence[Arrival]:
        await self._store.trigger(trigger)
        return await self._store.arrivals(trigger, limit, before)

    async def delete_trigger(self, name: str) -> None:
        await self._store.delete_trigger(name)
        with suppress(NotFound):
            await self._store.delete_secret(credential_of(name))

    async def fire_trigger(
        self, name: str, payload: Json, *, key: str | None = None, by: str | None = None
    ) -> Started:
        """Start what a trigger starts, with what a message said; one key starts one execution."""
        trigger = await self._store.trigger(name)
        ask = Ask(path=trigger.path, version=trigger.version, by=by or f"trigger {name}")
        ask.workload = {**trigger.workload, trigger.payload_key: payload}
        ask.idempotency_key = None if key is None else f"trigger/{name}/{key}"
        ask.trigger = {"kind": trigger.kind, "name": name, "payload": payload}
        started = await self._start_playbook(ask)
        with suppress(BackendError):  # it has started, and whoever sent the message is told so
            await self._store.note_firing(name, started.execution_id, None)
        return started

    async def fire_due(self) -> None:
        """Fire triggers for what arrived."""
        await self._firings.round()

    async def watch_objects(self) -> None:
        """Look for objects that arrived."""
        await self.watching.round()

    async def knock(self, name: str, knock: WebhookCall) -> Started | Collected:
        trigger = await self._existing_trigger(name)
        if not await self._proven(trigger, knock) or trigger is None:
            raise Denied("there is no such webhook, or the secret is another one")
        if not trigger.enabled:
            raise Conflict(f"the trigger '{name}' is paused")
        return await self.take_message(name, payload_of(knock.body), key=knock.key)

    async def take_message(self, name: str, payload: Json, *, key: str | None = None) -> Started | Collected:
        """Start what a message starts, or keep it until more have come or nothing more comes."""
        trigger = await self._store.trigger(name)
        if not await asyncio.to_thread(passes, trigger, payload):
            return Collected("filtered", trigger.path)
        if trigger.debounce is None and trigger.batch is None:
            return await self.fire_trigger(name, payload, key=key)
        if trigger.pending >= PENDING_MOST:
            message = f"{trigger.pending} messages wait for the trigger '{name}' already"
            raise BackendError(message, hint=f"send it again later; noetl trigger show {name}")
        body = msgspec.json.encode(payload).decode()
        await self._store.add_arrival(name, key or secrets.token_hex(16), body)
        return Collected("collected", trigger.path)

    async def _proven(self, trigger: Trigger | None, knock: WebhookCall) -> bool:
        """As much is done for a webhook that is not there as for one that is."""
        secret_digest = trigger.secret if trigger is not None else None
        if knock.secret is not None:
            right = hmac.compare_digest(digest(knock.secret), secret_digest or NO_SECRET)
            return right and secret_digest is not None
        if knock.signature is None:
            return False
        secret = await self._secret(trigger)
        signed = hmac.new((secret or NO_SECRET).encode(), knock.body, hashlib.sha256).hexdigest()
        right = hmac.compare_digest(f"sha256={signed}".encode(), knock.signature.encode())
        return right and secret is not None

    async def _secret(self, trigger: Trigger | None) -> str | None:
        """The secret itself, if it is still the one that the trigger has."""
        if trigger is None or trigger.secret is None:
            return None
        try:
            secret = str((await self._keeper.credential(credential_of(trigger.name))).get("secret"))
        except NotFound:
            return None
        return secret if hmac.compare_digest(digest(secret), trigger.secret) else None


def credential_of(name: str) -> str:
    """The credential that holds a webhook's secret."""
    return f"trigger.{name}"


def payload_of(body: bytes) -> Json:
    """What a message says; nothing says null. Raises RequestError for what is no JSON."""
    try:
        payload: Json = msgspec.json.decode(body) if body else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"the message is no JSON: {error}", hint="send one JSON value") from None
    storable_json(payload, "the message")
    return payload
