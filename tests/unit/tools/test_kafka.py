"""Messages through brokers of Kafka: what is sent and read, how far a group is, who may log in, what goes wrong."""

import asyncio
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from noetl import tools
from noetl.ports.network import PUBLIC_ONLY, Network
from tests.fork_server import FORK_SERVER
from tests.kafka_brokers import kafka_brokers, kafka_gate
from tests.mail_server import certificate_for

LONG = 60.0


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    with kafka_brokers(2) as servers:
        yield servers


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic of a test's own."""
    return "".join(letter if letter.isalnum() else "_" for letter in request.node.name)[:200]


@pytest.fixture
def ask(use, brokers, topic):
    """What the kind answers about the topic of the test."""

    async def asked(action: str, /, auth: dict[str, Any] | None = None, **more: Any) -> Any:
        call = {name: more.pop(name) for name in ("spec", "network", "idempotency_key") if name in more}
        given = {"action": action, "topic": topic, **more}
        return await use("kafka", given, auth={"servers": brokers} if auth is None else auth, **call)

    return asked


def read_elsewhere(servers: str, topic: str, count: int) -> list[Any]:
    """The messages of a topic, as another client reads them."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "other", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    messages: list[Any] = []
    while len(messages) < count:
        messages += consumer.consume(count - len(messages), timeout=LONG)
    consumer.close()
    return messages


def certificate(folder: Path) -> tuple[str, str]:
    """A certificate with its key: the file, and what is in it."""
    file = certificate_for("127.0.0.1", folder)
    return file, Path(file).read_text()


async def test_what_is_produced_is_what_another_client_reads(ask, brokers, topic):
    headers = {"from": "shop"}
    output = await ask(
        "produce", value={"item": "tea", "price": 3.5}, key="tea", headers=headers, partition=2
    )
    assert output["data"] == {
        "topic": topic, "count": 1, "partitions": [{"partition": 2, "first": 0, "last": 0}]
    }  # fmt: skip
    (message,) = await asyncio.to_thread(read_elsewhere, brokers, topic, 1)
    assert (message.key(), json.loads(message.value())) == (b"tea", {"item": "tea", "price": 3.5})
    assert message.headers() == [("noetl-idempotency-key", b"key-1"), ("from", b"shop")]


async def test_many_messages_go_in_one_call_and_keep_the_order_of_their_key(ask):
    messages = [{"key": number % 3, "value": f"m{number}"} for number in range(2000)]
    output = await ask("produce", messages=messages)
    assert output["data"]["count"] == 2000
    read = await ask("consume", limit=5000)
    assert (read["data"]["count"], read["data"]["remaining"]) == (2000, 0)
    for key in ("0", "1", "2"):
        of_key = [int(m["value"][1:]) for m in read["data"]["messages"] if m["key"] == key]
        assert of_key == [number for number in range(2000) if number % 3 == int(key)]
    last = next(m for m in read["data"]["messages"] if m["value"] == "m1999")
    assert last["headers"] == {"noetl-idempotency-key": "key-1/1999"}


async def test_values_are_json_text_bytes_or_nothing(ask):
    messages: list[dict[str, Any]] = [
        {"value": {"a": [1]}},
        {"value": "plain"},
        {"value": 7},
        {"key": "gone", "value": None},
    ]
    await ask("produce", messages=[{**each, "partition": 0} for each in messages])
    read = await ask("consume")
    assert [m["value"] for m in read["data"]["messages"]] == [{"a": [1]}, "plain", 7, None]
    assert [m["key"] for m in read["data"]["messages"]] == [None, None, None, "gone"]


async def test_what_is_not_committed_comes_again_and_what_is_does_not(ask):
    await ask("produce", messages=[{"value": number, "partition": 1} for number in range(6)])
    first = await ask("consume", group="books", limit=4)
    again = await ask("consume", group="books", limit=4)
    assert first["data"] == again["data"]
    assert (first["data"]["count"], first["data"]["remaining"]) == (4, 2)
    kept = await ask("commit", group="books", offsets=first["data"]["offsets"])
    assert kept["data"] == {"group": "books", "offsets": first["data"]["offsets"]}
    rest = await ask("consume", group="books")
    seen = [m["value"] for m in first["data"]["messages"] + rest["data"]["messages"]]
    assert sorted(seen) == list(range(6))
    others = await ask("consume", group="others")
    assert others["data"]["count"] == 6


async def test_offsets_of_one_consume_are_where_the_next_begins(ask):
    await ask("produce", messages=[{"value": number} for number in range(5)])
    first = await ask("consume", limit=3)
    second = await ask("consume", offsets=first["data"]["offsets"])
    assert sorted(m["value"] for m in first["data"]["messages"] + second["data"]["messages"]) == [
        0,
        1,
        2,
        3,
        4,
    ]
    nothing = await ask("consume", offsets=second["data"]["offsets"], within=0.1)
    assert (nothing["data"]["messages"], nothing["data"]["offsets"]) == ([], second["data"]["offsets"])


async def test_a_consume_waits_for_the_first_message(ask):
    await ask("produce", value="before")
    waiting = asyncio.create_task(ask("consume", start="latest", within=LONG))
    done = None
    while done is None:  # the broker does not say that somebody waits
        await ask("produce", value="after")
        finished, _ = await asyncio.wait({waiting}, timeout=0.1)
        done = next(iter(finished), None)
    values = {m["value"] for m in done.result()["data"]["messages"]}
    assert values == {"after"}


async def test_partitions_are_read_apart(ask):
    await ask("produce", messages=[{"value": number, "partition": number % 4} for number in range(8)])
    read = await ask("consume", partitions=[1, 3], group="g")
    assert {m["partition"] for m in read["data"]["messages"]} == {1, 3}
    assert read["data"]["offsets"] == {"1": 2, "3": 2}


async def test_a_repeated_call_gives_its_messages_the_same_keys(ask):
    for _ in range(2):
        await ask("produce", value="once", idempotency_key="e1/s/t")
    read = await ask("consume")
    keys = [m["headers"]["noetl-idempotency-key"] for m in read["data"]["messages"]]
    assert keys == ["e1/s/t", "e1/s/t"]


async def test_how_much_is_read_and_sent_is_bounded(ask):
    await ask("produce", messages=[{"value": "x" * 1000, "partition": 0} for _ in range(10)])
    read = await ask("consume", spec={"max_bytes": 2500})
    assert (read["data"]["count"], read["data"]["offsets"]["0"], read["data"]["remaining"]) == (2, 2, 8)
    too_small = await ask("consume", spec={"max_bytes": 10})
    assert (too_small["error"]["kind"], "has 1000 bytes" in too_small["error"]["message"]) == (
        "too_large",
        True,
    )
    for spec, says in (
        ({"max_messages": 1}, "it was given 2; spec.max_messages is 1"),
        ({"max_message_bytes": 4}, "message 0 has 5 bytes"),
        ({"max_bytes": 9}, "the messages have more than 9 bytes"),
    ):
        error = (await ask("produce", messages=[{"value": "12345"}] * 2, spec=spec))["error"]
        assert error["kind"] == "too_large"
        assert says in error["message"]


@pytest.mark.parametrize(
    ("action", "given", "kind", "says"),
    [
        ("produce", {}, "input", "needs either 'messages' or one message"),
        ("produce", {"messages": []}, "input", "1 or more messages at once: it was given 0"),
        ("produce", {"messages": [{}]}, "input", "needs a value; without one, a key"),
        ("produce", {"value": 1, "topic": "no topic"}, "input", "'no topic' is no name of a topic"),
        ("produce", {"value": 1, "partition": 99}, "not_found", "has no partition 99"),
        ("consume", {"partitions": [99]}, "not_found", "has no partition 99"),
        ("consume", {"offsets": {"x": 1}}, "input", "'x' is no number of a partition"),
        ("consume", {"offsets": {"0": 5}}, "kafka", "has the offsets 0 to 0, and 5 was asked for"),
        ("consume", {"limit": 20_000}, "input", "'limit' is at most spec.max_messages"),
        ("commit", {"group": "g"}, "input", "needs inputs 'group' and 'offsets' to commit"),
    ],
)
async def test_what_cannot_be_done_says_why(ask, action, given, kind, says):
    await ask("produce", value="there", partition=1)
    error = (await ask(action, **given))["error"]
    assert error["kind"] == kind, error
    assert says in error["message"]


async def test_asking_for_a_topic_does_not_make_it(ask):
    for _ in range(2):
        error = (await ask("consume"))["error"]
        assert (error["kind"], error["message"][:17]) == ("not_found", "there is no topic")


@pytest.mark.parametrize(
    ("auth", "kind", "says"),
    [
        ({}, "auth", "a secret with servers"),
        ({"servers": "kafka://:x"}, "auth", "is no server of Kafka"),
        ({"servers": "127.0.0.1:1"}, "connect", "127.0.0.1:1 cannot be reached"),
        ({"servers": "no-such-host.invalid"}, "dns", "cannot be found"),
        ({"servers": "127.0.0.1:1", "username": "ann"}, "auth", "no 'password'"),
        ({"servers": "127.0.0.1:1", "security": "ssl"}, "auth", "is tls or none, not 'ssl'"),
        ({"servers": "127.0.0.1:1", "ca": "nothing"}, "auth", "'ca' or 'certificate' cannot be read"),
        (
            {"servers": "127.0.0.1:1", "username": "a", "password": "b", "security": "none"},
            "auth",
            "not sent without TLS",
        ),
        (
            {"servers": "127.0.0.1:1", "username": "a", "password": "b", "mechanism": "GSSAPI"},
            "auth",
            "'mechanism' is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, not 'GSSAPI'",
        ),
    ],
)
async def test_a_credential_that_does_not_do_says_why(ask, auth, kind, says):
    error = (await ask("consume", auth))["error"]
    assert error["kind"] == kind, error
    assert says in error["message"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_logins_go_over_tls_to_brokers_whose_certificate_is_known(ask, tmp_path: Path, mechanism):
    file, text = certificate(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(file)
    with kafka_brokers() as behind:
        async with kafka_gate(behind, tls, "secret-canary") as (server, gate):
            right = {
                "servers": server,
                "username": "ann",
                "password": "secret-canary",
                "mechanism": mechanism,
            }
            known = {**right, "ca": text}
            assert (await ask("produce", known, value="in"))["data"]["count"] == 1
            assert gate.logins[0] == f"ann by {mechanism}"
            wrong = (await ask("produce", {**known, "password": "guess-canary"}, value="in"))["error"]
            assert (wrong["kind"], wrong["retryable"]) == ("auth", False)
            assert "does not let this credential in" in wrong["message"]
            assert "canary" not in json.dumps(wrong)
            stranger = (await ask("produce", right, value="in"))["error"]
            assert stranger["kind"] == "tls"
            assert "certificate verify failed" in stranger["message"]


async def test_brokers_that_want_a_certificate_of_the_client_get_it(ask, tmp_path: Path):
    file, text = certificate(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=file)
    tls.load_cert_chain(file)
    tls.verify_mode = ssl.CERT_REQUIRED
    with kafka_brokers() as behind:
        async with kafka_gate(behind, tls) as (server, _):
            known = {"servers": server, "ca": text, "certificate": text}
            assert (await ask("produce", known, value="in"))["data"]["count"] == 1
            without = (await ask("produce", {"servers": server, "ca": text}, value="in"))["error"]
            assert without["kind"] in ("tls", "connect")


async def test_a_server_that_wants_tls_says_so(ask, tmp_path: Path):
    file = certificate_for("127.0.0.1", tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(file)
    with kafka_brokers() as behind:
        async with kafka_gate(behind, tls) as (server, _):
            error = (await ask("produce", {"servers": server}, value="in"))["error"]
    assert (error["kind"], "does it want TLS? (security: tls)" in error["message"]) == ("connect", True)


async def test_brokers_are_reached_at_allowed_addresses_alone(ask):
    error = (await ask("produce", value="in", network=PUBLIC_ONLY))["error"]
    assert error["kind"] == "network"
    assert "NOETL_ALLOW_NETWORKS=loopback would" in error["message"]


@pytest.mark.parametrize(("action", "given"), [("produce", {"value": "in"}), ("consume", {"group": "g"})])
async def test_brokers_that_a_cluster_names_are_reached_at_allowed_addresses_alone(ask, action, given):
    only = Network(("127.0.0.1/32",))
    with kafka_brokers() as behind:
        async with kafka_gate(behind) as (server, gate):
            gate.named_host = "127.0.0.2"
            error = (await ask(action, {"servers": server}, network=only, **given))["error"]
    assert error["kind"] == "network", error
    assert error["message"].startswith("127.0.0.2, a loopback address")


async def test_a_broker_that_is_named_and_not_there_is_told(ask):
    with kafka_brokers() as behind:
        async with kafka_gate(behind) as (server, gate):
            gate.named_port = 1
            error = (await ask("produce", {"servers": server}, value=1, spec={"connect_timeout": 3}))["error"]
    assert (error["kind"], error["retryable"]) == ("connect", True)
    assert "there is no connection to 127.0.0.1:1, which the cluster names as broker 1" in error["message"]


async def test_a_server_that_says_nothing_is_given_up(ask):
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with listener:
        server = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        error = (await ask("consume", {"servers": server}, spec={"connect_timeout": 0.3}))["error"]
    assert (error["kind"], error["retryable"]) == ("timeout", True)
    assert "did not answer within 0.3 s" in error["message"]


@pytest.mark.parametrize(("action", "given"), [("consume", {"within": LONG}), ("produce", {"value": 2})])
async def test_a_cancelled_call_leaves_nothing_running(ask, action, given):
    before = asyncio.all_tasks()
    with kafka_brokers() as behind:
        await ask("produce", {"servers": behind}, value=1)
        async with kafka_gate(behind) as (server, gate):
            gate.deaf = True
            call = asyncio.create_task(ask(action, {"servers": server}, **given))
            await asyncio.wait_for(gate.asked.wait(), LONG)
            call.cancel()
            await asyncio.wait({call})
    left = asyncio.all_tasks() - before
    if left:
        await asyncio.wait(left, timeout=LONG)
    assert {each for each in left if not each.done()} == set()


def test_the_example_runs_there(brokers, tmp_path: Path):
    (tmp_path / "kafka.yaml").write_text(tools.kinds()["kafka"].example)
    environment = {"PATH": "/usr/bin:/bin", "NOETL_HOME": str(tmp_path / "home"), "KAFKA_SERVERS": brokers}
    for _ in range(2):
        done = FORK_SERVER.run(["run", "kafka.yaml", "--json"], tmp_path, environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert sum(json.loads(done.stdout)["output"]["offsets"].values()) in (1, 2)
    lines = [line for line in done.stderr.decode().splitlines() if "aiokafka" in line.lower()]
    assert lines == []
