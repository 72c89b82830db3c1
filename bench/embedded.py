"""The embedded engine, durable commits on, next to a floor of the same run: bare SQLite commits."""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.figure import Figure
from bench.mock_api import running

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: bench, path: bench/{name}}}\nworkflow:\n"
ROUNDS = 5
ROOT = Path(__file__).parent.parent


def run() -> list[Figure]:
    """Every figure of the embedded engine."""
    figures = asyncio.run(_measure())
    figures += [_hello(), *_large_loop()]
    return figures


def chain(steps: int, name: str = "chain") -> str:
    """Steps one after the other."""
    lines = []
    for number in range(steps):
        following = f", next: {{arcs: [{{step: s{number + 1}}}]}}" if number < steps - 1 else ""
        lines.append(f"  - {{step: s{number}, tool: {{kind: noop}}{following}}}\n")
    return HEAD.format(name=name) + "".join(lines)


def loop(items: int, in_flight: int, tool: str = "{kind: noop}") -> str:
    """One parallel loop."""
    return HEAD.format(name=f"loop{items}") + (
        f'  - step: start\n    loop: {{in: "{{{{ range({items}) | list }}}}", iterator: i, '
        f"spec: {{mode: parallel, max_in_flight: {in_flight}}}}}\n    tool: {tool}\n"
    )


PYTHON = '{kind: python, input: {x: "{{ iter.i }}", code: "result = x"}}'
PAGES = """
  - step: fetch
    loop: {{in: "{{{{ range(10) | list }}}}", iterator: ep, spec: {{mode: parallel, max_in_flight: 10}}}}
    tool:
      - {{name: begin, kind: noop, set: {{iter.page: 1}}}}
      - name: fetched
        kind: http
        input: {{url: "{base}/pages", params: {{ep: "{{{{ iter.ep }}}}", page: "{{{{ iter.page }}}}"}}}}
      - name: keep
        {keep}
        input:
          query: {query}
          params: ["{{{{ iter.ep }}}}", "{{{{ iter.page }}}}", "{{{{ fetched.data.rows | tojson }}}}"]
          {database}
      - name: more
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{{{ fetched.data.more }}}}"
                then: {{do: jump, to: fetched, set: {{iter.page: "{{{{ iter.page + 1 }}}}"}}}}
              - else: {{then: {{do: continue}}}}
"""


async def _measure() -> list[Figure]:
    from noetl.settings import load
    from noetl.wiring.embedded import embedded

    with tempfile.TemporaryDirectory() as folder:
        settings = load({"store": f"{folder}/noetl.db"}, folder=Path(folder))
        floor_s = await asyncio.to_thread(_floor, folder)
        async with embedded(settings) as made:
            step_s = await _best(made, chain(100)) / 100
            loop_s = await _best(made, loop(1_000, 50)) / 1_000
            python_s = await _best(made, loop(1_000, 8, PYTHON)) / 1_000
            burst_s = await _burst(made) / 200
            one_s = await _one(made)
            page_s = await _pages(made, folder) / 1_000
            replay_per_s = await _replay(made)
    return [
        Figure("chain of 100 noop steps", step_s * 1000, "ms/step", floor=floor_s * 1000, ratio_goal=1.3),
        Figure("loop of 1,000 noop items, 50 in flight", 1 / loop_s, "items/s", 10_000, "higher"),
        Figure("200 executions of 5 steps at once", 1 / burst_s, "executions/s", 1_200, "higher"),
        Figure("one-step execution, in process, p50", one_s * 1000, "ms", 2.0, floor=2 * floor_s * 1000),
        Figure("loop of 1,000 python items, 8 in flight", 1 / python_s, "items/s", 12_000, "higher"),
        Figure("10 endpoints x 100 pages, stored in SQLite", 1 / page_s, "pages/s", 800, "higher"),
        Figure("replay: fold and decide again", replay_per_s, "events/s", 50_000, "higher"),
    ]


def _floor(folder: str) -> float:
    """Seconds for one durable commit of one row of 1 kB."""
    import apsw

    connection = apsw.Connection(f"{folder}/floor.db")
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE t (a, b)"):
        connection.execute(statement).fetchall()
    body, best = b"x" * 1024, float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for number in range(100):
            connection.execute("INSERT INTO t VALUES (?, ?)", (number, body))
        best = min(best, (time.perf_counter() - began) / 100)
    connection.close()
    return best


