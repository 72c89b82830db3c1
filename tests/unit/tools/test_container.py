"""Commands in containers, by Podman's service: how they end, what they print, what they may use, what is left of them."""

import asyncio
import hashlib
import json
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from noetl import tools
from noetl.ports.network import PUBLIC_ONLY
from tests.fork_server import FORK_SERVER
from tests.mail_server import certificate_for
from tests.podman import IMAGE, Podman, podman, registry_answers

LONG = 120.0


@pytest.fixture(scope="module")
def registry() -> Iterator[HTTPServer]:
    with HTTPServer(host="127.0.0.1") as server:
        for path, (kind, raw) in registry_answers("shop/busybox").items():
            server.expect_request(path).respond_with_data(raw, content_type=kind)
        yield server


@pytest.fixture(scope="module")
def engine(registry: HTTPServer) -> Iterator[Podman]:
    with podman(f"{registry.host}:{registry.port}") as started:
        yield started


@pytest.fixture
def start(use, engine: Podman, request: pytest.FixtureRequest):
    """What the kind answers of a command in the image, under an idempotency key of the test."""

    async def started(command: Any = None, /, **more: Any) -> Any:
        names = ("spec", "network_policy", "idempotency_key", "output", "auth")
        call = {name: more.pop(name) for name in names if name in more}
        if "network_policy" in call:
            call["network"] = call.pop("network_policy")
        given = {"image": IMAGE, "command": command, **more}
        usual = {"auth": {"host": engine.host}, "idempotency_key": request.node.name}
        return await use("container", given, **(usual | call))

    return started


def name_of(key: str) -> str:
    return f"noetl-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


class Lines:
    """What a call prints, and an event for when it first does."""

    keep: int | None = None

    def __init__(self) -> None:
        self.said: list[tuple[int, bytes]] = []
        self.began = asyncio.Event()

    def write(self, data: bytes, stream: int = 1) -> None:
        if stream:
            self.said.append((stream, data))
            self.began.set()


async def test_a_container_answers_with_what_it_printed_and_is_gone(start, engine):
    lines = Lines()
    output = await start(["sh", "-c", "echo out; echo $TEA >&2"], env={"TEA": "green"}, output=lines)
    assert output["data"] == {"exit_code": 0, "stdout": "out\n", "stderr": "green\n"}
    assert sorted(lines.said) == [(1, b"out\n"), (2, b"green\n")]
    assert engine.names() == []


