"""Airflow: `airflow standalone`, a scheduler with its local executor, over PostgreSQL; runs over HTTP.

Each task is a process of its own that asks the API server what to do and tells it what came of it.
"""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from bench.peers.work import A_HUNDREDTH, STEPS_EACH, Engine, report
from tests.servers import Server

LOOK_S = 0.1
KNOWN_WITHIN_S = 120.0  # until it has read the file with the DAGs
CHAINS = sorted({A_HUNDREDTH.steps, STEPS_EACH, 1})
DAGS = f"""\
from airflow.sdk import DAG, task

@task
def nothing(item=0):
    pass

for steps in {CHAINS}:
    with DAG(f"chain-{{steps}}", max_active_runs={A_HUNDREDTH.executions}):
        done = nothing()
        for _ in range(steps - 1):
            following = nothing()
            done >> following
            done = following

with DAG("items-{A_HUNDREDTH.items}"):
    nothing.expand(item=list(range({A_HUNDREDTH.items})))
"""


class AirflowServer(Server):
    """All of its parts as they come, without examples, triggers and logins."""

    ports = 4
    ending = signal.SIGINT  # at which it ends its parts too
    ready_s = 240.0

    def _prepare(self) -> None:
        (self.folder / "dags").mkdir()
        (self.folder / "dags" / "bench.py").write_text(DAGS)

    def _command(self) -> list[str]:
        programs, (api, *logs) = Path(sys.executable).parent, map(str, self._ports)
        store = self.options[0].replace("postgresql:", "postgresql+psycopg2:")
        os.environ.update(
            PATH=f"{programs}:{os.environ['PATH']}",
            AIRFLOW_HOME=str(self.folder),
            AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=store,
            AIRFLOW__CORE__LOAD_EXAMPLES="False",
            AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION="False",
            AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS="True",
            AIRFLOW__CORE__EXECUTION_API_SERVER_URL=f"http://127.0.0.1:{api}/execution/",
            AIRFLOW__API__HOST="127.0.0.1",
            AIRFLOW__API__PORT=api,
            AIRFLOW__LOGGING__LOGGING_LEVEL="ERROR",
            AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT=logs[0],
            AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT=logs[1],
            AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT=logs[2],
        )
        return [str(programs / "airflow"), "standalone"]

    def _end(self, how: signal.Signals) -> None:
        group = self._process.pid if self._process is not None else 0
        super()._end(how)
        if group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)  # parts that did not hear of it

    def _ready(self) -> bool:
        with contextlib.suppress(OSError):
            found = json.load(urllib.request.urlopen(f"{self.url}/api/v2/monitor/health", timeout=5.0))
            return bool(found["scheduler"]["status"] == "healthy")
        return False

    @property
    def url(self) -> str:
        """Where runs are asked for."""
        return f"http://127.0.0.1:{self.port}"


class Runs:
    """Asks for runs and looks until they are over."""

    def __init__(self, url: str) -> None:
        self.url, self.token, self.ids = url, "", itertools.count()
        self.token = self.ask("/auth/token")["access_token"]

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """One request, and what was answered."""
        data = None if body is None else json.dumps(body).encode()
        head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, head)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def until_known(self, dags: list[str]) -> None:
        """Wait until all are there to be run."""
        until = time.monotonic() + KNOWN_WITHIN_S
        while {dag["dag_id"] for dag in self.ask("/api/v2/dags")["dags"]} < set(dags):
            if time.monotonic() > until:
                raise TimeoutError(f"Airflow does not know {dags}")
            time.sleep(LOOK_S)

    async def run(self, dag: str) -> None:
        """One run from its request to its end."""
        at, name = f"/api/v2/dags/{dag}/dagRuns", f"run-{next(self.ids)}"
        await asyncio.to_thread(self.ask, at, {"dag_run_id": name, "logical_date": None})
        while (state := (await asyncio.to_thread(self.ask, f"{at}/{name}"))["state"]) != "success":
            assert state in {"queued", "running"}, f"{dag}: {state}"
            await asyncio.sleep(LOOK_S)


async def main(store: str, folder: str) -> None:
    """Start it, do the work."""
    with AirflowServer.start(folder, [store]) as server:
        runs = Runs(server.url)
        runs.until_known([*(f"chain-{steps}" for steps in CHAINS), f"items-{A_HUNDREDTH.items}"])
        engine = Engine(lambda steps: runs.run(f"chain-{steps}"), lambda items: runs.run(f"items-{items}"))
        await report(engine, A_HUNDREDTH)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