async def _begun(made: Any, text: str) -> Callable[[], Awaitable[str]]:
    from noetl.wiring.embedded import new_execution_id

    entry, program = await made.catalog.register(text)

    async def once() -> str:
        execution_id = new_execution_id()
        await made.engine.start(execution_id, await made.catalog.request(entry, program, None))
        state = await made.engine.until_quiet(execution_id)
        status = state.status if state else (await made.store.summary(execution_id)).status
        assert status == "completed", status
        return execution_id

    return once


async def _best(made: Any, text: str, rounds: int = ROUNDS) -> float:
    once = await _begun(made, text)
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        await once()
        best = min(best, time.perf_counter() - began)
    return best


async def _burst(made: Any) -> float:
    once = await _begun(made, chain(5, "five"))
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await asyncio.gather(*(once() for _ in range(200)))
        best = min(best, time.perf_counter() - began)
    return best


async def _one(made: Any) -> float:
    once = await _begun(made, chain(1, "one"))
    times = []
    for _ in range(50):
        began = time.perf_counter()
        await once()
        times.append(time.perf_counter() - began)
    return sorted(times)[25]


async def _pages(made: Any, folder: str) -> float:
    import apsw

    database = f"{folder}/pages.db"
    for statement in ("PRAGMA journal_mode=WAL", "CREATE TABLE pages (ep, page, rows)"):
        apsw.Connection(database).execute(statement).fetchall()
    async with running("bench.pages") as base:
        text = PAGES.format(
            base=base,
            keep="kind: sqlite",
            query="insert into pages values (?, ?, ?)",
            database=f'database: "{database}"',
        )
        return await _best(made, HEAD.format(name="pages") + text, rounds=2)


async def _replay(made: Any) -> float:
    from noetl.control.log_audit import audit

    execution_id = await (await _begun(made, loop(5_000, 50)))()
    program = await made.catalog.program((await made.store.summary(execution_id)).hash)
    began = time.perf_counter()
    found = await audit(made.store, execution_id, program, made.catalog.engine)
    assert not found.problems
    return found.events / (time.perf_counter() - began)


def _hello() -> Figure:
    """The whole process over a bare interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        step = '  - {step: start, tool: {kind: python, input: {code: "result = 1"}}}\n'
        (Path(folder) / "hello.yaml").write_text(HEAD.format(name="hello") + step)
        noetl = [str(Path(sys.executable).with_name("noetl")), "run", "hello.yaml", "--json"]
        took = min(_process(noetl, folder) for _ in range(ROUNDS))
        bare = min(_process([sys.executable, "-c", "pass"], folder) for _ in range(ROUNDS))
    return Figure("noetl run hello.yaml over a bare interpreter", took - bare, "s", 0.5)


def _process(command: list[str], folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return time.perf_counter() - began


def _large_loop() -> list[Figure]:
    """A loop of 100,000 items in a process of its own: memory, stored rows, and time against 10,000."""
    small = _in_own_process(10_000)
    large = _in_own_process(100_000)
    return [
        Figure("loop of 100,000 items: resident memory", large["rss_mb"], "MB", 300),
        Figure("loop of 100,000 items: stored rows per 1,000 items", large["rows"] / 100, "rows", 20),
        Figure("loop of 100,000 items: bytes per item", large["bytes"] / 100_000, "bytes", 400),
        Figure("growth from 10,000 to 100,000 items", large["seconds"] / small["seconds"], "x", 13),
    ]


def _in_own_process(items: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.embedded", str(items)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    found: dict[str, float] = json.loads(done.stdout)
    return found


async def _one_loop(items: int) -> dict[str, float]:
    from noetl.control.history import rows_of
    from noetl.settings import load
    from noetl.wiring.embedded import embedded

    with tempfile.TemporaryDirectory() as folder:
        async with embedded(load({"store": f"{folder}/noetl.db"}, folder=Path(folder))) as made:
            once = await _begun(made, loop(items, 50))
            began = time.perf_counter()
            execution_id = await once()
            seconds = time.perf_counter() - began
            rows = [len(row.body) + len(row.cause) async for row in rows_of(made.store, execution_id)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "rss_mb": peak, "rows": len(rows), "bytes": sum(rows)}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_one_loop(int(sys.argv[1])))))
