"""The file kind on a real disk."""

import base64
import hashlib
from pathlib import Path

import pytest

PEOPLE = [{"name": "Ada", "born": 1815}, {"name": "Alan, T.", "born": 1912}]


async def write(use, path: str, content: object, **more: object):
    return await use("file", {"action": "write", "path": path, "content": content, **more})


async def read(use, path: str, **more: object):
    return await use("file", {"action": "read", "path": path, **more})


@pytest.mark.parametrize(
    "path, content, back",
    [
        ("a.json", {"k": [1, 2.5, None, True, "ä"]}, None),
        ("a.jsonl", PEOPLE, None),
        ("a.ndjson", [1, "x"], None),
        ("a.csv", PEOPLE, [{"name": "Ada", "born": "1815"}, {"name": "Alan, T.", "born": "1912"}]),
        ("a.csv", {"rows": PEOPLE[:1]}, [{"name": "Ada", "born": "1815"}]),
        ("a.csv", [{"a": 1}, {"b": None, "a": True}], [{"a": "1", "b": ""}, {"a": "true", "b": ""}]),
        ("a.csv", [{"a": [1, {"k": 2}]}], [{"a": '[1,{"k":2}]'}]),
        ("a.csv", [], []),
        ("a.txt", "line\nhäh\n", None),
        ("noext", "text", None),
        ("a.parquet", PEOPLE, None),
        ("a.parquet", [{"a": [1, 2], "b": {"c": 1.5}}, {"a": None, "b": None}], None),
        ("deep/er/a.json", 7, None),
    ],
)
async def test_what_is_written_is_read_back(use, path, content, back):
    written = await write(use, path, content)
    assert written["status"] == "ok", written["error"]
    assert (await read(use, path))["data"] == (content if back is None else back)


async def test_a_format_beats_the_name(use, tmp_path: Path):
    await write(use, "a.dat", [1], format="json")
    assert (await read(use, "a.dat", format="json"))["data"] == [1]
    raw = base64.b64encode(b"\x00\xff").decode()
    await write(use, "b.dat", raw, format="bytes")
    assert (tmp_path / "b.dat").read_bytes() == b"\x00\xff"
    assert (await read(use, "b.dat", format="bytes"))["data"] == raw


async def test_a_write_answers_with_a_reference(use, tmp_path: Path):
    output = await write(use, "out/a.txt", "hello")
    digest = hashlib.sha256(b"hello").hexdigest()
    assert output["data"] == {"path": "out/a.txt", "bytes": 5, "sha256": digest}
    assert output["ref"]["type"] == "blob"
    assert output["ref"]["locator"]["key"] == str(tmp_path / "out" / "a.txt")
    assert output["ref"]["meta"]["sha256"] == digest
    assert set(output["ref"]) == {"type", "locator", "auth_reference", "meta"}


async def test_a_write_that_fails_leaves_the_old_file_and_no_rubbish(use, tmp_path: Path):
    await write(use, "a.csv", PEOPLE)
    before = (tmp_path / "a.csv").read_bytes()
    assert (await write(use, "a.csv", "not rows"))["error"]["kind"] == "format"
    assert (tmp_path / "a.csv").read_bytes() == before
    assert names(tmp_path) == ["a.csv"]


async def test_create_refuses_a_file_that_is_there(use, tmp_path: Path):
    assert (await write(use, "a.txt", "one", mode="create"))["status"] == "ok"
    assert (await write(use, "a.txt", "two", mode="create"))["error"]["kind"] == "exists"
    assert (tmp_path / "a.txt").read_text() == "one"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    "path, first, second, text",
    [
        ("a.txt", "one\n", "two\n", "one\ntwo\n"),
        ("a.jsonl", [1], [2], "1\n2\n"),
        ("a.csv", [{"a": 1, "b": 2}], [{"b": 4, "a": 3}], "a,b\n1,2\n3,4\n"),
    ],
)
async def test_append_adds_to_the_end(use, tmp_path: Path, path, first, second, text):
    await write(use, path, first, mode="append")
    output = await write(use, path, second, mode="append")
    assert (tmp_path / path).read_text() == text
    assert output["data"]["bytes"] == len(text)


@pytest.mark.parametrize("before", [None, "one"])
async def test_an_append_that_would_be_too_large_adds_nothing(use, tmp_path: Path, before):
    """However often it is tried."""
    if before is not None:
        await write(use, "a.txt", before)
    for _ in range(3):
        wanted = {"action": "write", "path": "a.txt", "content": "two", "mode": "append"}
        output = await use("file", wanted, spec={"max_bytes": 5 if before else 2})
        assert output["error"]["kind"] == "too_large"
        assert "max_bytes" in output["error"]["message"]
    assert [(tmp_path / name).read_text() for name in names(tmp_path)] == ([before] if before else [])


async def test_an_append_does_not_read_the_file(use, tmp_path: Path, monkeypatch):
    await write(use, "a.jsonl", [1], mode="append")
    monkeypatch.setattr("noetl.tools.file.read_limited", lambda *_: pytest.fail("the file was read"))
    output = await write(use, "a.jsonl", [2], mode="append")
    assert output["data"] == {"path": "a.jsonl", "bytes": 4}
    assert (output["ref"]["meta"]["bytes"], "sha256" in output["ref"]["meta"]) == (4, False)


