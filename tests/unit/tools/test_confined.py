"""No kind reads or writes outside the allowed folders, however the way there is spelled."""

import os
from pathlib import Path
from typing import Any

import pytest

WAYS = [
    "OUT/secret.csv", "../OUTNAME/secret.csv", "./../OUTNAME/secret.csv", "sub/../../OUTNAME/secret.csv",
    "link/secret.csv", "deep/link/secret.csv", "file_link", "loop/../link/secret.csv", "//OUT/secret.csv",
    "sub/./../link/./secret.csv", "INx/secret.csv", "../in-sibling/secret.csv", "/proc/self/root/OUT/secret.csv",
    "/proc/self/cwd/../../OUT/secret.csv", "link/../OUTNAME/secret.csv",
]  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "file read": {"kind": "file", "action": "read", "path": "WAY", "format": "text"},
    "file write": {"kind": "file", "action": "write", "path": "WAY", "content": "x", "format": "text"},
    "file delete": {"kind": "file", "action": "delete", "path": "WAY"},
    "http files": {"kind": "http", "url": "http://127.0.0.1:9/", "method": "POST", "files": {"f": "WAY"}},
    "sqlite": {"kind": "sqlite", "database": "WAY", "query": "select 1"},
    "sqlite attach": {"kind": "sqlite", "query": "select 1", "attach": {"o": "WAY"}},
    "duckdb": {"kind": "duckdb", "database": "WAY", "query": "select 1"},
    "duckdb attach": {"kind": "duckdb", "query": "select 1", "attach": {"o": "WAY"}},
    "sftp put": {"kind": "sftp", "action": "put", "host": "127.0.0.1", "path": "/x", "file": "WAY"},
    "transfer source": {"kind": "transfer", "source": {"kind": "file", "path": "WAY"}, "target": {"kind": "file", "path": "y.csv"}},
    "transfer target": {"kind": "transfer", "source": {"kind": "file", "path": "x.csv"}, "target": {"kind": "file", "path": "WAY"}, "mode": "replace"},
}  # fmt: skip
SQL = [
    ("sqlite", "vacuum into 'OUT/x.db'"), ("sqlite", "attach 'OUT/y.db' as y"), ("sqlite", "attach 'IN/link/y.db' as y"),
    ("sqlite", "attach 'file:OUT/y.db?mode=rwc' as y"), ("sqlite", "attach '../OUTNAME/y.db' as y"),
    ("sqlite", "select load_extension('OUT/x')"), ("sqlite", "pragma temp_store_directory = 'OUT'"),
    ("duckdb", "select * from read_csv('OUT/secret.csv')"), ("duckdb", "select * from read_text('IN/link/secret.csv')"),
    ("duckdb", "select * from 'OUT/secret.csv'"), ("duckdb", "select * from glob('OUT/*')"),
    ("duckdb", "select * from read_csv('IN/../OUTNAME/secret.csv')"), ("duckdb", "copy (select 1) to 'OUT/o.csv'"),
    ("duckdb", "copy (select 1) to 'IN/link/o.csv'"), ("duckdb", "attach 'OUT/o.duckdb' as o"),
    ("duckdb", "attach 'IN/link/o.duckdb' as o"), ("duckdb", "export database 'OUT/e'"), ("duckdb", "install httpfs"),
    ("duckdb", "load httpfs"), ("duckdb", "set enable_external_access = true"), ("duckdb", "set allowed_directories = ['/']"),
    ("duckdb", "select * from read_csv('http://127.0.0.1:9/x.csv')"), ("duckdb", "select * from read_text('/etc/passwd')"),
    ("duckdb", "pragma temp_directory = 'OUT'"),
]  # fmt: skip


class Folders:
    """A folder that may be used, and one beside it that may not; links lead from one to the other."""

    def __init__(self, root: Path) -> None:
        self.inside, self.outside, sibling = root / "in", root / "out", root / "in-sibling"
        for folder in (self.inside / "sub", self.inside / "deep", self.outside, sibling, root / "inx"):
            folder.mkdir(parents=True)
        for folder in (self.outside, sibling, root / "inx"):
            (folder / "secret.csv").write_text("a\ncanary\n")
        (self.inside / "x.csv").write_text("a\n1\n")
        (self.inside / "link").symlink_to(self.outside)
        (self.inside / "deep" / "link").symlink_to("../../out")
        (self.inside / "file_link").symlink_to("../out/secret.csv")
        (self.inside / "loop").symlink_to("sub")
        self.before = self.state()

    def state(self) -> list[tuple[str, bytes]]:
        files = (Path(folder) / name for folder, _, names in os.walk(self.outside) for name in names)
        return sorted((str(file), file.read_bytes()) for file in files)

    def spelled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.spelled(item) for key, item in value.items()}
        if not isinstance(value, str):
            return value
        places = {
            "OUTNAME": "out",
            "OUT": str(self.outside),
            "INx": str(self.inside) + "x",
            "IN": str(self.inside),
        }
        for word, place in places.items():
            value = value.replace(word, place)
        return value


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", KINDS)
async def test_a_path_that_leads_outside_is_refused(use, folders, name, way):
    values = {key: value for key, value in KINDS[name].items() if key != "kind"}
    given = folders.spelled(_at(values, way))
    output = await use(KINDS[name]["kind"], given, work_dir=str(folders.inside))
    assert output["error"]["kind"] == "path", output
    assert "canary" not in str(output)
    assert folders.state() == folders.before


def _at(value: Any, way: str) -> Any:
    if isinstance(value, dict):
        return {key: _at(item, way) for key, item in value.items()}
    return way if value == "WAY" else value


@pytest.mark.parametrize("kind, text", SQL)
async def test_sql_reaches_no_file_outside(use, folders, kind, text):
    given = {"command": folders.spelled(text), **({"database": "a.db"} if kind == "sqlite" else {})}
    output = await use(kind, given, work_dir=str(folders.inside))
    assert output["status"] == "error" or output["data"]["rows"] == [], output
    assert "canary" not in str(output)
    assert folders.state() == folders.before


@pytest.mark.parametrize(
    "key", ["../out/secret.csv", "link/secret.csv", "deep/link/secret.csv", "/../out/secret.csv"]
)
@pytest.mark.parametrize("action", ["get", "put", "delete", "head"])
async def test_keys_of_a_folder_stay_inside(use, folders, key, action):
    values = {"action": action, "store": ".", "key": key, "content": "x", "format": "text"}
    output = await use("object", values, work_dir=str(folders.inside))
    assert output["error"]["kind"] in ("path", "input", "not_found"), output
    assert folders.state() == folders.before
