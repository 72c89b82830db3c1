"""Messages of a topic of Kafka from given offsets on, bounded in count, bytes and time; and commits.

No group is joined: partitions are assigned by the call, and only a commit changes anything.
"""

import asyncio
import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.tools.parts.kafka_link import driver
from noetl.tools.parts.message_value import from_bytes

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer, TopicPartition

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read from where, and how much of it."""

    topic: str
    group: str | None
    offsets: Mapping[int, int]
    partitions: list[int] | None
    start: Literal["earliest", "latest"]
    limit: int
    max_bytes: int
    within_s: float
    answer_s: float


async def consume(consumer: "AIOKafkaConsumer", reading: Reading) -> dict[str, object]:
    """Messages from where to begin on, and the offsets after them."""
    async with asyncio.timeout(reading.answer_s):
        places = await _places(consumer, reading.topic, reading.partitions)
        ends = await consumer.end_offsets(places)
        positions = await _begin(consumer, reading, places, ends)
    consumer.assign(places)
    for place, position in positions.items():
        consumer.seek(place, position)
    taken = _Taken(positions, reading.limit, reading.max_bytes)
    await _gather(consumer, taken, ends, reading)
    return {
        "messages": taken.messages,
        "count": len(taken.messages),
        "offsets": {str(place.partition): taken.positions[place] for place in places},
        "remaining": sum(max(ends[place] - taken.positions[place], 0) for place in places),
    }


async def commit(consumer: "AIOKafkaConsumer", reading: Reading) -> None:
    """Keep how far a group has come."""
    async with asyncio.timeout(reading.answer_s):
        places = await _places(consumer, reading.topic, reading.offsets)
        consumer.assign(places)
        await consumer.commit({place: reading.offsets[place.partition] for place in places})


def numbered(offsets: dict[str, int]) -> dict[int, int]:
    """The offsets by the number of their partition, which is a text in JSON."""
    wrong = next((name for name in offsets if not name.isdecimal()), None)
    if wrong is not None:
        raise Failed("input", f"kafka input 'offsets': {wrong[:40]!r} is no number of a partition")
    return {int(name): offset for name, offset in offsets.items()}


async def _topic(consumer: "AIOKafkaConsumer", topic: str) -> list[int]:
    """The partitions of a topic, which asking for does not create."""
    from aiokafka.protocol.metadata import MetadataRequest

    client: Any = consumer._client
    answer = await client.send(client.get_random_node(), MetadataRequest([topic], False))
    for code, _, *_, partitions in answer.topics:
        problem = driver().errors.for_code(code)
        if problem is driver().errors.UnknownTopicOrPartitionError:
            raise Failed("not_found", f"there is no topic {topic!r}", answered=True)
        if code:
            raise problem(topic)
        await client.set_topics([topic])
        return sorted(each[1] for each in partitions)
    raise Failed("not_found", f"there is no topic {topic!r}", answered=True)


async def _places(
    consumer: "AIOKafkaConsumer", topic: str, wanted: Iterable[int] | None
) -> "list[TopicPartition]":
    known = await _topic(consumer, topic)
    numbers = known if wanted is None else sorted(set(wanted))
    if unknown := set(numbers) - set(known):
        raise Failed("not_found", f"{topic} has no partition {min(unknown)}", answered=True)
    return [driver().TopicPartition(topic, number) for number in numbers]


async def _begin(
    consumer: "AIOKafkaConsumer", reading: Reading, places: "list[TopicPartition]", ends: Any
) -> "dict[TopicPartition, int]":
    """Where to begin in each partition; an offset that is no longer there is told, not skipped."""
    firsts = await consumer.beginning_offsets(places)
    kept: list[int | None] = [None] * len(places)
    if reading.group is not None:
        kept = list(await asyncio.gather(*(consumer.committed(place) for place in places)))
    positions = {}
    for place, committed in zip(places, kept, strict=True):
        wanted = reading.offsets.get(place.partition, committed)
        if wanted is None:
            wanted = firsts[place] if reading.start == "earliest" else ends[place]
        elif not firsts[place] <= wanted <= ends[place]:
            told = f"has the offsets {firsts[place]} to {ends[place]}, and {wanted} was asked for"
            what = f"partition {place.partition} of {reading.topic} {told}; messages may have expired"
            raise Failed(
                "kafka", f"{what}: give the input 'offsets' to go on elsewhere", code="OffsetOutOfRange"
            )
        positions[place] = wanted
    return positions


async def _gather(consumer: "AIOKafkaConsumer", taken: "_Taken", ends: Any, reading: Reading) -> None:
    """Take what is there; when there is nothing, wait for the first message."""
    loop = asyncio.get_running_loop()
    until = loop.time() + reading.within_s
    while not taken.full:
        behind = any(taken.positions[place] < end for place, end in ends.items())
        if not behind and (taken.messages or loop.time() >= until):
            return
        asked, patience = loop.time(), reading.answer_s if behind else until - loop.time()
        most = min(AT_ONCE, taken.room)
        arrived = await consumer.getmany(timeout_ms=int(patience * 1000) + 1, max_records=most)
        if behind and not arrived and loop.time() - asked >= patience:
            raise TimeoutError
        for place, records in arrived.items():
            taken.add(place, records)
        for place in set(ends) - set(arrived):  # marks of transactions are no messages, and are passed over
            taken.positions[place] = max(taken.positions[place], await consumer.position(place))


class _Taken:
    """The messages of a consume, up to its bounds, and the offset after them."""

    def __init__(self, positions: "dict[TopicPartition, int]", limit: int, max_bytes: int) -> None:
        self.messages: list[dict[str, Json]] = []
        self.positions = dict(positions)
        self.full = False
        self._limit, self._max_bytes, self._bytes = limit, max_bytes, 0

    @property
    def room(self) -> int:
        """How many more messages are wanted."""
        return self._limit - len(self.messages)

    def add(self, place: "TopicPartition", records: Iterable[Any]) -> None:
        """Take what still fits."""
        for record in records:
            if self.full:
                return
            size = len(record.key or b"") + len(record.value or b"")
            if self._bytes + size > self._max_bytes:
                self.full = True
                if not self.messages:
                    where = f"the message {record.offset} of partition {place.partition}"
                    raise Failed("too_large", f"{where} has {size} bytes; raise spec.max_bytes")
                return
            self._bytes += size
            self.messages.append(_read(record))
            self.positions[place] = record.offset + 1
            self.full = len(self.messages) >= self._limit


def _read(record: Any) -> dict[str, Json]:
    time = datetime.datetime.fromtimestamp(record.timestamp / 1000, datetime.UTC)
    return {
        "partition": record.partition,
        "offset": record.offset,
        "time": time.isoformat(),
        "key": None if record.key is None else _text(record.key),
        "value": None if record.value is None else from_bytes(record.value),
        "headers": {name: _text(raw or b"") for name, raw in record.headers},
    }


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace").replace("\0", "\ufffd")
