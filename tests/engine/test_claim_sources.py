"""What can be claimed from: tables of several databases, and a stream of messages."""

import nats
import pytest
from confluent_kafka import Producer

from tests.engine.harness import playbook, run
from tests.kafka_brokers import kafka_brokers
from tests.servers import NatsServer

SUM = """
        iterator: row
        spec: {mode: parallel, max_in_flight: 4, policy: {exec: distributed, reduce: {ctx.ids: append}}}
      tool: {kind: noop, set: {ctx.ids: "{{ iter.row.id }}"}}
"""


@pytest.mark.parametrize("kind, name", [("sqlite", ":key"), ("duckdb", "$key")])
async def test_a_table_is_claimed_with_the_key_of_the_batch(tmp_path, monkeypatch, kind, name):
    monkeypatch.chdir(tmp_path)
    batch = name.replace("key", "batch")
    text = playbook(
        f"""
    - step: start
      tool: {{kind: {kind}, input: {{database: jobs.db, query: "create table job (id int, claimed_by text); insert into job values (1, null), (2, null), (3, null), (4, null), (5, null)"}}}}
      next: {{arcs: [{{step: work}}]}}
    - step: work
      loop:
        in:
          claim:
            kind: {kind}
            input:
              database: jobs.db
              query: "update job set claimed_by = {name} where id in (select id from job where claimed_by is null order by id limit {batch}) returning id"
              params: {{key: "{{{{ claim.key }}}}", batch: "{{{{ claim.batch }}}}"}}
            batch: 2
          until: empty
    """.rstrip()
        + SUM
    )
    ran = await run(tmp_path, text)
    assert (ran.status, ran.ctx.get("ids")) == ("completed", [1, 2, 3, 4, 5]), ran.error
    assert [event["data"]["count"] for event in ran.named("loop.claimed")] == [2, 2, 1, 0]


async def test_a_stream_of_messages_is_read_to_its_end(tmp_path, nats_server: NatsServer):
    client = await nats.connect(nats_server.url)
    stream = client.jetstream()
    await stream.add_stream(name="CLAIMED", subjects=["claimed.>"])
    for number in range(5):
        await stream.publish("claimed.one", b'{"id": %d}' % number)
    text = playbook(
        """
    - step: work
      loop:
        in:
          claim:
            kind: nats
            auth: bus
            input: {action: fetch, subject: "claimed.>", start: "{{ claim.last.seq + 1 if claim.last else 1 }}", limit: "{{ claim.batch }}", reply_timeout: 1}
            output: "{{ output.data.messages }}"
            batch: 2
          until: empty
    """.rstrip()
        + SUM.replace("iter.row.id", "iter.row.value.id"),
        keychain=f"keychain: [{{name: bus, kind: static, servers: '{nats_server.url}'}}]",
    )
    try:
        ran = await run(tmp_path, text)
        assert (ran.status, ran.ctx.get("ids")) == ("completed", [0, 1, 2, 3, 4]), ran.error
    finally:
        await stream.delete_stream("CLAIMED")
        await client.close()


async def test_a_topic_with_partitions_is_worked_through_batch_by_batch(tmp_path):
    """A row is a batch of messages, with the offsets at which the next one begins."""
    text = playbook(
        """
    - step: work
      loop:
        in:
          claim:
            kind: kafka
            auth: brokers
            input:
              action: consume
              topic: claimed
              offsets: "{{ claim.last.offsets if claim.last else {} }}"
              limit: "{{ claim.batch }}"
              within: 2
            output: "{{ [output.data] if output.data.count else [] }}"
            batch: 3
          until: empty
        iterator: some
        spec: {policy: {exec: distributed, reduce: {ctx.ids: append}}}
        loop: {in: "{{ iter.some.messages }}", iterator: message}
      tool: {kind: noop, set: {ctx.ids: "{{ iter.message.value.id }}"}}
    """.rstrip(),
        keychain="keychain: [{name: brokers, kind: static, servers: '$servers'}]",
    )
    with kafka_brokers() as servers:
        producer = Producer({"bootstrap.servers": servers})
        for number in range(8):
            producer.produce("claimed", b'{"id": %d}' % number, partition=number % 2)
        assert producer.flush(60) == 0
        ran = await run(tmp_path, text.replace("$servers", servers))
    assert (ran.status, sorted(ran.ctx.get("ids") or [])) == ("completed", list(range(8))), ran.error
