"""Triggers: messages from elsewhere that start executions, and how a webhook's caller proves who they are."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from noetl.control.schedules import FindAsked, check_name
from noetl.control.tick_runner import StartAsked
from noetl.errors import Conflict, Denied, NotFound, RequestError
from noetl.json_value import Json, JsonObject
from noetl.ports.bearer import SECRET_BYTES, digest
from noetl.ports.front import Ask, NewTrigger, Started, WebhookCall
from noetl.ports.schedule import KEY_PATTERN, SECRET_LEAST, SUBJECT_LENGTH, Trigger, TriggerAsk
from noetl.ports.store import Store

NO_SECRET = "0" * 64
OWN_SUBJECTS = ("noetl", "$", "_")  # beginnings of what servers, workers and NATS itself speak under


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

    async def put_trigger(self, ask: TriggerAsk, *, new: bool = False) -> NewTrigger:
        """Keep a trigger; the secret of a webhook is made unless it is given, or was."""
        _check(ask)
        existing = await self._existing_trigger(ask.name)
        if existing is None or (existing.path, existing.version) != (ask.path, ask.version):
            await self._find_playbook(Ask(path=ask.path, version=ask.version))
        secret = ask.secret
        old_digest = existing.secret if existing is not None else None
        if ask.kind == "webhook" and secret is None and old_digest is None:
            secret = secrets.token_urlsafe(SECRET_BYTES)
        trigger = Trigger(**msgspec.structs.asdict(ask), created_at=await self._store.clock())
        trigger.secret = digest(secret) if secret is not None else old_digest
        if ask.kind == "nats":
            trigger.secret, trigger.queue = None, ask.queue or f"noetl-trigger-{ask.name}"
        if not await self._store.put_trigger(trigger, new=new):
            message = f"there is a trigger '{ask.name}' already"
            raise Conflict(message, hint="choose another name, or delete that one")
        if secret is not None:
            await self._keeper.keep(credential_of(ask.name), {"secret": secret})
        return NewTrigger(await self._store.trigger(ask.name), secret)

    async def _existing_trigger(self, name: str) -> Trigger | None:
        try:
            return await self._store.trigger(name)
        except NotFound:
            return None

    async def triggers(self) -> Sequence[Trigger]:
        return await self._store.triggers()

    async def trigger(self, name: str) -> Trigger:
        return await self._store.trigger(name)

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
        return await self._start_playbook(ask)

    async def knock(self, name: str, knock: WebhookCall) -> Started:
        trigger = await self._existing_trigger(name)
        if not await self._proven(trigger, knock) or trigger is None:
            raise Denied("there is no such webhook, or the secret is another one")
        if not trigger.enabled:
            raise Conflict(f"the trigger '{name}' is paused")
        return await self.fire_trigger(name, payload_of(knock.body), key=knock.key)

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
    return payload


def _check(ask: TriggerAsk) -> None:
    check_name(ask.name, "trigger")
    if not re.fullmatch(KEY_PATTERN, ask.payload_key):
        message = f"'{ask.payload_key[:80]}' is no key of a workload"
        raise RequestError(message, hint="use letters, digits and _, as in --as order")
    match ask.kind:
        case "webhook":
            _check_webhook(ask)
        case "nats":
            _check_subject(ask)
        case _:
            raise RequestError(f"'{ask.kind[:80]}' is no kind of trigger", hint="webhook, or nats")


def _check_webhook(ask: TriggerAsk) -> None:
    if ask.subject is not None or ask.queue is not None:
        raise RequestError("a webhook has no subject and no queue", hint="those are of the kind nats")
    if ask.secret is not None and len(ask.secret) < SECRET_LEAST:
        message = f"the secret has {len(ask.secret)} characters, which can be guessed"
        raise RequestError(message, hint=f"at least {SECRET_LEAST}; without one a good one is made")


def _check_subject(ask: TriggerAsk) -> None:
    """Refuse subjects that NATS does not know, or under which others than senders of messages speak."""
    if ask.secret is not None:
        raise RequestError("a trigger on a subject has no secret", hint="NATS lets in who may publish there")
    words = (ask.subject or "").split(".")
    odd = [word for word in words if not word or re.search(r"\s", word) or not word.isprintable()]
    wild = [word for word in words if ("*" in word and word != "*") or (">" in word and word != ">")]
    if odd or wild or ">" in words[:-1] or len(ask.subject or "") > SUBJECT_LENGTH:
        message = f"'{(ask.subject or '')[:80]}' is no subject of NATS"
        raise RequestError(message, hint="words with dots between them, as in orders.new or orders.*")
    if words[0] in ("*", ">") or words[0].startswith(OWN_SUBJECTS[1:]) or words[0] == OWN_SUBJECTS[0]:
        message = f"the subject '{ask.subject}' reaches what NATS and noetl themselves say"
        raise RequestError(message, hint="let it begin with a word of your own, as in orders.>")
    if ask.queue is not None and not re.fullmatch(r"[!-~]{1,100}", ask.queue):
        raise RequestError(f"'{ask.queue[:80]}' is no queue group", hint="letters, digits, - and _")
