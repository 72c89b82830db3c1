"""Requests reach the addresses that the deployment allows, however another one is spelled or come by."""

import resource
import socket
import zlib
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from werkzeug import Request, Response

from noetl.adapters.memory.results import MemoryResults
from noetl.adapters.memory.store import MemoryStore
from noetl.dsl.model import Secret
from noetl.errors import BackendError
from noetl.ports.network import NAMES, Network, class_of, read_allowed
from noetl.settings import load
from noetl.tools.http import Session
from noetl.wiring.plane import control_plane, make_toolbox

LOOPBACK = [
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "017700000001", "0x7f000001", "0x7F.1",
    "0177.0.0.1", "0x7f.0.0.0x1", "127.0.0.1.", "localhost", "LOCALHOST", "[::1]", "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]", "0.0.0.0", "0", "0x0", "[::]", "①②⑦.⓪.⓪.①", "127。0。0。1", "user@127.0.0.1",
    "example.com@127.0.0.1", "example.com:80@127.0.0.1",
]  # fmt: skip
OTHERS = [
    ("169.254.169.254", "link_local"), ("2852039166", "link_local"), ("0xa9fea9fe", "link_local"),
    ("0251.0376.0251.0376", "link_local"), ("169.254.43518", "link_local"), ("[::ffff:169.254.169.254]", "link_local"),
    ("[::ffff:a9fe:a9fe]", "link_local"), ("[64:ff9b::a9fe:a9fe]", "link_local"), ("[2002:a9fe:a9fe::1]", "link_local"),
    ("[fe80::1]", "link_local"), ("[febf::1]", "link_local"), ("10.0.0.1", "private"), ("10.1", "private"),
    ("167772161", "private"), ("0xa.0.0.1", "private"), ("172.16.0.1", "private"), ("172.31.255.255", "private"),
    ("192.168.1.1", "private"), ("3232235777", "private"), ("[::ffff:10.0.0.1]", "private"), ("[fc00::1]", "private"),
    ("[fd12:3456::1]", "private"), ("[fec0::1]", "private"), ("100.64.0.1", "shared"), ("100.127.255.255", "shared"),
    ("1681915905", "shared"), ("224.0.0.1", "special"), ("239.255.255.250", "special"), ("255.255.255.255", "special"),
    ("192.0.0.192", "special"), ("168.63.129.16", "special"), ("[::ffff:168.63.129.16]", "special"),
    ("240.0.0.1", "special"), ("198.18.0.1", "special"), ("192.0.2.1", "special"), ("0.0.0.1", "special"),
    ("[ff02::1]", "special"), ("[2001:db8::1]", "special"), ("[100::1]", "special"), ("[4000::1]", "special"),
]  # fmt: skip
SPELLINGS = [(host, "loopback") for host in LOOPBACK] + OTHERS


def test_sixty_spellings_and_more_are_tried():
    assert len(SPELLINGS) >= 60


@pytest.mark.parametrize("host, found", SPELLINGS)
async def test_an_address_that_is_not_allowed_is_refused_however_it_is_spelled(use, host, found):
    output = await use("http", {"url": f"http://{host}:9/"}, network=Network())
    problem = output["error"]
    # Numbers that only some libraries take for addresses are no hosts for the client to begin with.
    assert problem["kind"] in ("network", "input"), problem
    assert problem["retryable"] is False
    if problem["kind"] == "network":
        assert problem["code"] == found
        assert f"NOETL_ALLOW_NETWORKS={found}" in problem["message"]


async def test_the_plain_spellings_are_refused_as_addresses(use):
    for host, found in (("127.0.0.1", "loopback"), ("0x7f.0.0.1", "loopback"), ("[64:ff9b::7f00:1]", "loopback"),
                        ("0.0.0.0", "loopback"), ("[::ffff:127.0.0.1]", "loopback"), ("localhost", "loopback"),
                        ("169.254.169.254", "link_local"), ("10.0.0.1", "private")):  # fmt: skip
        output = await use("http", {"url": f"http://{host}:9/"}, network=Network())
        assert (output["error"]["kind"], output["error"]["code"]) == ("network", found), host


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8"]
)
def test_public_addresses_need_no_permission(address):
    assert class_of(address) == "public"
    assert Network().allows(address)


@pytest.mark.parametrize(
    "allow, address, reached",
    [
        (("loopback",), "127.0.0.1", True),
        (("loopback",), "::ffff:127.0.0.1", True),
        (("loopback",), "10.0.0.1", False),
        (("private",), "169.254.169.254", False),
        (("10.1.0.0/16",), "10.1.2.3", True),
        (("10.1.0.0/16",), "::ffff:10.1.2.3", True),
        (("10.1.0.0/16",), "10.2.0.1", False),
        (("fd00::/8",), "fd00::1", True),
        (("link_local",), "fe80::1%eth0", True),
        (NAMES, "224.0.0.1", True),
    ],
)
def test_a_deployment_allows_classes_and_ranges(allow, address, reached):
    assert Network(allow).allows(address) is reached


@pytest.mark.parametrize("written", ["inside", "10.0.0.0/33", "10.0.0.1/8", "localhost"])
def test_what_is_neither_a_class_nor_a_range_cannot_be_allowed(written):
    with pytest.raises(ValueError, match=r"10\.1\.0\.0/16"):
        read_allowed(["loopback", written])


