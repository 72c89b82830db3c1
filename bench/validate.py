"""How long validation takes: a large playbook, growth from 1,000 to 10,000 steps, a folder of 500 files."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from bench.figure import Figure

ROUNDS = 3
LARGE_GOAL_S = 1.0
FOLDER_GOAL_S = 5.0
GROWTH_GOAL = 13.0  # ten times the steps; linear is 10, the rest is room for noise
FILES = 500


def run() -> list[Figure]:
    """Validation in this process for one text, and through the command line for a folder."""
    from noetl.cli.playbooks.sources import Source
    from noetl.cli.playbooks.validation import check

    def validate(text: str) -> None:
        assert not check(Source("bench", text.encode())).diagnostics

    numbers = count(step=10_000)  # every text is new, so that no template has been compiled before
    validate(large_playbook(10, next(numbers)))  # imports are not what is measured
    thousand = _best(lambda: validate(large_playbook(1_000, next(numbers))))
    ten_thousand = _best(lambda: validate(large_playbook(10_000, next(numbers))), rounds=1)
    return [
        Figure("validate 1,000 steps", thousand, "s", goal=LARGE_GOAL_S),
        Figure("validate 10,000 steps", ten_thousand, "s"),
        Figure("growth from 1,000 to 10,000 steps", ten_thousand / thousand, "x", goal=GROWTH_GOAL),
        Figure(f"noetl validate on a folder of {FILES} files", _folder(), "s", goal=FOLDER_GOAL_S),
    ]


def _best(action: Callable[[], None], rounds: int = ROUNDS) -> float:
    return min(_seconds(action) for _ in range(rounds))


def _seconds(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _folder() -> float:
    with tempfile.TemporaryDirectory() as folder:
        examples = sorted((Path(__file__).parent.parent / "examples").glob("*.yaml"))
        for number in range(FILES):
            example = examples[number % len(examples)]
            text = example.read_text().replace("metadata:", f"# file {number}\nmetadata:")
            (Path(folder) / f"{number:03}_{example.name}").write_text(text)
        command = [str(Path(sys.executable).with_name("noetl")), "validate", folder]
        return _best(lambda: _quietly(command), rounds=1)


def _quietly(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)


def large_playbook(steps: int, first: int) -> str:
    """A chain of numbered steps with the usual parts: input, a task with a rule, set, an arc."""
    head = (
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: large, path: bench/large}\n"
        'workload: {api_url: "http://127.0.0.1:8080", limit: 10}\nworkflow:\n'
    )
    last = first + steps - 1
    return head + "".join(_step(number, number == last) for number in range(first, first + steps))


def _step(number: int, last: bool) -> str:
    text = f"""\
  - step: s{number}
    input: {{limit: "{{{{ workload.limit + {number} }}}}"}}
    tool:
      kind: http
      input:
        url: "{{{{ workload.api_url }}}}/items/{number}"
        params: {{limit: "{{{{ input.limit }}}}"}}
      spec:
        policy:
          on_unmatched: by_status
          rules:
            - when: "{{{{ output.status == 'error' and output.error.retryable }}}}"
              then: {{do: retry, attempts: 3, delay: 0.5}}
    set: {{ctx.count_{number}: "{{{{ output.data }}}}"}}
"""
    arc = f"{{step: s{number + 1}, when: '{{{{ event.ok }}}}'}}"
    return text if last else f"{text}    next: {{arcs: [{arc}]}}\n"
