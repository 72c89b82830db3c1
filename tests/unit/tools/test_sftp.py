"""Files on another machine, against OpenSSH's own server: put whole or not at all, read within bounds."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ssh_server import SshServer, run_example, ssh_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_server(tmp_path_factory.mktemp("sshd")) as started:
        yield started


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder of the other machine."""
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


@pytest.fixture
def move(use, server, there):
    """One call of the kind for a file of that folder."""

    async def call(action: str, name: str, **more: Any) -> Any:
        spec = more.pop("spec", {})
        values = {"action": action, "path": str(there / name), **more}
        return await use("sftp", values, auth=server.login(), spec=spec)

    return call


async def test_what_was_put_is_got_again(move, there):
    put = await move("put", "people.csv", content=[{"name": "Ada", "born": 1815}])
    assert (there / "people.csv").read_text() == "name,born\nAda,1815\n"
    assert (put["data"]["path"], put["data"]["bytes"]) == (str(there / "people.csv"), 19)
    assert (await move("get", "people.csv"))["data"] == [{"name": "Ada", "born": "1815"}]
    assert os.listdir(there) == ["people.csv"]


async def test_a_put_takes_references_files_and_bytes(move, there, tmp_path, payloads):
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\0")
    ref = await payloads.put({"total": 12})
    assert (await move("put", "total.json", content=ref))["status"] == "ok"
    assert (await move("put", "logo.png", file="logo.png"))["status"] == "ok"
    raw = base64.b64encode(b"\0\1").decode()
    assert (await move("put", "raw.bin", content=raw, format="bytes"))["status"] == "ok"
    assert (await move("get", "total.json"))["data"] == {"total": 12}
    assert (there / "logo.png").read_bytes() == b"\x89PNG\0"
    assert (there / "raw.bin").read_bytes() == b"\0\1"


async def test_a_put_replaces_and_creates_only_what_is_not_there(move, there):
    for content in ("one", "two"):
        assert (await move("put", "a.txt", content=content))["status"] == "ok"
    assert (await move("put", "a.txt", content="three", mode="create"))["error"]["kind"] == "exists"
    assert (await move("put", "b.txt", content="new", mode="create"))["status"] == "ok"
    assert {name: (there / name).read_text() for name in sorted(os.listdir(there))} == {
        "a.txt": "two",
        "b.txt": "new",
    }


async def test_what_is_too_large_to_hold_goes_into_the_result_store(move, there, payloads):
    (there / "long.txt").write_text("x" * 600_000)
    output = await move("get", "long.txt", spec={"limits": {"max_hydrate_bytes": 1000}})
    assert output["data"] is None
    assert await payloads.get(output["ref"]) == "x" * 600_000
    short = await move("get", "long.txt", response="ref")
    assert short["ref"]["meta"]["bytes"] == 600_000


async def test_files_are_bounded_both_ways(move, there):
    (there / "long.txt").write_text("x" * 100)
    for action, more in (("get", {}), ("put", {"content": "x" * 100})):
        error = (await move(action, "long.txt", spec={"max_bytes": 10}, **more))["error"]
        assert error["kind"] == "too_large"
        assert "raise spec.max_bytes" in error["message"]


async def test_a_folder_is_listed(move, there):
    (there / "b.txt").write_text("bb")
    (there / "a").mkdir()
    entries = (await move("list", ""))["data"]
    assert [(each["name"], each["type"]) for each in entries] == [("a", "folder"), ("b.txt", "file")]
    assert (entries[1]["bytes"], entries[1]["path"]) == (2, str(there / "b.txt"))
    assert entries[1]["modified"].endswith("+00:00")
    assert (await move("list", "", limit=1))["error"]["kind"] == "limit"


async def test_a_file_is_deleted_once(move, there):
    (there / "a.txt").write_text("a")
    assert (await move("delete", "a.txt"))["data"]["deleted"] is True
    assert (await move("delete", "a.txt"))["error"]["kind"] == "not_found"
    assert (await move("delete", "a.txt", missing_ok=True))["data"]["deleted"] is False


@pytest.mark.parametrize(
    ("action", "name", "more", "kind", "says"),
    [
        ("get", "gone.txt", {}, "not_found", "gone.txt"),
        ("list", "gone", {}, "not_found", "there is no folder"),
        ("put", "gone/a.txt", {"content": "a"}, "not_found", "gone' to put 'a.txt' into"),
        ("delete", "", {}, "sftp", "ailure"),
        ("put", "a.txt", {}, "input", "exactly one of content and file"),
        ("put", "a.txt", {"file": "/etc/passwd"}, "path", "outside the allowed folders"),
        ("get", "a\0b", {}, "input", "not a path"),
    ],
)
async def test_what_cannot_be_done_says_why(move, action, name, more, kind, says):
    output = await move(action, name, **more)
    assert output["error"]["kind"] == kind, output
    assert says in output["error"]["message"]


async def test_a_host_with_another_key_gets_no_file(use, server):
    login = server.login(host_key="SHA256:other")
    output = await use("sftp", {"action": "put", "path": "/tmp/a", "content": "secret"}, auth=login)
    assert (output["error"]["kind"], output["error"]["code"]) == ("ssh", "host_key")


def test_the_example_moves_a_file_there_and_back(server, tmp_path, there):
    assert run_example("sftp", server, tmp_path, folder=str(there)) == [{"name": "Ada", "born": "1815"}]
