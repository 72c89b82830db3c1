"""How soon an editor sees a finding after a keystroke in a playbook of 1,000 lines, over the real protocol.

Each round types one more character that makes a finding, and waits until it is told: the pause of the typing,
the check and both ways through the pipes are in it. What the server computes for it is told beside, as the
processor time of its process: that figure is the machine's alone, however busy it is.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

from bench.figure import Figure
from bench.validate import large_playbook
from tests.lsp.client import Editor

ROUNDS = 20
STEPS = 67  # of 15 lines each
GOAL_MS, GOAL_CPU_MS = 150.0, 100.0


def run() -> list[Figure]:
    """A language server of its own, and the median of what its editor saw."""
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(Path(folder))
        text = large_playbook(STEPS, 0)
        book = editor.open(text)
        book.findings()
        waits, used = [], []
        for number in range(ROUNDS):
            before = _cpu_s(editor.pid)
            began = time.perf_counter()
            book.type(text.replace("{step: s30,", f"{{step: s3{'x' * (number + 1)},"))
            assert book.findings()
            waits.append(time.perf_counter() - began)
            used.append(_cpu_s(editor.pid) - before)
        editor.close()
    return [
        Figure(
            f"keystroke to finding, {text.count(chr(10)):,} lines",
            statistics.median(waits) * 1000,
            "ms",
            goal=GOAL_MS,
        ),
        Figure("processor time of a keystroke", statistics.mean(used) * 1000, "ms", goal=GOAL_CPU_MS),
    ]


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
