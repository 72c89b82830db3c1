"""Moves many rows through every place in a process of its own, and prints by how much its memory grew."""

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import Any

from noetl import tools
from noetl.ports.call import Call, Resources
from noetl.ports.tool import invoke

sys.modules["pyarrow"] = None  # type: ignore[assignment]  # which nothing here may need
FEW, MANY = 2_000, 200_000


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def main(folder: Path, database: str) -> None:
    resources = Resources()

    async def secret(name: str) -> dict[str, Any]:
        return {"dsn": database} if name == "pg" else {"url": str(folder / "lite.db")}

    call = Call(
        None,  # type: ignore[arg-type]
        resources,
        work_dir=str(folder),
        secret=secret,
        auth_name="pg",
        auth={"dsn": database},
        roots=("/",),
    )

    async def use(kind: str, values: dict[str, Any]) -> Any:
        output = await invoke(tools.get(kind), values, call)
        assert output["status"] == "ok", output
        return output["data"]

    await use("postgres", {"query": "create table t (id int, name text, note text)"})
    places: dict[str, dict[str, Any]] = {
        "csv": {"kind": "file", "path": "b.csv"},
        "sqlite": {"kind": "sqlite", "database": "c.db", "table": "t"},
        "postgres": {"kind": "postgres", "auth": "pg", "table": "t"},
        "json": {"kind": "file", "path": "d.json"},
        "object": {"kind": "object", "store": "./bucket", "key": "e.jsonl"},
        "parquet": {"kind": "file", "path": "f.parquet"},
        "duckdb": {"kind": "duckdb", "database": "g.duckdb", "table": "t"},
    }
    arrow: dict[str, dict[str, Any]] = {  # which follow a DuckDB table
        "batches to a file": {"kind": "file", "path": "h.parquet"},
        "batches to duckdb": {"kind": "duckdb", "database": "i.duckdb", "table": "t"},
        "batches to adbc": {"kind": "sql", "driver": "adbc_driver_sqlite", "auth": "lite", "table": "t"},
        "batches from adbc": {"kind": "file", "path": "j.parquet"},
    }
    grown: dict[str, float] = {}
    for count in (FEW, MANY):
        with (folder / "a.jsonl").open("w") as file:
            for number in range(count):
                row = {"id": number, "name": f"name {number}", "note": "x" * 200}
                file.write(json.dumps(row) + "\n")
        source: dict[str, Any] = {"kind": "file", "path": "a.jsonl"}
        for name, target in (places | arrow).items():
            before = peak_mib()
            data = await use("transfer", {"source": source, "target": target, "mode": "replace"})
            assert data == {"rows": count}, (name, data)
            grown[name] = round(peak_mib() - before, 1)
            source = target
    await resources.close()
    print(json.dumps(grown))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
