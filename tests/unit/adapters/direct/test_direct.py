"""The direct link alone: who is let in and how the others are told, bounds, silence, TLS, several servers."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from noetl.adapters.direct import serve as serve_module
from noetl.adapters.direct.connection import NOTICE, PIECE, REQUEST, UNANSWERED_PINGS
from noetl.adapters.direct.dial import ServerConnection, dial
from noetl.adapters.direct.link import DirectLink
from noetl.adapters.direct.notices import PATH, PEERS, Peers
from noetl.errors import BackendError, NotFound, RequestError
from noetl.ports.bearer import spelled
from noetl.ports.store import ServerAddress
from tests.forward_proxy import HOST
from tests.unit.adapters.link.test_links import LONG, report_of
from tests.unit.adapters.link.worlds import DirectWorld, bearer, direct_world

QUERY = {"worker": "w", "pool": "default"}


@pytest.fixture
async def world() -> AsyncIterator[DirectWorld]:
    async with direct_world() as made:
        yield made


def ignore(connection: ServerConnection, notice: bytes) -> None:
    """Hear no more than who the server is."""
    if notice[:1] == PEERS:
        connection.meet(msgspec.json.decode(notice[1:], type=Peers))


async def asked(url: str, head: str) -> bytes:
    """The answer to a request that is written by hand."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), LONG)
    writer.close()
    return answer


def greeting(more: str = "", query: str = "worker=w&pool=default") -> str:
    return (
        f"GET {PATH}?{query} HTTP/1.1\nHost: x\nUpgrade: websocket\nConnection: Upgrade\n"
        f"Sec-WebSocket-Version: 13\nSec-WebSocket-Key: a2V5\nAuthorization: Bearer {bearer(1)}{more}"
    )


