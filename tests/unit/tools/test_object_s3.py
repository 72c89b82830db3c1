"""The object kind against a real S3 server."""

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

Run = Callable[..., Awaitable[Any]]


PREFIXES = itertools.count()


@pytest.fixture(scope="module")
def one_bucket(s3_server: Any) -> str:
    return f"s3://{s3_server.new_bucket()}"


@pytest.fixture
def s3(use: Any, secrets: Any, s3_server: Any, one_bucket: str) -> Run:
    """Speak to a prefix of its own."""
    given = s3_server.environment
    secrets["s3"] = {
        "access_key_id": given["AWS_ACCESS_KEY_ID"], "secret_access_key": given["AWS_SECRET_ACCESS_KEY"],
        "region": given["AWS_REGION"], "endpoint": given["AWS_ENDPOINT_URL"],
    }  # fmt: skip
    store = f"{one_bucket}/p{next(PREFIXES)}"

    async def run(action: str, **values: Any) -> Any:
        spec = values.pop("spec", {})
        return await use("object", {"action": action, "store": store, **values}, auth_name="s3", spec=spec)

    return run


@pytest.mark.parametrize(
    "key, content",
    [
        ("a/b.json", {"k": [1, None]}),
        ("a.csv", [{"n": "1"}]),
        ("t", "ünï"),
        ("x.jsonl", [1, 2]),
        ("b.parquet", [{"n": 1}]),
    ],
)
async def test_what_is_put_is_got_back_and_resolved(s3, use, key, content):
    kept = await s3("put", key=key, content=content)
    assert kept["data"]["etag"]
    assert (kept["ref"]["auth_reference"], kept["ref"]["meta"]["bytes"]) == (
        "keychain/s3",
        kept["data"]["bytes"],
    )
    assert (await s3("get", key=key))["data"] == content
    assert (await use("resolve", {"ref": kept["ref"]}))["data"] == content


async def test_head_list_and_delete(s3):
    for key in ("b/2", "b/1", "c/1"):
        await s3("put", key=key, content="x")
    assert [entry["key"] for entry in (await s3("list"))["data"]] == ["b/1", "b/2", "c/1"]
    assert [entry["key"] for entry in (await s3("list", key="b", limit=1))["data"]] == ["b/1"]
    head = (await s3("head", key="b/1"))["data"]
    assert (head["key"], head["bytes"]) == ("b/1", 1)
    assert (await s3("delete", key="b/1"))["status"] == "ok"
    assert (await s3("head", key="b/1"))["error"]["kind"] == "not_found"
    assert (await s3("get", key="b/1"))["error"]["kind"] == "not_found"


async def test_create_refuses_an_object_that_is_there(s3):
    assert (await s3("put", key="a", content="one", mode="create"))["status"] == "ok"
    assert (await s3("put", key="a", content="two", mode="create"))["error"]["kind"] == "exists"
    assert (await s3("put", key="a", content="three"))["status"] == "ok"
    assert (await s3("get", key="a"))["data"] == "three"


async def test_a_large_object_goes_into_the_result_store_and_back_by_reference(s3, payloads):
    """More than one part of an upload; never the content in the answer."""
    text = "0123456789abcdef" * (6 * 65536)  # 6 MiB
    kept = await s3("put", key="big.txt", content=text)
    assert kept["status"] == "ok", kept
    assert kept["data"]["bytes"] == len(text)
    large = await s3("get", key="big.txt", spec={"limits": {"max_hydrate_bytes": 1000}})
    assert (large["data"], large["ref"]["meta"]["bytes"]) == (None, len(text))
    assert await payloads.get(large["ref"]) == text
    again = await s3("put", key="copy.txt", content=large["ref"])
    assert again["data"]["bytes"] == len(text)
    small = await s3("put", key="small.txt", content="x")
    assert (await s3("get", key="small.txt", response="ref"))["ref"]["meta"]["bytes"] == 1
    assert small["status"] == "ok"


async def test_a_store_that_is_away_and_a_bucket_that_is_not_there_are_told_apart(s3, use, secrets):
    missing = await use("object", {"action": "list", "store": "s3://no-such-bucket"}, auth_name="s3")
    assert (missing["error"]["kind"], missing["error"]["retryable"]) == ("not_found", False), missing
    secrets["s3"] = {**secrets["s3"], "endpoint": "http://127.0.0.1:1"}
    away = (await s3("get", key="a"))["error"]
    assert (away["kind"], away["retryable"]) == ("connect", True), away


async def test_a_key_that_is_not_accepted_is_an_auth_error(s3, secrets):
    secrets["s3"] = {**secrets["s3"], "secret_access_key": "canary-wrong"}
    output = await s3("put", key="a", content="x")
    assert (output["error"]["kind"], output["error"]["retryable"]) == ("auth", False)
    assert "canary-wrong" not in str(output)
