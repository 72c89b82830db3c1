"""Commands on another machine, against OpenSSH's own server: how they end, what they print, who may be talked to."""

import asyncio
import os
import select
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from noetl.ports.network import PUBLIC_ONLY
from tests.ssh_server import SshServer, run_example, ssh_server

LONG = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_server(tmp_path_factory.mktemp("sshd")) as started:
        yield started


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No file of whoever runs the tests is read."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


class Lines:
    """What a call prints, and an event for when it first does."""

    keep: int | None = None

    def __init__(self) -> None:
        self.said: list[tuple[int, bytes]] = []
        self.began = asyncio.Event()

    def write(self, data: bytes, stream: int = 1) -> None:
        self.said.append((stream, data))
        self.began.set()


async def test_a_command_answers_with_what_it_printed(use, server):
    command = ["sh", "-c", 'cat; echo "$1" >&2', "sh", "a  'b'"]
    lines = Lines()
    output = await use("ssh", {"command": command, "stdin": "tea\n"}, auth=server.login(), output=lines)
    assert output["data"] == {"exit_code": 0, "signal": None, "stdout": "tea\n", "stderr": "a  'b'\n"}
    assert sorted(lines.said) == [(1, b"tea\n"), (2, b"a  'b'\n")]


async def test_a_text_is_a_line_for_the_shell_there(use, server):
    output = await use("ssh", {"command": "echo a && echo b | tr b c"}, auth=server.login())
    assert output["data"]["stdout"] == "a\nc\n"


