"""Publishes and requests over NATS, and reads and writes its key-value buckets.

`auth` names the secret with `servers` (or `value`, a `nats://` address) and, where needed, `user` and
`password`, `token`, or `credentials` (a file). A value that is text is sent as it is, everything else as
JSON; a reply that is JSON is parsed.

`publish` waits for the stream's receipt when `stream: true`; a call that the engine has to repeat is then
kept once, because its idempotency key is the message's id. `fetch` reads what a stream keeps, from the
number `start` on, and answers `{messages, next}`; pass `next` as the next `start`. `kv_put` answers with a
reference in `output.ref`. Streams and buckets are those that are there; none is made. A key that is not there
is error kind `not_found`; a request nobody answers is `no_responders`, retryable.

Needs the extra `nats`.
"""

from typing import TYPE_CHECKING, Annotated, Literal

from noetl.json_value import Json
from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, Failed, ok, reference
from noetl.ports.tool import Input, Seconds, Size, define, doc
from noetl.tools.parts.message_value import from_bytes, to_bytes

if TYPE_CHECKING:
    from nats.js.kv import KeyValue

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: nats, path: tools/nats}
keychain:
  - {name: bus, kind: env, env: NATS_URL}
workflow:
  - step: start
    tool:
      - name: tell
        kind: nats
        auth: bus
        input: {action: publish, subject: sales.new, value: {item: tea}}
      - name: keep
        kind: nats
        auth: bus
        input: {action: kv_put, bucket: prices, key: tea, value: 3.5}
"""

Action = Literal["publish", "request", "fetch", "kv_get", "kv_put", "kv_create", "kv_delete", "kv_keys"]


class Message(Input):
    """What is done on which subject or key."""

    action: Annotated[Action, doc("What to do.")]
    subject: Annotated[
        str | None, doc("The subject of `publish`, `request` and `fetch`; a fetch may use wildcards.")
    ] = None
    bucket: Annotated[str | None, doc("The bucket of the `kv_` actions.")] = None
    key: Annotated[str | None, doc("The key of the `kv_` actions; for `kv_keys` a filter such as `a.>`.")] = (
        None
    )
    value: Annotated[Json, doc("What is sent or kept.")] = None
    headers: Annotated[dict[str, str] | None, doc("Headers of the message.")] = None
    stream: Annotated[bool, doc("Whether `publish` waits until a stream has kept the message.")] = False
    start: Annotated[Size, doc("The number in the stream from which `fetch` reads.")] = 1
    limit: Annotated[Size, doc("At most this many messages of a `fetch`.")] = 100
    reply_timeout: Annotated[
        Seconds, doc("Seconds to wait for a reply, a receipt, or the first message of a `fetch`.")
    ] = 5.0


async def run(message: Message, call: Call) -> Envelope:
    if message.action in ("publish", "request"):
        return await _send(message, _need(message.subject, "subject", message), call)
    if message.action == "fetch":
        return ok(await _fetch(message, _need(message.subject, "subject", message), call))
    bucket = _need(message.bucket, "bucket", message)
    store = await _open(bucket, call)
    if message.action == "kv_keys":
        return ok(await _keys(store, bucket, message.key))
    if message.action == "kv_get":
        return ok(await read(bucket, _need(message.key, "key", message), None, call))
    return await _entry(store, bucket, _need(message.key, "key", message), message, call)


def _need(value: str | None, name: str, message: Message) -> str:
    if not value:
        raise Failed("input", f"nats needs input {name!r} to {message.action}")
    return value


async def _send(message: Message, subject: str, call: Call) -> Envelope:
    from noetl.tools.parts.nats_link import link, naming_failures

    client, raw, headers = await link(call), to_bytes(message.value), message.headers
    with naming_failures(subject):
        if message.action == "request":
            reply = await client.request(subject, raw, timeout=message.reply_timeout, headers=headers)
            return ok(from_bytes(reply.data))
        if not message.stream:
            await client.publish(subject, raw, headers=headers)
            await client.flush(timeout=int(message.reply_timeout) or 1)
            return ok(None)
        once = {"Nats-Msg-Id": call.idempotency_key, **(headers or {})}  # the stream drops a repeated call
        acknowledgement = await client.jetstream().publish(
            subject, raw, timeout=message.reply_timeout, headers=once
        )
        return ok(
            {
                "stream": acknowledgement.stream,
                "seq": acknowledgement.seq,
                "duplicate": bool(acknowledgement.duplicate),
            }
        )


async def _fetch(message: Message, subject: str, call: Call) -> dict[str, object]:
    """Messages that a stream keeps, from a number on; reading changes nothing, so that it can be repeated."""
    from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

    from noetl.tools.parts.nats_link import link, naming_failures

    stream = (await link(call)).jetstream()
    reader = ConsumerConfig(
        deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=message.start,
        ack_policy=AckPolicy.NONE,
        inactive_threshold=60.0,
    )
    with naming_failures(subject):
        subscription = await stream.pull_subscribe(subject, config=reader)
        try:
            batch = await subscription.fetch(message.limit, timeout=message.reply_timeout)
        except TimeoutError:
            batch = []
        finally:
            await subscription.unsubscribe()
    messages = [
        {
            "seq": each.metadata.sequence.stream,
            "subject": each.subject,
            "value": from_bytes(each.data),
            "headers": dict(each.headers or {}),
        }
        for each in batch
    ]
    following = batch[-1].metadata.sequence.stream + 1 if batch else message.start
    return {"messages": messages, "next": following}


async def _open(bucket: str, call: Call) -> "KeyValue":
    from noetl.tools.parts.nats_link import link, naming_failures

    client = await link(call)
    with naming_failures(f"the bucket {bucket}"):
        return await client.jetstream().key_value(bucket)


async def read(bucket: str, key: str, revision: int | None, call: Call) -> Json:
    """The value of a key, at a revision when one is given."""
    from noetl.tools.parts.nats_link import naming_failures

    store = await _open(bucket, call)
    with naming_failures(f"{bucket}/{key}"):
        return from_bytes((await store.get(key, revision=revision)).value or b"")


async def _keys(store: "KeyValue", bucket: str, pattern: str | None) -> list[str]:
    from noetl.tools.parts.nats_link import naming_failures

    keys: list[str] = []
    with naming_failures(bucket):
        watcher = await store.watch(pattern or ">", ignore_deletes=True, meta_only=True)
        async for entry in watcher:
            if entry is None:  # everything that is there has been told
                break
            keys.append(entry.key)
        await watcher.stop()  # type: ignore[no-untyped-call]
    return sorted(keys)


async def _entry(store: "KeyValue", bucket: str, key: str, message: Message, call: Call) -> Envelope:
    from noetl.tools.parts.nats_link import naming_failures

    with naming_failures(f"{bucket}/{key}"):
        if message.action == "kv_delete":
            await store.delete(key)
            return ok({"key": key, "deleted": True})
        put = store.create if message.action == "kv_create" else store.put
        revision = await put(key, to_bytes(message.value))
    locator = {"store": bucket, "key": key, "revision": revision, "tool": "nats"}
    return ok({"revision": revision}, ref=reference("nats", locator, auth=call.auth_name))


TOOL = define(
    "nats",
    __doc__,
    Message,
    run,
    returns="the reply or value; for a publish to a stream `{stream, seq, duplicate}`; "
    "for a fetch `{messages, next}`; for `kv_put` `{revision}`",
    example=EXAMPLE,
)