async def test_another_exit_code_is_an_error_and_what_was_printed_is_kept(start, engine):
    output = await start("echo out; echo wrong >&2; exit 3")
    error = output["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("container", "3", False)
    assert error["message"] == "the container ended with exit code 3: wrong"
    assert error["details"]["stderr"] == "wrong\n"
    assert output["data"] == {"exit_code": 3, "stdout": "out\n", "stderr": "wrong\n"}
    assert engine.names() == []


async def test_files_are_there_and_json_is_a_value(start):
    files = {"/data/in/a.json": '{"item": "tea"}', "/data/b.txt": "b"}
    output = await start(["cat", "/data/in/a.json"], files=files, result="json")
    assert output["data"] == {"exit_code": 0, "result": {"item": "tea"}, "stderr": ""}
    output = await start("cat /data/b.txt", files=files, result="json")
    assert (output["error"]["kind"], output["data"]["stdout"]) == ("format", "b")


async def test_a_container_knows_whose_it_is_and_starts_where_and_as_whom_it_is_told(start):
    output = await start("env | head -c 100000; id -u; echo $PWD", workdir="/tmp", user="1234")
    said = output["data"]["stdout"].splitlines()
    assert said[-2:] == ["1234", "/tmp"]
    assert {"NOETL_EXECUTION_ID=e1", "NOETL_STEP=s", "NOETL_TASK=t", "NOETL_ATTEMPT=1"} <= set(said)


async def test_a_container_has_no_network_unless_its_credential_allows_one(start, engine):
    look = "ls /sys/class/net"
    assert (await start(look))["data"]["stdout"].split() == ["lo"]
    refused = (await start(look, network="host"))["error"]
    assert refused["kind"] == "network"
    assert "does not allow the network 'host': its 'networks' are none" in refused["message"]
    allowed = {"host": engine.host, "networks": ["host"]}
    assert len((await start(look, network="host", auth=allowed))["data"]["stdout"].split()) > 1


async def test_memory_is_bounded_and_the_error_says_so(start):
    filling = "x=$(yes | head -c 100000000); echo ${#x}"
    output = await start(filling, spec={"memory_bytes": 32 * 1024**2})
    assert (output["error"]["kind"], output["error"]["code"]) == ("container", "137"), output
    assert "needs more memory than spec.memory_bytes, 33554432" in output["error"]["message"]


async def test_what_is_printed_is_bounded(start):
    output = await start("head -c 3000000 /dev/zero | tr '\\0' x", spec={"max_output_bytes": 10})
    assert output["data"]["stdout"] == "x" * 10 + "\n[2999990 more bytes]"
    output = await start("echo '[1, 2, 3, 4, 5]'", result="json", spec={"max_output_bytes": 5})
    assert output["error"]["kind"] == "too_large"


def piece(number: int, text: str) -> bytes:
    """Part of a log as engines send it."""
    return bytes((number, 0, 0, 0)) + len(text).to_bytes(4, "big") + text.encode()


async def test_a_log_that_never_ends_does_not_hold_up_a_container_that_has(use):
    bodies = {
        "json": b'{"State": {"Status": "running"}}',
        "wait": b'{"StatusCode": 0}',
        "logs": piece(1, "said"),
    }

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        body = bodies.get(path.partition("?")[0].rpartition("/")[2], b"")
        if "follow=1" in path:
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            await reader.read()  # until whoever asked leaves
        else:
            writer.write(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        auth = {"host": f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"}
        given = {"image": IMAGE, "command": "true"}
        output = await use("container", given, auth=auth, idempotency_key="endless")
    assert (output["status"], output["data"]["stdout"]) == ("ok", "said"), output


async def test_what_an_engine_does_not_pass_on_while_it_is_followed_is_read_at_the_end(use):
    with HTTPServer(host="127.0.0.1") as server:
        answer = server.expect_request
        name = f"/containers/{name_of('cut off')}"
        answer(f"{name}/json").respond_with_json({"State": {"Status": "running"}})
        answer(f"{name}/wait").respond_with_json({"StatusCode": 0})
        followed, whole = (
            piece(1, "one ") + piece(2, "tw"),
            piece(1, "one and ") + piece(2, "two") + piece(1, "all"),
        )
        answer(f"{name}/logs", query_string="follow=1&stdout=1&stderr=1").respond_with_data(followed)
        answer(f"{name}/logs", query_string="follow=0&stdout=1&stderr=1").respond_with_data(whole)
        answer(name, method="DELETE").respond_with_data(status=204)
        given, auth = {"image": IMAGE, "command": "true"}, {"host": f"tcp://127.0.0.1:{server.port}"}
        output = await use("container", given, auth=auth, idempotency_key="cut off")
    assert (output["data"]["stdout"], output["data"]["stderr"]) == ("one and all", "two"), output


@pytest.mark.parametrize("command", ["echo on; sleep 600", "trap '' TERM; echo on; sleep 600"])
async def test_a_cancelled_container_ends_and_is_gone(start, engine, command):
    lines = Lines()
    call = asyncio.create_task(start(command, output=lines, spec={"grace": 1}))
    await asyncio.wait_for(lines.began.wait(), LONG)
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    assert await asyncio.to_thread(engine.names) == []


async def test_a_repeated_call_follows_the_container_that_runs(start, engine):
    key, began = "e9/s/t", Lines()
    name = name_of(key)
    run = ["run", "--detach", "--name", name, "--network", "none", "--env", "WHO=first", IMAGE]
    loop = "echo $WHO; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo done; exit 4"
    await asyncio.to_thread(lambda: engine.run(*run, "/bin/sh", "-c", loop))
    call = asyncio.create_task(start("echo second", idempotency_key=key, output=began))
    await asyncio.wait_for(began.began.wait(), LONG)
    await asyncio.to_thread(engine.run, "exec", name, "/bin/touch", "/tmp/go")
    output = await call
    assert output["data"] == {"exit_code": 4, "stdout": "first\ndone\n", "stderr": ""}
    assert await asyncio.to_thread(engine.names) == []


async def test_a_repeated_call_reads_the_container_that_has_ended_and_starts_one_that_never_began(
    start, engine
):
    ended, made = name_of("ended"), name_of("made")
    run = ["run", "--name", ended, "--network", "none", IMAGE, "/bin/echo", "was"]
    create = ["create", "--name", made, "--network", "none", IMAGE, "/bin/cat", "/tmp/now"]
    await asyncio.to_thread(lambda: (engine.run(*run), engine.run(*create)))
    assert (await start("echo other", idempotency_key="ended"))["data"]["stdout"] == "was\n"
    output = await start("echo other", idempotency_key="made", files={"/tmp/now": "now"})
    assert output["data"]["stdout"] == "now"
    assert await asyncio.to_thread(engine.names) == []


async def test_an_image_that_is_not_there_is_pulled(start, registry):
    image = f"{registry.host}:{registry.port}/shop/busybox"
    never = (await start(image=image, pull="never"))["error"]
    assert (never["kind"], "does not have the image" in never["message"]) == ("not_found", True)
    assert (await start(image=image))["data"]["stdout"] == "pulled\n"
    none = (await start(image=f"{registry.host}:{registry.port}/shop/nothing"))["error"]
    assert none["kind"] == "container"
    assert "nothing" in none["message"]


@pytest.mark.parametrize(
    ("given", "auth", "kind", "says"),
    [
        ({}, {}, "auth", "container needs auth: a secret with host"),
        ({}, {"host": "engine"}, "auth", "'host' is unix://PATH or tcp://HOST:PORT, not 'engine'"),
        ({}, {"host": "tcp://h:x"}, "auth", "'host' is no address"),
        ({}, {"host": "tcp://h", "security": "ssl"}, "auth", "'security' is tls or none, not 'ssl'"),
        (
            {},
            {"host": "unix:///no/such.sock"},
            "connect",
            "no connection to the engine at unix:///no/such.sock",
        ),
        ({}, {"host": "tcp://127.0.0.1:1"}, "connect", "no connection to the engine at tcp://127.0.0.1:1"),
        ({"image": "a b"}, None, "input", "'a b' is no name of an image"),
        ({"files": {"x": ""}}, None, "input", "'x' is no absolute path of a file"),
        ({"files": {"/../x": ""}}, None, "input", "'/../x' is no absolute path of a file"),
        (
            {"files": {"/x": "abc"}, "spec": {"max_file_bytes": 2}},
            None,
            "too_large",
            "the files have 3 bytes",
        ),
        ({"command": ["/no/such"]}, None, "container", "/no/such"),
    ],
)
async def test_what_cannot_be_done_says_why_and_leaves_nothing(start, engine, given, auth, kind, says):
    given = {"image": IMAGE, "command": ["/bin/echo"], **given}
    output = await start(given.pop("command"), **given, **({} if auth is None else {"auth": auth}))
    error = output["error"]
    assert says in error["message"], error
    if given.get("command") is None:
        assert error["kind"] in (kind, "not_found")
    assert await asyncio.to_thread(engine.names) == []


async def test_a_program_that_is_not_in_the_image_is_not_tried_again(start):
    error = (await start(["/no/such"]))["error"]
    assert (error["kind"], error["retryable"]) == ("container", False), error


async def test_a_socket_is_reached_where_this_machine_may_be(start):
    error = (await start("true", network_policy=PUBLIC_ONLY))["error"]
    assert (error["kind"], error["code"]) == ("network", "loopback")
    assert "NOETL_ALLOW_NETWORKS=loopback would" in error["message"]


@asynccontextmanager
async def listening(socket: str, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The engine behind a port; every connection is over when this is."""
    carried: list[asyncio.Future[Any]] = []

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                target.write(data)
        finally:
            target.close()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, ahead = await asyncio.open_unix_connection(socket)
        carried.append(asyncio.gather(pump(reader, ahead), pump(behind, writer), return_exceptions=True))

    server = await asyncio.start_server(carry, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]
    await asyncio.gather(*carried)
    for _ in range(4):  # what closes says so in the turns after
        await asyncio.sleep(0)


async def test_an_engine_elsewhere_is_spoken_to_over_tls_as_its_credential_says(
    start, engine, tmp_path: Path
):
    file = certificate_for("127.0.0.1", tmp_path)
    text = await asyncio.to_thread(Path(file).read_text)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=file)
    tls.load_cert_chain(file)
    tls.verify_mode = ssl.CERT_REQUIRED
    async with listening(engine.socket) as port:
        assert (await start("echo in", auth={"host": f"tcp://127.0.0.1:{port}"}))["data"]["stdout"] == "in\n"
        refused = await start("true", auth={"host": f"tcp://127.0.0.1:{port}"}, network_policy=PUBLIC_ONLY)
        assert refused["error"]["kind"] == "network"
    async with listening(engine.socket, tls) as port:
        host = f"tcp://127.0.0.1:{port}"
        known = {"host": host, "ca": text, "certificate": text}
        assert (await start("echo in", auth=known))["data"]["stdout"] == "in\n"
        stranger = (await start("true", auth={"host": host, "security": "tls"}))["error"]
        assert (stranger["kind"], "certificate verify failed" in stranger["message"]) == ("tls", True)


def test_the_example_runs_there(engine: Podman, tmp_path: Path):
    (tmp_path / "container.yaml").write_text(tools.kinds()["container"].example)
    environment = {
        "PATH": "/usr/bin:/bin",
        "NOETL_HOME": str(tmp_path / "home"),
        "CONTAINER_ENGINE": engine.host,
    }
    done = FORK_SERVER.run(
        ["run", "container.yaml", "--json", "--set", f"image={IMAGE}"], tmp_path, environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["output"]["result"] == {"item": "tea", "price": 3.5}