async def test_another_exit_code_is_an_error_and_what_was_printed_is_kept(use, server):
    output = await use("ssh", {"command": "echo out; echo wrong >&2; exit 3"}, auth=server.login())
    error = output["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("ssh", "3", False)
    assert error["message"] == "the command ended with exit code 3: wrong"
    assert output["data"] == {"exit_code": 3, "signal": None, "stdout": "out\n", "stderr": "wrong\n"}


async def test_a_signal_is_named(use, server):
    output = await use("ssh", {"command": "kill -KILL $$"}, auth=server.login())
    assert (output["error"]["code"], output["data"]["signal"]) == ("KILL", "KILL")


async def test_what_is_printed_is_bounded(use, server):
    command = "head -c 3000000 /dev/zero | tr '\\0' x"
    output = await use("ssh", {"command": command}, auth=server.login(), spec={"max_output_bytes": 10})
    assert output["data"]["stdout"] == "x" * 10 + "\n[2999990 more bytes]"


@pytest.mark.parametrize("command", ["echo $$; exec sleep 600", "trap '' TERM; echo $$; sleep 600"])
async def test_a_cancelled_command_ends_also_when_it_does_not_want_to(use, server, command):
    lines = Lines()
    call = use("ssh", {"command": command}, auth=server.login(), output=lines, spec={"grace": 0.2})
    task = asyncio.create_task(call)
    async with asyncio.timeout(LONG):
        await lines.began.wait()
        process = int(lines.said[0][1])
        assert _runs(process)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(_gone, process)


def _gone(process: int) -> None:
    """Wait for the end of a process that is nobody's child here."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(process)
        assert select.select([handle], [], [], LONG)[0]
        os.close(handle)


def _runs(process: int) -> bool:
    """Whether it is there and more than a body that nobody buried."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("known", ["fingerprint", "key", "line", "file"])
async def test_a_host_is_known_by_its_fingerprint_its_key_or_a_known_hosts_file(use, server, home, known):
    line = f"[127.0.0.1]:{server.port} {server.public_key}"
    ways = {"fingerprint": server.fingerprint, "key": server.public_key, "line": line, "file": None}
    if known == "file":
        (home / ".ssh").mkdir()
        (home / ".ssh" / "known_hosts").write_text(f"{line}\n")
    output = await use("ssh", {"command": "true"}, auth=server.login(host_key=ways[known]))
    assert output["status"] == "ok", output


@pytest.mark.parametrize("known", ["SHA256:other", None, "other key"])
async def test_a_host_with_another_key_is_not_talked_to(use, server, known):
    if known == "other key":
        known = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode()
    error = (await use("ssh", {"command": "true"}, auth=server.login(host_key=known)))["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("ssh", "host_key", False)
    assert server.fingerprint in error["message"]


async def test_a_key_that_is_not_accepted_is_an_error_of_auth(use, server):
    other = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    error = (await use("ssh", {"command": "true"}, auth=server.login(private_key=other)))["error"]
    assert (error["kind"], error["retryable"]) == ("auth", False)


async def test_a_private_key_may_have_a_passphrase(use, server):
    key = asyncssh.import_private_key(server.private_key)
    sealed = key.export_private_key(passphrase="tea", rounds=50).decode()
    login = server.login(private_key=sealed, passphrase="tea")
    assert (await use("ssh", {"command": "true"}, auth=login))["status"] == "ok"
    error = (await use("ssh", {"command": "true"}, auth={**login, "passphrase": "no"}))["error"]
    assert error["kind"] == "auth"
    assert "'private_key' cannot be read" in error["message"]


async def test_a_password_logs_in_too(use, server):
    class Door(asyncssh.SSHServer):
        def password_auth_supported(self) -> bool:
            return True

        def validate_password(self, username: str, password: str) -> bool:
            return (username, password) == ("ann", "right")

    def answer(process: Any) -> None:
        process.stdout.write(f"{process.command}\n")
        process.exit(0)

    door = await asyncssh.listen(
        "127.0.0.1", 0, server_factory=Door, server_host_keys=[server.host_key], process_factory=answer
    )
    async with door:
        login = {"username": "ann", "password": "right", "host_key": server.fingerprint}
        place = {"host": "127.0.0.1", "port": door.get_port(), "command": ["echo", "a b"]}
        assert (await use("ssh", place, auth=login))["data"]["stdout"] == "echo 'a b'\n"
        assert (await use("ssh", place, auth={**login, "password": "no"}))["error"]["kind"] == "auth"


@pytest.mark.parametrize(
    ("given", "more", "kind", "says"),
    [
        ({}, {"host": None}, "input", "there is no host"),
        ({}, {"username": None}, "input", "there is no user"),
        ({}, {"private_key": None}, "auth", "needs 'private_key' or 'password'"),
        ({}, {"private_key": "no key"}, "auth", "'private_key' cannot be read"),
        ({}, {"port": "x"}, "input", "'x' is no port"),
        ({}, {"host_key": "nonsense"}, "input", "neither a fingerprint nor a known_hosts line"),
        ({"command": "  "}, {}, "input", "the command is empty"),
        ({"port": 1}, {}, "connect", "cannot be reached"),
        ({"host": "no-such-host.invalid"}, {}, "dns", "cannot be found"),
    ],
)
async def test_what_cannot_be_reached_or_used_says_why(use, server, given, more, kind, says):
    output = await use("ssh", {"command": "true", **given}, auth=server.login(**more))
    assert output["error"]["kind"] == kind, output
    assert says in output["error"]["message"]


async def test_a_host_that_says_nothing_is_given_up(use, server):
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        values = {"command": "true", "port": port}
        output = await use("ssh", values, auth=server.login(), spec={"connect_timeout": 0.2})
    assert (output["error"]["kind"], output["error"]["retryable"]) == ("timeout", True)


async def test_hosts_are_reached_at_allowed_addresses_alone(use, server):
    error = (await use("ssh", {"command": "true"}, auth=server.login(), network=PUBLIC_ONLY))["error"]
    assert error["kind"] == "network"
    assert "NOETL_ALLOW_NETWORKS=loopback would" in error["message"]


def test_the_example_runs_there(server, tmp_path):
    assert run_example("ssh", server, tmp_path)["stdout"] == "free space of /\n"
