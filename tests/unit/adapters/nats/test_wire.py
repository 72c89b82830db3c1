"""The plain protocol of NATS: words in pieces of any size, who we say we are, other servers, encryption."""

import asyncio
import datetime
import ipaddress
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.adapters.nats.protocol import Disconnected, NatsConnection
from noetl.adapters.nats.wire import Message, NatsClient, NoResponder, addresses
from noetl.errors import RequestError
from tests.servers import NatsServer

ANSWER_S = 30.0


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[NatsClient]:
    wire = NatsClient(url, "test")
    await wire.connect()
    try:
        yield wire
    finally:
        await wire.close()


async def echoes(wire: NatsClient) -> None:
    """Prove that a connection carries both ways."""
    wire.subscribe("echo", lambda message: wire.publish(message.reply, message.body))
    assert await wire.request("echo", b"hello", ANSWER_S) == b"hello"


@given(
    bodies=st.lists(st.binary(max_size=40), max_size=5),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_words_are_read_however_they_are_cut(bodies: list[bytes], cuts: list[int]) -> None:
    async def read() -> list[tuple[bytes, bytes, bytes]]:
        found: list[tuple[bytes, bytes, bytes]] = []
        spoken = NatsConnection(lambda number, subject, reply, head, body: found.append((reply, head, body)))
        head = b"NATS/1.0 503\r\n\r\n"
        said = b'INFO {"headers":true}\r\n+OK\r\n'
        for body in bodies:
            said += b"MSG a.b 1 %d\r\n%b\r\n" % (len(body), body)
            said += b"MSG a.b 1 back %d\r\n%b\r\n" % (len(body), body)
            said += b"HMSG a 2 back %d %d\r\n%b%b\r\n" % (len(head), len(head) + len(body), head, body)
        places = sorted({0, len(said), *(cut for cut in cuts if cut < len(said))})
        for start, stop in itertools.pairwise(places):
            spoken.data_received(said[start:stop])
        assert spoken.info.result() == {"headers": True}
        return found

    told = b"NATS/1.0 503\r\n\r\n"
    expected = [
        one for body in bodies for one in ((b"", b"", body), (b"back", b"", body), (b"back", told, body))
    ]
    assert asyncio.run(read()) == expected


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("nats://host", {}),
        ("nats://me:se%40cret@host", {"user": "me", "pass": "se@cret"}),
        ("nats://token@host", {"auth_token": "token"}),
        ("nats://me:@host", {"user": "me", "pass": ""}),
    ],
)
def test_an_address_says_who_we_are(url: str, named: dict[str, str]) -> None:
    (address,) = addresses(url)
    assert (address.host, address.port, address.named()) == ("host", 4222, named)


def test_an_address_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(RequestError, match="NATS"):
        addresses("nats://host:port")


@pytest.mark.parametrize("options", [["--user", "me", "--pass", "se@cret"], ["--auth", "token"]])
async def test_a_server_lets_in_who_says_the_right_thing(tmp_path: Path, options: list[str]) -> None:
    with NatsServer.start(tmp_path, options=options) as nats:
        right = "me:se%40cret" if "--user" in options else "token"
        async with connected(f"nats://{right}@127.0.0.1:{nats.port}") as wire:
            await echoes(wire)
        for wrong in ("", "me:wrong@", "wrong@"):
            with pytest.raises(Disconnected, match="Authorization"):
                await NatsClient(f"nats://{wrong}127.0.0.1:{nats.port}", "test").connect()


async def test_the_next_server_is_asked_when_the_first_is_not_there(nats_server: NatsServer) -> None:
    async with connected(f"nats://127.0.0.1:1,{nats_server.url}") as wire:
        await echoes(wire)


async def test_who_asks_where_nobody_listens_knows_at_once(nats_server: NatsServer) -> None:
    unheard = asyncio.Event()
    async with connected(nats_server.url) as wire:
        with pytest.raises(NoResponder):
            await wire.request("nobody", b"", ANSWER_S)
        wire.tell("nobody", b"", unheard.set)
        await asyncio.wait_for(unheard.wait(), ANSWER_S)


async def test_what_was_asked_when_the_connection_broke_is_not_waited_for(tmp_path: Path) -> None:
    asked = asyncio.Event()

    def silent(message: Message) -> None:
        asked.set()

    with NatsServer.start(tmp_path) as nats:
        async with connected(nats.url) as wire:
            wire.subscribe("silent", silent)
            question = asyncio.create_task(wire.request("silent", b"", 600.0))
            await asyncio.wait_for(asked.wait(), ANSWER_S)
            await asyncio.to_thread(nats.kill)
            with pytest.raises(Disconnected):
                await asyncio.wait_for(question, ANSWER_S)


async def test_a_connection_is_encrypted_when_the_server_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = certified(tmp_path)
    options = ["--tls", "--tlscert", str(certificate), "--tlskey", str(key)]
    with NatsServer.start(tmp_path, options=options) as nats:
        with pytest.raises(OSError, match=r"(?i)certificate"):
            await NatsClient(nats.url, "test").connect()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with connected(nats.url.replace("nats://", "tls://")) as wire:
            await echoes(wire)


def certified(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine that vouches for itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.datetime.now(datetime.UTC)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(here, critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    (folder / "certificate.pem").write_bytes(made.public_bytes(encoding))
    plain, unsealed = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(encoding, plain, unsealed))
    return folder / "certificate.pem", folder / "key.pem"