@pytest.mark.parametrize(
    ("token", "why"),
    [
        (None, "asks workers for a token; yours is missing"),
        ("nonsense", "is no token of a server"),
        (spelled("f" * 16, "x" * 43), "not one of this server's"),
        (spelled(f"{1:016x}", "2" * 43), "not one of this server's"),
    ],
)
async def test_who_shows_no_good_token_is_told_why(world: DirectWorld, token: str | None, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        await dial(world.url, QUERY, token, ignore)


async def test_refusals_are_answers_of_http(world: DirectWorld) -> None:
    assert (await asked(world.url, greeting("\nOrigin: http://evil.example"))).startswith(b"HTTP/1.1 400")
    assert (await asked(world.url, greeting(query="pool=default"))).startswith(b"HTTP/1.1 400")
    other = await asked(world.url, greeting(query="worker=w&server=another"))
    assert other.startswith(b"HTTP/1.1 421")
    assert b"this is server server, not another" in other
    assert (await asked(world.url, f"GET {PATH} HTTP/1.1\nHost: x\nConnection: close")).startswith(
        b"HTTP/1.1 404"
    )


async def test_a_store_that_is_away_is_asked_again_later(world: DirectWorld) -> None:
    async def away(token_id: str) -> None:
        raise BackendError("the store is away")

    world.channel._admission._find = away  # type: ignore[assignment]
    with pytest.raises(BackendError, match="the store is away"):
        await dial(world.url, QUERY, bearer(1), ignore)


async def test_no_more_ask_to_be_let_in_at_once_than_there_may_be(
    world: DirectWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_module, "PENDING_MOST", 0)
    with pytest.raises(BackendError, match="too many workers"):
        await dial(world.url, QUERY, bearer(1), ignore)


async def test_a_token_that_is_deleted_ends_its_connection(
    world: DirectWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = await dial(world.url, QUERY, bearer(1), ignore)

    async def gone(token_id: str) -> None:
        raise NotFound("deleted")

    monkeypatch.setattr(world.channel._admission, "_find", gone)
    await world.channel._check_again(world.channel._connections["w"])
    assert "not one of this server's" in await asyncio.wait_for(connection.lost, LONG)


async def _connected(world: DirectWorld) -> ServerConnection:
    return await dial(world.url, QUERY, bearer(1), ignore)


async def test_a_beat_that_cannot_be_read_ends_the_connection_with_the_reason(world: DirectWorld) -> None:
    connection = await _connected(world)
    connection.send(NOTICE, 1, b"b{")
    assert "cannot be read" in await asyncio.wait_for(connection.lost, LONG)


async def test_a_request_that_nobody_knows_is_refused_and_the_connection_stays(world: DirectWorld) -> None:
    connection = await _connected(world)
    with pytest.raises(RequestError, match="protocol has no request 'frobnicate'"):
        await connection.request("frobnicate", b"", LONG)
    assert await connection.request("which", b"", LONG) == b"server"
    connection.close(1000, "done")


async def test_what_is_held_of_long_requests_is_bounded_and_given_back(world: DirectWorld) -> None:
    world.channel.pieces.most = 1000
    connection = await _connected(world)
    own = world.channel._connections["w"]
    for _ in range(3):
        connection.send(PIECE, 1, b"x" * 400)
    assert "more than 1000 bytes" in await asyncio.wait_for(own.lost, LONG)
    assert world.channel.pieces.held == 0


async def test_too_much_at_once_is_to_be_asked_again(world: DirectWorld) -> None:
    world.channel._busy.most = 3
    connection = await _connected(world)
    with pytest.raises(BackendError, match="too much to do at once"):
        await connection.request("which", b"", LONG)
    connection.close(1000, "done")


async def test_who_does_not_answer_pings_is_given_up(world: DirectWorld) -> None:
    connection = await _connected(world)
    own = world.channel._connections["w"]
    connection.transport.pause_reading()
    for _ in range(UNANSWERED_PINGS + 1):
        own.ping()
    assert "does not answer" in await asyncio.wait_for(own.lost, LONG)
    connection.transport.abort()


async def test_a_worker_that_connects_again_takes_the_place_of_its_older_connection(
    world: DirectWorld,
) -> None:
    first = await _connected(world)
    second = await _connected(world)
    assert "connected again" in await asyncio.wait_for(first.lost, LONG)
    assert await second.request("which", b"", LONG) == b"server"
    second.close(1000, "done")


async def test_a_request_whose_connection_closes_is_answered_by_nobody_and_leaves_nothing(
    world: DirectWorld,
) -> None:
    connection = await _connected(world)
    own = world.channel._connections["w"]
    connection.send(REQUEST, 1, b"which ")
    connection.transport.abort()
    await asyncio.wait_for(own.lost, LONG)
    assert world.channel._connections == {}
    assert world.channel._busy.held == 0


async def test_a_worker_connects_to_every_server_that_it_is_told_of_and_to_each_once() -> None:
    async with direct_world() as one, direct_world() as two:
        one.channel.server, two.channel.server = "one", "two"
        here = [ServerAddress("one", one.url), ServerAddress("two", two.url)]
        one.channel.tell_peers(here)
        link = DirectLink([one.url, f"{one.url}/"], "default", "w", bearer(1))
        met: asyncio.Queue[None] = asyncio.Queue()
        link.on_connected = lambda: met.put_nowait(None)
        link.open()
        try:
            async with asyncio.timeout(LONG):
                await met.get()
                await met.get()
            assert sorted(link._connections) == ["one", "two"]
            assert (len(one.channel._connections), len(two.channel._connections)) == (1, 1)
        finally:
            await link.close()


async def test_two_addresses_that_lead_to_one_server_at_the_same_time_leave_one_connection(
    world: DirectWorld, caplog: pytest.LogCaptureFixture
) -> None:
    """The server lets go of the one that came first: so does the worker, and neither dials again."""
    entered: asyncio.Queue[None] = asyncio.Queue()
    welcome = world.channel._welcome
    world.channel._welcome = lambda: (entered.put_nowait(None), welcome())[1]  # type: ignore[method-assign, func-returns-value]
    link = DirectLink([world.url], "default", "w", bearer(1))
    link.open()
    link._begin(ServerAddress("server", world.url))
    try:
        async with asyncio.timeout(LONG):
            await entered.get()
            await entered.get()
            assert await link.which() == "server"
            assert await link.once("which", b"", "server", LONG) == b"server"
        assert entered.empty()
        assert "is lost" not in caplog.text
    finally:
        await link.close()


async def test_who_comes_in_the_moment_in_which_a_link_is_lost_does_not_stand_still(
    world: DirectWorld,
) -> None:
    """Another address of that server is dialled before the loop has told that the link is lost."""
    met = asyncio.Event()
    link = DirectLink([world.url], "default", "w", bearer(1))
    link.on_connected = met.set
    link.open()
    try:
        await asyncio.wait_for(met.wait(), LONG)
        link._connections["server"].connection_lost(None)
        await link._until_lost("server")
        assert link._connections == {}
    finally:
        await link.close()


async def test_a_server_that_is_not_reached_where_it_says_is_asked_for_elsewhere() -> None:
    """Behind one address for all: whoever answers says whether it is the one."""
    async with direct_world() as one:
        link = DirectLink([one.url], "default", "w", bearer(1))
        met = asyncio.Event()
        link.on_connected = met.set
        link._begin(ServerAddress("server", "http://127.0.0.1:1"))
        try:
            await asyncio.wait_for(met.wait(), LONG)
            assert list(link._connections) == ["server"]
        finally:
            await link.close()


def certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "noetl test")])
    now = datetime.datetime.now(datetime.UTC)
    here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    names = x509.SubjectAlternativeName([here, x509.DNSName(HOST)])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


@asynccontextmanager
async def tls_proxy(url: str, certificate: Path) -> AsyncIterator[str]:
    """What stands before a server: takes TLS off, and passes all else on."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    host, port = url.removeprefix("http://").split(":")

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, int(port))
        await asyncio.gather(forward(reader, back), forward(there, writer), return_exceptions=True)

    proxy = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    finally:
        proxy.close()


async def test_a_worker_works_through_a_proxy_with_tls(
    world: DirectWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = certificate(tmp_path)
    async with tls_proxy(world.url, pem) as url:
        with pytest.raises(BackendError, match="certificate"):
            await dial(url, QUERY, bearer(1), ignore)
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        link = DirectLink([url], "default", "w", bearer(1))
        link.open()
        try:
            assert await asyncio.wait_for(link.which(), LONG) == "server"
            assert (await link.report(report_of())).answer.accepted
        finally:
            await link.close()


async def test_a_worker_that_is_refused_where_someone_answers_does_not_wait_for_who_is_not_there(
    world: DirectWorld,
) -> None:
    link = DirectLink(["http://127.0.0.1:1", world.url], "default", "w", None)
    link.open()
    try:
        with pytest.raises(RequestError, match="asks workers for a token"):
            await asyncio.wait_for(link.which(), LONG)
    finally:
        await link.close()
