"""The runner: the engines take turns, one alone at a time; then one table. The work is in work.py."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.peers.installed import NotInstalled, interpreter, last_line, version
from bench.peers.quiet import Others, wait_for_quiet
from bench.peers.table import best, goal, table
from bench.peers.work import ALL, Amounts
from tests.servers import PostgresServer, ServerFailed

ROOT = Path(__file__).parents[2]
OUT = ROOT / "bench" / "out" / "peers.json"
TURNS = 3
TO_BE_AHEAD_OF = "restate"
TURN_LIMIT_S = 900.0
ENOUGH_S = 120.0  # an engine that has taken so long in all gets no further turn
# Engines that cannot be had from PyPI, npm and Debian alone, from which everything here comes.
ABSENT = {
    "Hatchet": "PyPI has its client; its server is a container image",
    "Inngest": "npm's inngest-cli fetches its program from elsewhere when it is installed",
    "Kestra": "PyPI has its client; its server is a container image or a Java archive from elsewhere",
    "Windmill": "npm has its client; its server is a container image",
    "Trigger.dev": "npm has its client; its server is a set of container images",
    "Conductor": "PyPI has its client; its server is a container image or a Java archive from elsewhere",
}


class TurnFailed(Exception):
    """An engine did not do its work; the message says why."""


@dataclass
class Contender:
    """One engine: how it is started, and what became of it."""

    name: str
    command: tuple[str, ...]
    """A module of this package and its arguments; `POSTGRES` and `FOLDER` stand for new ones."""
    peer: str = ""
    python: Path = Path(sys.executable)
    turns: list[dict[str, float]] = field(default_factory=list)
    amounts: Amounts = ALL
    others: list[float] = field(default_factory=list)
    spent_s: float = 0.0
    failure: str = ""

    def note(self, turns: int) -> str:
        """What was less than for the others, if anything was."""
        said = [] if self.failure or len(self.turns) == turns else [f"turns: {len(self.turns)}"]
        if self.amounts != ALL:
            said += [f"{name.replace('_', ' ')}: {count}" for name, count in asdict(self.amounts).items()]
        return f"{self.name}: {', '.join(said)}" if said else ""

    def install(self) -> None:
        """Make its environment if it is not there."""
        try:
            self.python = interpreter(self.peer) if self.peer else self.python
        except NotInstalled as problem:
            self.failure = f"not installed: {problem}"

    def take_turn(self) -> None:
        """Start it afresh, let it work, and end it."""
        if self.failure or self.spent_s > ENOUGH_S:
            return
        wait_for_quiet()
        began, others = time.monotonic(), Others()
        try:
            with _given(self.command) as (module, *arguments):
                command = [str(self.python), "-m", f"bench.peers.{module}", *arguments]
                done = _done(command)
                self.turns.append(done["seconds"])
                self.amounts = Amounts(**done["amounts"])
        except (ServerFailed, TurnFailed) as problem:
            self.failure = f"failed: {problem}"
        self.spent_s += time.monotonic() - began
        self.others.append(others.share())
        print(f"peers: {self.name}; others took {self.others[-1]:.0%} of the machine", file=sys.stderr)


@contextmanager
def _given(command: tuple[str, ...]) -> Iterator[list[str]]:
    """The command with a new folder and a new PostgreSQL, fsync on, where it asks for them."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word.replace("FOLDER", folder) for word in command]
        if "POSTGRES" not in words:
            yield words
            return
        with PostgresServer.start() as postgres:
            dsn = postgres.new_database()
            yield [word.replace("POSTGRES", dsn) for word in words]


def _done(command: list[str]) -> dict[str, Any]:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TURN_LIMIT_S)
    except subprocess.TimeoutExpired as problem:
        raise TurnFailed(f"not done after {TURN_LIMIT_S:.0f} s") from problem
    if done.returncode != 0:
        raise TurnFailed(last_line(done.stderr) or f"ended with code {done.returncode}")
    found: dict[str, Any] = json.loads(last_line(done.stdout))
    return found


def groups() -> tuple[list[Contender], ...]:
    """Who is compared: the first of each group with the others."""
    in_process = [
        Contender("NoETL embedded, SQLite", ("noetl_engine", "embedded")),
        Contender(f"DBOS {version('dbos')}, SQLite", ("dbos_engine", "sqlite:///FOLDER/dbos.db"), "dbos"),
    ]
    with_servers = [
        Contender("NoETL cluster, PostgreSQL", ("noetl_engine", "cluster")),
        Contender(f"DBOS {version('dbos')}, PostgreSQL", ("dbos_engine", "POSTGRES"), "dbos"),
        Contender(f"Restate {version('restate')}", ("restate_engine",), "restate"),
        Contender(f"Temporal {version('temporal')} dev server, SQLite", ("temporal_engine",), "temporal"),
        _over_postgres("Prefect", "prefect"),
        _over_postgres("Dagster", "dagster"),
        _over_postgres("Airflow", "airflow"),
    ]
    return in_process, with_servers


def _over_postgres(name: str, peer: str) -> Contender:
    command = (f"{peer}_engine", "POSTGRES", "FOLDER")
    return Contender(f"{name} {version(peer)}, PostgreSQL", command, peer)


def main(arguments: list[str]) -> int:
    """Measure everybody and print the table; 1 if NoETL itself could not be measured."""
    parser = argparse.ArgumentParser(prog="bench.peers", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="how often each engine starts and works")
    turns = parser.parse_args(arguments).turns
    measured = groups()
    everybody = [contender for group in measured for contender in group]
    for contender in everybody:
        contender.install()
    for _ in range(turns):
        for contender in everybody:
            contender.take_turn()
    print(_report(measured, turns))
    others = [share for contender in everybody for share in contender.others]
    print(f"{os.cpu_count()} cores; others took {min(others):.0%} to {max(others):.0%} of them during a turn")
    return 1 if any(group[0].failure for group in measured) else 0


def _report(measured: tuple[list[Contender], ...], turns: int) -> str:
    found = [
        {each.name: best(each.turns) for each in group if each.turns} for group in measured if group[0].turns
    ]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=2) + "\n")
    everybody = [contender for group in measured for contender in group]
    goals = [
        goal(best(group[0].turns), best(each.turns), each.name)
        for group in measured
        for each in group
        if each.peer == TO_BE_AHEAD_OF and each.turns and group[0].turns
    ]
    notes = [note for each in everybody if (note := each.note(turns))]
    failures = [f"{each.name}: {each.failure}" for each in everybody if each.failure]
    absent = [f"not here: {name}: {reason}" for name, reason in ABSENT.items()]
    return "\n".join([table(found), *goals, *notes, *failures, *absent])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
