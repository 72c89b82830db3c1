"""How long a user waits for `noetl --help`, over a bare interpreter start."""

import subprocess
import sys
import time
from pathlib import Path

from bench.figure import Figure

ROUNDS = 10
GOAL_MS = 150.0


def run() -> list[Figure]:
    """Best of several starts; the two commands take turns, so that a busy machine slows both alike."""
    noetl = Path(sys.executable).with_name("noetl")
    bare, helped = float("inf"), float("inf")
    for _ in range(ROUNDS):
        bare = min(bare, _milliseconds([sys.executable, "-c", "pass"]))
        helped = min(helped, _milliseconds([str(noetl), "--help"]))
    return [
        Figure("noetl --help", helped, "ms", floor=bare),
        Figure("noetl --help over a bare interpreter", helped - bare, "ms", goal=GOAL_MS),
    ]


def _milliseconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000
