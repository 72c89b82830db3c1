"""Runs that are killed at random moments and gone on with: `python -m tests.acceptance.kills 200 [SEED]`.

Whatever the moment, a run that is killed leaves a store that the next process goes on with: each execution
ends with the right result, everything it had to do was done, and its log holds together.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.acceptance.conftest import Noetl
from tests.acceptance.running import HEAD, audit_all
from tests.fork_server import FORK_SERVER

ITEMS = 12
LONGEST_S = 120.0  # of one process that nobody kills
CHILD = f"""{HEAD}metadata: {{name: child, path: kills/child}}
workload: {{n: 0}}
workflow:
  - step: double
    tool: {{kind: python, input: {{n: "{{{{ workload.n }}}}", code: "result = n * 2"}}}}
"""
# Branches that join, a loop that leaves a trace of each item, a child, a wait, a payload too large for the log.
PARENT = f"""{HEAD}metadata: {{name: parent, path: kills/parent}}
workload: {{trace: ""}}
workflow:
  - step: start
    tool: {{kind: noop}}
    next: {{spec: {{mode: inclusive}}, arcs: [{{step: items}}, {{step: family}}, {{step: patience}}]}}
  - step: items
    loop: {{in: "{{{{ range({ITEMS}) | list }}}}", iterator: n, spec: {{mode: parallel, max_in_flight: 3}}}}
    tool:
      kind: python
      input:
        n: "{{{{ iter.n }}}}"
        trace: "{{{{ workload.trace }}}}"
        code: |
          with open(trace, "a") as file:
              file.write(f"{{n}}\\n")
          result = n * n
    next: {{arcs: [{{step: all}}]}}
  - step: family
    tool: {{kind: playbook, path: child.yaml, input: {{n: 21}}}}
    next: {{arcs: [{{step: all}}]}}
  - step: patience
    tool:
      - {{name: rest, kind: wait, input: {{seconds: 0.1}}}}
      - {{name: large, kind: python, input: {{code: "result = {{'text': 'x' * 200_000, 'n': 7}}"}}}}
      - {{name: small, kind: noop, output: "{{{{ large.data.n }}}}"}}
    next: {{arcs: [{{step: all}}]}}
  - step: all
    spec: {{join: all}}
    tool:
      kind: python
      input:
        squares: "{{{{ items.data }}}}"
        child: "{{{{ family.data }}}}"
        kept: "{{{{ patience.data }}}}"
        code: "result = [sum(squares), child, kept]"
"""
WANTED = [sum(n * n for n in range(ITEMS)), 42, 7]


class Killing:
    """One folder in which executions run, are killed, and are gone on with."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.dice, self.noetl = folder, random.Random(seed), Noetl(folder)
        self.kills = self.executions = 0
        self._over: set[str] = set()
        (folder / "child.yaml").write_text(CHILD)
        (folder / "parent.yaml").write_text(PARENT)
        self._usual_s = 0.0
        for _ in range(2):  # the first one starts what the others are forked from
            began = time.monotonic()
            self.execution(0)
            self._usual_s = time.monotonic() - began

    def execution(self, most: int) -> None:
        """One execution, killed at most so often, to its end."""
        trace, key = self.folder / f"trace{self.executions}", f"key{self.executions}"
        begin: tuple[str, ...] = (
            "run",
            "parent.yaml",
            "--set",
            f"trace={trace}",
            "--idempotency-key",
            key,
            "--json",
        )
        words = begin
        for left in range(most, -1, -1):
            if self._ran(words, self.dice.uniform(0.0, 1.2 * self._usual_s) if left else None):
                break
            self.kills += 1
            again = self._open() is not None and self.dice.random() < 0.5
            words = ("execution", "resume", "@last", "--json") if again else begin
        result = json.loads(self.noetl("execution", "show", "@last", "--json").stdout)
        assert (result["status"], result["output"]) == ("completed", WANTED), result
        assert {int(line) for line in trace.read_text().split()} == set(range(ITEMS))
        self._over.add(result["execution_id"])
        self.executions += 1

    def _open(self) -> str | None:
        """The execution that was begun, if it was, and is not over."""
        listed = json.loads(self.noetl("execution", "list", "--json", "--limit", "1").stdout)
        for one in listed:
            if one["execution_id"] not in self._over and one["status"] != "completed":
                return str(one["execution_id"])
        return None

    def _ran(self, words: tuple[str, ...], within_s: float | None) -> bool:
        """Whether a process came to its end before it was killed; none may fail by itself."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            process = FORK_SERVER.start(
                words, self.folder, self.noetl.environment, out.fileno(), errors.fileno()
            )
            try:
                code = process.wait(LONGEST_S if within_s is None else within_s)
            except subprocess.TimeoutExpired:
                assert within_s is not None, "it does not come to an end"
                process.kill()
                process.wait()
                return False
            errors.seek(0)
            said = errors.read().decode()
            assert code == 0 or "is already completed" in said, (code, said)
            return True


def kill(folder: Path, seed: int, kills: int, tell: Callable[[str], object]) -> Killing:
    """Kill until it was often enough; raises AssertionError when anything is not as it should be."""
    made = Killing(folder, seed)
    while made.kills < kills:
        made.execution(min(3, kills - made.kills))
        tell(f"{made.kills} kills, {made.executions} executions")
    audit_all(folder)
    return made


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Kill so often; the seed is told, since it chooses the moments."""
    seed = int(arguments[1]) if len(arguments) > 1 else random.SystemRandom().randrange(10**6)
    _tell(f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        made = kill(Path(folder), seed, int(arguments[0]), _tell)
    _tell(f"{made.executions} executions completed, {made.kills} kills, wrong: 0")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
