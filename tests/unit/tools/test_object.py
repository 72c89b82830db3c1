"""The object kind on a local folder."""

import sys
from pathlib import Path

import pytest

STORE = {"store": "./bucket"}


async def put(use, key: str, content: object, **more: object):
    return await use("object", {"action": "put", **STORE, "key": key, "content": content, **more})


@pytest.mark.parametrize(
    "key, content", [("a/b.json", {"k": 1}), ("a.csv", [{"n": "1"}]), ("t", "text"), ("x.jsonl", [1, 2])]
)
async def test_what_is_put_is_got_back(use, key, content):
    kept = await put(use, key, content)
    assert kept["data"]["key"] == key
    assert kept["ref"]["type"] == "object_store"
    assert (await use("object", {"action": "get", **STORE, "key": key}))["data"] == content


@pytest.mark.parametrize("store", ["bucket", "file://{0}/bucket"])
async def test_a_folder_may_be_written_in_two_ways(use, tmp_path: Path, store):
    await put(use, "a.json", 7)
    address = store.format(tmp_path)
    assert (await use("object", {"action": "get", "store": address, "key": "a.json"}))["data"] == 7


async def test_list_shows_the_keys_under_a_prefix_in_order(use):
    for key in ("b/2", "b/1", "c/1"):
        await put(use, key, "x")
    everything = await use("object", {"action": "list", **STORE})
    assert [entry["key"] for entry in everything["data"]] == ["b/1", "b/2", "c/1"]
    some = await use("object", {"action": "list", **STORE, "key": "b", "limit": 1})
    assert [(entry["key"], entry["bytes"]) for entry in some["data"]] == [("b/1", 1)]


async def test_delete_removes_an_object(use):
    await put(use, "a", "x")
    assert (await use("object", {"action": "delete", **STORE, "key": "a"}))["status"] == "ok"
    assert (await use("object", {"action": "get", **STORE, "key": "a"}))["error"]["kind"] == "not_found"


async def test_create_refuses_an_object_that_is_there(use):
    await put(use, "a", "one", mode="create")
    assert (await put(use, "a", "two", mode="create"))["error"]["kind"] == "exists"


@pytest.mark.parametrize(
    "values, kind",
    [
        ({"action": "get", "store": "./bucket", "key": "../x"}, "input"),
        ({"action": "get", "store": "./bucket", "key": "link/hostname"}, "path"),
        ({"action": "get", "store": "/etc", "key": "hostname"}, "path"),
        ({"action": "get", "store": "./bucket", "key": "gone"}, "not_found"),
        ({"action": "get", "store": "./bucket"}, "input"),
        ({"action": "get", "store": "ftp://x", "key": "a"}, "input"),
        ({"action": "put", "store": "./bucket", "key": "a.csv", "content": 5}, "format"),
    ],
)
async def test_what_cannot_be_done_says_why(use, tmp_path: Path, values, kind):
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "link").symlink_to("/etc")
    assert (await use("object", values))["error"]["kind"] == kind


async def test_a_store_that_cannot_be_reached_is_retryable(use, secrets):
    secrets["s3"] = {
        "access_key_id": "a", "secret_access_key": "b", "region": "x", "endpoint": "http://127.0.0.1:1",
    }  # fmt: skip
    output = await use("object", {"action": "get", "store": "s3://bucket", "key": "a"}, auth_name="s3")
    assert output["error"]["kind"] == "connect"
    assert output["error"]["retryable"] is True


async def test_an_object_over_the_limit_is_not_read(use):
    await put(use, "a", "x" * 100)
    output = await use("object", {"action": "get", **STORE, "key": "a"}, spec={"max_bytes": 99})
    assert output["error"]["kind"] == "too_large"


@pytest.mark.parametrize("action", ["get", "put", "head", "list", "delete"])
async def test_a_bucket_of_nats_names_the_extra_that_it_needs(use, monkeypatch, action):
    monkeypatch.setitem(sys.modules, "nats", None)
    values = {
        "action": action,
        "store": "nats://bucket",
        "key": "a",
        **({"content": "a"} if action == "put" else {}),
    }
    error = (await use("object", values))["error"]
    assert (error["kind"], "nats-py is not installed" in error["message"]) == ("missing_extra", True)


async def test_an_address_that_cannot_be_read_is_wrong_input(use):
    envelope = await use("object", {"store": "http://[::1", "action": "list"})
    assert (envelope["error"]["kind"], envelope["error"]["retryable"]) == ("input", False)
    assert "is no address of a bucket" in envelope["error"]["message"]
