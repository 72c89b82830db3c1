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
from dataclasses import dataclass, field
from pathlib import Path

from bench.peers.installed import NotInstalled, interpreter, last_line, version
from bench.peers.quiet import Others, wait_for_quiet
from bench.peers.table import best, table
from tests.servers import PostgresServer, ServerFailed

ROOT = Path(__file__).parents[2]
OUT = ROOT / "bench" / "out" / "peers.json"
TURNS = 3
TURN_LIMIT_S = 900.0
ENOUGH_S = 150.0  # an engine that has taken so long in all gets no further turn


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
    others: list[float] = field(default_factory=list)
    spent_s: float = 0.0
    failure: str = ""

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
                self.turns.append(_seconds(command))
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


def _seconds(command: list[str]) -> dict[str, float]:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TURN_LIMIT_S)
    except subprocess.TimeoutExpired as problem:
        raise TurnFailed(f"not done after {TURN_LIMIT_S:.0f} s") from problem
    if done.returncode != 0:
        raise TurnFailed(last_line(done.stderr) or f"ended with code {done.returncode}")
    found: dict[str, float] = json.loads(last_line(done.stdout))
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
        Contender(
            f"Prefect {version('prefect')}, PostgreSQL", ("prefect_engine", "POSTGRES", "FOLDER"), "prefect"
        ),
    ]
    return in_process, with_servers


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
    print(_report(measured))
    others = [share for contender in everybody for share in contender.others]
    print(f"{os.cpu_count()} cores; others took {min(others):.0%} to {max(others):.0%} of them during a turn")
    return 1 if any(group[0].failure for group in measured) else 0


def _report(measured: tuple[list[Contender], ...]) -> str:
    found = [
        {each.name: best(each.turns) for each in group if each.turns} for group in measured if group[0].turns
    ]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=2) + "\n")
    failures = [f"{each.name}: {each.failure}" for group in measured for each in group if each.failure]
    return "\n".join([table(found), *failures])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
