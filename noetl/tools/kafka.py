"""Produces messages to a topic of Kafka, consumes them, and commits how far a group has come.

`auth` names the credential: `servers` (host:port, several with commas) and where the cluster wants a login
`username` and `password`, `mechanism` (`PLAIN`, which is the default, `SCRAM-SHA-256`, `SCRAM-SHA-512`) and
`security` (`tls`, the default with a login, or `none`); `ca` is an authority to check the brokers against,
`certificate` and `private_key` what the worker shows them, all as PEM. Certificates are checked, and with
`PLAIN` a password is never sent without TLS. Kerberos and OAUTHBEARER are not spoken. Every broker that the
cluster names has to be an address that playbooks may reach.

`produce` sends one message (`value`, `key`, `headers`) or many (`messages`) and ends when all replicas in
sync have them. A value that is text is sent as it is, everything else as JSON; `null` under a key is a
tombstone. Within a call the brokers drop what arrives twice and keep the order. A call that the engine has
to repeat sends again: the header `noetl-idempotency-key` of every message stays the same then, so that
readers can tell. When some messages were not taken, `data.count` says how many were.

`consume` reads from where the `group` has committed to, from `offsets` where they are given, otherwise from
`start`. It ends when it has `limit` messages or has read what was there; when there is nothing, it waits up
to `within` seconds for the first. It joins no group and changes nothing: asked again, it reads from the
same place. What it answers as `offsets` goes into a `commit` once the messages are dealt with, or into the
next `consume`. So each message is dealt with at least once; one whose task fails comes again. Two calls for
one group at the same time read the same messages: give each its `partitions`. A group that has members at
that moment, as programs that subscribe, refuses a commit from outside. JSON values are parsed, other bytes
that are no text come as base64.

What the brokers refuse is error kind `kafka`; `output.error.code` is the name of their error, and it is
retryable when they say so. A topic that is not there is `not_found`.

Needs the extra `kafka`.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.tool import Count, Input, Seconds, Size, Spec, doc
from noetl.tools.parts.function import tool
from noetl.tools.parts.message_value import to_bytes
from noetl.tools.parts.tool_context import ToolContext

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    from noetl.tools.parts.kafka_link import Patience
    from noetl.tools.parts.kafka_reading import Reading

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: kafka, path: tools/kafka}
keychain:
  - {name: brokers, kind: env, env: KAFKA_SERVERS}
workflow:
  - step: start
    tool:
      - name: tell
        kind: kafka
        auth: brokers
        input: {action: produce, topic: sales, key: tea, value: {item: tea, price: 3.5}}
      - name: read
        kind: kafka
        auth: brokers
        input: {action: consume, topic: sales, group: books}
      - name: count
        kind: python
        input:
          messages: "{{ read.data.messages }}"
          code: "result = sum(message['value']['price'] for message in messages)"
      - name: done
        kind: kafka
        auth: brokers
        input: {action: commit, topic: sales, group: books, offsets: "{{ read.data.offsets }}"}
"""
IDEMPOTENCY_HEADER = "noetl-idempotency-key"
TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


class Message(Input):
    """A message to send."""

    value: Annotated[Json, doc("What it holds: text, or a value that is sent as JSON.")] = None
    key: Annotated[str | int | None, doc("Messages of one key go to one partition.")] = None
    headers: Annotated[dict[str, str] | None, doc("Its headers.")] = None
    partition: Annotated[Count | None, doc("The partition; by default by the key.")] = None


class Traffic(Message, kw_only=True):
    """What is done with which topic."""

    action: Annotated[Literal["produce", "consume", "commit"], doc("What to do.")]
    topic: Annotated[str, doc("The topic.")]
    messages: Annotated[
        list[Message] | None, doc("Many messages of a `produce`, each with `value`, `key`, `headers`.")
    ] = None
    group: Annotated[str | None, doc("Whose progress is read by `consume` and kept by `commit`.")] = None
    offsets: Annotated[
        dict[str, Count] | None, doc("The next offset of each partition, as a `consume` answers them.")
    ] = None
    partitions: Annotated[list[Count] | None, doc("The partitions to consume; by default all.")] = None
    start: Annotated[
        Literal["earliest", "latest"], doc("Where to begin in a partition that has no offset.")
    ] = "earliest"
    limit: Annotated[Size, doc("At most this many messages of a `consume`.")] = 100
    within: Annotated[float, doc("Seconds that a `consume` waits for the first message.")] = 5.0


class Knobs(Spec):
    """How long the brokers have, and how much is moved."""

    connect_timeout: Annotated[Seconds, doc("Seconds to reach a broker and log in.")] = 10.0
    answer_timeout: Annotated[Seconds, doc("Seconds that the brokers have to answer.")] = 30.0
    max_messages: Annotated[Size, doc("The most messages of one call.")] = 10_000
    max_bytes: Annotated[Size, doc("The most bytes of keys and values of one call.")] = 16 * 1024**2
    max_message_bytes: Annotated[Size, doc("The largest message.")] = 1024**2


