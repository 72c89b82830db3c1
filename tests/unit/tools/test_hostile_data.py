"""Data that is made to hurt costs its own task an error that says so, and the worker nothing."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from noetl.tools.parts import sql

DEEP = "[" * 100_000 + "]" * 100_000
LONG = "9" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("deep.json", DEEP, "format"),
        ("deep.jsonl", DEEP, "format"),
        ("long.json", LONG, "format"),
        ("wide.csv", "a,b\n" + "1,2,3\n" * 1000, "format"),
    ],
)
async def test_a_hostile_file_is_no_content(
    use: Any, tmp_path: Path, name: str, content: str, kind: str
) -> None:
    (tmp_path / name).write_text(content)
    output = await use("file", {"action": "read", "path": name})
    assert output["error"]["kind"] == kind, output["error"]


async def test_a_value_that_no_worker_can_hold_is_refused_by_the_database(use: Any) -> None:
    output = await use("sqlite", {"query": "select zeroblob(900000000) as a"})
    assert (output["error"]["kind"], output["error"]["code"]) == ("sqlite", "SQLITE_TOOBIG")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
async def test_rows_that_no_worker_can_hold_are_a_limit(
    use: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(sql, "HELD_BYTES", 1024**2)
    rows = {
        "sqlite": "with recursive c(n) as (select 1 union all select n + 1 from c limit 100000) "
        "select replace(hex(zeroblob(500)), '00', 'x') as a from c",
        "duckdb": "select repeat('x', 500) as a from range(100000)",
    }[kind]
    output = await use(kind, {"query": rows})
    assert output["error"]["kind"] == "limit"
    assert "hold more than 1 MiB" in output["error"]["message"]


async def test_a_transfer_of_deep_items_is_refused(use: Any, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text(f"[{DEEP}]")
    sqlite3.connect(tmp_path / "a.db").close()
    output = await use(
        "transfer",
        {
            "source": {"kind": "file", "path": "deep.json"},
            "target": {"kind": "sqlite", "database": "a.db", "table": "t"},
        },
    )
    assert output["error"]["kind"] == "format", output["error"]