class Rebinding(AbstractResolver):
    """A name server that answers with another address each time."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers, self.asked = list(answers), 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            ResolveResult(hostname=host, host=each, port=port, family=socket.AF_INET, proto=0, flags=0)
            for each in answer
        ]

    async def close(self) -> None:
        return None


async def with_resolver(use: Any, resources: Any, resolver: Rebinding, network: Network) -> Any:
    from noetl.tools.parts.guard import connector

    session = Session(network)
    await session.client.connector.close()  # type: ignore[union-attr]
    session.client._connector = connector(network, resolver)
    resources.give(f"http {network.allow}", session)
    return lambda url, **more: use("http", {"url": url, **more}, network=network)


async def test_a_name_that_is_bound_anew_between_check_and_use_is_asked_once(use, resources, httpserver):
    """The answer that is checked is the one that is connected to; a second question is never put."""
    httpserver.expect_request("/").respond_with_data("allowed")
    resolver = Rebinding(["127.0.0.1"], ["127.0.0.2"])
    get = await with_resolver(use, resources, resolver, Network(("127.0.0.1/32",)))
    assert (await get(f"http://rebind.test:{httpserver.port}/"))["data"] == "allowed"
    assert resolver.asked == 1
    again = await get(f"http://other.test:{httpserver.port}/")
    assert (again["error"]["kind"], len(httpserver.log)) == ("network", 1)
    assert "'other.test' leads to 127.0.0.2" in again["error"]["message"]


async def test_of_several_addresses_only_allowed_ones_are_connected_to(use, resources, httpserver):
    httpserver.expect_request("/").respond_with_data("hello")
    network = Network(("127.0.0.1/32",))
    get = await with_resolver(use, resources, Rebinding(["10.0.0.1", "127.0.0.1", "127.0.0.2"]), network)
    assert (await get(f"http://mixed.test:{httpserver.port}/"))["data"] == "hello"


async def test_a_redirect_to_a_forbidden_address_is_refused(use, resources, httpserver):
    """The first hop is allowed by its range; the second one is loopback under another name."""
    targets = [
        "http://127.0.0.2:9/",
        "http://localhost.test:9/",
        "http://[::1]:9/",
        "http://[::ffff:127.0.0.2]:9/",
    ]
    network = Network(("127.0.0.1/32",))
    resolver = Rebinding(["127.0.0.1"], ["127.0.0.2"])
    get = await with_resolver(use, resources, resolver, network)
    for number, target in enumerate(targets):
        httpserver.expect_request(f"/{number}").respond_with_data("", 302, {"Location": target})
        output = await get(f"http://127.0.0.1:{httpserver.port}/{number}")
        assert (output["error"]["kind"], output["error"]["code"]) == ("network", "loopback"), target
        resolver.answers = [["127.0.0.2"]]


async def test_a_server_that_mcp_and_quantum_speak_to_is_checked_too(use):
    output = await use("mcp", {"server": "http://127.0.0.1:9/mcp", "tool": "x"}, network=Network())
    assert output["error"]["kind"] == "network"


async def test_the_trace_of_the_worker_goes_with_the_request(use, httpserver):
    def seen(request: Request) -> Response:
        return Response(request.headers.get("traceparent", "none"))

    httpserver.expect_request("/").respond_with_handler(seen)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert (await use("http", {"url": httpserver.url_for("/")}, trace=trace))["data"] == trace
    assert (await use("http", {"url": httpserver.url_for("/")}))["data"] == "none"
    own = {"url": httpserver.url_for("/"), "headers": {"traceparent": "mine"}}
    assert (await use("http", own, trace=trace))["data"] == "mine"


@pytest.mark.parametrize("mode", ["auto", "ref"])
async def test_a_small_answer_that_unpacks_to_a_huge_one_is_cut_short(use, httpserver, payloads, mode):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join([*(packer.compress(b"\0" * (1 << 20)) for _ in range(200)), packer.flush()])
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/plain"}
    httpserver.expect_request("/").respond_with_data(bomb, headers=headers)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    values = {"url": httpserver.url_for("/"), "response": mode}
    output = await use("http", values, spec={"max_response_bytes": 1 << 20})
    assert output["error"]["kind"] == "too_large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 48 << 10  # KiB, of 200 MiB unpacked
    assert payloads.kept == {}


@pytest.mark.parametrize("allowed", [(), ("loopback",)])
async def test_a_server_lets_its_playbooks_reach_what_the_setting_allows(tmp_path, httpserver, allowed):
    """The worker's toolbox and the keychain of the server alike; embedded, the machine's owner may reach more."""
    httpserver.expect_request("/token").respond_with_json({"access_token": "t0ken"})
    environ = {
        "NOETL_HOME": str(tmp_path),
        "NOETL_AUTH": "on",
        **({"NOETL_ALLOW_NETWORKS": ",".join(allowed)} if allowed else {}),
    }
    settings = load(environ=environ, folder=tmp_path)
    results = MemoryResults(lambda: 1)
    toolbox = make_toolbox(settings, results, None, "w1")  # type: ignore[arg-type]
    assert toolbox.network == Network(allowed)
    own = make_toolbox(settings, results, None, "w1", trusted=True)  # type: ignore[arg-type]
    assert set(own.network.allow) == {"loopback"}
    for each in (toolbox, own):
        await each.resources.close()
    source = {"token_url": httpserver.url_for("/token"), "client_id": "a", "client_secret": "b"}
    entry = Secret("tok", "oauth2", source)
    plane = control_plane(settings, MemoryStore(lambda: 1), results)
    if allowed:
        assert (await plane.keychain.material((entry,), "tok"))["token"] == "t0ken"
    else:
        with pytest.raises(BackendError, match="loopback address"):
            await plane.keychain.material((entry,), "tok")
    assert len(httpserver.log) == len(allowed)