@pytest.mark.parametrize("path, content", [("a.csv", [{"c": 1}]), ("a.json", 1), ("a.parquet", PEOPLE)])
async def test_append_refuses_what_would_break_the_file(use, path, content):
    await write(use, "a.csv", [{"a": 1}])
    assert (await write(use, path, content, mode="append"))["error"]["kind"] == "format"


@pytest.mark.parametrize(
    "path, raw, word",
    [
        ("a.json", b"{", "json"),
        ("a.json", b'"\\u0000"', None),
        ("a.jsonl", b"1\n{", "jsonl"),
        ("a.csv", b"a\n1,2\n", "more cells"),
        ("a.csv", b'a\n"x', "CSV"),
        ("a.txt", b"\xff", "format: bytes"),
        ("a.parquet", b"nope", "PAR1"),
    ],
)
async def test_broken_content_says_how(use, tmp_path: Path, path, raw, word):
    (tmp_path / path).write_bytes(raw)
    problem = (await read(use, path))["error"]
    assert problem["kind"] == ("format" if word else "value")
    assert word is None or word in problem["message"]


@pytest.mark.parametrize(
    "path, content",
    [("a.csv", 5), ("a.csv", [1]), ("a.txt", {"a": 1}), ("a.jsonl", {}), ("a.parquet", []),
     ("a.parquet", [{"a": 1}, {"a": "x"}]), ("a.parquet", [{"a": [1, "x"]}]), ("a.parquet", [{"a": {"b": 1}}, {"a": {"b": "x"}}])],
)  # fmt: skip
async def test_content_that_does_not_fit_the_format_is_refused(use, path, content):
    assert (await write(use, path, content))["error"]["kind"] == "format"


async def test_bytes_need_base64(use):
    assert (await write(use, "a", "!!", format="bytes"))["error"]["kind"] == "format"


async def test_list_shows_files_by_pattern(use, tmp_path: Path):
    for path in ("in/b.csv", "in/a.csv", "in/c.txt", "in/sub/d.csv", "in/.hidden.csv"):
        await write(use, path, "x", format="text")
    flat = await use("file", {"action": "list", "path": "in", "pattern": "*.csv"})
    assert [entry["path"] for entry in flat["data"]] == ["in/a.csv", "in/b.csv"]
    assert flat["data"][0]["bytes"] == 1
    assert flat["data"][0]["modified"].endswith("+00:00")
    deep = await use("file", {"action": "list", "path": "in", "pattern": "**/*.csv"})
    assert [entry["path"] for entry in deep["data"]] == ["in/a.csv", "in/b.csv", "in/sub/d.csv"]


async def test_delete_removes_one_file(use, tmp_path: Path):
    await write(use, "a.txt", "x")
    assert (await use("file", {"action": "delete", "path": "a.txt"}))["data"] == {
        "path": "a.txt",
        "deleted": True,
    }
    assert not (tmp_path / "a.txt").exists()
    assert (await use("file", {"action": "delete", "path": "a.txt"}))["error"]["kind"] == "not_found"
    gone = await use("file", {"action": "delete", "path": "a.txt", "missing_ok": True})
    assert gone["data"] == {"path": "a.txt", "deleted": False}


@pytest.mark.parametrize("action", ["read", "write", "list", "delete"])
@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "link/x", "a\0b", ""])
async def test_paths_stay_inside_the_allowed_folders(use, tmp_path: Path, action, path):
    (tmp_path / "link").symlink_to("/etc")
    output = await use("file", {"action": action, "path": path, "content": "x"})
    assert output["error"]["kind"] == "path"


async def test_other_folders_can_be_allowed(use, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "work").mkdir()
    (other / "a.txt").write_text("x")
    given = {"work_dir": str(tmp_path / "work"), "roots": (str(tmp_path / "work"), str(other))}
    assert (await use("file", {"action": "read", "path": str(other / "a.txt")}, **given))["data"] == "x"
    sibling = {"work_dir": str(tmp_path / "work"), "roots": (str(tmp_path / "oth"),)}
    assert (await use("file", {"action": "read", "path": str(other / "a.txt")}, **sibling))[
        "status"
    ] == "error"


@pytest.mark.parametrize("action, kind", [("read", "not_found"), ("list", "not_found")])
async def test_what_is_not_there_is_not_found(use, action, kind):
    assert (await use("file", {"action": action, "path": "gone"}))["error"]["kind"] == kind


async def test_a_folder_is_not_a_file(use, tmp_path: Path):
    (tmp_path / "d").mkdir()
    output = await read(use, "d")
    assert output["error"]["kind"] == "file"
    assert output["error"]["code"] == "EISDIR"


async def test_a_file_over_the_limit_is_not_read(use):
    await write(use, "a.txt", "x" * 100)
    output = await use("file", {"action": "read", "path": "a.txt"}, spec={"max_bytes": 99})
    assert output["error"]["kind"] == "too_large"


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]