@tool(
    page=__doc__,
    returns="for a produce `{topic, count, partitions: [{partition, first, last}]}`; for a consume "
    "`{messages: [{partition, offset, time, key, value, headers}], count, offsets, remaining}`; "
    "for a commit `{group, offsets}`",
    example=EXAMPLE,
)
async def kafka(traffic: Traffic, knobs: Knobs, context: ToolContext) -> object:
    """Connect and do it."""
    if not TOPIC.fullmatch(traffic.topic) or traffic.topic in (".", ".."):
        raise Failed("input", f"{traffic.topic[:250]!r} is no name of a topic")
    if traffic.action == "produce":
        return await _produced(traffic, knobs, context)
    from noetl.tools.parts.kafka_link import driver, with_client
    from noetl.tools.parts.kafka_reading import commit, consume

    aiokafka = driver()

    def make(options: dict[str, Any]) -> Any:
        return aiokafka.AIOKafkaConsumer(
            **options, group_id=traffic.group, enable_auto_commit=False, auto_offset_reset="none",
            isolation_level="read_committed", client_id="noetl",
        )  # fmt: skip

    async def work(consumer: "AIOKafkaConsumer") -> object:
        if traffic.action == "commit":
            await commit(consumer, reading)
            return {"group": traffic.group, "offsets": traffic.offsets}
        return await consume(consumer, reading)

    reading = _reading(traffic, knobs)
    if traffic.action == "commit" and (traffic.group is None or traffic.offsets is None):
        raise Failed("input", "kafka needs inputs 'group' and 'offsets' to commit")
    return await with_client(make, work, _patience(knobs), context)


def _patience(knobs: Knobs) -> "Patience":
    from noetl.tools.parts.kafka_link import Patience

    return Patience(knobs.connect_timeout, knobs.answer_timeout)


def _reading(traffic: Traffic, knobs: Knobs) -> "Reading":
    if traffic.limit > knobs.max_messages:
        raise Failed("input", f"kafka input 'limit' is at most spec.max_messages, {knobs.max_messages}")
    from noetl.tools.parts.kafka_reading import Reading, numbered

    return Reading(
        traffic.topic, traffic.group, numbered(traffic.offsets or {}), traffic.partitions, traffic.start,
        traffic.limit, knobs.max_bytes, traffic.within, knobs.answer_timeout,
    )  # fmt: skip


async def _produced(traffic: Traffic, knobs: Knobs, context: ToolContext) -> object:
    import asyncio

    from noetl.tools.parts.kafka_link import driver, with_client

    messages = list(_raw(traffic, knobs, context.idempotency_key))

    def make(options: dict[str, Any]) -> Any:
        largest = knobs.max_message_bytes + 4096  # with its headers and frame
        return driver().AIOKafkaProducer(
            **options, acks="all", enable_idempotence=True, max_request_size=largest, client_id="noetl"
        )

    async def work(producer: "AIOKafkaProducer") -> object:
        async with asyncio.timeout(knobs.answer_timeout):
            known = await producer.partitions_for(traffic.topic)
            if unknown := {each["partition"] for each in messages} - {None, *known}:
                raise Failed("not_found", f"{traffic.topic} has no partition {min(unknown)}", answered=True)
            sending = [await producer.send(traffic.topic, **each) for each in messages]
            taken = await asyncio.gather(*sending, return_exceptions=True)
        return _receipt(traffic.topic, taken)

    return await with_client(make, work, _patience(knobs), context)


def _raw(traffic: Traffic, knobs: Knobs, idempotency_key: str) -> Iterable[dict[str, Any]]:
    """The messages as bytes, each with a header that a repeated call gives it again."""
    own = (traffic.value, traffic.key, traffic.headers, traffic.partition)
    if (traffic.messages is None) == all(each is None for each in own):
        raise Failed("input", "kafka needs either 'messages' or one message as 'value' and 'key' to produce")
    messages = [traffic] if traffic.messages is None else traffic.messages
    if not 0 < len(messages) <= knobs.max_messages:
        told = f"it was given {len(messages)}; spec.max_messages is {knobs.max_messages}"
        raise Failed(
            "too_large" if messages else "input", f"kafka produces 1 or more messages at once: {told}"
        )
    total = 0
    for number, message in enumerate(messages):
        once = idempotency_key if traffic.messages is None else f"{idempotency_key}/{number}"
        raw = _one(message, once)
        size = len(raw["key"] or b"") + len(raw["value"] or b"")
        total += size
        if size > knobs.max_message_bytes:
            told = f"message {number} has {size} bytes; raise spec.max_message_bytes"
            raise Failed("too_large", f"{told} above {knobs.max_message_bytes}, if the brokers take that")
        if total > knobs.max_bytes:
            raise Failed(
                "too_large", f"the messages have more than {knobs.max_bytes} bytes; raise spec.max_bytes"
            )
        yield raw


def _one(message: Message, once: str) -> dict[str, Any]:
    if message.value is None and message.key is None:
        raise Failed("input", "a message of kafka needs a value; without one, a key")
    headers = {IDEMPOTENCY_HEADER: once, **(message.headers or {})}
    return {
        "key": None if message.key is None else str(message.key).encode(),
        "value": None if message.value is None else to_bytes(message.value),
        "headers": [(name, text.encode()) for name, text in headers.items()],
        "partition": message.partition,
    }


def _receipt(topic: str, taken: list[Any]) -> object:
    """Where the messages are; a failure when not all of them were taken."""
    from noetl.tools.parts.kafka_link import driver, failed

    receipts = [each for each in taken if not isinstance(each, BaseException)]
    problem = next((each for each in taken if isinstance(each, BaseException)), None)
    if problem is not None:
        if not isinstance(problem, driver().errors.KafkaError):
            raise problem
        failure = failed(problem)
        failure.output["data"] = {"topic": topic, "count": len(receipts)}
        raise failure
    places: dict[int, list[int]] = {}
    for receipt in receipts:
        places.setdefault(receipt.partition, []).append(receipt.offset)
    partitions = [
        {"partition": each, "first": min(at), "last": max(at)} for each, at in sorted(places.items())
    ]
    return {"topic": topic, "count": len(receipts), "partitions": partitions}
